"""Division of a gradient among several elements."""

from __future__ import annotations

from opdsl.runtime import Tensor, float32, promote_types

__all__ = ["shared"]


def shared(value: Tensor, counts: Tensor) -> Tensor:
    """Return ``value / counts``, computed in at least float32 and rounded once to the dtype of ``value``.

    ``counts`` are not converted to float16, which holds no integer above 65,504, and only multiples of 32 near it.

    Args:
        value: the gradient to divide.
        counts: the numbers of elements that share it, int64; broadcast with ``value``.
    """
    wide = promote_types(value.dtype, float32)
    return (value.to(wide) / counts).to(value.dtype)
