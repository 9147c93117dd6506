"""Tests of gradients derived from row functions and reductions, against PyTorch and finite differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import opdsl
from opdsl import Ints, Library, Tensor, formula, primitives
from opdsl.autograd import grad
from opdsl.errors import MissingDerivativeError
from opdsl.scalar.intrinsics import row_mean
from opdsl.testing import gradcheck

lib = Library("test_gradients_of_folds")


@pytest.fixture(scope="module", autouse=True)
def _closed() -> Iterator[None]:
    yield
    lib.close()


@lib.op
@formula
def rms_norm(self: Tensor, weight: Tensor | None = None, eps: float = 1e-6) -> Tensor:
    normed = self / opdsl.sqrt(self.square().mean(-1, True) + eps)
    return normed if weight is None else normed * weight


def rms_norm_row(self, eps, weight=1.0):
    return self / math.sqrt(row_mean(self * self) + eps) * weight


NORMED = primitives.rows(rms_norm_row, promote="floating")


@lib.op
def rms_norm_of_rows(self: Tensor, weight: Tensor | None = None, eps: float = 1e-6) -> Tensor: ...


@rms_norm_of_rows.meta
def rms_norm_meta(ctx, self, weight, eps):
    ctx.set_output(0, self.shape, like=self)
    return (self.ndim - 1,)


@rms_norm_of_rows.formula
def rms_norm_formula(self: Tensor, weight: Tensor | None, eps: float) -> Tensor:
    return NORMED(self, weight, eps)


BOTH = pytest.mark.parametrize("rms_norm", [rms_norm, rms_norm_of_rows], ids=["formula", "rows"])


@lib.op
@formula
def statistics(self: Tensor, other: Tensor, dim: int, *, least: float = 0.5) -> tuple[Tensor, Tensor]:
    """Compute folds of folds, a condition on a fold, and a result with one element per row."""
    mean = self.mean(dim, True)
    deviation = self - mean
    variance = deviation.square().sum(dim, True) / (self.shape[dim] - 1)
    high = (other * self).amax(dim, True)
    scaled = opdsl.tanh(deviation * other) / opdsl.sqrt(variance + 1) + (high if variance > least else mean)
    return scaled, variance * self.amin(dim, True) + opdsl.exp(other.expand_as(self) - high).sum(dim, True)


def statistics_torch(x, other, dim, *, least=0.5):
    other = other.expand_as(x)
    mean = x.mean(dim, keepdim=True)
    deviation = x - mean
    variance = (deviation * deviation).sum(dim, keepdim=True) / (x.shape[dim] - 1)
    high = (other * x).amax(dim, keepdim=True)
    scaled = torch.tanh(deviation * other) / torch.sqrt(variance + 1) + torch.where(variance > least, high, mean)
    return scaled, variance * x.amin(dim, keepdim=True) + torch.exp(other - high).sum(dim, keepdim=True)


def lift(x, power):
    return abs(x) ** power, x, x


def finish(total, high, low, count, power):
    return (total / count) ** (1 / power), high - low


def combine(a, high, low, b, other_high, other_low):
    return a + b, max(high, other_high), min(low, other_low)


SIZE_AND_EXTENT = primitives.fold(
    combine,
    init=(0, -math.inf, math.inf),
    lift=lift,
    finish=finish,
    accumulators=("double", "value", "value"),
    results=("value", "value"),
    promote="floating",
)


@lib.op
@formula
def size_and_extent(
    self: Tensor, dim: Ints[1] | None = None, keepdim: bool = False, *, power: float = 2.0
) -> tuple[Tensor, Tensor]:
    return SIZE_AND_EXTENT(self, dim, keepdim, power=power)


@lib.op
@formula
def size_and_extent_by_calls(
    self: Tensor, dim: Ints[1] | None = None, keepdim: bool = False, *, power: float = 2.0
) -> tuple[Tensor, Tensor]:
    size = (self.abs() ** power).mean(dim, keepdim) ** (1 / power)
    return size, self.amax(dim or [], keepdim) - self.amin(dim or [], keepdim)


def size_and_extent_torch(x, dims, keepdim, power):
    size = x.abs().pow(power).mean(dims, keepdim) ** (1 / power)
    return size, x.amax(dims, keepdim) - x.amin(dims, keepdim)


def pair(array: np.ndarray) -> tuple[Tensor, torch.Tensor]:
    return opdsl.from_numpy(array.copy()).requires_grad_(), torch.from_numpy(array.copy()).requires_grad_()


def gradients_agree(
    ours: Callable[..., Any], theirs: Callable[..., Any], arrays: list[np.ndarray], generator: np.random.Generator
) -> None:
    """Check first and second gradients against PyTorch's."""
    pairs = [pair(array) for array in arrays]
    x, y = [leaves[0] for leaves in pairs], [leaves[1] for leaves in pairs]
    results, expected = ours(*x), theirs(*y)
    weights = [generator.normal(size=tuple(result.shape)) for result in results]
    actual = grad(results, x, [opdsl.from_numpy(weight) for weight in weights], create_graph=True)
    wanted = torch.autograd.grad(expected, y, list(map(torch.from_numpy, weights)), create_graph=True)
    for one, other in zip(actual, wanted, strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-9, atol=1e-9)
    again = grad([sum((gradient * gradient).sum() for gradient in actual)], x)
    twice = torch.autograd.grad(sum((gradient * gradient).sum() for gradient in wanted), y)
    for one, other in zip(again, twice, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-7, atol=1e-7)


