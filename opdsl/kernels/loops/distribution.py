"""Loop distribution: schedules that run each statement for all outer iterations of a tile before the next statement.

Values that later statements read are then stored in local arrays with one element for each point.
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

# The names of the index of a tile of points, and of the index of a point in it.
_TILE, _LANE = "tile", "lane"

_Loop = Callable[[For], tuple[Statement, ...]]


class Folds(NamedTuple):
    """Order of the iterations of a fold, for accuracy (pairwise summation) and for instruction-level parallelism.

    blocks: sizes of nested blocks, each with its own accumulators, which are combined at its end.
    steps: numbers of iterations that are combined with each other before they enter the accumulators, in descending
        order; the remainder of one takes the next, 1 at last.
    around: as ``blocks``, for ranges outside of the last one.
    gathers: whether strided elements are copied to contiguous memory before they are folded, as few processors load
        them as vectors.
    """

    blocks: tuple[int, ...] = ()
    steps: tuple[int, ...] = (1,)
    around: tuple[int, ...] = ()
    gathers: bool = False


def across(program: Program, lanes: int, folds: Folds) -> Program:
    """Distribute the outermost loop of a program in tiles: each iteration of an inner loop runs for all outer
    iterations of a tile.

    Args:
        program: its outer iterations (points) have folds, scans, loops without nested loops, and statements after
            these.
        lanes: outer iterations of a tile.
        folds: how their folds are ordered.
    """
    (loop,) = program.body
    assert isinstance(loop, For), "points are those of a loop"
    tiles = in_tiles(loop, lanes)
    (points,) = tiles.body
    assert isinstance(points, For), "a tile has points"
    tile = Tile(points, lanes, folds, _apart(program, loop.body, loop.index) if folds.gathers else {})
    return attrs.evolve(program, body=(attrs.evolve(tiles, body=tuple(tile.distributed(loop.body))),))


def along(program: Program, lanes: int, folds: Folds) -> Program:
    """Split the fold in each outer iteration among several lanes, whose accumulators are combined at the end.

    A lane takes every ``lanes``-th iteration of the last range; of a fold in order it takes a chunk, and the remainder
    comes last.

    Args:
        program: its outer iterations (points) begin with a fold; a fold in order has one range, of at least ``lanes **
            2`` iterations.
        lanes: a power of two.
        folds: how a lane orders its iterations.
    """
    (loop,) = program.body
    assert isinstance(loop, For), "points are those of a loop"
    fold, *rest = loop.body
    assert isinstance(fold, Fold), "points begin with a fold"
    apart = _apart(program, fold.body, fold.ranges[-1][0]) if folds.gathers else {}
    body = _ordered_lanes(fold, lanes, folds) if fold.in_order else _lanes(fold, lanes, folds, apart)
    return attrs.evolve(program, body=(attrs.evolve(loop, body=(*body, *rest)),))


def _apart(program: Program, statements: Sequence[Statement], index: str) -> dict[str, DType]:
    """Return the names of loads that are strided along an index, with the dtypes of their arrays."""
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
    """Distribute a fold over lanes, each of which takes every ``lanes``-th iteration."""
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
    """Distribute a fold in order over lanes, each of which takes a chunk."""
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
    """Statements that copy strided elements to contiguous memory, and the fold that reads them from there."""

    before: list[Statement]
    fold: Fold


def in_tiles(loop: For, lanes: int) -> For:
    """Split a loop into tiles of ``lanes`` iterations."""
    points = attrs.evolve(loop, part=Part(_TILE, lanes), place=_LANE)
    return For(_TILE, Parts(loop.size, lanes), (points,))


def distributed(
    loop: For, rewrite: _Loop = lambda loop: (loop,), inwards: _Loop | None = None
) -> tuple[Statement, ...]:
    """Distribute the loop over a tile: run each statement for all iterations of the tile before the next statement.

    Args:
        loop: over the iterations (points) of a tile, see ``in_tiles``.
        rewrite: rewrites each loop over the points.
        inwards: rewrites inner loops, which then run inside of a sequential loop over the points; None to run the loop
            over the points inside of each iteration of the inner loop.
    """
    assert loop.part is not None and isinstance(loop.part.turns, int), "points are those of a tile"
    return tuple(Tile(loop, loop.part.turns, Folds(), function=rewrite, inwards=inwards).distributed(loop.body))


class Tile:
    """Builder of the statements of a tile: a number of adjacent outer iterations (points).

    loop: over its points; its body is ignored.
    function, inwards: see ``distributed``.
    spread: for values of a point the local array that holds them for all points, and their types.
    widened: the local arrays of a point, which have an additional dimension here.
    apart: the names of loads of strided elements that are copied to contiguous memory, and the dtypes of their arrays.
    loops: the number of loops so far, for unique names.
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
        """Yield statements of one outer iteration, distributed over all iterations of the tile."""
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
        """Distribute a fold, a scan or a loop."""
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
        """Yield a loop over the tile that runs statements, and stores values that ``behind`` reads in local arrays."""
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
        """Build a loop over the tile's iterations, with the statements before it renamed to be unique."""
        points = self.rewrite(self.points(statements))
        self.loops += 1
        names = {name: f"{name}_{self.loops}" for point in points for name in names_of(point)}
        return tuple(renamed(point, names) for point in points)

    def points(self, statements: Iterable[Statement]) -> For:
        """Build a loop over the tile's iterations, which first reloads the stored values that it reads."""
        body = [self.moved(statement) for statement in statements]
        read = {name for statement in body for name in read_by(statement)}
        names = {name for statement in body for name in names_of(statement)}
        known = (self.reload(name) for name in self.spread if name in read - names)
        return attrs.evolve(self.loop, body=(*known, *body))

    def moved(self, statement: Statement) -> Statement:
        """Add the lane index to accesses of local arrays that have an element for each iteration of the tile."""
        if isinstance(statement, (When, For, Fold)):
            return attrs.evolve(statement, body=tuple(map(self.moved, statement.body)))
        if isinstance(statement, (Load, Store)) and statement.array in self.widened:
            return attrs.evolve(statement, index=(*statement.index, _LANE))
        return statement

    def reload(self, name: str) -> Load:
        """Build the load of a value that was stored for each iteration of the tile."""
        array, kind = self.spread[name]
        return Load(name, array, (_LANE,), kind)

    def widen(self, local: Local) -> Local:
        """Add a dimension for the tile's iterations to a local array."""
        array = local.array
        self.widened.add(array.name)
        steps = tuple(stride * self.lanes for stride in array.strides if isinstance(stride, int))
        return Local(attrs.evolve(array, sizes=(*array.sizes, self.lanes), strides=(*steps, 1)))

    def memory(self, name: str, kind: ScalarType) -> Local:
        """Declare a local array with one element for each iteration of the tile."""
        return Local(Array(name, to_dtype(kind.value), (self.lanes,), (1,)))

    def filled(self, arrays: Sequence[str], first: Sequence[Number | str], kinds: Sequence[ScalarType]) -> For:
        """Build a loop that initializes local arrays with numbers or values, for each iteration of the tile."""
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
        """Build statements that load local arrays, evaluate a graph on them and on values, and store its first results
        back.
        """
        before = [f"{array}_before" for array in arrays]
        kinds = graph.result_types[: len(arrays)]
        loads = [Load(name, array, (_LANE,), kind) for name, array, kind in zip(before, arrays, kinds, strict=True)]
        stores = [Store(array, (_LANE,), name) for array, name in zip(arrays, names, strict=False)]
        return [*loads, Compute(tuple(names), graph, (*before, *values)), *stores]

    def fold(self, fold: Fold) -> Iterator[Statement]:
        """Distribute a fold: allocate accumulators for all iterations of the tile, and reduce into them."""
        kinds = fold.combine.result_types
        assert fold.part is None, "all turns of a fold are distributed"
        wholes = [f"{name}_lanes" for name in fold.names]
        yield from self.neutral(wholes, fold)
        *around, last = fold.ranges
        yield from self.ranges(wholes, fold, around, last)
        self.spread |= dict(zip(fold.names, zip(wholes, kinds, strict=True), strict=True))

    def neutral(self, arrays: Sequence[str], fold: Fold) -> Iterator[Statement]:
        """Allocate accumulators for all iterations of the tile, with their neutral values."""
        kinds = fold.combine.result_types
        yield from (self.memory(*pair) for pair in zip(arrays, kinds, strict=True))
        yield self.filled(arrays, fold.neutral, kinds)

    def ranges(self, into: Sequence[str], fold: Fold, around: Sequence[Range], last: Range) -> Iterator[Statement]:
        """Reduce all iterations of ranges into local arrays."""
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
        """Return a loop over steps of ``turns`` iterations of a fold, and a function that builds its body for given
        accumulators.
        """
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
        """Copy the strided elements of ``turns`` iterations to contiguous memory before the fold reads them.

        places: statements that compute the index of an iteration.
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
        """Build a loop over iterations that are reduced into accumulators of a block, which are reduced into those of
        larger blocks.
        """
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
        """Build the statements that combine one iteration of a fold with accumulators in local arrays."""
        combined = self.combined_into(into, fold, fold.values)
        return [*fold.body, *(combined if fold.where is None else [When(fold.where, tuple(combined))])]

    def combined_into(self, into: Sequence[str], fold: Fold, values: Sequence[str]) -> list[Statement]:
        """Build the statements that combine values with accumulators in local arrays."""
        return self.combined(fold.combine, into, values, [f"{name}_made" for name in fold.names])

    def loads(self, names: Sequence[str], arrays: Sequence[str], fold: Fold) -> list[Load]:
        """Build the loads of accumulators from local arrays."""
        kinds = fold.combine.result_types
        return [Load(name, array, (_LANE,), kind) for name, array, kind in zip(names, arrays, kinds, strict=True)]

    def halved(self, arrays: Sequence[str], fold: Fold, half: int) -> Iterator[Statement]:
        """Combine the accumulators of the upper half of the lanes into those of the lower half."""
        far, kinds = f"{_LANE}_far", fold.combine.result_types
        others = [f"{array}_far" for array in arrays]
        loads = (Load(name, array, (far,), kind) for name, array, kind in zip(others, arrays, kinds, strict=True))
        body = (*loads, *self.combined_into(arrays, fold, others))
        yield For(far, self.lanes, body, part=Part(1, half), place=_LANE)

    def scan(self, scan: Scan) -> Iterator[Statement]:
        """Distribute a scan: each of its steps runs for all iterations of the tile."""
        kinds = scan.step.result_types[: len(scan.names)]
        index, size = scan.range
        carried = [f"{name}_lanes" for name in scan.names]
        yield from (self.memory(*pair) for pair in zip(carried, kinds, strict=True))
        yield self.filled(carried, scan.first, kinds)
        step = self.combined(scan.step, carried, scan.values, (*scan.names, *scan.results))
        turn = self.points([*scan.body, *step, *scan.after])
        yield For(index, size, (turn,), in_order=True, is_reverse=scan.is_reverse)


def _types(statement: Statement) -> Iterator[tuple[str, ScalarType]]:
    """Yield the names that a statement assigns, and their types."""
    if isinstance(statement, Compute):
        yield from zip(statement.names, statement.graph.result_types, strict=True)
    elif isinstance(statement, (Load, Offset)):
        yield statement.name, statement.type
    elif isinstance(statement, (Bound, Inside)):
        yield statement.name, ScalarType.BOOL if isinstance(statement, Inside) else ScalarType.INT64
