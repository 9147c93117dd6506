"""Values of dims beside tensors on another device, which PoCL's is."""

from __future__ import annotations

from collections.abc import Callable

import numpy
import pytest

import opdsl
from opdsl import Tensor, dim, dims

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
