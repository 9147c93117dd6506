"""Scans: the forms of kernels, several accumulators and indices, against NumPy; what does not fit is refused."""

from __future__ import annotations

import math

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opdsl
from opdsl import Library, Tensor
from opdsl.errors import KernelSignatureError, UnsupportedDTypeError

lib = Library("test_scans")


@lib.op(inplace=True, out=True)
def running_sum(self: Tensor, dim: int) -> Tensor:
    """The sums of all elements so far."""
    ...


@running_sum.scan(init=0, accumulators=("wide",))
def running_sum_combine(a, b):
    return a + b


def mean_lift(x):
    return x, 1


def mean_finish(total, count):
    return total / count


@lib.op
def running_mean(self: Tensor, dim: int) -> Tensor:
    """The means of all elements so far."""
    ...


@running_mean.scan(init=(0, 0), lift=mean_lift, finish=mean_finish, accumulators=("wide", "index"), promote="floating")
def running_mean_combine(a, n, b, m):
    return a + b, n + m


def last_lift(x, index):
    return index if x > 0 else -1


@lib.op
def last_positive(self: Tensor, dim: int) -> Tensor:
    """The index of the last positive element so far, -1 before there is one."""
    ...


@last_positive.scan(init=-1, lift=last_lift, accumulators=("index",), results=("index",))
def last_positive_combine(a, b):
    return max(a, b)


def array(*shape: int) -> numpy.ndarray:
    return numpy.random.default_rng(0).normal(size=shape).astype(numpy.float32)


@settings(max_examples=60)
@given(st.lists(st.integers(0, 70), min_size=1, max_size=3), st.data())
def test_sums_along_every_dimension(shape, data):
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    order = data.draw(st.permutations(range(len(shape))))
    x = array(*shape).transpose(order)
    found = running_sum(opdsl.from_numpy(x), dim).numpy()
    numpy.testing.assert_array_equal(found, numpy.cumsum(x.astype(numpy.float64), dim).astype(numpy.float32))


@pytest.mark.parametrize("shape", [(100_003,), (1, 5000), (3, 5000), (9, 3000), (3000, 90)])
def test_long_rows(shape):
    x = array(*shape)
    for dim in range(len(shape)):
        found = running_sum(opdsl.from_numpy(x), dim).numpy()
        numpy.testing.assert_allclose(found, numpy.cumsum(x.astype(numpy.float64), dim), rtol=1e-6, atol=1e-6)
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
    with Library("test_scans_odd") as own:

        @own.op
        def odd(self: Tensor, dim: int) -> Tensor: ...

        with pytest.raises(KernelSignatureError, match=message):

            @odd.scan(**options)
            def odd_combine(a, b):
                return a + b


def test_a_scan_has_a_dimension():
    with Library("test_scans_dim") as own:

        @own.op
        def odd(self: Tensor) -> Tensor: ...

        with pytest.raises(KernelSignatureError, match="an argument dim"):

            @odd.scan(init=-math.inf)
            def odd_combine(a, b):
                return max(a, b)


def test_the_functions_of_a_scan_are_named():
    assert scan_of(running_sum).functions == (running_sum_combine,)
    assert mean_finish in scan_of(running_mean).functions


def scan_of(operator):
    """The kernel that a scan gives an operator."""
    kernels = [each for kernels in operator.operator.registrations.values() for each in kernels]
    return next(each for each in kernels if each.kind == "scan")
