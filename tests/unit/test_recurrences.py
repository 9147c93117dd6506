"""Tests of scans that run step by step: against plain loops, gradients against PyTorch's, and refused steps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import cast

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import opdsl
from opdsl import Library, Tensor, formula, primitives
from opdsl.autograd import grad
from opdsl.errors import KernelSignatureError, MissingDerivativeError, RoundedResultError, UnsupportedDTypeError
from opdsl.testing import gradcheck

lib = Library("test_recurrences")


@pytest.fixture(scope="module", autouse=True)
def _closed() -> Iterator[None]:
    yield
    lib.close()


@lib.op(out=True)
@formula
def linear_recurrence(a: Tensor, b: Tensor, dim: int) -> Tensor:
    return opdsl.scan(lambda h, a, b: a * h + b, 0.0, a, b, along=dim)


LINEAR = primitives.scan(lambda h, a, b: a * h + b, init=0.0)


@lib.op(out=True)
@formula
def linear_loop(a: Tensor, b: Tensor, dim: int) -> Tensor:
    return LINEAR(a, b, dim)


@lib.op(inplace=True, out=True)
@formula
def moving_average(self: Tensor, alpha: float, dim: int = -1) -> Tensor:
    return opdsl.scan(lambda h, x: alpha * x + (1 - alpha) * h, 0.0, self, along=dim)


AVERAGES = primitives.scan(lambda h, self, alpha: alpha * self + (1 - alpha) * h, init=0.0, promote="int_to_float")


@lib.op(inplace=True, out=True)
@formula
def average_loop(self: Tensor, alpha: float, dim: int = -1) -> Tensor:
    return AVERAGES(self, alpha, dim)


def welford(count, mean, squares, self):
    delta = self - mean
    moved = mean + delta / (count + 1)
    return count + 1, moved, squares + delta * (self - moved)


@lib.op
@formula
def running_moments(self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Compute running means and variances by Welford's method."""
    count, mean, squares = opdsl.scan(lambda carry, x: welford(*carry, x), (0.0, 0.0, 0.0), self, along=dim)
    return mean, squares / count


MOMENTS = primitives.scan(
    welford,
    init=(0.0, 0.0, 0.0),
    finish=lambda count, mean, squares: (mean, squares / count),
    accumulators=("double", "double", "double"),
    results=("value", "value"),
    promote="floating",
)


@lib.op
@formula
def moments_loop(self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    return cast("tuple[Tensor, Tensor]", MOMENTS(self, dim))


def oscillate(place, speed, force, stiffness, damping):
    faster = speed + 0.5 * (force - stiffness * place - damping * speed * abs(speed))
    return place + 0.5 * faster, faster if place < 1.0 else -0.5 * faster


@lib.op
@formula
def oscillator(force: Tensor, stiffness: Tensor, dim: int, *, damping: float = 0.1) -> Tensor:
    """Scan with two carried values, a step with a condition, and functions of the results."""

    def step(carry: tuple[Tensor, Tensor], force: Tensor, stiffness: Tensor) -> tuple[Tensor, Tensor]:
        return oscillate(*carry, force, stiffness, damping)

    place, speed = opdsl.scan(step, (0.5, -0.25), force, stiffness, along=dim)
    return opdsl.tanh(place) * speed


OSCILLATING = primitives.scan(
    oscillate, init=(0.5, -0.25), finish=lambda place, speed: math.tanh(place) * speed, promote="floating"
)


@lib.op
@formula
def oscillator_loop(force: Tensor, stiffness: Tensor, dim: int, *, damping: float = 0.1) -> Tensor:
    return OSCILLATING(force, stiffness, dim, damping=damping)


def oscillator_torch(force, stiffness, dim, damping):
    force, stiffness = (coefficient.movedim(dim, 0) for coefficient in torch.broadcast_tensors(force, stiffness))
    place, speed = torch.full_like(force[0], 0.5), torch.full_like(force[0], -0.25)
    result = []
    for at in range(len(force)):
        faster = speed + 0.5 * (force[at] - stiffness[at] * place - damping * speed * speed.abs())
        place, speed = place + 0.5 * faster, torch.where(place < 1.0, faster, -0.5 * faster)
        result.append(torch.tanh(place) * speed)
    return torch.stack(result).movedim(0, dim)


@pytest.mark.parametrize("operator", [oscillator, oscillator_loop])
@settings(max_examples=40)
@given(st.lists(st.integers(1, 20), min_size=1, max_size=3), st.data())
def test_against_a_loop_in_torch(operator, shape, data):
    generator = np.random.default_rng(data.draw(st.integers(0, 99)))
    dim = data.draw(st.integers(0, len(shape) - 1))
    narrow = [1 if data.draw(st.booleans()) else size for size in shape]
    order = data.draw(st.permutations(range(len(shape))))
    arrays = [generator.normal(size=size).transpose(order) for size in (shape, narrow)]
    x = [opdsl.from_numpy(array).requires_grad_() for array in arrays]
    y = [torch.from_numpy(array.copy()).requires_grad_() for array in arrays]
    actual, expected = operator(*x, dim, damping=0.3), oscillator_torch(*y, dim, 0.3)
    np.testing.assert_allclose(actual.detach().numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-9)
    first = grad([(actual * actual).sum()], x, create_graph=True)
    wanted = torch.autograd.grad((expected * expected).sum(), y, create_graph=True)
    for one, other in zip(first, wanted, strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-7, atol=1e-7)
    if max(shape) <= 6:
        second = grad([sum((gradient * gradient).sum() for gradient in first)], x)
        twice = torch.autograd.grad(sum((gradient * gradient).sum() for gradient in wanted), y)
        for one, other in zip(second, twice, strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(64, 1000), (1000, 64), (3, 70, 5), (100_001,)])
