"""Loop distribution: schedules that take the points of a loop together, statement by statement.

What a point knows, and later statements ask for, is memory with an element for each point then.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import attrs

from opdsl.kernels.loops.making import is_pairwise, numbers
from opdsl.kernels.loops.model import (
    Array,
    Bound,
    Compute,
    Fetch,
    Fold,
    For,
    Inside,
    Load,
    Local,
    Offset,
    Part,
    Parts,
    Program,
    Range,
    Scan,
    Statement,
    Store,
    When,
    blocks_of,
    names_of,
    statements_of,
)
from opdsl.kernels.loops.rewriting import read_by, renamed
from opdsl.runtime.dtype import DType, to_dtype
from opdsl.scalar.graph import Number, TypedGraph
from opdsl.scalar.types import ScalarType

__all__ = ["Folds", "across", "along", "distributed", "in_tiles"]

# The names of a tile of points, and of a point's place in it.
_TILE, _LANE = "tile", "lane"

_Loop = Callable[[For], tuple[Statement, ...]]


class Folds(NamedTuple):
    """How a fold goes through its turns, so that rounding errors grow slowly and a lane need not wait.

    blocks: steps that have accumulators of their own, which are combined then; blocks that have; and so on.
    steps: turns that are combined with each other first; what they leave over is taken in smaller steps, 1 at last.
    around: as ``blocks``, of ranges around the last one.
    gathers: whether elements that do not lie side by side are brought together before they are folded: few processors
        have vectors of them.
    """

    blocks: tuple[int, ...] = ()
    steps: tuple[int, ...] = (1,)
    around: tuple[int, ...] = ()
    gathers: bool = False


def across(program: Program, lanes: int, folds: Folds) -> Program:
    """The points of the only loop around all in tiles: every turn of an inner loop is taken for all points of one.

    Args:
        program: whose points have folds, scans, loops without others within, and statements that follow these.
        lanes: points of a tile.
        folds: how their folds are taken.
    """
    (loop,) = program.body
    assert isinstance(loop, For), "points are those of a loop"
    tiles = in_tiles(loop, lanes)
    (points,) = tiles.body
    assert isinstance(points, For), "a tile has points"
    tile = Tile(points, lanes, folds, _apart(program, loop.body, loop.index) if folds.gathers else {})
    return attrs.evolve(program, body=(attrs.evolve(tiles, body=tuple(tile.distributed(loop.body))),))


def along(program: Program, lanes: int, folds: Folds) -> Program:
    """The fold of each point by several lanes, whose accumulators are combined at last.

    A lane takes every so many-th turn of the last range; one after another of a fold in order, of which what is left
    over comes last.

    Args:
        program: whose points begin with a fold; of a fold in order over one range, of ``lanes ** 2`` turns at least.
        lanes: a power of two.
        folds: how a lane folds.
    """
    (loop,) = program.body
    assert isinstance(loop, For), "points are those of a loop"
    fold, *rest = loop.body
    assert isinstance(fold, Fold), "points begin with a fold"
    apart = _apart(program, fold.body, fold.ranges[-1][0]) if folds.gathers else {}
    body = _ordered_lanes(fold, lanes, folds) if fold.in_order else _lanes(fold, lanes, folds, apart)
    return attrs.evolve(program, body=(attrs.evolve(loop, body=(*body, *rest)),))


def _apart(program: Program, statements: Sequence[Statement], index: str) -> dict[str, DType]:
    """The names of loads of elements that lie apart along an index, and how these are stored."""
    within = [*statements_of(statements)]
    same = {
        index,
        *(statement.name for statement in within if isinstance(statement, Bound) and statement.place == index),
    }
    return {
        statement.name: program.arrays[statement.array].dtype
        for statement in within
        if isinstance(statement, Load)
        for place, stride in zip(statement.index, program.arrays[statement.array].strides, strict=True)
        if place in same and isinstance(stride, str)
    }


def _lanes(fold: Fold, lanes: int, folds: Folds, apart: Mapping[str, DType]) -> Iterator[Statement]:
    """A fold, of which each lane takes every so many-th turn."""
    *around, (index, size) = fold.ranges
    step = f"{index}_step"
    place = Bound(index, _LANE, size, "trusted", Part(step, lanes))
    steps = (*around, (step, Parts(size, lanes, are_whole=True)))
    tile = Tile(For(_LANE, lanes, ()), lanes, folds, apart)
    yield from tile.fold(attrs.evolve(fold, ranges=steps, body=(place, *fold.body)))
    arrays = [tile.spread[name][0] for name in fold.names]
    left = Part(Parts(size, lanes, are_whole=True), lanes)
    turn: Statement = For(index, size, tuple(tile.folded_into(arrays, fold)), part=left, place=_LANE)
    for outer in reversed(around):
        turn = For(*outer, (turn,), in_order=True)
    yield turn
    if is_pairwise(fold.combine):
        values = [f"{name}_lane" for name in fold.names]
        loads = [attrs.evolve(load, index=(_LANE,)) for load in tile.loads(values, arrays, fold)]
        yield attrs.evolve(fold, ranges=((_LANE, lanes),), body=tuple(loads), values=tuple(values))
        return
    half = lanes // 2
    while half:
        yield from tile.halved(arrays, fold, half)
        half //= 2
    yield from (
        Load(name, array, (0,), kind)
        for name, array, kind in zip(fold.names, arrays, fold.combine.result_types, strict=True)
    )


def _ordered_lanes(fold: Fold, lanes: int, folds: Folds) -> Iterator[Statement]:
    """A fold in order, of which each lane takes a part."""
    ((index, size),) = fold.ranges
    turns = Parts(size, lanes, are_whole=True)
    step, part = f"{index}_step", ("part", lanes)
    place = Bound(index, step, size, "trusted", Part(_LANE, turns))
    tile = Tile(For(_LANE, lanes, ()), lanes, folds)
    yield from tile.fold(attrs.evolve(fold, ranges=((step, turns),), body=(place, *fold.body)))
    kinds = fold.combine.result_types
    wholes, lefts, values = ([f"{name}_{of}" for name in fold.names] for of in ("whole", "left", "value"))
    loads = tuple(
        Load(value, tile.spread[name][0], (part[0],), kind)
        for value, name, kind in zip(values, fold.names, kinds, strict=True)
    )
    yield attrs.evolve(fold, names=tuple(wholes), ranges=(part,), body=loads, values=tuple(values))
    yield attrs.evolve(fold, names=tuple(lefts), part=Part(lanes, turns))
    yield Compute(fold.names, fold.combine, (*wholes, *lefts))


class _Brought(NamedTuple):
    """Statements that bring elements together, and the fold that reads them there."""

    before: list[Statement]
    fold: Fold


def in_tiles(loop: For, lanes: int) -> For:
    """A loop in tiles of so many points."""
    points = attrs.evolve(loop, part=Part(_TILE, lanes), place=_LANE)
    return For(_TILE, Parts(loop.size, lanes), (points,))


def distributed(
    loop: For, rewrite: _Loop = lambda loop: (loop,), inwards: _Loop | None = None
) -> tuple[Statement, ...]:
    """The points of a tile, statement by statement.

    Args:
        loop: the points of a tile, see ``in_tiles``.
        rewrite: what becomes of each loop over the points.
        inwards: what becomes of loops of points, which are taken point after point; None for turn after turn.
    """
    assert loop.part is not None and isinstance(loop.part.turns, int), "points are those of a tile"
    return tuple(Tile(loop, loop.part.turns, Folds(), function=rewrite, inwards=inwards).distributed(loop.body))


class Tile:
    """The statements of a tile.

    loop: over its points; what it is made of is not looked at. function, inwards: see ``distributed``.
    spread: for values of a point the array that has them, and their types.
    widened: the arrays of a point, which have a dimension more here.
    apart: the names of loads of elements that are brought together, and how these are stored.
    loops: how many there are so far: what stands before one has names of its own.
    """

    def __init__(
        self,
        loop: For,
        lanes: int,
        folds: Folds,
        apart: Mapping[str, DType] = MappingProxyType({}),
        function: _Loop = lambda loop: (loop,),
        inwards: _Loop | None = None,
    ) -> None:
        self.loop, self.lanes, self.folds, self.apart, self.rewrite, self.inwards = (
            loop,
            lanes,
            folds,
            apart,
            function,
            inwards,
        )
        self.spread: dict[str, tuple[str, ScalarType]] = {}
        self.widened: set[str] = set()
        self.loops = 0

    def distributed(self, statements: Sequence[Statement]) -> Iterator[Statement]:
        """Statements of a point, for all of them: what stands before a loop comes before it."""
        plain: list[Statement] = []
        for place, statement in enumerate(statements):
            if isinstance(statement, Local):
                yield self.widen(statement)
            elif isinstance(statement, When) or not blocks_of(statement):
                plain += () if isinstance(statement, Fetch) else (statement,)
            else:
                if plain:
                    yield from self.kept(plain, statements[place:])
                    plain = []
                yield from self.block(statement)
        if plain:
            yield self.points(plain)

    def block(self, statement: Statement) -> Iterator[Statement]:
        """A fold, a scan or a loop of each point."""
        if isinstance(statement, Fold):
            yield from self.fold(statement)
        elif isinstance(statement, Scan):
            yield from self.scan(statement)
        else:
            assert isinstance(statement, For), "points have folds, scans and loops"
            if self.inwards is None:
                yield attrs.evolve(statement, body=self.all_points(statement.body))
            else:
                one = attrs.evolve(statement, vector=1, in_order=False)
                yield attrs.evolve(self.points(self.inwards(one)), in_order=True)

    def kept(self, statements: Sequence[Statement], behind: Sequence[Statement]) -> Iterator[Statement]:
        """Statements of each point; what is read behind them is in memory then."""
        names = {name for statement in statements_of(behind) for name in names_of(statement)}
        read = {name for statement in behind for name in read_by(statement)} - names
        stores = []
        for name, kind in (pair for statement in statements for pair in _types(statement)):
            if name in read:
                local = self.memory(f"{name}_lanes", kind)
                yield local
                stores.append(Store(local.array.name, (_LANE,), name))
                self.spread[name] = local.array.name, kind
        yield from self.all_points([*statements, *stores])

    def all_points(self, statements: Iterable[Statement]) -> tuple[Statement, ...]:
        """A loop over the points of the tile, and what stands before it."""
        points = self.rewrite(self.points(statements))
        self.loops += 1
        names = {name: f"{name}_{self.loops}" for point in points for name in names_of(point)}
        return tuple(renamed(point, names) for point in points)

    def points(self, statements: Iterable[Statement]) -> For:
        """A loop over the points of the tile, which begins with what they know."""
        body = [self.moved(statement) for statement in statements]
        read = {name for statement in body for name in read_by(statement)}
        names = {name for statement in body for name in names_of(statement)}
        known = (self.reload(name) for name in self.spread if name in read - names)
        return attrs.evolve(self.loop, body=(*known, *body))

    def moved(self, statement: Statement) -> Statement:
        """A statement whose places in memory of the point are those of its lane."""
        if isinstance(statement, (When, For, Fold)):
            return attrs.evolve(statement, body=tuple(map(self.moved, statement.body)))
        if isinstance(statement, (Load, Store)) and statement.array in self.widened:
            return attrs.evolve(statement, index=(*statement.index, _LANE))
        return statement

    def reload(self, name: str) -> Load:
        """What a point knows."""
        array, kind = self.spread[name]
        return Load(name, array, (_LANE,), kind)

    def widen(self, local: Local) -> Local:
        """Memory of a point, for all of them."""
        array = local.array
        self.widened.add(array.name)
        steps = tuple(stride * self.lanes for stride in array.strides if isinstance(stride, int))
        return Local(attrs.evolve(array, sizes=(*array.sizes, self.lanes), strides=(*steps, 1)))

    def memory(self, name: str, kind: ScalarType) -> Local:
        """Memory for a value of each point."""
        return Local(Array(name, to_dtype(kind.value), (self.lanes,), (1,)))

    def filled(self, arrays: Sequence[str], first: Sequence[Number | str], kinds: Sequence[ScalarType]) -> For:
        """Numbers, or what points know, into memory."""
        texts = [f"{array}_first" for array in arrays]
        values = [number if isinstance(number, str) else name for number, name in zip(first, texts, strict=True)]
        computed = [
            Compute((name,), numbers((number,), (kind,)), ())
            for name, number, kind in zip(texts, first, kinds, strict=True)
            if not isinstance(number, str)
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

    def fold(self, fold: Fold) -> Iterator[Statement]:
        """A fold of each point, step after step."""
        kinds = fold.combine.result_types
        assert fold.part is None, "all turns of a fold are distributed"
        wholes = [f"{name}_lanes" for name in fold.names]
        yield from self.neutral(wholes, fold)
        *around, last = fold.ranges
        yield from self.ranges(wholes, fold, around, last)
        self.spread |= dict(zip(fold.names, zip(wholes, kinds, strict=True), strict=True))

    def neutral(self, arrays: Sequence[str], fold: Fold) -> Iterator[Statement]:
        """Memory for the accumulators of no turns."""
        kinds = fold.combine.result_types
        yield from (self.memory(*pair) for pair in zip(arrays, kinds, strict=True))
        yield self.filled(arrays, fold.neutral, kinds)

    def ranges(self, into: Sequence[str], fold: Fold, around: Sequence[Range], last: Range) -> Iterator[Statement]:
        """All turns of ranges, into memory."""
        folds, (index, size) = self.folds, around[0] if around else last
        loop = For(index, size, (), in_order=True)
        if around:
            inner = functools.partial(self.ranges, fold=fold, around=around[1:], last=last)
            yield from self.blocks(into, fold, loop, inner, folds.around)
            return
        yield from self.blocks(into, fold, *self.steps(fold, loop, folds.steps[0]), folds.blocks)
        for larger, turns in itertools.pairwise(folds.steps):
            steps, turn = self.steps(fold, loop, turns)
            left = Part(Parts(size, larger, are_whole=True), larger // turns)
            yield attrs.evolve(steps, body=tuple(turn(into)), part=left)

    def steps(self, fold: Fold, loop: For, turns: int) -> tuple[For, Callable[[Sequence[str]], list[Statement]]]:
        """A loop over steps of so many turns of a fold, and what is done in each, which is given memory."""
        if turns == 1:
            before, near = self.brought(fold, (), 0, 1)
            return loop, lambda into: [*before, *self.all_points(self.folded_into(into, near))]
        index, turn = f"{loop.index}_by_{turns}", f"{loop.index}_turn"
        place = Bound(loop.index, turn, loop.size, "trusted", Part(index, turns))
        names = tuple(f"{name}_step" for name in fold.names)
        before, near = self.brought(fold, (place,), turn, turns)
        step = attrs.evolve(near, names=names, ranges=((turn, turns),), body=(place, *near.body))
        loop = attrs.evolve(loop, index=index, size=Parts(loop.size, turns, are_whole=True))
        return loop, lambda into: [*before, self.points([step, *self.combined_into(into, fold, names)])]

    def brought(self, fold: Fold, places: Sequence[Statement], turn: str | int, turns: int) -> _Brought:
        """Elements of so many turns that lie apart, brought together.

        places: statements that say where a turn is.
        """
        before: list[Statement] = []
        body: list[Statement] = []
        bounds = [bound for bound in fold.body if isinstance(bound, Bound)]
        for load in fold.body:
            if not isinstance(load, Load) or load.name not in self.apart:
                body.append(load)
                continue
            name = f"{load.name}_near_{turns}"
            move = self.points([*bounds, load, Store(name, (turn, _LANE), load.name)])
            near = Array(name, self.apart[load.name], (turns, self.lanes), (self.lanes, 1))
            before += [Local(near), For(turn, turns, (*places, move), in_order=True) if isinstance(turn, str) else move]
            body.append(attrs.evolve(load, array=name, index=(turn, _LANE)))
        return _Brought(before, attrs.evolve(fold, body=tuple(body)))

    def blocks(
        self,
        into: Sequence[str],
        fold: Fold,
        loop: For,
        turn: Callable[[Sequence[str]], Iterable[Statement]],
        blocks: Sequence[int],
    ) -> Iterator[Statement]:
        """A loop over turns, which are folded into memory of blocks, and these into that of larger ones."""
        if not blocks:
            yield attrs.evolve(loop, body=tuple(turn(into)))
            return
        number, own = f"{loop.index}_block", [f"{array}_of_{loop.index}" for array in into]
        inner = attrs.evolve(loop, part=Part(number, blocks[0]), body=tuple(turn(own)))
        texts = [f"{array}_found" for array in own]
        loads = self.loads(texts, own, fold)

        def block(into: Sequence[str]) -> Iterator[Statement]:
            yield from self.neutral(own, fold)
            yield inner
            yield self.points([*loads, *self.combined_into(into, fold, texts)])

        around = For(number, Parts(loop.size, blocks[0]), (), in_order=True)
        yield from self.blocks(into, fold, around, block, blocks[1:])

    def folded_into(self, into: Sequence[str], fold: Fold) -> list[Statement]:
        """A turn of a fold of one point, into memory."""
        combined = self.combined_into(into, fold, fold.values)
        return [*fold.body, *(combined if fold.where is None else [When(fold.where, tuple(combined))])]

    def combined_into(self, into: Sequence[str], fold: Fold, values: Sequence[str]) -> list[Statement]:
        """Accumulators, into memory."""
        return self.combined(fold.combine, into, values, [f"{name}_made" for name in fold.names])

    def loads(self, names: Sequence[str], arrays: Sequence[str], fold: Fold) -> list[Load]:
        """Accumulators in memory."""
        kinds = fold.combine.result_types
        return [Load(name, array, (_LANE,), kind) for name, array, kind in zip(names, arrays, kinds, strict=True)]

    def halved(self, arrays: Sequence[str], fold: Fold, half: int) -> Iterator[Statement]:
        """The accumulators of so many lanes, and of as many others, as those of all."""
        far, kinds = f"{_LANE}_far", fold.combine.result_types
        others = [f"{array}_far" for array in arrays]
        loads = (Load(name, array, (far,), kind) for name, array, kind in zip(others, arrays, kinds, strict=True))
        body = (*loads, *self.combined_into(arrays, fold, others))
        yield For(far, self.lanes, body, part=Part(1, half), place=_LANE)

    def scan(self, scan: Scan) -> Iterator[Statement]:
        """A scan of each point, turn after turn."""
        kinds = scan.step.result_types[: len(scan.names)]
        index, size = scan.range
        carried = [f"{name}_lanes" for name in scan.names]
        yield from (self.memory(*pair) for pair in zip(carried, kinds, strict=True))
        yield self.filled(carried, scan.first, kinds)
        step = self.combined(scan.step, carried, scan.values, (*scan.names, *scan.results))
        turn = self.points([*scan.body, *step, *scan.after])
        yield For(index, size, (turn,), in_order=True, is_reverse=scan.is_reverse)


def _types(statement: Statement) -> Iterator[tuple[str, ScalarType]]:
    """The values that a statement of one point gives, and their types."""
    if isinstance(statement, Compute):
        yield from zip(statement.names, statement.graph.result_types, strict=True)
    elif isinstance(statement, (Load, Offset)):
        yield statement.name, statement.type
    elif isinstance(statement, (Bound, Inside)):
        yield statement.name, ScalarType.BOOL if isinstance(statement, Inside) else ScalarType.INT64
