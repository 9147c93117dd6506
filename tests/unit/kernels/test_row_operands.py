"""Tests of formulas of tensors with one element per row, and of results that are constant in a row."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opdsl
from opdsl import Library, Tensor, errors, formula, primitives
from opdsl.scalar.intrinsics import row_sum
from opdsl.testing import Sample, check_op
from tests.unit.kernels import interpreted_backend

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("plans_at_once")


class Folds:
    """Folds of tensors along the dimensions of a row, for opdsl and PyTorch."""

    def __init__(self, shape: tuple[int, ...], dims: tuple[int, ...]) -> None:
        self.shape, self.dims = shape, dims
        self.count = math.prod(shape[dim] for dim in dims)

    def sum(self, tensor: Any) -> Any:
        return tensor.expand(self.shape).sum(self.dims, keepdim=True)

    def max(self, tensor: Any) -> Any:
        return tensor.expand(self.shape).amax(self.dims, keepdim=True)

    def first(self, tensor: Any) -> Any:
        tensor = tensor.expand(self.shape)
        for dim in self.dims:
            tensor = tensor.narrow(dim, 0, 1)
        return tensor


def weighted_sum(x: Any, w: Any, folds: Folds) -> Any:
    return folds.sum(x) * w


def weighted_and_own(x: Any, w: Any, folds: Folds) -> Any:
    return folds.sum(x) * w + x


def both_folded(x: Any, w: Any, folds: Folds) -> Any:
    return folds.sum(x) + folds.sum(w) / folds.count * folds.max(x)


def without_fold(x: Any, w: Any, folds: Folds) -> Any:
    return w.exp() * w + 0 * folds.sum(x)


def inside_and_outside(x: Any, w: Any, folds: Folds) -> Any:
    return folds.max(x * w) * w / folds.count


def normalized(x: Any, w: Any, folds: Folds) -> Any:
    return x / (w * w + folds.sum(x * x))


def first_weighted(x: Any, w: Any, folds: Folds) -> Any:
    return folds.first(x) * w * folds.sum(w)


FUNCTIONS: tuple[Callable[[Any, Any, Folds], Any], ...] = (
    weighted_sum,
    weighted_and_own,
    both_folded,
    without_fold,
    inside_and_outside,
    normalized,
    first_weighted,
)

# Shapes of the two tensors, and the dimensions of a row.
SHAPES = (
    ((2, 3), (2, 1), (1,)),
    ((2, 1), (2, 3), (1,)),
    ((2, 3), (), (1,)),
    ((2, 3), (3,), (1,)),
    ((2, 1), (2, 1), (1,)),
    ((3, 2), (1, 2), (0,)),
    ((2, 3, 4), (2, 1, 1), (1, 2)),
    ((2, 3, 1), (2, 1, 4), (1, 2)),
)


@functools.cache
def operator(function: Callable[..., Any], shape: tuple[int, ...], dims: tuple[int, ...], of_rows: bool) -> Any:
    """Return an operator with one result per row, or one per element if not ``of_rows``."""
    name = "_".join(map(str, (function.__name__, *shape, *dims, of_rows)))
    lib, folds = Library(f"test_row_operands_{name}"), Folds(shape, dims)

    @lib.op
    @formula
    def mixed(self: Tensor, weight: Tensor) -> Tensor:
        folded: Tensor = function(self, weight, folds)
        return folded if of_rows else folded.expand(shape)

    return mixed


def gradients(backend: Any, arrays: list[np.ndarray], weights: list[np.ndarray], compute: Any) -> list[Any]:
    """Return the result, its first and its second gradients as arrays; 0 for arguments that nothing depends on."""
    x, w = (backend.tensor(array, requires_grad=True) for array in arrays)
    result = compute(x, w)
    loss = (result * backend.tensor(weights[0])).sum()
    first = backend.autograd.grad([loss], [x, w], create_graph=True, allow_unused=True)
    total = sum(
        (gradient * backend.tensor(weight)).sum()
        for gradient, weight in zip(first, weights[1:], strict=True)
        if gradient is not None
    )
    second = [None, None]
    if total.requires_grad:
        second = backend.autograd.grad([total], [x, w], allow_unused=True)
    return [0.0 if value is None else value.detach().numpy() for value in (result, *first, *second)]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("of_rows", [True, False])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_values_and_gradients_of_both_orders(function: Callable[..., Any], of_rows: bool, shapes: Any) -> None:
    own, other, dims = shapes
    shape = np.broadcast_shapes(own, other)
    folds = Folds(shape, dims)
    generator = np.random.default_rng(1)
    arrays = [generator.normal(size=own), generator.normal(size=other)]
    natural = tuple(function(*map(torch.tensor, arrays), folds).shape)
    full_shape = natural if of_rows else shape
    weights = [generator.normal(size=size) for size in (full_shape, own, other)]
    expected = gradients(torch, arrays, weights, lambda x, w: function(x, w, folds).expand(full_shape))
    mixed = operator(function, shape, dims, of_rows)
    for _ in range(3):
        for ours, wanted in zip(gradients(opdsl, arrays, weights, mixed), expected, strict=True):
            np.testing.assert_allclose(ours, wanted, rtol=1e-8, atol=1e-11)


def test_laws() -> None:
    x, w = opdsl.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]]), opdsl.tensor([[2.0], [3.0]])
    for of_rows in (True, False):
        check_op(operator(weighted_sum, (2, 3), (1,), of_rows), [Sample(x, w)])
    check_op(operator(normalized, (2, 3), (1,), False), [Sample(x, w), Sample(x, x)])


def test_other_backends_repeat_the_result_of_a_row() -> None:
    x, w = opdsl.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]]), opdsl.tensor([[2.0], [3.0]])
    with interpreted_backend.installed():
        there = opdsl.Device(interpreted_backend.DEVICE)
        result = operator(weighted_sum, (2, 3), (1,), False)(x.to(there), w.to(there))
        assert result.cpu().tolist() == [[12.0] * 3, [46.5] * 3]


def test_one_result_of_a_row_whose_elements_differ_is_refused() -> None:
    own_and_sum = primitives.rows(lambda self, weight: self * weight + row_sum(self), promote="floating")
    with Library("test_row_operands_differing") as lib:

        @lib.op
        def mixed(self: Tensor, weight: Tensor) -> Tensor: ...

        @mixed.meta
        def mixed_meta(ctx, self, weight):
            ctx.set_output(0, (2, 1), like=self)
            return (1,)

        @mixed.formula
        def mixed_formula(self: Tensor, weight: Tensor) -> Tensor:
            return own_and_sum(self, weight)

        assert mixed(opdsl.ones(2, 1), opdsl.ones(2, 1)).tolist() == [[2.0], [2.0]]
        for shapes in (((2, 3), (2, 1)), ((2, 1), (2, 3)), ((2, 3), (3,))):
            with pytest.raises(errors.KernelError, match="differ within rows of"):
                mixed(*[opdsl.ones(*shape) for shape in shapes])
