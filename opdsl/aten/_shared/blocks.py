"""Loops over blocks of a dimension."""

from __future__ import annotations

from collections.abc import Iterator

from opdsl.runtime.symbol import smallest

__all__ = ["blocks"]


def blocks(length: int, size: int) -> Iterator[slice]:
    """Yield the blocks that a dimension is cut into: what ``range(0, length, size)`` would need both numbers for.

    A plan of a form is then for all lengths of so many blocks.

    >>> list(blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    start = 0
    while start < length:
        yield slice(start, smallest(start + size, length))
        start = start + size
