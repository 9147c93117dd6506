"""Scalar functions of the loops that sort rows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.mathematics.expression import Expression, maximum, minimum, select
from opdsl.scalar.types import ScalarType

if TYPE_CHECKING:
    from opdsl.scalar.graph import TypedGraph

_INT32, _INT64, _BOOL = ScalarType.INT32, ScalarType.INT64, ScalarType.BOOL

MERGED = 8
"""Number of elements that one point of the loop merges."""

MOST = (1 << 63) - 1
"""Largest key; as a position, it is after all others."""


def _graph(parameters: str) -> Callable[[Callable[..., Sequence[Expression]]], Callable[[], TypedGraph]]:
    """Return a decorator that builds a graph from a function of expressions, with the given parameters: int64, or bool
    for names that begin with ``is_``.
    """

    def made(compute: Callable[..., Sequence[Expression]]) -> Callable[[], TypedGraph]:
        @functools.cache
        def graph() -> TypedGraph:
            builder = GraphBuilder()
            expressions = [
                Expression(builder, builder.parameter(name, _BOOL if name.startswith("is_") else _INT64))
                for name in parameters.split()
            ]
            return builder.finish(compute.__name__, [expression.position for expression in compute(*expressions)])

        return graph

    return made


@_graph("is_there key")
def padded(is_there: Expression, key: Expression) -> Sequence[Expression]:
    """Return the key, or the largest key for an element beyond the end of the row."""
    return (select(is_there, key, MOST),)


@_graph("number size at")
def offset(number: Expression, size: Expression, at: Expression) -> Sequence[Expression]:
    return (number * size + at,)


@_graph("one other")
def total(one: Expression, other: Expression) -> Sequence[Expression]:
    return (one + other,)


@_graph("one other")
def difference(one: Expression, other: Expression) -> Sequence[Expression]:
    return (one - other,)


@_graph("begin one second other")
def added(begin: Expression, one: Expression, second: Expression, other: Expression) -> Sequence[Expression]:
    return (begin + one, second + other)


@_graph("level sub")
def turn(level: Expression, sub: Expression) -> Sequence[Expression]:
    """Return one step of a bitonic network: the distance of exchanged elements, the block size after which the sort
    direction alternates, and whether the step is needed.
    """
    half = level.constant(1) << level
    return (half >> sub, half + half, sub <= level)


@_graph("pair step block")
def pair(pair: Expression, step: Expression, block: Expression) -> Sequence[Expression]:
    """Return both positions of a pair that a bitonic network compares, and whether it is sorted in descending order."""
    one = pair + pair - (pair & (step - 1))
    return (one, one + step, (one & block).differs(0))


@_graph("key place other_key other_place is_turned")
def swaps(
    key: Expression, place: Expression, other_key: Expression, other_place: Expression, is_turned: Expression
) -> Sequence[Expression]:
    """Return whether a pair is out of order."""
    return (_precedes(other_key, other_place, key, place) ^ is_turned,)


def _precedes(key: Expression, place: Expression, other_key: Expression, other_place: Expression) -> Expression:
    return (key < other_key) | (key.equals(other_key) & (place < other_place))


@_graph("part rounds round turns turn")
def looked(
    part: Expression, rounds: Expression, number: Expression, turns: Expression, turn: Expression
) -> Sequence[Expression]:
    """Return the index in the row that an iteration of a round reads."""
    return ((part * rounds + number) * turns + turn,)


@_graph("is_there key place limit_key limit_place")
def comes(
    is_there: Expression, key: Expression, place: Expression, limit_key: Expression, limit_place: Expression
) -> Sequence[Expression]:
    """Return whether an element precedes the last one of the first elements so far."""
    return (is_there & _precedes(key, place, limit_key, limit_place),)


@_graph("holds room round rounds")
def sorts(holds: Expression, room: Expression, number: Expression, rounds: Expression) -> Sequence[Expression]:
    """Return whether to sort the tile: it may have no space for another round, or this round is the last."""
    return ((holds > room) | (number + 1).equals(rounds),)


@functools.cache
def widened() -> TypedGraph:
    """Build the graph that converts an int32 integer to int64."""
    builder = GraphBuilder()
    number = Expression(builder, builder.parameter("number", _INT32))
    return builder.finish("widened", [number.cast(_INT64).position])


@_graph("chunk width length")
def part(chunk: Expression, width: Expression, length: Expression) -> Sequence[Expression]:
    """Compute the ranges of two sorted runs that are merged into one chunk of the result (merge path).

    The results are: the begin of both runs, the chunk's offset from the first run, the chunk's begin in the row, the
    lengths of both runs, and the bounds of the number of first-run elements that precede the chunk.
    """
    first = chunk * MERGED
    begin = first - (first & (width + width - 1))
    second = minimum(begin + width, length)
    lefts, rights = second - begin, minimum(begin + width + width, length) - second
    diagonal = first - begin
    return (begin, second, diagonal, first, lefts, rights, maximum(diagonal - rights, 0), minimum(diagonal, lefts))


@_graph("low high begin second diagonal")
def middle(
    low: Expression, high: Expression, begin: Expression, second: Expression, diagonal: Expression
) -> Sequence[Expression]:
    """Return one step of the binary search on the merge path: whether to go on, the middle, and the indices to
    compare.
    """
    middle = (low + high) >> 1
    return (low < high, middle, begin + middle, second + diagonal - 1 - middle)


@_graph("left right low high middle")
def narrowed(
    left: Expression, right: Expression, low: Expression, high: Expression, middle: Expression
) -> Sequence[Expression]:
    before = left <= right
    return (select(before, middle + 1, low), select(before, high, middle))


@_graph("left right left_at right_at one other lefts rights")
def taken(
    left: Expression,
    right: Expression,
    left_at: Expression,
    right_at: Expression,
    one: Expression,
    other: Expression,
    lefts: Expression,
    rights: Expression,
) -> Sequence[Expression]:
    """Return the index of the next element of a merge, and how many elements of both runs are then merged."""
    is_left = (other >= rights) | ((one < lefts) & (left <= right))
    return (select(is_left, left_at, right_at), select(is_left, one + 1, one), select(is_left, other, other + 1))
