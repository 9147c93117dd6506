"""Tests of formulas over a dim whose tensors may have leading dimensions: pointwise on vectors, and folding for
batches.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import opdsl
from opdsl import Library, Tensor, formula


@pytest.fixture
def lib() -> Iterator[Library]:
    with Library("test_mixed_ranks") as library:
        yield library


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4)])
def test_a_weight_without_leading_dimensions(lib: Library, shape: tuple[int, ...]) -> None:
    @lib.op
    @formula
    def scaled(self: Tensor, weight: Tensor) -> Tensor:
        i = opdsl.dim()
        return (self[..., i] * weight[i]).order(..., i)

    x, weight = opdsl.ones(*shape), opdsl.arange(4.0).requires_grad_()
    computed = scaled(x, weight)
    assert bool((computed == x * weight).all())
    computed.sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [float(x.numel() // 4)] * 4
