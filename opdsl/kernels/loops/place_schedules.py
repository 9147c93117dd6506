"""CPU schedules of indexed loops: which loop is innermost, and how it is tiled, split and hoisted."""

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
    Scan,
    Size,
    Statement,
    When,
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
    "pointing",
    "staging",
    "storing",
]

_Made = tuple[Statement, ...]


def storing(program: Program, units: Sequence[str], lane: str, tile: int) -> Program:
    """Schedule an indexed loop that stores values: tiles of adjacent iterations, those in bounds split from the border.

    Args:
        program: each of its outer iterations (points) reads, and stores.
        units: the indices of the outermost loops.
        lane: the index of the innermost loop.
        tile: iterations of a tile.
    """
    return _in_units(program, units, lane, tile, _in_parts)


# How many loads of a point run together for several iterations of the repeated dimension, and the most iterations:
# distant rows may share cache lines.
_AT_ONCE, _MOST_WAYS = 8, 4


class Repeated(NamedTuple):
    """Dimension along which indices are the same, so that they are computed once.

    along: the index of the loop along it. offset: the type of offsets, see ``hoisted``.
    inwards: whether points run one after another, each with the whole loop along the dimension.
    """

    along: str
    offset: ScalarType = ScalarType.INT64
    inwards: bool = False


def staging(program: Program, units: Sequence[str], lane: str, tile: int, repeated: Repeated) -> Program:
    """Schedule an indexed loop that stores values: split it into tiles of adjacent iterations, and compute the values
    that do not depend on the repeated dimension before the loop along it.

    Args:
        program, units, lane, tile: see ``storing``.
        repeated: the repeated dimension, which is not among the units.
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
    """Build a loop along the repeated dimension, several iterations of which run together for each point, so that
    hoisted values are loaded once for these.

    Args:
        repeated, size: of the loop.
        points: the loop over the tile.
        late: the statements of its body that run for each iteration.
    """
    reads = max(1, sum(isinstance(statement, Load) for statement in late))
    ways = 1 if has_border(points) else min(_MOST_WAYS, max(1, _AT_ONCE // reads))
    return For(repeated, size, late, vector=ways, in_order=ways == 1)


def folding(program: Program, units: Sequence[str], lane: str, tile: int, *, inwards: bool) -> Program:
    """Schedule an indexed loop that reduces: each iteration of a fold runs for a whole tile of outer iterations; short
    folds run in registers instead.

    Args:
        program: each of its outer iterations (points) is a fold, followed by statements that use its result.
        units, lane, tile: see ``storing``.
        inwards: whether points run one after another, each with the in-bounds iterations of its fold.
    """
    return _in_units(program, units, lane, tile, _inwards if inwards else _across)


def pointing(program: Program, units: Sequence[str], lane: str, tile: int) -> Program:
    """Schedule any loops: the points of a tile run one after another, each as it is written.

    Args:
        program, units, lane, tile: see ``storing``; a program without outer loops has no lane.
    """
    program = threaded(program, len(units) + bool(lane))
    if not lane:
        return threaded(attrs.evolve(program, body=around([("point", 1)], _along_one(program.body))), 1)
    return _in_units(program, units, lane, tile, lambda loop: _along_one(_one_by_one(loop)))


def _along_one(statements: Sequence[Statement]) -> _Made:
    """Return statements in which each fold is along one range."""
    results: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Scan):
            body, after = _along_one(statement.body), _along_one(statement.after)
            results.append(attrs.evolve(statement, body=body, after=after))
        elif isinstance(statement, Fold):
            ranges = statement.ranges or ((f"{statement.names[0]}_turn", 1),)
            results += nested(
                attrs.evolve(statement, ranges=ranges, body=_along_one(statement.body)), lambda fold: (fold,)
            )
        elif isinstance(statement, (For, When)):
            results.append(attrs.evolve(statement, body=_along_one(statement.body)))
        else:
            results.append(statement)
    return tuple(results)


def is_repeated(program: Program, lane: str, index: str) -> bool:
    """Return whether indices are invariant along ``index`` and not affine in ``lane``, so that staging pays off."""
    _, body = program.points
    tested = {place for statement in statements_of(body) for place in _tested(statement)}
    return bool(tested & uneven(body, index, lane))


def _tested(statement: Statement) -> tuple[str | int, ...]:
    """Return the indices that a statement checks, or maps into bounds."""
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
    """Schedule an indexed loop that adds to elements at computed indices (scatter-add).

    Args:
        program: each of its outer iterations (points) reads, and updates.
        units: the indices that appear in every write, so that no two of their iterations write one element.
        lane: the index of the innermost loop.
    """
    ranges, body = program.points
    sizes = dict(ranges)
    return _within(program, units, (lane,), peeled(For(lane, sizes[lane], body), stepped, _one_by_one))


def adding_in_stages(program: Program, units: Sequence[str], lane: str, tile: int, repeated: Repeated) -> Program:
    """Schedule a scatter-add: split it into tiles of adjacent iterations, and compute the values that do not depend on
    the repeated dimension before the loop along it.

    Additions to one element along the repeated dimension are summed before.

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
    """Nest statements in loops over all indices of a program except ``taken``, the units outermost."""
    ranges = dict(program.points[0])
    for text in reversed([index for index in ranges if index not in (*units, *taken)]):
        body = (For(text, ranges[text], body, in_order=True),)
    return threaded(attrs.evolve(program, body=around([(unit, ranges[unit]) for unit in units], body)), len(units))
