"""Tests of formulas that read at indices, in PyTorch: batches, gradients of each sample, first and second
derivatives.
"""

from __future__ import annotations

import pytest
import torch

import opdsl
from opdsl import Tensor, dims, formula
from opdsl.interop.torch import register

lib = opdsl.Library("batchesofplaces")


@lib.op
@formula
def bend(self: Tensor) -> Tensor:
    """Return the square of the element before, less twice the element."""
    i = opdsl.dim()
    x = self.outside(0.0)
    return (x[..., i - 1] * x[..., i - 1] - 2 * self[..., i]).order(..., i)


@lib.op
@formula
def scaled(self: Tensor, weight: Tensor) -> Tensor:
    """Multiply rows by the squares of weights, which have no leading dimensions."""
    i = opdsl.dim()
    return (self[..., i] * weight[i] * weight[i]).order(..., i)


@lib.op
@formula
def likelihood(self: Tensor, target: Tensor) -> Tensor:
    """Compute the cross entropy of rows."""
    n, c = dims(2)
    x = self[n, c]
    top = x.amax(c)
    return (top + opdsl.log(opdsl.exp(x - top).sum(c)) - self[n, target[n, 0]]).order(n)


@pytest.fixture(scope="module")
def ours():
    register(lib)
    return torch.ops.batchesofplaces


def bent(x):
    before = torch.nn.functional.pad(x, (1, 0))[..., :-1]
    return before * before - 2 * x


X = torch.linspace(-1, 1, 60, dtype=torch.float64).sin().reshape(5, 3, 4)
W = torch.linspace(0.5, 2, 4, dtype=torch.float64)
WS = torch.linspace(0.5, 2, 20, dtype=torch.float64).reshape(5, 4)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_places_of_batches(ours, dim: int) -> None:
    torch.testing.assert_close(torch.vmap(ours.bend, dim, dim)(X), torch.vmap(bent, dim, dim)(X))


@pytest.mark.parametrize(("x", "w", "dims"), [(X, W, (0, None)), (X, WS, (0, 0)), (X[0], WS, (None, 0))])
def test_batches_of_operands_without_leading_dimensions(ours, x, w, dims) -> None:
    wanted = torch.vmap(lambda x, w: x * w * w, dims)(x, w)
    torch.testing.assert_close(torch.vmap(ours.scaled, dims)(x, w), wanted)


@pytest.mark.parametrize("argument", [0, 1])
def test_gradients_of_each_sample(ours, argument: int) -> None:
    def sample_gradients(function):
        total = torch.func.grad(lambda x, w: (function(x, w) ** 2).sum(), argnums=argument)
        return torch.vmap(total, (0, None))(X, W)

    torch.testing.assert_close(sample_gradients(ours.scaled), sample_gradients(lambda x, w: x * w * w))


def test_second_derivatives_of_operands_without_leading_dimensions(ours) -> None:
    assert torch.autograd.gradgradcheck(ours.scaled, (X[:2].clone().requires_grad_(), W.clone().requires_grad_()))


TARGET = torch.tensor([[0], [1], [3]])


def entropy(x):
    return torch.nn.functional.cross_entropy(x, TARGET[:, 0], reduction="sum")


def test_rows_that_are_read_at_places_have_derivatives(ours) -> None:
    x = X[0].clone()

    def loss(x):
        return ours.likelihood(x, TARGET).sum()

    torch.testing.assert_close(torch.func.grad(loss)(x), torch.func.grad(entropy)(x))
    torch.testing.assert_close(torch.func.hessian(loss)(x), torch.func.hessian(entropy)(x))
    torch.testing.assert_close(torch.func.jvp(loss, (x,), (x + 1,)), torch.func.jvp(entropy, (x,), (x + 1,)))
    leaf = x.clone().requires_grad_()
    torch.compile(loss, backend="aot_eager")(leaf).backward()
    torch.testing.assert_close(leaf.grad, torch.func.grad(entropy)(x))
