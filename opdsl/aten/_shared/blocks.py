"""Loops over blocks of a dimension."""

from __future__ import annotations

from collections.abc import Iterator

from opdsl.runtime.symbol import smallest

__all__ = ["blocks"]


def blocks(length: int, size: int) -> Iterator[slice]:
    """Yield the slices that split a dimension of ``length`` elements into blocks of at most ``size`` elements.

    Unlike ``range(0, length, size)`` this works for a symbolic ``length``: a plan of a form then serves all lengths
    that have the same number of blocks.

    >>> list(blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    start = 0
    while start < length:
        yield slice(start, smallest(start + size, length))
        start = start + size
