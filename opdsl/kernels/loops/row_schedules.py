"""CPU schedules of rows and scans: chunks of a row in parallel lanes, prefetch of the next row."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from opdsl.kernels.loops.making import before
from opdsl.kernels.loops.model import (
    Array,
    Fetch,
    Fold,
    For,
    Load,
    Local,
    Part,
    Program,
    Scan,
    Statement,
    Store,
)
from opdsl.kernels.loops.schedules import folded
from opdsl.runtime.dtype import to_dtype

__all__ = ["PART_LENGTH", "fetching", "scans_in_parts"]

PART_LENGTH = "part_n"
"""Name of the word that ``scans_in_parts`` adds: the length of a chunk."""


def scans_in_parts(program: Program, count: int) -> Program:
    """Split the rows of scans into ``count`` chunks that are scanned side by side in vector lanes.

    The chunks are folded first; then each is scanned from the combined value of the chunks before it. The rest of a row
    comes last.

    Args:
        program: each of its points is an associative scan.
        count: of chunks. The word ``PART_LENGTH`` is their number of iterations; a row has at least ``count`` times as
            many, and the rest is no longer than one chunk.
    """
    (loop,) = program.body
    assert isinstance(loop, For), "points are those of a loop"
    (scan,) = loop.body
    assert isinstance(scan, Scan) and scan.is_associative, "points are a scan that can be cut"
    kinds = scan.step.result_types
    arrays, values, wholes, befores, texts, begins = (
        tuple(f"{name}_{of}" for name in scan.names) for of in ("parts", "value", "whole", "before", "found", "begin")
    )

    def loads(names: Sequence[str], place: str) -> tuple[Load, ...]:
        return tuple(Load(name, array, (place,), kind) for name, array, kind in zip(names, arrays, kinds, strict=True))

    def stores(names: Sequence[str], place: str) -> tuple[Store, ...]:
        return tuple(Store(array, (place,), name) for array, name in zip(arrays, names, strict=True))

    part = attrs.evolve(folded(scan), names=wholes, part=Part("part", PART_LENGTH))
    whole = attrs.evolve(
        part, ranges=(("part_whole", count),), body=loads(values, "part_whole"), values=values, part=None
    )
    loaded, after = loads(values, "part_before"), stores(begins, "part_before")
    span = ("part_before", count)
    offsets = Scan(texts, scan.first, before(scan.step), span, loaded, values, begins, after, False)
    again = attrs.evolve(scan, first=befores, part=Part("part_again", PART_LENGTH))
    rest = attrs.evolve(scan, first=wholes, part=Part(count, PART_LENGTH))
    body: tuple[Statement, ...] = (
        *(Local(Array(name, to_dtype(kind.value), (count,), (1,))) for name, kind in zip(arrays, kinds, strict=True)),
        For("part", count, (part, *stores(wholes, "part")), vector=count),
        whole,
        offsets,
        For("part_again", count, (*loads(befores, "part_again"), again), vector=count),
        rest,
    )
    words = (*program.words, PART_LENGTH)
    return attrs.evolve(program, words=words, body=(attrs.evolve(loop, body=body),))


def fetching(program: Program) -> Program:
    """Prefetch the next row after the first fold of a row, if the elements of a row are contiguous."""
    (loop,) = program.body
    assert isinstance(loop, For), "points are those of a loop"
    at = next((k for k, statement in enumerate(loop.body) if isinstance(statement, Fold)), None)
    if at is None:
        return program
    fold = loop.body[at]
    assert isinstance(fold, Fold), "it was found"
    along = fold.ranges[0]
    read = next((statement for statement in fold.body if isinstance(statement, Load)), None)
    if read is None or read.index[-1] != along[0] or program.arrays[read.array].strides[-1] != 1:
        return program
    fetch = Fetch(read.array, read.index, loop.index, along)
    return attrs.evolve(program, body=(attrs.evolve(loop, body=(*loop.body[: at + 1], fetch, *loop.body[at + 1 :])),))
