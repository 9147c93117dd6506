"""Words of plans in memory: a header, and the tables that it points to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy

__all__ = ["Table", "block_of", "placed"]


class Table(NamedTuple):
    """List of words in a plan's memory that another word of the plan points to."""

    words: Sequence[int | Table]


def block_of(header: Sequence[int | Table]) -> numpy.ndarray[Any, numpy.dtype[numpy.int64]]:
    """Return a plan's words as an array: the header, then all tables, with the addresses of tables where they are
    referenced.
    """
    words, offsets = placed(header)
    block = numpy.array([*words, 0], dtype=numpy.int64)
    base = block.__array_interface__["data"][0]
    for word, offset in offsets:
        block[word] = base + 8 * offset
    return block


def placed(header: Sequence[int | Table]) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the words of a header followed by its tables, and for each pointer the indices of the word and of its
    target.
    """
    words: list[Any] = []
    offsets: list[tuple[int, int]] = []
    tables: list[tuple[int | None, Sequence[int | Table]]] = [(None, header)]
    for pointer, values in tables:  # the list grows: tables may contain tables
        if pointer is not None:
            offsets.append((pointer, len(words)))
        for value in values:
            if type(value) is Table:  # isinstance would read the __class__ of a symbol
                tables.append((len(words), value.words))
                words.append(0)
            else:
                words.append(value)
    return words, offsets
