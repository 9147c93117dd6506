"""Tests that results require grad where PyTorch's do, also for operators that pass on no gradient."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import opdsl

MODULES = (opdsl, torch)


def gradient(module: Any, name: str) -> Any:
    """Return the gradient of a call, or None if the result does not require grad."""
    x = module.tensor([1.0, 2.0, 0.5], requires_grad=True)
    packets = module.ops.aten
    computed = {
        "ldexp_": lambda: x.clone().ldexp_(module.tensor([1.0, 2.0, 3.0])),
        "histc": lambda: x.histc(3),
        "_new_zeros_with_same_feature_meta": lambda: packets._new_zeros_with_same_feature_meta(x, x),
        "rrelu_with_noise_functional": lambda: packets.rrelu_with_noise_functional(module.ones(3), x, 0.1, 0.2)[0],
        "bernoulli_": lambda: (x * 2.0).bernoulli_(0.5),
        "uniform_": lambda: (x * 2.0).uniform_(),
    }[name]()
    if not computed.requires_grad:
        return None
    computed.sum().backward()
    return x.grad.tolist()


@pytest.mark.parametrize(
    "name",
    ["ldexp_", "histc", "_new_zeros_with_same_feature_meta", "rrelu_with_noise_functional", "bernoulli_", "uniform_"],
)
def test_gradients_go_where_they_go_in_pytorch(name: str) -> None:
    actual, expected = (gradient(module, name) for module in MODULES)
    assert actual == expected