@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("operator", [linear_recurrence, linear_loop])
def test_many_and_long_rows(operator, shape, dim):
    generator = np.random.default_rng(0)
    a, b = generator.uniform(0.5, 1, shape), generator.normal(size=shape)
    actual = operator(opdsl.from_numpy(a), opdsl.from_numpy(b), dim)
    carried, expected = np.zeros(()), []
    for one, other in zip(np.moveaxis(a, dim, 0), np.moveaxis(b, dim, 0), strict=True):
        carried = one * carried + other
        expected.append(carried)
    np.testing.assert_allclose(np.moveaxis(actual.numpy(), dim, 0), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("moments", [running_moments, moments_loop])
def test_moments_are_those_of_numpy_and_have_gradients(moments):
    x = np.random.default_rng(0).normal(size=(3, 9))
    means, variances = moments(opdsl.from_numpy(x), 1)
    np.testing.assert_allclose(means.numpy()[:, -1], x.mean(1))
    np.testing.assert_allclose(variances.numpy()[:, 4], x[:, :5].var(1))
    assert gradcheck(lambda x: moments(x, 1), (opdsl.from_numpy(x).requires_grad_(),))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("average", [moving_average, average_loop])
def test_narrow_dtypes(average, dtype):
    x = opdsl.from_numpy(np.arange(1.0, 9.0)).to(getattr(opdsl, dtype)).requires_grad_()
    result = average(x, 0.5)
    assert result.dtype is x.dtype
    assert result[2].item() == 0.5 * 3 + 0.25 * 2 + 0.125
    (slope,) = grad([result[-1]], [x])
    np.testing.assert_array_equal(slope.to(opdsl.float64).numpy(), 0.5 ** np.arange(8.0, 0.0, -1.0))


@pytest.mark.parametrize("average", [moving_average, average_loop])
def test_integers_and_variants(average):
    counts = opdsl.tensor([1, 2, 3])
    expected = [0.5, 1.25, 2.125]
    assert (average(counts, 0.5).dtype, average(counts, 0.5).tolist()) == (opdsl.float32, expected)
    assert average(counts, 0.5, out=opdsl.empty(0)).tolist() == expected
    x = counts.to(opdsl.float32)
    assert average.variants["inplace"](x, 0.5) is x
    assert x.tolist() == expected


def test_what_is_carried_has_the_dtype_of_steps():
    counts = opdsl.tensor([1, 2, 3])
    whole = linear_loop(counts, counts, 0)
    assert (whole.dtype, whole.tolist()) == (opdsl.int64, [1, 4, 15])
    promoted = linear_recurrence(counts, counts, 0)  # the initial value 0.0 is a float
    assert (promoted.dtype, promoted.tolist()) == (opdsl.float32, [1, 4, 15])


@pytest.mark.parametrize("operator", [linear_recurrence, linear_loop])
def test_no_elements(operator):
    assert operator(opdsl.ones(2, 0), opdsl.ones(2, 1), 1).shape == (2, 0)


def test_no_dimensions():
    assert linear_loop(opdsl.tensor(2.0), opdsl.tensor(3.0), 0).item() == 3.0


def test_gradients_of_combining_scans():
    products = primitives.scan(lambda a, b: a * b, init=1)

    @lib.op
    @formula
    def running_product(self: Tensor, dim: int) -> Tensor:
        return products(self, dim)

    x = [2.0, 0.0, 3.0, 0.0, 1.0]
    ours, theirs = opdsl.tensor(x).requires_grad_(), torch.tensor(x, requires_grad=True)
    (gradient,) = grad([running_product(ours, 0).sum()], [ours])
    (expected,) = torch.autograd.grad(torch.cumprod(theirs, 0).sum(), theirs)
    assert gradient.tolist() == expected.tolist()
    z = opdsl.randn(3, 4, dtype=opdsl.complex128).requires_grad_()
    assert gradcheck(lambda z: running_product(z, 1), (z,))


def test_a_scan_with_indices_says_that_it_has_no_derivative():
    sums = primitives.scan(lambda a, b: a + b, init=0.0, lift=lambda x, index: x * index, promote="floating")

    @lib.op
    @formula
    def weighted(self: Tensor, dim: int) -> Tensor:
        return sums(self, dim)

    x = opdsl.ones(3).requires_grad_()
    with pytest.raises(MissingDerivativeError, match="not implemented"):
        grad([weighted(x, 0).sum()], [x])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda h, self: h + self, r"takes every tensor and number \(alpha is missing\)"),
        (lambda self, alpha: self * alpha, "under names that are no arguments"),
        (lambda h, self, alpha: (h, self), r"returns the new carried values \(1\)"),
    ],
)
def test_steps_that_do_not_fit(function, message):
    loop = primitives.scan(function, init=0.0)
    with pytest.raises(KernelSignatureError, match=message):

        @lib.op
        @formula
        def refused(self: Tensor, alpha: float, dim: int) -> Tensor:
            return loop(self, alpha, dim)


