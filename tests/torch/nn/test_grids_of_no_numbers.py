"""Tests of ``grid_sample`` at infinite, huge and NaN points: values equal PyTorch's, whose gradients crash."""

from __future__ import annotations

import math

import pytest
import torch

import opdsl

POINTS = [[math.inf, 0.0], [math.nan, 0.0], [-math.inf, math.inf], [1e30, 0.0], [0.1, math.nan], [0.2, -0.4]]


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_points_that_are_no_numbers(mode: str, padding: str, aligned: bool) -> None:
    image = torch.arange(1.0, 10.0).reshape(1, 1, 3, 3)
    points = torch.tensor([[POINTS]])
    theirs = torch.nn.functional.grid_sample(image, points, mode, padding, aligned)
    own = opdsl.from_dlpack(image).requires_grad_()
    ours = opdsl.nn.functional.grid_sample(own, opdsl.from_dlpack(points), mode, padding, aligned)
    torch.testing.assert_close(torch.from_dlpack(ours.detach()), theirs, equal_nan=True)
    if padding != "zeros" and mode != "bicubic":
        ours.sum().backward()
        # The weights of the elements around a point add up to 1.
        assert float(own.grad.sum()) == pytest.approx(len(POINTS))


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding", ["border", "reflection"])
def test_points_of_volumes_that_are_no_numbers(mode: str, padding: str) -> None:
    """NaN coordinates count as -1, as PyTorch documents; its CPU kernel for volumes takes the last element instead."""
    image = torch.arange(1.0, 28.0).reshape(1, 1, 3, 3, 3)
    points = torch.tensor([[[[[math.nan, 0.0, 0.5], [0.3, math.nan, -0.7], [0.1, 0.2, math.nan]]]]])
    theirs = torch.nn.functional.grid_sample(image, points.nan_to_num(-1), mode, padding, False)
    ours = opdsl.nn.functional.grid_sample(opdsl.from_dlpack(image), opdsl.from_dlpack(points), mode, padding, False)
    torch.testing.assert_close(torch.from_dlpack(ours), theirs)
