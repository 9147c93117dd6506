"""Tests of scans: forms of kernels, several accumulators and indices, against NumPy; and refused definitions."""

from __future__ import annotations

import math

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opdsl
from opdsl import Library, Tensor, formula, primitives
from opdsl.errors import KernelSignatureError, UnsupportedDTypeError

lib = Library("test_scans")


def plus(a, b):
    return a + b


SUMS = primitives.scan(plus, init=0, accumulators=("wide",))


@lib.op(inplace=True, out=True)
@formula
def running_sum(self: Tensor, dim: int) -> Tensor:
    """Return running sums."""
    return SUMS(self, dim)


def mean_lift(x):
    return x, 1


def mean_finish(total, count):
    return total / count


def mean_combine(a, n, b, m):
    return a + b, n + m


MEANS = primitives.scan(
    mean_combine,
    init=(0, 0),
    lift=mean_lift,
    finish=mean_finish,
    accumulators=("wide", "index"),
    promote="floating",
)


@lib.op
@formula
def running_mean(self: Tensor, dim: int) -> Tensor:
    """Return running means."""
    return MEANS(self, dim)


def last_lift(x, index):
    return index if x > 0 else -1


LAST = primitives.scan(lambda a, b: max(a, b), init=-1, lift=last_lift, accumulators=("index",), results=("index",))


@lib.op
@formula
def last_positive(self: Tensor, dim: int) -> Tensor:
    """Return the index of the last positive element so far, -1 before the first."""
    return LAST(self, dim)


def array(*shape: int) -> numpy.ndarray:
    return numpy.random.default_rng(0).normal(size=shape).astype(numpy.float32)


@settings(max_examples=60)
@given(st.lists(st.integers(0, 70), min_size=1, max_size=3), st.data())
def test_sums_along_every_dimension(shape, data):
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    order = data.draw(st.permutations(range(len(shape))))
    x = array(*shape).transpose(order)
    result = running_sum(opdsl.from_numpy(x), dim).numpy()
    numpy.testing.assert_array_equal(result, numpy.cumsum(x.astype(numpy.float64), dim).astype(numpy.float32))


@pytest.mark.parametrize("shape", [(100_003,), (1, 5000), (3, 5000), (9, 3000), (3000, 90)])
def test_long_rows(shape):
    x = array(*shape)
    for dim in range(len(shape)):
        result = running_sum(opdsl.from_numpy(x), dim).numpy()
        numpy.testing.assert_allclose(result, numpy.cumsum(x.astype(numpy.float64), dim), rtol=1e-6, atol=1e-6)
        means = running_mean(opdsl.from_numpy(x), dim).numpy()
        count = numpy.arange(1, shape[dim] + 1).reshape([-1 if index == dim else 1 for index in range(len(shape))])
        wanted = numpy.cumsum(x.astype(numpy.float64), dim) / count
        numpy.testing.assert_allclose(means, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", [(1000,), (20, 300), (300, 20)])
def test_indices_count_along_the_dimension(shape):
    x = array(*shape)
    for dim in range(len(shape)):
        index = numpy.arange(shape[dim]).reshape([-1 if place == dim else 1 for place in range(len(shape))])
        wanted = numpy.maximum.accumulate(numpy.where(x > 0, index, -1), dim)
        numpy.testing.assert_array_equal(last_positive(opdsl.from_numpy(x), dim).numpy(), wanted)


def test_in_place_and_a_single_element():
    x = opdsl.from_numpy(array(4, 5))
    wanted = running_sum(x, 0).numpy()
    assert running_sum.variants["inplace"](x, 0) is x
    numpy.testing.assert_array_equal(x.numpy(), wanted)
    assert running_sum(opdsl.tensor(2.0), -1).item() == 2.0


def test_bools_have_no_wider_type():
    with pytest.raises(UnsupportedDTypeError, match="Bool"):
        running_sum(opdsl.tensor([True]), 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs init="),
        ({"init": 0, "keepdim": True}, "has no option 'keepdim'"),
        ({"init": 0, "promote": "odd"}, "promote='odd' is unknown"),
        ({"init": (0, 0)}, "init has 2 values for 1 accumulators"),
        ({"init": 0, "accumulators": ("odd",)}, "accumulators are"),
        ({"init": 0, "finish": mean_finish}, "finish takes 1 accumulators"),
    ],
)
def test_functions_that_do_not_fit_are_refused(options, message):
    loop = primitives.scan(plus, **options)
    with Library("test_scans_odd") as own, pytest.raises(KernelSignatureError, match=message):

        @own.op
        @formula
        def odd(self: Tensor, dim: int) -> Tensor:
            return loop(self, dim)


def test_a_scan_has_a_dimension():
    loop = primitives.scan(lambda a, b: max(a, b), init=-math.inf)
    with Library("test_scans_dim") as own, pytest.raises(KernelSignatureError, match="an argument dim"):

        @own.op
        @formula
        def odd(self: Tensor) -> Tensor:
            return loop(self)


def test_the_functions_of_a_scan_are_named():
    assert scan_of(running_sum).functions == (plus,)
    assert mean_finish in scan_of(running_mean).functions


def scan_of(operator):
    """Return the scan kernel of an operator."""
    kernels = [kernel for kernels in operator.operator.registrations.values() for kernel in kernels]
    return next(kernel for kernel in kernels if kernel.kind == "scan")
