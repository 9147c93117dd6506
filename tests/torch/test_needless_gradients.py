"""Tests that values which formulas only compare get no gradients, even if their derivatives are NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import opdsl
from opdsl import Library, Tensor, formula

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


CASES = [(powers, powers_in_torch), (logarithms, logarithms_in_torch), (roots, roots_in_torch)]


@pytest.mark.parametrize(("ours", "theirs"), CASES, ids=["powers", "logarithms", "roots"])
def test_gradients_are_those_of_the_text(ours: Any, theirs: Any) -> None:
    random = np.random.default_rng(0)
    arrays = [random.standard_normal((3, 4)), random.standard_normal(4)]
    arrays[0][1] = 0
    for _ in range(3):
        wanted = [torch.tensor(tensor, requires_grad=True) for tensor in arrays]
        tensors = [opdsl.tensor(tensor.tolist(), dtype=opdsl.float64, requires_grad=True) for tensor in arrays]
        expected, result = theirs(*wanted), ours(*tensors)
        weights = random.standard_normal(expected.shape)
        expected.backward(torch.tensor(weights))
        result.backward(opdsl.from_numpy(weights))
        np.testing.assert_allclose(result.detach().numpy(), expected.detach().numpy(), rtol=1e-12)
        for mine, other in zip(tensors, wanted, strict=True):
            zeros = np.zeros(other.shape)
            slopes = zeros if other.grad is None else other.grad.numpy()
            np.testing.assert_allclose(zeros if mine.grad is None else mine.grad.numpy(), slopes, rtol=1e-12)
