"""Tests of kernels that add computed values at indices, against NumPy and PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import opdsl
from opdsl import Tensor
from opdsl.programs.compiled import optimised

Function = Callable[..., Any]

# The shape of the values, the dimension along which they are added, and the result's size along it.
SHAPES = {
    "rows": ((7, 5), 0, 3),
    "columns": ((5, 7), 1, 3),
    "elements": ((7,), 0, 3),
    "one column": ((7, 1), 0, 3),
    "middle": ((2, 7, 3), -2, 4),
    "nothing": ((0, 5), 0, 3),
    "into nothing": ((0, 5), 0, 0),
    "many": ((3000,), 0, 2),
}


def scattered(namespace: Any, dim: int, size: int) -> Function:
    """Return a function that adds values computed from two tensors at indices along a dimension."""

    def function(x: Any, y: Any, at: Any) -> Any:
        shape = list(x.shape)
        shape[dim] = size
        return namespace.zeros(shape, dtype=x.dtype).index_add(dim, at, x * y + 1.0)

    return function


def arrays(shape: tuple[int, ...], dim: int, size: int) -> tuple[np.ndarray[Any, Any], ...]:
    draws = np.random.default_rng(0)
    x, y = (draws.normal(size=shape) for _ in range(2))
    return x, y, draws.integers(0, max(size, 1), shape[dim])


@pytest.mark.parametrize("name", SHAPES)
def test_values_are_summed_at_their_positions(name: str) -> None:
    shape, dim, size = SHAPES[name]
    x, y, at = arrays(shape, dim, size)
    wanted = np.zeros([size if axis == dim % len(shape) else extent for axis, extent in enumerate(shape)])
    np.add.at(np.moveaxis(wanted, dim, 0), at, np.moveaxis(x * y + 1.0, dim, 0))
    output = opdsl.compile(scattered(opdsl, dim, size))(*map(opdsl.from_numpy, (x, y, at)))
    np.testing.assert_allclose(output.numpy(), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["rows", "columns", "elements", "one column", "middle"])
def test_what_is_added_is_written_nowhere_else(name: str) -> None:
    shape, dim, size = SHAPES[name]
    inputs = list(map(opdsl.from_numpy, arrays(shape, dim, size)))
    program = optimised(opdsl.trace(scattered(opdsl, dim, size), *inputs))
    assert [step.name.partition("::")[0] for step in program.steps if not step.is_view] == ["fused"]


@pytest.mark.parametrize("name", ["rows", "columns", "elements", "one column", "middle", "many"])
def test_gradients_of_both_orders_are_those_of_pytorch(name: str) -> None:
    shape, dim, size = SHAPES[name]
    *values, at = arrays(shape, dim, size)

    def slopes(grad: Function, function: Function, leaves: list[Any], at: Any) -> list[Any]:
        first = grad(function(*leaves, at).square().sum(), leaves, create_graph=True)
        second = grad(sum(gradient.square().sum() for gradient in first), leaves)
        return [gradient.detach().numpy() for gradient in (*first, *second)]

    own = [opdsl.from_numpy(array.copy()).requires_grad_() for array in values]
    its = [torch.from_numpy(array.copy()).requires_grad_() for array in values]
    computed = slopes(opdsl.autograd.grad, opdsl.compile(scattered(opdsl, dim, size)), own, opdsl.from_numpy(at))
    wanted = slopes(torch.autograd.grad, scattered(torch, dim, size), its, torch.from_numpy(at))
    for one, other in zip(computed, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


def test_what_is_there_before_stays() -> None:
    def function(base: Tensor, x: Tensor, at: Tensor) -> Tensor:
        return base.index_add(0, at, x * 2.0)

    base, x, at = np.ones((3, 2)), np.arange(8.0).reshape(4, 2), np.array([2, 0, 2, 2])
    wanted = base.copy()
    np.add.at(wanted, at, x * 2.0)
    output = opdsl.compile(function)(*map(opdsl.from_numpy, (base, x, at)))
    np.testing.assert_array_equal(output.numpy(), wanted)


def test_values_that_are_scaled_once_more_are_not_lost() -> None:
    def function(x: Tensor, at: Tensor) -> Tensor:
        return opdsl.zeros(3, 2, dtype=x.dtype).index_add(0, at, x * 2.0, alpha=3)

    x, at = np.arange(8.0).reshape(4, 2), np.array([2, 0, 2, 2])
    wanted = np.zeros((3, 2))
    np.add.at(wanted, at, x * 6.0)
    output = opdsl.compile(function)(opdsl.from_numpy(x), opdsl.from_numpy(at))
    np.testing.assert_array_equal(output.numpy(), wanted)


@pytest.mark.parametrize("wrong", [-1, 3])
def test_positions_outside_are_refused(wrong: int) -> None:
    added = opdsl.compile(scattered(opdsl, 0, 3))
    x, y = opdsl.ones(2, 5), opdsl.ones(2, 5)
    added(x, y, opdsl.tensor([0, 1]))
    with pytest.raises(opdsl.errors.PositionError, match=f"index {wrong} is out of bounds"):
        added(x, y, opdsl.tensor([0, wrong]))
