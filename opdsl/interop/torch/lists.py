"""Flattening of list arguments for ``autograd.Function``, which does not record tensors in lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["Lengths", "fold", "listed", "spread"]

# For each argument the length of its list, or None if it is not a list.
Lengths = tuple[int | None, ...] | None


def listed(values: Sequence[Any]) -> tuple[Lengths, Sequence[Any]]:
    """Return the lengths of the lists among values, and the values with these lists flattened."""
    lengths = tuple(len(value) if isinstance(value, list) else None for value in values)
    return lengths, spread(lengths, values)


def spread(lengths: Lengths, values: Sequence[Any]) -> Sequence[Any]:
    """Flatten the lists, of known lengths, among values; None in place of a list becomes that number of Nones."""
    if lengths is None:
        return values
    flat: list[Any] = []
    for length, value in zip(lengths, values, strict=True):
        flat += [value] if length is None else [None] * length if value is None else value
    return flat


def fold(lengths: Lengths, flat: Sequence[Any]) -> tuple[Any, ...]:
    """Undo ``spread``: rebuild the lists, of known lengths, from flattened values."""
    if lengths is None:
        return tuple(flat)
    rest = iter(flat)
    return tuple(next(rest) if length is None else [next(rest) for _ in range(length)] for length in lengths)
