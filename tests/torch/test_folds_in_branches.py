"""Tests of folds in branches that depend on elements, compared with ``torch.where``: they fold all elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import opdsl
from opdsl import Library, Tensor, dims, formula
from opdsl.interop.torch import register

lib = Library("folds_in_branches")


@lib.op
@formula
def sums(self: Tensor, z: Tensor) -> Tensor:
    return self if self > 0 else (self * 2).sum(-1, keepdim=True)


@lib.op
@formula
def extrema(self: Tensor, z: Tensor) -> Tensor:
    return opdsl.amin(opdsl.sigmoid(z) + self * 0, dim=-2, keepdim=True) if self * z > 0 else z


@lib.op
@formula
def after_a_fold(self: Tensor, z: Tensor) -> Tensor:
    return (self.exp().sum(-1, keepdim=True) * z).sin() if self > z else self * 3


@lib.op
@formula
def moved(self: Tensor, z: Tensor) -> Tensor:
    return opdsl.flip(self * self, (-1,)) * z if self < 0.5 else z


@lib.op
@formula
def nested(self: Tensor, z: Tensor) -> Tensor:
    t = self * 2
    if self > 0:
        t = t * 3
        if z > 0:
            t = t + t.sum(-1, keepdim=True)
    return t * 2


@lib.op
@formula
def smaller(self: Tensor, z: Tensor) -> Tensor:
    scaled = (z * 2).exp() if self > 0 else 1.0
    return scaled.sum(-1, keepdim=True) * self


@lib.op
@formula
def shapes(self: Tensor, z: Tensor) -> Tensor:
    return (z * 2).shape[-1] * self if self > 0 else self.sum(-1, keepdim=True)


@lib.op
@formula
def over_dims(self: Tensor, z: Tensor) -> Tensor:
    i, k = dims(2)
    x, y = self[i, k], z[i, 0]
    return (x if x > y else (x * 2 + y).sum(k)).order(i, k)


@lib.op
@formula
def placed_dims(self: Tensor, z: Tensor) -> Tensor:
    i, k = dims(2)
    x, y = self[i, k], z[i, 0]
    return (x if x > y else (x * y).order(k).sum(0)).order(i, k)


@lib.op
@formula
def scanned(self: Tensor, z: Tensor) -> Tensor:
    i, k = dims(2)
    x, y = self[i, k], z[i, 0]
    return (x if x > y else opdsl.scan(lambda h, a: h * 0.5 + a, 0.0, x * 2, along=k)).order(i, k)


def torch_nested(x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    t = x * 6
    return torch.where(x > 0, torch.where(z > 0, t + t.sum(-1, keepdim=True), t), x * 2) * 2


def torch_scanned(x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    states = [x[:, 0] * 2]
    for column in range(1, x.shape[1]):
        states.append(states[-1] * 0.5 + x[:, column] * 2)
    return torch.where(x > z, x, torch.stack(states, 1))


THEIRS: dict[str, Callable[..., Any]] = {
    "sums": lambda x, z: torch.where(x > 0, x, (x * 2).sum(-1, keepdim=True)),
    "extrema": lambda x, z: torch.where(x * z > 0, torch.amin(torch.sigmoid(z) + x * 0, dim=-2, keepdim=True), z),
    "after_a_fold": lambda x, z: torch.where(x > z, (x.exp().sum(-1, keepdim=True) * z).sin(), x * 3),
    "moved": lambda x, z: torch.where(x < 0.5, torch.flip(x * x, (-1,)) * z, z),
    "nested": torch_nested,
    "smaller": lambda x, z: torch.where(x > 0, (z * 2).exp(), 1.0).sum(-1, keepdim=True) * x,
    "shapes": lambda x, z: torch.where(x > 0, z.shape[-1] * x, x.sum(-1, keepdim=True)),
    "over_dims": lambda x, z: torch.where(x > z, x, (x * 2 + z).sum(-1, keepdim=True)),
    "placed_dims": lambda x, z: torch.where(x > z, x, (x * z).sum(-1, keepdim=True)),
    "scanned": torch_scanned,
}


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    register(lib)


def outcome(function: Callable[..., Any], leaves: list[Any], grad: Any) -> list[Any]:
    """Return the value, and gradients of both orders."""
    value = function(*leaves)
    weights = sum((leaf * leaf).sum() for leaf in leaves)  # so that every leaf gets a gradient
    first = grad([(value * value).sum() + weights], leaves, create_graph=True)
    second = grad([sum((slope * slope).sum() for slope in first)], leaves)
    return [value, *first, *second]


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("name", THEIRS)
def test_values_and_gradients(name: str, count: int) -> None:
    torch.manual_seed(count)
    own = getattr(opdsl.ops.folds_in_branches, name)
    compiled = opdsl.compile(lambda x, z: own(x, z))
    for _ in range(3):  # plans serve the later calls
        tensors = [torch.randn(shape, dtype=torch.float64) for shape in ((count, 7), (count, 1))]
        leaves = [leaf.clone().requires_grad_() for leaf in tensors]
        expected = outcome(THEIRS[name], leaves, torch.autograd.grad)
        in_torch = outcome(getattr(torch.ops.folds_in_branches, name), leaves, torch.autograd.grad)
        torch.testing.assert_close(in_torch, expected)
        for function in (own, compiled):
            plain = function(*[opdsl.from_numpy(leaf.numpy()) for leaf in tensors])
            torch.testing.assert_close(torch.from_numpy(plain.numpy()), expected[0].detach())
            ours = [opdsl.from_numpy(leaf.numpy()).requires_grad_() for leaf in tensors]
            arrays = [tensor.detach().numpy() for tensor in outcome(function, ours, opdsl.autograd.grad)]
            for one, other in zip(arrays, expected, strict=True):
                torch.testing.assert_close(torch.from_numpy(one), other.detach())


def test_what_is_not_folded_in_a_branch_guards_gradients() -> None:
    with Library("guarding_branches") as local:

        @local.op
        @formula
        def roots(self: Tensor, z: Tensor) -> Tensor:
            """Sum roots of ``self``, or of the smaller ``z`` where only ``z`` is positive."""
            y = opdsl.sqrt(self) if self > 0 else opdsl.sqrt(z) * 0.5 if z > 0 else 0.0
            return y.sum(-1)

        compiled = opdsl.compile(lambda x, z: roots(x, z) * 1.0)
        for function in (roots, roots, compiled, compiled, compiled):  # plans serve the later calls
            x = opdsl.tensor([[0.0, 4.0], [1.0, 0.0]], requires_grad=True)
            z = opdsl.tensor([[0.0], [4.0]], requires_grad=True)
            value = function(x, z)
            assert value.tolist() == [2.0, 2.0]
            grads = opdsl.autograd.grad([value.sum()], [x, z])
            assert [grad.tolist() for grad in grads] == [[[0.0, 0.25], [0.5, 0.0]], [[0.0], [0.125]]]


def test_compiled_formulas_of_elements_guard_gradients() -> None:
    with Library("guarding_elements") as local:

        @local.op
        @formula
        def root(self: Tensor) -> Tensor:
            return opdsl.sqrt(self) if self > 0 else 0.0

        compiled = opdsl.compile(lambda x: (root(x) * 2).sum())
        for _ in range(3):
            x = opdsl.tensor([0.0, 4.0], requires_grad=True)
            assert opdsl.autograd.grad([compiled(x)], [x])[0].tolist() == [0.0, 0.5]
