"""Tests of ``slice_inverse``, compared with PyTorch's: its result, its shared memory, and its gradients."""

from __future__ import annotations

import torch

import opdsl
from opdsl.runtime import share_storage
from tests.torch.twins import assert_agree, of


def test_slice_inverse_restores_the_sliced_tensor() -> None:
    whole = torch.arange(20.0).view(5, 4)
    expected = whole[1:4:2].slice_inverse(whole, 0, 1, 4, 2)
    mine = of(whole)
    actual = mine[1:4:2].slice_inverse(mine, 0, 1, 4, 2)
    assert_agree(actual, expected)
    assert share_storage(actual, mine)


def test_its_gradients_are_pytorchs() -> None:
    gradients = []
    for lib, whole in ((torch, torch.arange(20.0).view(5, 4)), (opdsl, of(torch.arange(20.0).view(5, 4)))):
        own, base = whole[1:4].detach().requires_grad_(), whole.detach().requires_grad_()
        weights = whole * whole
        result = lib.ops.aten.slice_inverse(own, base, 0, 1, 4)
        gradients.append(lib.autograd.grad([(result * weights).sum()], [own, base], allow_unused=True))
    for one, other in zip(gradients[1], gradients[0], strict=True):
        assert_agree(one, other)
