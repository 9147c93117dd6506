"""Lists of tensors among the arguments of ``autograd.Function``, which follows no tensors in lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["Lengths", "fold", "listed", "spread"]

# For each argument the length of its list, None for one that is none.
Lengths = tuple[int | None, ...] | None


def listed(values: Sequence[Any]) -> tuple[Lengths, Sequence[Any]]:
    """Return the lengths of the lists among values, and the values with these lists spread."""
    lengths = tuple(len(value) if isinstance(value, list) else None for value in values)
    return lengths, spread(lengths, values)


def spread(lengths: Lengths, values: Sequence[Any]) -> Sequence[Any]:
    """Return values with their lists, which have these lengths, spread; None stands for as many of them."""
    if lengths is None:
        return values
    flat: list[Any] = []
    for length, value in zip(lengths, values, strict=True):
        flat += [value] if length is None else [None] * length if value is None else value
    return flat


def fold(lengths: Lengths, flat: Sequence[Any]) -> tuple[Any, ...]:
    """Return what ``spread`` has spread."""
    if lengths is None:
        return tuple(flat)
    rest = iter(flat)
    return tuple(next(rest) if length is None else [next(rest) for _ in range(length)] for length in lengths)
