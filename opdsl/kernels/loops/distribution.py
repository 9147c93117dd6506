"""Loop distribution: schedules that take the points of the outermost loop together, statement by statement.

What a point knows, and later statements ask for, is memory with an element for each point then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import attrs

from opdsl.kernels.loops.making import numbers
from opdsl.kernels.loops.model import (
    Array,
    Compute,
    Fetch,
    Fold,
    For,
    Load,
    Local,
    Part,
    Parts,
    Program,
    Scan,
    Size,
    Statement,
    Store,
    blocks_of,
)
from opdsl.runtime.dtype import to_dtype
from opdsl.scalar.graph import Number, TypedGraph
from opdsl.scalar.types import ScalarType

__all__ = ["across"]

# The names of a tile of points, and of a point's place in it.
_TILE, _LANE = "tile", "lane"


def across(program: Program, lanes: int, block: int) -> Program:
    """The points of the only loop around all in tiles: every turn of an inner loop is taken for all points of one.

    Args:
        program: whose points have folds, scans, loops without others within, and statements that follow these.
        lanes: points of a tile.
        block: turns of a fold that have accumulators of their own, which are combined then.
    """
    (loop,) = program.body
    assert isinstance(loop, For), "points are those of a loop"
    tile = _Tile(loop, lanes, block)
    body = tuple(tile.distributed(loop.body))
    return attrs.evolve(program, body=(For(_TILE, Parts(_plain(loop.size), lanes), body),))


def _plain(size: Size) -> int | str:
    assert not isinstance(size, Parts), "a range of points is whole"
    return size


class _Tile:
    """The statements of a tile.

    spread: for values of a point the array that has them, and their types.
    widened: the arrays of a point, which have a dimension more here.
    """

    def __init__(self, loop: For, lanes: int, block: int) -> None:
        self.loop, self.lanes, self.block = loop, lanes, block
        self.spread: dict[str, tuple[str, ScalarType]] = {}
        self.widened: set[str] = set()

    def distributed(self, statements: Sequence[Statement]) -> Iterator[Statement]:
        """Statements of a point, for all of them."""
        last: list[Statement] = []
        for each in statements:
            if isinstance(each, Local):
                yield self.widen(each)
            elif isinstance(each, Fold):
                yield from self.fold(each)
            elif isinstance(each, Scan):
                yield from self.scan(each)
            elif isinstance(each, For):
                yield attrs.evolve(each, body=(self.points(each.body),))
            elif not isinstance(each, Fetch):
                last.append(each)
        if last:
            yield self.points(last)

    def points(self, statements: Iterable[Statement]) -> For:
        """A loop over the points of the tile, which begins with what they know."""
        body = [self.moved(each) for each in statements]
        read = {name for each in body for name in _read(each)}
        known = (self.reload(name) for name in self.spread if name in read)
        part = Part(_TILE, self.lanes)
        return For(self.loop.index, self.loop.size, (*known, *body), part=part, place=_LANE)

    def moved(self, each: Statement) -> Statement:
        """A statement whose places in memory of the point are those of its lane."""
        assert not blocks_of(each), "loops within loops are not distributed"
        if isinstance(each, (Load, Store)) and each.array in self.widened:
            return attrs.evolve(each, index=(*each.index, _LANE))
        return each

    def reload(self, name: str) -> Load:
        """What a point knows."""
        array, kind = self.spread[name]
        return Load(name, array, (_LANE,), kind)

    def widen(self, each: Local) -> Local:
        """Memory of a point, for all of them."""
        array = each.array
        self.widened.add(array.name)
        steps = tuple(stride * self.lanes for stride in array.strides if isinstance(stride, int))
        return Local(attrs.evolve(array, sizes=(*array.sizes, self.lanes), strides=(*steps, 1)))

    def memory(self, name: str, kind: ScalarType) -> Local:
        """Memory for a value of each point."""
        return Local(Array(name, to_dtype(kind.value), (self.lanes,), (1,)))

    def filled(self, arrays: Sequence[str], first: Sequence[Number | str], kinds: Sequence[ScalarType]) -> For:
        """Numbers, or what points know, into memory."""
        made = [f"{array}_first" for array in arrays]
        values = [each if isinstance(each, str) else name for each, name in zip(first, made, strict=True)]
        computed = [
            Compute((name,), numbers((each,), (kind,)), ())
            for name, each, kind in zip(made, first, kinds, strict=True)
            if not isinstance(each, str)
        ]
        stores = [Store(array, (_LANE,), value) for array, value in zip(arrays, values, strict=True)]
        return self.points([*computed, *stores])

    def combined(
        self, graph: TypedGraph, arrays: Sequence[str], values: Sequence[str], names: Sequence[str]
    ) -> list[Statement]:
        """What a graph makes of what is in memory, and of values: its first results go back there."""
        before = [f"{array}_before" for array in arrays]
        kinds = graph.result_types[: len(arrays)]
        loads = [Load(name, array, (_LANE,), kind) for name, array, kind in zip(before, arrays, kinds, strict=True)]
        stores = [Store(array, (_LANE,), name) for array, name in zip(arrays, names, strict=False)]
        return [*loads, Compute(tuple(names), graph, (*before, *values)), *stores]

    def fold(self, each: Fold) -> Iterator[Statement]:
        """A fold of each point, block after block, turn after turn."""
        kinds = each.combine.result_types
        ((index, size),) = each.ranges
        assert each.part is None and each.where is None, "all turns of a fold are distributed"
        wholes, parts, made = ([f"{name}_{of}" for name in each.names] for of in ("lanes", "block", "made"))
        yield from (self.memory(*pair) for pair in zip((*wholes, *parts), (*kinds, *kinds), strict=True))
        yield self.filled(wholes, each.neutral, kinds)
        number = f"{each.names[0]}_number"
        turn = self.points([*each.body, *self.combined(each.combine, parts, each.values, made)])
        found = [f"{part}_found" for part in parts]
        loads = [Load(name, part, (_LANE,), kind) for name, part, kind in zip(found, parts, kinds, strict=True)]
        block = (
            self.filled(parts, each.neutral, kinds),
            For(index, size, (turn,), in_order=True, part=Part(number, self.block)),
            self.points([*loads, *self.combined(each.combine, wholes, found, made)]),
        )
        yield For(number, Parts(_plain(size), self.block), block, in_order=True)
        self.spread |= dict(zip(each.names, zip(wholes, kinds, strict=True), strict=True))

    def scan(self, each: Scan) -> Iterator[Statement]:
        """A scan of each point, turn after turn."""
        kinds = each.step.result_types[: len(each.names)]
        index, size = each.range
        carried = [f"{name}_lanes" for name in each.names]
        yield from (self.memory(*pair) for pair in zip(carried, kinds, strict=True))
        yield self.filled(carried, each.first, kinds)
        step = self.combined(each.step, carried, each.values, (*each.names, *each.results))
        turn = self.points([*each.body, *step, *each.after])
        yield For(index, size, (turn,), in_order=True, is_reverse=each.is_reverse)


def _read(each: Statement) -> tuple[str | int, ...]:
    """The values that a statement of one point takes."""
    if isinstance(each, Compute):
        return each.arguments
    return (each.value,) if isinstance(each, Store) else ()
