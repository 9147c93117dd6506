"""Schedules of loops over places on processors with few threads: which loop is innermost, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from opdsl.kernels.loops.factoring import factored, is_one_place, summed
from opdsl.kernels.loops.hoisting import hoisted, uneven
from opdsl.kernels.loops.making import around
from opdsl.kernels.loops.model import (
    Bound,
    Fold,
    For,
    Inside,
    Load,
    Part,
    Parts,
    Program,
    Size,
    Statement,
    names_of,
    statements_of,
)
from opdsl.kernels.loops.peeling import are_ends_enough, has_border, narrowed, peeled, stepped
from opdsl.kernels.loops.point_tiles import Rows, distributed, in_tiles
from opdsl.kernels.loops.rewriting import read_by
from opdsl.kernels.loops.schedules import nested, threaded, unrolled
from opdsl.kernels.loops.stepping import Step, steps_along

__all__ = [
    "KEPT",
    "PITCH",
    "ROWS",
    "adding",
    "adding_in_stages",
    "folding",
    "is_in_rows",
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


KEPT = 512
"""Points that something is kept for: no fewer than a tile has, and no more than fit beside what is read."""

ROWS, PITCH = "rows_n", "pitch"
"""The words that ``staging`` adds: rows of a tile, and how far they are apart in memory."""

# What is read for a point of several places at once, and of how many at most: far rows may share lines of the cache.
_AT_ONCE, _MOST_WAYS = 8, 4


def staging(program: Program, units: Sequence[str], lane: str, repeated: str, tile: int, *, in_rows: bool) -> Program:
    """Points whose values are stored, in tiles, where what is the same along a dimension is computed once for each.

    Args:
        program, units, lane, tile: see ``storing``.
        repeated: the index of that dimension, which is no unit.
        in_rows: whether it is computed for several rows, see ``is_in_rows``; there are ``ROWS`` of them.
    """
    sizes = dict(program.points[0])
    _, body = program.points
    early, late = hoisted(body, repeated, lane)
    points = For(lane, sizes[lane], body)
    whole = attrs.evolve(points, body=(*early, _several(repeated, sizes[repeated], points, late)))
    border = has_border(points)
    if not in_rows:
        return _in_units(program, units, lane, tile, lambda loop: _staged(attrs.evolve(loop, body=whole.body), border))
    row = units[-1]
    rows = For(row, sizes[row], (), part=Part("rows", ROWS), place="row")
    tiles = in_tiles(whole, tile)
    (loop,) = tiles.body
    assert isinstance(loop, For), "a tile has points"
    size = sizes[row]
    assert not isinstance(size, Parts), "a range of points is whole"
    block = For("rows", Parts(size, ROWS), _staged(loop, border, Rows(rows, PITCH, KEPT)))
    nest = around([(each, sizes[each]) for each in units[:-1]], (attrs.evolve(tiles, body=(block,)),))
    return threaded(attrs.evolve(program, words=(*program.words, ROWS, PITCH), body=nest), len(units) + 1)


def _staged(loop: For, border: bool, rows: Rows | None = None) -> _Made:
    return distributed(loop, made=_in_parts if border else stepped, rows=rows)


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
    reads = max(1, sum(isinstance(each, Load) for each in late))
    ways = 1 if has_border(points) else min(_MOST_WAYS, max(1, _AT_ONCE // reads))
    return For(repeated, size, late, vector=ways, in_order=ways == 1)


def is_in_rows(program: Program, row: str, lane: str, repeated: str) -> bool:
    """Whether what is the same along a dimension differs from one row to the next, so that it is worth having that of
    several: what these read at one place of the dimension is still in the cache then, if it does not lie side by side
    for the places of the dimension.
    """
    _, body = program.points
    early, late = hoisted(body, repeated, lane)
    if not any(row in read_by(each) for each in early):
        return False
    kept, along = {name for each in early for name in names_of(each)}, steps_along(late, repeated)
    for each in late:
        if isinstance(each, Load) and kept.intersection(map(str, (*each.index, each.offset))):
            places = zip(each.index, program.arrays[each.array].strides, strict=True)
            if any(stride == 1 and along.get(str(place)) == Step(1) for place, stride in places):
                return False
    return True


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
    tested = {place for each in statements_of(body) for place in _tested(each)}
    return bool(tested & uneven(body, index, lane))


def _tested(each: Statement) -> tuple[str | int, ...]:
    """The places of elements, before these are led inside."""
    if isinstance(each, Inside):
        return each.index
    return (each.place,) if isinstance(each, Bound) else ()


def _in_units(program: Program, units: Sequence[str], lane: str, tile: int, made: Callable[[For], _Made]) -> Program:
    sizes = dict(program.points[0])
    _, body = program.points
    loop = in_tiles(For(lane, sizes[lane], body), tile)
    (points,) = loop.body
    assert isinstance(points, For), "a tile has points"
    inner = around([(each, sizes[each]) for each in units[-1:]], made(points))
    tiles = (attrs.evolve(loop, body=inner),)
    return threaded(
        attrs.evolve(program, body=around([(each, sizes[each]) for each in units[:-1]], tiles)), len(units) + 1
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
        return distributed(loop, made=lambda points: peeled(points, stepped))
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


def adding_in_stages(program: Program, units: Sequence[str], lane: str, repeated: str, tile: int) -> Program:
    """Points that add at places, in tiles, where what is the same along a dimension is computed once for each; what is
    added at one place along it is summed before.

    Args:
        program, units, lane: see ``adding``.
        repeated, tile: see ``staging``.
    """
    ranges, body = program.points
    sizes = dict(ranges)
    tiles = in_tiles(For(lane, sizes[lane], body), tile)
    (loop,) = tiles.body
    assert isinstance(loop, For), "a tile has points"
    if is_one_place(body, repeated, lane):
        fold, last = summed(body, (repeated, sizes[repeated]))
        fold, product = factored(fold, lane)
        early, late = hoisted(fold.body, repeated, lane, fold.values)
        whole = (*early, attrs.evolve(fold, body=late), *product, *last)
    else:
        early, late = hoisted(body, repeated, lane)
        whole = (*early, _several(repeated, sizes[repeated], For(lane, sizes[lane], body), late))
    made = _staged(attrs.evolve(loop, body=whole), has_border(For(lane, sizes[lane], body)))
    return _within(program, units, (lane, repeated), (attrs.evolve(tiles, body=made, in_order=True),))


def _within(program: Program, units: Sequence[str], taken: Sequence[str], body: _Made) -> Program:
    """Statements within loops along all indices but those that are taken; the units are outermost."""
    ranges = dict(program.points[0])
    for each in reversed([index for index in ranges if index not in (*units, *taken)]):
        body = (For(each, ranges[each], body, in_order=True),)
    return threaded(attrs.evolve(program, body=around([(each, ranges[each]) for each in units], body)), len(units))
