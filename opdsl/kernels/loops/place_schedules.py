"""Schedules of loops over places on processors with few threads: which loop is innermost, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import attrs

from opdsl.kernels.loops.distribution import distributed, in_tiles
from opdsl.kernels.loops.factoring import factored, is_one_place, summed
from opdsl.kernels.loops.hoisting import hoisted, uneven
from opdsl.kernels.loops.making import around
from opdsl.kernels.loops.model import (
    Bound,
    Fold,
    For,
    Inside,
    Load,
    Program,
    Size,
    Statement,
    statements_of,
)
from opdsl.kernels.loops.peeling import are_ends_enough, has_border, narrowed, peeled, stepped
from opdsl.kernels.loops.schedules import nested, threaded, unrolled
from opdsl.scalar.types import ScalarType

__all__ = [
    "Repeated",
    "adding",
    "adding_in_stages",
    "folding",
    "is_repeated",
    "staging",
    "storing",
]

_Made = tuple[Statement, ...]


def storing(program: Program, units: Sequence[str], lane: str, tile: int) -> Program:
    """Points whose values are stored: tiles of neighbours, those inside apart from the border.

    Args:
        program: each of its points reads, and stores.
        units: the indices of the outermost loops.
        lane: the index of the innermost one.
        tile: points of a tile.
    """
    return _in_units(program, units, lane, tile, _in_parts)


# What is read for a point of several places at once, and of how many at most: far rows may share lines of the cache.
_AT_ONCE, _MOST_WAYS = 8, 4


class Repeated(NamedTuple):
    """A dimension along which places are the same.

    along: the index of the loop along it. offset: of what type offsets are, see ``hoisted``.
    inwards: whether points are taken one after another, each with everything along the dimension.
    """

    along: str
    offset: ScalarType = ScalarType.INT64
    inwards: bool = False


def staging(program: Program, units: Sequence[str], lane: str, tile: int, repeated: Repeated) -> Program:
    """Points whose values are stored, in tiles, where what is the same along a dimension is computed once for each.

    Args:
        program, units, lane, tile: see ``storing``.
        repeated: that dimension, which is no unit.
    """
    sizes = dict(program.points[0])
    _, body = program.points
    tiles = in_tiles(For(lane, sizes[lane], body), tile)
    (loop,) = tiles.body
    assert isinstance(loop, For), "a tile has points"
    early, late = hoisted(body, repeated.along, lane, offset=repeated.offset)
    several = _several(repeated.along, sizes[repeated.along], loop, late)
    staged = _staged(attrs.evolve(loop, body=(*early, several)), has_border(loop), inwards=repeated.inwards)
    nest = around([(unit, sizes[unit]) for unit in units], (attrs.evolve(tiles, body=staged),))
    return threaded(attrs.evolve(program, body=nest), len(units) + 1)


def _staged(loop: For, border: bool, *, inwards: bool) -> _Made:
    return distributed(loop, rewrite=_in_parts if border else stepped, inwards=stepped if inwards else None)


def _in_parts(loop: For) -> _Made:
    return peeled(loop, stepped, _one_by_one)


def _several(repeated: str, size: Size, points: For, late: _Made) -> For:
    """A loop along a dimension, for several of whose places points are taken at once, so that what is kept is loaded
    for these together.

    Args:
        repeated, size: of the loop.
        points: the loop over points.
        late: what of its body is computed for each place.
    """
    reads = max(1, sum(isinstance(statement, Load) for statement in late))
    ways = 1 if has_border(points) else min(_MOST_WAYS, max(1, _AT_ONCE // reads))
    return For(repeated, size, late, vector=ways, in_order=ways == 1)


def folding(program: Program, units: Sequence[str], lane: str, tile: int, *, inwards: bool) -> Program:
    """Points that are folds: turn after turn of all points of a tile; where turns are few numbers, those of a point
    after another, inside.

    Args:
        program: each of its points is a fold, and what is made of that.
        units, lane, tile: see ``storing``.
        inwards: whether points are taken one after another, each with those of its turns that lie inside.
    """
    return _in_units(program, units, lane, tile, _inwards if inwards else _across)


def is_repeated(program: Program, lane: str, index: str) -> bool:
    """Whether places are the same along an index that step unevenly along the lane."""
    _, body = program.points
    tested = {place for statement in statements_of(body) for place in _tested(statement)}
    return bool(tested & uneven(body, index, lane))


def _tested(statement: Statement) -> tuple[str | int, ...]:
    """The places of elements, before these are led inside."""
    if isinstance(statement, Inside):
        return statement.index
    return (statement.place,) if isinstance(statement, Bound) else ()


def _in_units(
    program: Program, units: Sequence[str], lane: str, tile: int, function: Callable[[For], _Made]
) -> Program:
    sizes = dict(program.points[0])
    _, body = program.points
    loop = in_tiles(For(lane, sizes[lane], body), tile)
    (points,) = loop.body
    assert isinstance(points, For), "a tile has points"
    inner = around([(unit, sizes[unit]) for unit in units[-1:]], function(points))
    tiles = (attrs.evolve(loop, body=inner),)
    return threaded(
        attrs.evolve(program, body=around([(unit, sizes[unit]) for unit in units[:-1]], tiles)), len(units) + 1
    )


def _one_by_one(loop: For) -> _Made:
    return (attrs.evolve(loop, in_order=True),)


def _inwards(loop: For) -> _Made:
    fold, *rest = loop.body
    assert isinstance(fold, Fold), "points are folds"
    return (attrs.evolve(loop, body=(*nested(fold, narrowed), *rest)),)


def _across(loop: For) -> _Made:
    fold, *_ = loop.body
    assert isinstance(fold, Fold), "points are folds"
    is_few = all(isinstance(size, int) for _, size in fold.ranges) and are_ends_enough(loop)
    if not is_few:
        return distributed(loop, rewrite=lambda points: peeled(points, stepped))
    return peeled(loop, _in_registers, distributed)


def _in_registers(loop: For) -> _Made:
    fold, *rest = loop.body
    assert isinstance(fold, Fold), "points are folds"
    return stepped(attrs.evolve(loop, body=(*unrolled(fold), *rest)))


def adding(program: Program, units: Sequence[str], lane: str) -> Program:
    """Points that add at places.

    Args:
        program: each of its points reads, and updates.
        units: the indices that every write passes on: no two of their points write one place.
        lane: the index of the innermost loop.
    """
    ranges, body = program.points
    sizes = dict(ranges)
    return _within(program, units, (lane,), peeled(For(lane, sizes[lane], body), stepped, _one_by_one))


def adding_in_stages(program: Program, units: Sequence[str], lane: str, tile: int, repeated: Repeated) -> Program:
    """Points that add at places, in tiles, where what is the same along a dimension is computed once for each; what is
    added at one place along it is summed before.

    Args:
        program, units, lane: see ``adding``.
        tile, repeated: see ``staging``.
    """
    ranges, body = program.points
    sizes = dict(ranges)
    tiles = in_tiles(For(lane, sizes[lane], body), tile)
    (loop,) = tiles.body
    assert isinstance(loop, For), "a tile has points"
    index, offset = repeated.along, repeated.offset
    if is_one_place(body, index, lane):
        fold, last = summed(body, (index, sizes[index]))
        fold, product = factored(fold, lane)
        early, late = hoisted(fold.body, index, lane, fold.values, offset)
        whole = (*early, attrs.evolve(fold, body=late), *product, *last)
    else:
        early, late = hoisted(body, index, lane, offset=offset)
        whole = (*early, _several(index, sizes[index], For(lane, sizes[lane], body), late))
    border = has_border(For(lane, sizes[lane], body))
    staged = _staged(attrs.evolve(loop, body=whole), border, inwards=repeated.inwards)
    return _within(program, units, (lane, index), (attrs.evolve(tiles, body=staged, in_order=True),))


def _within(program: Program, units: Sequence[str], taken: Sequence[str], body: _Made) -> Program:
    """Statements within loops along all indices but those that are taken; the units are outermost."""
    ranges = dict(program.points[0])
    for text in reversed([index for index in ranges if index not in (*units, *taken)]):
        body = (For(text, ranges[text], body, in_order=True),)
    return threaded(attrs.evolve(program, body=around([(unit, ranges[unit]) for unit in units], body)), len(units))
