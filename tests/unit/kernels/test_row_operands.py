"""Row functions of tensors that a row has one element of, and results that are the same for a whole row."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opdsl
from opdsl import Library, Tensor, errors
from opdsl.scalar.intrinsics import row_count, row_index, row_max, row_mean, row_sum
from opdsl.testing import Sample, check_op
from tests.unit.kernels import interpreted_backend

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("plans_at_once")


def weighted_sum(self, weight):
    return row_sum(self) * weight


def weighted_and_own(self, weight):
    return row_sum(self) * weight + self


def both_folded(self, weight):
    return row_sum(self) + row_mean(weight) * row_max(self)


def without_fold(self, weight):
    return math.exp(weight) * weight + 0 * row_sum(self)


def inside_and_outside(self, weight):
    return row_max(self * weight) * weight / row_count(self)


def normalized(self, weight):
    return self / (weight * weight + row_sum(self * self))


def first_weighted(self, weight):
    return self[0] * weight * row_sum(weight)


class Folds:
    """PyTorch's folds of tensors along the dimensions of a row."""

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


FUNCTIONS: dict[Callable[..., Any], Callable[[Any, Any, Folds], Any]] = {
    weighted_sum: lambda x, w, f: f.sum(x) * w,
    weighted_and_own: lambda x, w, f: f.sum(x) * w + x,
    both_folded: lambda x, w, f: f.sum(x) + f.sum(w) / f.count * f.max(x),
    without_fold: lambda x, w, f: torch.exp(w) * w + 0 * f.sum(x),
    inside_and_outside: lambda x, w, f: f.max(x * w) * w / f.count,
    normalized: lambda x, w, f: x / (w * w + f.sum(x * x)),
    first_weighted: lambda x, w, f: f.first(x) * w * f.sum(w),
}

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
def operator(function: Callable[..., Any], dims: tuple[int, ...], of_rows: bool) -> Any:
    """An operator of a row function, whose result a row or each of its elements has one of."""
    lib = Library(f"test_row_operands_{function.__name__}_{'_'.join(map(str, dims))}_{of_rows}")

    @lib.op
    def mixed(self: Tensor, weight: Tensor) -> Tensor: ...

    @mixed.meta
    def mixed_meta(ctx, self, weight):
        shape = np.broadcast_shapes(self.shape, weight.shape)
        row = tuple(1 if of_rows and dim in dims else size for dim, size in enumerate(shape))
        ctx.set_output(0, row, like=self)
        return dims

    mixed.row(promote="floating")(function)
    return mixed


def gradients(backend: Any, arrays: list[np.ndarray], weights: list[np.ndarray], compute: Any) -> list[Any]:
    """The result, its gradients, and theirs, as arrays; 0 where nothing depends on an argument."""
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
    row = tuple(1 if dim in dims else size for dim, size in enumerate(shape))
    theirs = FUNCTIONS[function]
    generator = np.random.default_rng(1)
    arrays = [generator.normal(size=own), generator.normal(size=other)]
    mixed = operator(function, dims, of_rows)
    natural = theirs(*map(torch.tensor, arrays), Folds(shape, dims)).shape
    if of_rows and np.broadcast_shapes(natural, row) != row:
        with pytest.raises(errors.KernelError, match="differs within rows of"):
            mixed(*map(opdsl.tensor, arrays))
        return
    result = row if of_rows else shape
    weights = [generator.normal(size=size) for size in (result, own, other)]
    expected = gradients(torch, arrays, weights, lambda x, w: theirs(x, w, Folds(shape, dims)).expand(result))
    for _ in range(3):
        for ours, value in zip(gradients(opdsl, arrays, weights, mixed), expected, strict=True):
            np.testing.assert_allclose(ours, value, rtol=1e-8, atol=1e-11)


def test_laws() -> None:
    x, w = opdsl.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]]), opdsl.tensor([[2.0], [3.0]])
    for of_rows in (True, False):
        check_op(operator(weighted_sum, (1,), of_rows), [Sample(x, w)])
    check_op(operator(normalized, (1,), False), [Sample(x, w), Sample(x, x)])


def test_other_backends_repeat_the_result_of_a_row() -> None:
    x, w = opdsl.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]]), opdsl.tensor([[2.0], [3.0]])
    with interpreted_backend.installed():
        there = opdsl.Device(interpreted_backend.DEVICE)
        result = operator(weighted_sum, (1,), False)(x.to(there), w.to(there))
        assert result.cpu().tolist() == [[12.0] * 3, [46.5] * 3]


def reversed_row(self):
    return self[int(row_count(self)) - 1 - row_index(self)]


def test_a_function_that_reads_elsewhere_is_declared_again() -> None:
    for _ in range(3):
        with Library("test_row_operands_again") as own:

            @own.op
            def flipped(self: Tensor) -> Tensor: ...

            @flipped.meta
            def flipped_meta(ctx, self):
                ctx.set_output(0, self.shape, like=self)
                return (self.ndim - 1,)

            flipped.row(reversed_row)
            assert flipped(opdsl.tensor([[1.0, 2.0, 3.0]])).tolist() == [[3.0, 2.0, 1.0]]
