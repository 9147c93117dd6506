"""Tests of values over dims combined with tensors on another device, PoCL's."""

from __future__ import annotations

from collections.abc import Callable

import numpy
import pytest

import opdsl
from opdsl import Library, Tensor, dim, dims, formula

pytest.importorskip("pyopencl")


def weighted(x: Tensor) -> Tensor:
    n, c = dims(2)
    return (x[n, c] * (n + 1) + opdsl.where(n < c, 1.0, 2.0)).sum(c).order(n)


def shifted(x: Tensor) -> Tensor:
    n, i = dims(2, [None, 5])
    return x.outside("reflect")[n, i * 2 - 3].order(n, i)


def largest_position(x: Tensor) -> Tensor:
    n, c = dims(2)
    y = x[n, c]
    k = dim(4)
    return (y - (c + k).amax(k)).order(n, c)


@pytest.mark.parametrize("function", [weighted, shifted, largest_position])
def test_positions_go_where_the_tensors_are(function: Callable[[Tensor], Tensor]) -> None:
    x = opdsl.randn(2, 5)
    try:
        moved = x.to("opencl")
    except opdsl.errors.OpdslError as error:
        pytest.skip(str(error))
    numpy.testing.assert_allclose(function(moved).cpu().numpy(), function(x).numpy(), rtol=1e-5)


lib = Library("dims_devices")


@lib.op
@formula
def turned(x: Tensor) -> Tensor:
    t, i = dims(2)
    other = x[..., t, i ^ 1] * opdsl.sin(t * 0.5)
    return (x[..., t, i] * opdsl.cos(t * 0.5) + other).order(..., t, i)


@lib.op
@formula
def windows(x: Tensor) -> Tensor:
    t, k = dims(2, [x.shape[-1], 3])
    return x.outside(0.0)[..., t + k - 1].sum(k).order(..., t)


@pytest.mark.parametrize("operator", [turned, windows])
def test_formulas_compute_positions_where_the_tensors_are(operator: Callable[[Tensor], Tensor]) -> None:
    x = opdsl.randn(2, 5, 4)
    try:
        moved = x.to("opencl")
    except opdsl.errors.OpdslError as error:
        pytest.skip(str(error))
    numpy.testing.assert_allclose(operator(moved).cpu().numpy(), operator(x).numpy(), rtol=1e-5, atol=1e-6)
