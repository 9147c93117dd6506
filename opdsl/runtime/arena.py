"""Where blocks of memory lie in one that holds them all: two share a place where they do not live at once.

The largest are placed first, each at the lowest offset that is free for as long as it lives: greedy by size, as TFLite
plans arenas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Block", "placed"]

# Blocks begin at lines of the cache.
_ALIGNMENT = 64


class Block(NamedTuple):
    """What is made on the way.

    name: of it.
    size: in bytes.
    offset: of its first byte.
    first, last: the steps that make it, and that use it last, by place.
    """

    name: str
    size: int
    offset: int
    first: int
    last: int


def placed(blocks: Sequence[Block]) -> list[Block]:
    """Blocks with their offsets, in the order in which they are given.

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
