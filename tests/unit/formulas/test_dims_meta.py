"""Tests of shapes of formulas whose values over dims and numbers go to the device of the tensors."""

from __future__ import annotations

from typing import Any

import pytest

import opdsl
from opdsl import Library, Tensor, dims, formula

lib = Library("dims_meta")


@lib.op
@formula
def transformed(x: Tensor) -> Tensor:
    """Compute the real part of a discrete Fourier transform, as a sum of products with values of dims."""
    n, k = dims(2, [None, x.shape[-1]])
    return (x[..., n] * opdsl.cos((k * n).to(x.dtype) * 0.5)).sum(n).order(..., k)


@lib.op
@formula
def counted(ids: Tensor) -> Tensor:
    """Count how often each index occurs, by scattering a number."""
    i = opdsl.dim()
    return opdsl.scatter(opdsl.zeros(5, device=ids.device), (ids[i],), 1.0, reduce="sum")


@lib.op
@formula
def position_sums(ids: Tensor) -> Tensor:
    """Add the positions at which each index occurs, by scattering a dim."""
    i = opdsl.dim()
    base = opdsl.zeros(5, dtype=opdsl.int64, device=ids.device)
    return opdsl.scatter(base, (ids[i],), i + 0, reduce="sum")


@pytest.mark.parametrize(
    ("operator", "argument"),
    [
        (transformed, opdsl.ones(2, 6)),
        (counted, opdsl.tensor([4, 0, 4])),
        (position_sums, opdsl.tensor([4, 0, 4])),
    ],
)
def test_meta_agrees(operator: Any, argument: Tensor) -> None:
    result = operator(argument)
    for meta in (operator.meta(argument), operator(argument.to("meta"))):
        assert meta.is_meta
        assert (meta.shape, meta.dtype) == (result.shape, result.dtype)
