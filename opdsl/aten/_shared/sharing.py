"""Gradients that several elements share."""

from __future__ import annotations

from opdsl.runtime import Tensor, float32, promote_types

__all__ = ["shared"]


def shared(value: Tensor, counts: Tensor) -> Tensor:
    """Return ``value / counts`` for whole numbers that the value's dtype may not hold, rounded once.

    float16 holds no number of elements above 65,504, and counts in steps of 32 there.

    Args:
        value: what is shared.
        counts: among how many, as int64; broadcast to the value or the other way round.
    """
    wide = promote_types(value.dtype, float32)
    return (value.to(wide) / counts).to(value.dtype)
