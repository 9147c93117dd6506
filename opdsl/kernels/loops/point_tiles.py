"""Distribution of the points of a tile that read at places: what they know before a loop is in memory behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import attrs

from opdsl.kernels.loops.distribution import Folds, Tile
from opdsl.kernels.loops.model import (
    Array,
    Bound,
    Compute,
    Fold,
    For,
    Inside,
    Load,
    Local,
    Offset,
    Part,
    Parts,
    Size,
    Statement,
    Store,
    When,
    blocks_of,
    names_of,
)
from opdsl.kernels.loops.rewriting import read_by, renamed
from opdsl.runtime.dtype import to_dtype
from opdsl.scalar.types import ScalarType

__all__ = ["Rows", "distributed", "in_tiles"]

# The names of a tile of points, of a point's place in it, and of a row's place in a tile of several.
_TILE, _LANE, _ROW = "tile", "lane", "row"


class Rows(NamedTuple):
    """Rows of a tile.

    loop: over a part of a range. pitch: how far rows are apart in memory. most: points that a tile has at most.
    """

    loop: For
    pitch: Size
    most: int


def in_tiles(loop: For, lanes: int) -> For:
    """A loop in tiles of so many points."""
    points = attrs.evolve(loop, part=Part(_TILE, lanes), place=_LANE)
    assert not isinstance(loop.size, Parts), "a range of points is whole"
    return For(_TILE, Parts(loop.size, lanes), (points,))


def distributed(
    loop: For, made: Callable[[For], tuple[Statement, ...]] = lambda loop: (loop,), rows: Rows | None = None
) -> tuple[Statement, ...]:
    """The points of a tile, statement by statement.

    Args:
        loop: the points of a tile, see ``in_tiles``.
        made: what becomes of each loop over the points.
        rows: of a tile that has several.
    """
    return tuple(_PointTile(loop, made, rows).distributed(loop.body))


class _PointTile(Tile):
    """The statements of a tile, see ``Tile``.

    made: what becomes of loops over points. rows: of a tile that has several. places: of a point in memory.
    loops: how many there are so far: what stands before one has names of its own.
    """

    def __init__(self, loop: For, made: Callable[[For], tuple[Statement, ...]], rows: Rows | None) -> None:
        assert loop.part is not None and isinstance(loop.part.turns, int), "points are those of a tile"
        super().__init__(loop, loop.part.turns, Folds())
        self.made, self.rows, self.loops = made, rows, 0
        self.places: tuple[str, ...] = (_LANE,) if rows is None else (_ROW, _LANE)

    def distributed(self, statements: Sequence[Statement]) -> Iterator[Statement]:
        """See ``Tile.distributed``: what stands before a loop comes before it."""
        plain: list[Statement] = []
        for place, each in enumerate(statements):
            if not blocks_of(each):
                plain.append(each)
                continue
            if plain:
                yield from self.kept(plain, statements[place:])
                plain = []
            if isinstance(each, Fold):
                yield from self.fold(each)
            else:
                assert isinstance(each, (For, When)), "points have folds and loops"
                if isinstance(each, When):
                    plain.append(each)
                else:
                    yield attrs.evolve(each, body=self.all_points(each.body))
        if plain:
            yield self.points(plain)

    def kept(self, statements: Sequence[Statement], behind: Sequence[Statement]) -> Iterator[Statement]:
        """Statements of each point; what is read behind them is in memory then."""
        read = {name for each in behind for name in read_by(each)}
        stores = []
        for name, kind in (pair for each in statements for pair in _types(each)):
            if name in read:
                local = self.memory(f"{name}_lanes", kind)
                yield local
                stores.append(Store(local.array.name, self.places, name))
                self.spread[name] = local.array.name, kind
        yield from self.all_points([*statements, *stores])

    def all_points(self, statements: Iterable[Statement]) -> tuple[Statement, ...]:
        """Loops over the rows and points of the tile."""
        points = self.made(self.points(statements))
        self.loops += 1
        names = {name: f"{name}_{self.loops}" for each in points for name in names_of(each)}
        points = tuple(renamed(each, names) for each in points)
        return points if self.rows is None else (attrs.evolve(self.rows.loop, body=points),)

    def points(self, statements: Iterable[Statement]) -> For:
        """See ``Tile.points``."""
        body = list(statements)
        read = {name for each in body for name in read_by(each)}
        given = {name for each in body for name in names_of(each)}
        known = (self.reload(name) for name in self.spread if name in read - given)
        return attrs.evolve(self.loop, body=(*known, *body))

    def reload(self, name: str) -> Load:
        """See ``Tile.reload``."""
        array, kind = self.spread[name]
        return Load(name, array, self.places, kind)

    def memory(self, name: str, kind: ScalarType) -> Local:
        """See ``Tile.memory``."""
        if self.rows is None:
            return super().memory(name, kind)
        assert self.rows.loop.part is not None, "rows are a part of all"
        sizes, strides = (self.rows.loop.part.turns, self.lanes), (self.rows.pitch, 1)
        return Local(Array(name, to_dtype(kind.value), sizes, strides), self.rows.most)

    def fold(self, each: Fold) -> Iterator[Statement]:
        """A fold of each point, turn after turn."""
        assert each.part is None, "all turns of a fold are distributed"
        kinds = each.combine.result_types
        wholes, made = ([f"{name}_{of}" for name in each.names] for of in ("lanes", "made"))
        yield from (self.memory(*pair) for pair in zip(wholes, kinds, strict=True))
        yield self.filled(wholes, each.neutral, kinds)
        combined = tuple(self.combined(each.combine, wholes, each.values, made))
        body = self.all_points([*each.body, *(combined if each.where is None else (When(each.where, combined),))])
        for index, size in reversed(each.ranges):
            body = (For(index, size, body, in_order=True),)
        yield from body
        self.spread |= dict(zip(each.names, zip(wholes, kinds, strict=True), strict=True))


def _types(each: Statement) -> Iterator[tuple[str, ScalarType]]:
    """The values that a statement of one point gives, and their types."""
    if isinstance(each, Compute):
        yield from zip(each.names, each.graph.result_types, strict=True)
    elif isinstance(each, Load):
        yield each.name, each.type
    elif isinstance(each, (Bound, Offset, Inside)):
        yield each.name, ScalarType.BOOL if isinstance(each, Inside) else ScalarType.INT64