def test_other_arguments_without_a_step_say_what_to_write():
    loop = primitives.scan(lambda a, b: a + b, init=0.0)
    with pytest.raises(KernelSignatureError, match=r"def step\(carried, self, alpha\)"):

        @lib.op
        @formula
        def unsaid(self: Tensor, alpha: float, dim: int) -> Tensor:
            return loop(self, alpha, dim)


def test_rounding_is_refused_where_it_is_declared():
    loop = primitives.scan(lambda h, self: h / 2 + self, init=0.0)
    with pytest.raises(RoundedResultError, match="promote="):

        @lib.op
        @formula
        def halved(self: Tensor, dim: int) -> Tensor:
            return loop(self, dim)

    with pytest.raises(UnsupportedDTypeError):
        moments_loop(opdsl.tensor([1, 2]), 0)


def test_gradients_of_a_scan_that_counts_go_by_what_is_no_integer():
    means = primitives.scan(
        lambda total, count, more, further: (total + more, count + further),
        init=(0, 0), lift=lambda x: (x, 1), finish=lambda total, count: total / count,
        accumulators=("value", "index"), results=("value",), promote="int_to_float",
    )  # fmt: skip

    @lib.op
    @formula
    def mean_so_far(self: Tensor, dim: int) -> Tensor:
        return means(self, dim)

    values = np.random.default_rng(5).standard_normal((3, 4))
    x, y = opdsl.from_numpy(values.copy()).requires_grad_(), torch.tensor(values, requires_grad=True)
    so_far, wanted = mean_so_far(x, 1), y.cumsum(1) / torch.arange(1.0, 5.0, dtype=torch.float64)
    (slopes,) = grad([(so_far**3).sum()], [x], create_graph=True)
    (other,) = torch.autograd.grad((wanted**3).sum(), [y], create_graph=True)
    np.testing.assert_allclose(slopes.detach().numpy(), other.detach().numpy())
    (curvature,) = grad([(slopes**2).sum()], [x])
    np.testing.assert_allclose(curvature.numpy(), torch.autograd.grad((other**2).sum(), [y])[0].numpy())
