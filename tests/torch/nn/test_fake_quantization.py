"""Fake quantization with learned parameters: how zero points are rounded, against PyTorch."""

from __future__ import annotations

import numpy
import pytest
import torch

import opdsl

ZEROS = (0.5, 1.5, 2.5, -0.5, -1.5, -2.5, -2.4, -2.6, 0.49, 7.6, -9.0)


@pytest.mark.parametrize("zero", ZEROS)
@pytest.mark.parametrize("kind", ["tensor", "channel"])
def test_zero_points_are_rounded_as_in_pytorch(kind: str, zero: float) -> None:
    points = torch.linspace(-1, 1, 41).reshape(1, -1)
    scale, point = torch.tensor([0.1]), torch.tensor([zero])
    options = (-8, 7, 1.0) if kind == "tensor" else (0, -8, 7, 1.0)
    name = f"_fake_quantize_learnable_per_{kind}_affine"
    wanted = getattr(torch, name)(points, scale, point, *options)
    ours = [opdsl.from_numpy(input.numpy()) for input in (points, scale, point)]
    actual = getattr(opdsl, name)(*ours, *options)
    numpy.testing.assert_array_equal(actual.numpy(), wanted.numpy())
