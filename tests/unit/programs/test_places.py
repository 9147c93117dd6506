"""Tests of programs' kernels for gathers at computed indices and sums of broadcast operands, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import opdsl
from opdsl import Library, Tensor, dims, formula
from opdsl.formulas.showing import kernels_of
from opdsl.programs.compiled import optimised

lib = Library("kernels_of_places")

Function = Callable[..., Any]


def kernels(function: Function, *tensors: Tensor) -> list[str]:
    """Return the names of the operators in an optimized program, without those of views."""
    program = optimised(opdsl.trace(function, *tensors))
    return [step.name.partition("::")[0] for step in program.steps if not step.is_view]


def numbers(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=shape)


def windows(namespace: Any, x: Any, w: Any, start: int) -> Any:
    """Compute weighted sums of windows of three elements with zeros out of bounds: a convolution."""
    size = x.shape[-1]
    position = namespace.arange(size)[:, None] + namespace.arange(3) + start
    read = x[..., position.clamp(0, size - 1)]
    return (read.masked_fill((position < 0) | (position >= size), 0.0) * w).sum(-1)


FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sum of what broadcasts": lambda _, x, y: (x[:, None] - y).abs().sum(-1),
    "sum along the first": lambda _, x, y: (x[:, None] * y.abs()).sum(0),
    "sum of two dimensions": lambda _, x, y: (x[:, :, None, None] - y.t()[:, None]).sin().sum((1, 3)),
    "windows": lambda of, x, y: windows(of, x, y[0, :3], -1),
    "windows that begin behind": lambda of, x, y: windows(of, x, y[0, :3], 2),
    "circular": lambda of, x, y: x[:, (of.arange(x.shape[1]) * 2 + 1) % x.shape[1]].sin() + 1.0,
    "reversed": lambda of, x, y: x[:, x.shape[1] - 1 - of.arange(x.shape[1])] * 2.0,
    "of a transposed view": lambda of, x, y: x.t()[(of.arange(3) + 1).clamp(0, x.shape[1] - 1)] * 2.0,
    "of a narrowed view": lambda of, x, y: x[:, 1:][:, (of.arange(9) - 2).clamp(0, x.shape[1] - 2)] * 2.0,
    "of every second": lambda of, x, y: (x[:, None, ::2] - y[:, ::2]).abs().sum(-1),
    "of the first few": lambda of, x, y: (x[:, None, :3] - y[:, :3]).abs().sum(-1),
    "of the first few rows": lambda of, x, y: (x[:2].t() * y.t()[:, None, :2]).sum(-1),
    "of one row": lambda of, x, y: x[-1][(of.arange(4) - 1).clamp(0, x.shape[1] - 1)] * 2.0,
    "at two positions": lambda of, x, y: (
        x[(of.arange(4)[:, None] - 1).clamp(0, x.shape[0] - 1), (of.arange(y.shape[1]) * 2).clamp(0, x.shape[1] - 1)]
        * y[0]
    ),
    "in the place of elements": lambda of, x, y: x[:, (y[0] * 3).to(of.int64).clamp(0, x.shape[1] - 1)] * 2.0,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_and_gradients_are_those_of_pytorch(name: str) -> None:
    function = FUNCTIONS[name]
    x, y = numbers(4, 5), numbers(6, 5, seed=1)
    own = [opdsl.from_numpy(operand.copy()).requires_grad_() for operand in (x, y)]
    its = [torch.from_numpy(operand.copy()).requires_grad_() for operand in (x, y)]
    output = opdsl.compile(lambda x, y: function(opdsl, x, y))(*own)
    wanted = function(torch, *its)
    output.square().sum().backward()
    wanted.square().sum().backward()
    assert np.allclose(output.detach().numpy(), wanted.detach().numpy(), rtol=1e-12, atol=1e-12)
    for one, other in zip(own, its, strict=True):
        expected = np.zeros_like(other.detach().numpy()) if other.grad is None else other.grad.numpy()
        gradient = np.zeros_like(expected) if one.grad is None else one.grad.numpy()
        assert np.allclose(gradient, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_lie_as_they_do_call_by_call(name: str) -> None:
    function = FUNCTIONS[name]
    inputs = [opdsl.from_numpy(numbers(4, 5)), opdsl.from_numpy(numbers(6, 5, seed=1))]
    output = opdsl.compile(lambda x, y: function(opdsl, x, y))(*inputs)
    assert output.stride() == function(opdsl, *inputs).stride()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_is_one_kernel(name: str) -> None:
    function = FUNCTIONS[name]
    inputs = opdsl.from_numpy(numbers(4, 5)), opdsl.from_numpy(numbers(6, 5, seed=1))
    assert kernels(lambda x, y: function(opdsl, x, y), *inputs) == ["fused"]


def test_one_program_serves_other_sizes() -> None:
    compiled = opdsl.compile(lambda x, y: windows(opdsl, x, y, -1))
    for size in (5, 8, 3, 70):
        x, w = numbers(2, size), numbers(3, seed=2)
        wanted = windows(torch, torch.from_numpy(x), torch.from_numpy(w), -1)
        assert np.allclose(compiled(opdsl.from_numpy(x), opdsl.from_numpy(w)).numpy(), wanted.numpy())


@pytest.mark.parametrize("size", [0, 1])
def test_sizes_that_broadcast_or_hold_nothing(size: int) -> None:
    x, y = numbers(size, 5), numbers(6, 5, seed=1)
    output = opdsl.compile(lambda x, y: (x[:, None] - y).abs().sum(-1))(opdsl.from_numpy(x), opdsl.from_numpy(y))
    assert np.allclose(output.numpy(), np.abs(x[:, None] - y).sum(-1))


def test_positions_that_nothing_bounds_are_looked_at() -> None:
    x, at = opdsl.from_numpy(numbers(4, 5)), opdsl.tensor([0, -1, 4])
    gathered = opdsl.compile(lambda x, at: x[:, at] * 2.0)
    assert np.allclose(gathered(x, at).numpy(), x.numpy()[:, [0, -1, 4]] * 2.0)
    with pytest.raises(opdsl.errors.PositionError):
        gathered(x, opdsl.tensor([0, 5, 1]))


def test_a_position_without_bounds_beside_one_that_is_clamped() -> None:
    x = opdsl.from_numpy(numbers(4, 5))
    gathered = opdsl.compile(lambda x, at: x[at, (at + 1).clamp(0, 4)] * 2.0)
    with pytest.raises(opdsl.errors.PositionError):
        gathered(x, opdsl.tensor([7]))


def test_what_costs_much_is_not_computed_again() -> None:
    def function(x: Tensor, y: Tensor) -> Tensor:
        return (x.exp()[:, None] * y).sum(-1)

    inputs = opdsl.from_numpy(numbers(4, 5)), opdsl.from_numpy(numbers(6, 5, seed=1))
    program = optimised(opdsl.trace(function, *inputs))
    assert program.steps[0].name == "aten::exp"


def test_reads_before_and_after_a_write_see_their_values() -> None:
    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        x = x.clone()
        position = (opdsl.arange(5) + 1).clamp(0, 4)
        before = x[:, position] * 2.0
        x.mul_(3.0)
        return before, x[:, position] * 2.0

    x = numbers(4, 5)
    before, behind = opdsl.compile(function)(opdsl.from_numpy(x))
    assert np.allclose(before.numpy(), x[:, [1, 2, 3, 4, 4]] * 2)
    assert np.allclose(behind.numpy(), x[:, [1, 2, 3, 4, 4]] * 6)


def test_gradients_of_gradients() -> None:
    def penalty(namespace: Any, grad: Any, x: Any, y: Any) -> Any:
        total = (x[:, None] - y).sin().sum(-1).square().sum()
        (of_x,) = grad(total, [x], create_graph=True)
        return of_x.square().sum()

    own = [opdsl.from_numpy(numbers(*shape)).requires_grad_() for shape in ((4, 5), (6, 5))]
    its = [torch.from_numpy(numbers(*shape)).requires_grad_() for shape in ((4, 5), (6, 5))]
    penalty(opdsl, opdsl.autograd.grad, *own).backward()
    penalty(torch, torch.autograd.grad, *its).backward()
    for one, other in zip(own, its, strict=True):
        assert one.grad is not None
        assert other.grad is not None
        assert np.allclose(one.grad.numpy(), other.grad.numpy(), rtol=1e-11)


def test_long_sums_of_float32_are_exact_to_its_last_places() -> None:
    x, y = (np.random.default_rng(seed).uniform(size=size).astype(np.float32) for seed, size in ((0, 5), (1, 200_000)))
    own = [opdsl.from_numpy(operand.copy()).requires_grad_() for operand in (x, y)]
    summed = opdsl.compile(lambda x, y: (x[:, None] * y - 1.0).abs().sum(-1))(*own)
    summed.sum().backward()
    wide = [torch.from_numpy(operand).double().requires_grad_() for operand in (x, y)]
    wanted = (wide[0][:, None] * wide[1] - 1.0).abs().sum(-1)
    wanted.sum().backward()
    assert np.allclose(summed.detach().numpy(), wanted.detach().numpy(), rtol=3e-7, atol=0)
    for one, other in zip(own, wide, strict=True):
        assert one.grad is not None
        assert other.grad is not None
        assert np.allclose(one.grad.numpy(), other.grad.numpy(), rtol=3e-7, atol=0)


def test_negative_positions_that_a_function_puts_in_the_place_of_others_count_from_the_end() -> None:
    x, at = numbers(4, 5), np.array([3, -7, 0])
    gathered = opdsl.compile(lambda x, at: x[opdsl.where(at < 0, opdsl.full((), -1, dtype=opdsl.int64), at)] * 2.0)
    assert np.allclose(gathered(opdsl.from_numpy(x), opdsl.from_numpy(at)).numpy(), x[[3, -1, 0]] * 2.0)


@lib.op
@formula
def weighted(x: Tensor, ids: Tensor, weight: Tensor) -> Tensor:
    e, c = dims(2)
    return (x[ids[e], c] * weight[e]).order(e, c)


def test_rows_that_elements_choose_are_read_in_place() -> None:
    x, ids, weight = numbers(4, 5), np.array([3, 0, 3]), numbers(3, seed=1)
    output = weighted(opdsl.from_numpy(x), opdsl.from_numpy(ids), opdsl.from_numpy(weight))
    assert np.allclose(output.numpy(), x[ids] * weight[:, None])
    ((_, text),) = kernels_of(weighted.operator)
    assert text.index("# fused:") < text.index("aten.index.Tensor")


@pytest.mark.parametrize("wrong", [-1, 4])
def test_rows_that_are_not_there_are_refused(wrong: int) -> None:
    x, weight = opdsl.from_numpy(numbers(4, 5)), opdsl.from_numpy(numbers(3, seed=1))
    weighted(x, opdsl.tensor([0, 1, 2]), weight)
    with pytest.raises(opdsl.errors.PositionError, match=f"{wrong}, but the dimension has size 4|from {wrong}"):
        weighted(x, opdsl.tensor([0, wrong, 2]), weight)