@settings(max_examples=25)
@given(st.lists(st.integers(2, 6), min_size=1, max_size=3), st.data())
def test_rows_agree_with_torch(shape, data):
    generator = np.random.default_rng(data.draw(st.integers(0, 99)))
    dim = data.draw(st.integers(0, len(shape) - 1))
    narrow = [1 if data.draw(st.booleans()) else size for size in shape]
    arrays = [generator.normal(size=shape), generator.normal(size=narrow)]
    gradients_agree(
        lambda x, other: statistics(x, other, dim), lambda x, other: statistics_torch(x, other, dim), arrays, generator
    )


@pytest.mark.parametrize("operator", [size_and_extent, size_and_extent_by_calls])
@settings(max_examples=25)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.data())
def test_reductions_agree_with_torch(operator, shape, data):
    generator = np.random.default_rng(data.draw(st.integers(0, 99)))
    dims = data.draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True))
    keepdim, power = data.draw(st.booleans()), data.draw(st.sampled_from([1.5, 2.0, 3.0]))
    gradients_agree(
        lambda x: operator(x, dims, keepdim, power=power),
        lambda x: size_and_extent_torch(x, dims, keepdim, power),
        [generator.normal(size=shape) + 0.1],
        generator,
    )


@BOTH
def test_an_argument_that_may_be_none(rms_norm):
    x = opdsl.randn(4, 7, dtype=opdsl.float64).requires_grad_()
    weight = opdsl.randn(7, dtype=opdsl.float64).requires_grad_()
    assert gradcheck(lambda x: rms_norm(x), (x,))
    assert gradcheck(lambda x, weight: rms_norm(x, weight), (x, weight))
    assert gradcheck(lambda weight: rms_norm(x.detach(), weight), (weight,))


@BOTH
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_narrow_dtypes(rms_norm, dtype):
    generator = np.random.default_rng(0)
    x, weight = (generator.normal(size=size).astype(np.float32) for size in ((5, 64), (64,)))
    tensors = [opdsl.from_numpy(operand).to(getattr(opdsl, dtype)).requires_grad_() for operand in (x, weight)]
    wanted = [torch.from_numpy(operand).to(getattr(torch, dtype)).double().requires_grad_() for operand in (x, weight)]
    actual = grad([rms_norm(*tensors).sum()], tensors)
    expected = torch.autograd.grad(torch.nn.functional.rms_norm(wanted[0], (64,), wanted[1], 1e-6).sum(), wanted)
    tolerance = 1e-5 if dtype == "float32" else 0.05
    for one, other in zip(actual, expected, strict=True):
        assert one.dtype is getattr(opdsl, dtype)
        np.testing.assert_allclose(one.to(opdsl.float64).numpy(), other.numpy(), rtol=tolerance, atol=tolerance)


def test_equal_extrema_share_and_nan_takes_all():
    largest = primitives.fold(
        lambda a, b: max(a, b), init=-math.inf, finish=lambda high, count: 2 * high, promote="floating"
    )

    @lib.op
    @formula
    def largest_double(self: Tensor, dim: Ints[1] | None = None) -> Tensor:
        return largest(self, dim)

    x = opdsl.tensor([[1.0, 3.0, 3.0], [2.0, math.nan, 1.0]]).requires_grad_()
    (gradient,) = grad([largest_double(x, [1]).sum()], [x])
    np.testing.assert_array_equal(gradient.numpy(), [[0.0, 1.0, 1.0], [0.0, 2.0, 0.0]])


@pytest.mark.parametrize("operator", [size_and_extent, size_and_extent_by_calls])
def test_nothing_and_one_element(operator):
    for shape, dims in (((0, 3), [1]), ((), None), ((2, 1), [1])):
        x = opdsl.ones(shape).requires_grad_()
        (gradient,) = grad([operator(x, dims)[0].sum()], [x])
        np.testing.assert_array_equal(gradient.numpy(), np.ones(shape))


def test_backward_is_one_kernel(plans_at_once):
    from opdsl.autograd.derived_operators import derivative_of_definition

    definition = rms_norm_of_rows.operator.registrations[opdsl.DispatchKey("CPU")][0].definition
    (formula,) = derivative_of_definition(definition).formulas(["self", "weight"])
    assert set(formula.reads) == {"self", "weight", "eps"}
    assert not formula.forms
    assert str(rms_norm_of_rows.derivative_source).count("row_sum") == 1


def test_other_folds_say_that_they_have_no_derivative():
    products = primitives.fold(lambda a, b: a * b, init=1, promote="floating")

    @lib.op
    @formula
    def product(self: Tensor, dim: Ints[1] | None = None, keepdim: bool = False) -> Tensor:
        return products(self, dim, keepdim)

    x = opdsl.ones(3).requires_grad_()
    with pytest.raises(MissingDerivativeError, match="not implemented"):
        grad([product(x)], [x])
