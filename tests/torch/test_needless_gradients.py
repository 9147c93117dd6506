"""Tests that values which formulas only compare, and results that nothing uses, get no gradients, even if their
derivatives are NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import opdsl
from opdsl import Library, Tensor, formula
from opdsl.interop.torch import register

lib = Library("needless")


@lib.op
@formula
def powers(x: Tensor, y: Tensor) -> Tensor:
    low = opdsl.minimum(x, y)
    is_real = opdsl.where(low.prod(-1, keepdim=True) != 0, y / x, opdsl.pow(low, low)) != 0
    return opdsl.where(is_real, x, opdsl.tanh(low))


@lib.op
@formula
def logarithms(x: Tensor, y: Tensor) -> Tensor:
    scaled = x * y
    total = opdsl.log(scaled).sum(-1, keepdim=True)
    return opdsl.where((total > 0) & (scaled.sum(-1, keepdim=True) > 0), scaled, opdsl.sin(scaled) * x)


@lib.op
@formula
def roots(x: Tensor, y: Tensor) -> Tensor:
    norm = opdsl.sqrt((x * x).sum(-1, keepdim=True))
    return (opdsl.exp(x) * y if norm > 1 else x).sum(0)


def powers_in_torch(x: Any, y: Any) -> Any:
    low = torch.minimum(x, y)
    is_real = torch.where(low.prod(-1, keepdim=True) != 0, y / x, torch.pow(low, low)) != 0
    return torch.where(is_real, x, torch.tanh(low))


def logarithms_in_torch(x: Any, y: Any) -> Any:
    scaled = x * y
    total = torch.log(scaled).sum(-1, keepdim=True)
    return torch.where((total > 0) & (scaled.sum(-1, keepdim=True) > 0), scaled, torch.sin(scaled) * x)


def roots_in_torch(x: Any, y: Any) -> Any:
    norm = torch.sqrt((x * x).sum(-1, keepdim=True))
    return torch.where(norm > 1, torch.exp(x) * y, x).sum(0)


@lib.op
@formula
def several(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return (x * y).log(), (x + y).exp(), x.sqrt() * y


@lib.op
@formula
def several_with_sums(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    total = (x + y).sum(-1, keepdim=True)
    return (x * y).log() + total, (x + y).exp() * total, x.sqrt() * y


def several_in_torch(x: Any, y: Any) -> Any:
    return (x * y).log(), (x + y).exp(), x.sqrt() * y


def several_with_sums_in_torch(x: Any, y: Any) -> Any:
    total = (x + y).sum(-1, keepdim=True)
    return (x * y).log() + total, (x + y).exp() * total, x.sqrt() * y


CASES = [(powers, powers_in_torch), (logarithms, logarithms_in_torch), (roots, roots_in_torch)]


@pytest.mark.parametrize(("ours", "theirs"), CASES, ids=["powers", "logarithms", "roots"])
def test_gradients_are_those_of_the_text(ours: Any, theirs: Any) -> None:
    random = np.random.default_rng(0)
    arrays = [random.standard_normal((3, 4)), random.standard_normal(4)]
    arrays[0][1] = 0
    for _ in range(3):
        wanted = [torch.tensor(array, requires_grad=True) for array in arrays]
        tensors = [opdsl.tensor(array.tolist(), dtype=opdsl.float64, requires_grad=True) for array in arrays]
        expected, actual = theirs(*wanted), ours(*tensors)
        weights = random.standard_normal(expected.shape)
        expected.backward(torch.tensor(weights))
        actual.backward(opdsl.from_numpy(weights))
        np.testing.assert_allclose(actual.detach().numpy(), expected.detach().numpy(), rtol=1e-12)
        for mine, other in zip(tensors, wanted, strict=True):
            zeros = np.zeros(other.shape)
            slopes = zeros if other.grad is None else other.grad.numpy()
            np.testing.assert_allclose(zeros if mine.grad is None else mine.grad.numpy(), slopes, rtol=1e-12)


OF_SEVERAL = [(several, several_in_torch), (several_with_sums, several_with_sums_in_torch)]


@pytest.mark.parametrize("used", [(0,), (1,), (2,), (0, 1), (1, 2)])
@pytest.mark.parametrize(("ours", "theirs"), OF_SEVERAL, ids=["elements", "sums"])
@pytest.mark.parametrize("is_in_torch", [False, True])
def test_results_that_nothing_uses_have_no_gradients(
    ours: Any, theirs: Any, used: tuple[int, ...], is_in_torch: bool
) -> None:
    """At 0 the derivatives of the logarithm and of the root are infinite, and NaN if they are multiplied by 0."""
    lib_of_ours = torch if is_in_torch else opdsl
    register(lib)
    call = getattr(torch.ops.needless, str(ours.schema.name.base)) if is_in_torch else ours

    def gradients(module: Any, function: Any) -> list[Any]:
        x = module.tensor([[0.0, 1.0, -2.0], [0.0, 4.0, 0.5]], requires_grad=True)
        y = module.tensor([0.5, 0.0, 2.0], requires_grad=True)
        results = function(x, y)
        sum(results[at].sum() for at in used).backward()
        return [x.grad, y.grad]

    for _ in range(3):
        for one, other in zip(gradients(lib_of_ours, call), gradients(torch, theirs), strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5)


def test_a_step_of_several_results_has_no_gradients_of_unused_ones() -> None:
    """``removed`` is read by nothing that is returned, but computed together with ``kept``."""

    def function(x: Any) -> Any:
        kept, removed = x.exp(), x.log()
        removed = removed * 2
        shown = removed.reshape(-1)
        shown.zero_()
        return kept, shown + x.sum()

    compiled = opdsl.compile(function)
    for _ in range(2):
        ours, theirs = (module.tensor([0.0, 1.0], requires_grad=True) for module in (opdsl, torch))
        compiled(ours)[0].sum().backward()
        function(theirs)[0].sum().backward()
        np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-6)
