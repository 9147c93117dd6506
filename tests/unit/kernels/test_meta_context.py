"""Tests of shape functions: the strides of outputs that they promise to kernels."""

from __future__ import annotations

from typing import Any

import pytest

import opdsl
from opdsl import MemoryFormat
from opdsl.errors import KernelError, ShapeError
from opdsl.kernels.definitions.meta import MetaContext
from opdsl.runtime import cpu

TURNED = opdsl.empty(4, 3, 2).permute(2, 1, 0)
GAPS = opdsl.empty(2, 3, 8)[..., ::2]
KEPT = {"memory_format": MemoryFormat.preserve_format}


def said(shape: tuple[int, ...], **options: Any) -> tuple[tuple[int, ...], bool]:
    """Return the strides of an output, and whether they are exact."""
    context = MetaContext("f", 1, (), cpu)
    context.set_output(0, shape, **{"dtype": opdsl.float32, **options})
    (spec,) = context.specs("f_meta")
    return spec.strides, spec.exact


@pytest.mark.parametrize(
    ("shape", "options", "strides", "exact"),
    [
        ((2, 3, 4), {}, (12, 4, 1), False),
        ((2, 3, 4), {"like": TURNED}, (12, 4, 1), False),
        ((2, 3, 4), {"like": TURNED, **KEPT}, (1, 2, 6), True),
        ((2, 3, 5), {"like": TURNED, **KEPT}, (15, 5, 1), True),
        ((2, 3, 4), {"like": GAPS, **KEPT}, (12, 4, 1), True),
        ((2, 3, 4, 5), {"memory_format": MemoryFormat.channels_last}, (60, 1, 15, 3), True),
        ((2, 3, 4), {"memory_format": MemoryFormat.contiguous_format, "like": TURNED}, (12, 4, 1), True),
        ((2, 3), {"strides": (1, 2)}, (1, 2), True),
        ((2, 3), {"strides": [0, 1]}, (0, 1), True),
    ],
)
def test_strides(shape: tuple[int, ...], options: dict[str, Any], strides: tuple[int, ...], exact: bool) -> None:
    assert said(shape, **options) == (strides, exact)


@pytest.mark.parametrize("strides", [(1,), (1, 2, 3), (3, -1), (-1,)])
def test_strides_that_do_not_fit(strides: tuple[int, ...]) -> None:
    with pytest.raises(KernelError, match="Give one stride that is not negative for each size"):
        said((2, 3), strides=strides)


def test_nothing_to_preserve() -> None:
    with pytest.raises(ShapeError, match="give another memory_format"):
        said((2, 3), **KEPT)
