"""Memory planning: offsets of temporary blocks in one arena, where blocks with disjoint lifetimes share memory.

The largest blocks are placed first, each at the lowest offset that is free during its lifetime: greedy by size, as
TFLite plans arenas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Block", "placed"]

# Blocks begin at cache lines.
_ALIGNMENT = 64


class Block(NamedTuple):
    """Temporary block of memory in an arena.

    name: the name of the block.
    size: its size in bytes.
    offset: the offset of its first byte.
    first, last: the indices of the step that makes it, and of the step that uses it last.
    """

    name: str
    size: int
    offset: int
    first: int
    last: int


def placed(blocks: Sequence[Block]) -> list[Block]:
    """Return blocks with their offsets assigned, in the given order.

    >>> [block.offset for block in placed([Block("x", 100, 0, 0, 1), Block("y", 50, 0, 1, 2), Block("z", 80, 0, 2, 3)])]
    [0, 128, 0]
    """
    done: dict[str, Block] = {}
    for block in sorted(blocks, key=lambda block: (-block.size, block.first, block.name)):
        beside = (value for value in done.values() if value.first <= block.last and block.first <= value.last)
        offset = 0
        for neighbour in sorted(beside, key=lambda other: other.offset):
            if offset + block.size <= neighbour.offset:
                break
            offset = max(offset, -(-(neighbour.offset + neighbour.size) // _ALIGNMENT) * _ALIGNMENT)
        done[block.name] = block._replace(offset=offset)
    return [done[block.name] for block in blocks]
