"""Distribution of the points of a tile that read at places: what they know before a loop is in memory behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import attrs

from opdsl.kernels.loops.distribution import Folds, Tile
from opdsl.kernels.loops.model import (
    Bound,
    Compute,
    Fold,
    For,
    Inside,
    Load,
    Offset,
    Part,
    Parts,
    Statement,
    Store,
    When,
    blocks_of,
    names_of,
    statements_of,
)
from opdsl.kernels.loops.rewriting import read_by, renamed
from opdsl.scalar.types import ScalarType

__all__ = ["distributed", "in_tiles"]

# The names of a tile of points, and of a point's place in it.
_TILE, _LANE = "tile", "lane"


def in_tiles(loop: For, lanes: int) -> For:
    """A loop in tiles of so many points."""
    points = attrs.evolve(loop, part=Part(_TILE, lanes), place=_LANE)
    assert not isinstance(loop.size, Parts), "a range of points is whole"
    return For(_TILE, Parts(loop.size, lanes), (points,))


def distributed(
    loop: For,
    made: Callable[[For], tuple[Statement, ...]] = lambda loop: (loop,),
    inwards: Callable[[For], tuple[Statement, ...]] | None = None,
) -> tuple[Statement, ...]:
    """The points of a tile, statement by statement.

    Args:
        loop: the points of a tile, see ``in_tiles``.
        made: what becomes of each loop over the points.
        inwards: what becomes of loops of points, which are taken point after point; None for turn after turn.
    """
    return tuple(_PointTile(loop, made, inwards).distributed(loop.body))


class _PointTile(Tile):
    """The statements of a tile, see ``Tile``.

    made, inwards: what becomes of loops over points, and of those within. loops: how many there are so far: what
    stands before one has names of its own.
    """

    def __init__(
        self,
        loop: For,
        made: Callable[[For], tuple[Statement, ...]],
        inwards: Callable[[For], tuple[Statement, ...]] | None,
    ) -> None:
        assert loop.part is not None and isinstance(loop.part.turns, int), "points are those of a tile"
        super().__init__(loop, loop.part.turns, Folds())
        self.made, self.inwards, self.loops = made, inwards, 0

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
                elif self.inwards is not None:
                    yield attrs.evolve(
                        self.points(self.inwards(attrs.evolve(each, vector=1, in_order=False))), in_order=True
                    )
                else:
                    yield attrs.evolve(each, body=self.all_points(each.body))
        if plain:
            yield self.points(plain)

    def kept(self, statements: Sequence[Statement], behind: Sequence[Statement]) -> Iterator[Statement]:
        """Statements of each point; what is read behind them is in memory then."""
        given = {name for each in statements_of(behind) for name in names_of(each)}
        read = {name for each in behind for name in read_by(each)} - given
        stores = []
        for name, kind in (pair for each in statements for pair in _types(each)):
            if name in read:
                local = self.memory(f"{name}_lanes", kind)
                yield local
                stores.append(Store(local.array.name, (_LANE,), name))
                self.spread[name] = local.array.name, kind
        yield from self.all_points([*statements, *stores])

    def all_points(self, statements: Iterable[Statement]) -> tuple[Statement, ...]:
        """A loop over the points of the tile, and what stands before it."""
        points = self.made(self.points(statements))
        self.loops += 1
        names = {name: f"{name}_{self.loops}" for each in points for name in names_of(each)}
        return tuple(renamed(each, names) for each in points)

    def points(self, statements: Iterable[Statement]) -> For:
        """See ``Tile.points``."""
        body = list(statements)
        read = {name for each in body for name in read_by(each)}
        given = {name for each in body for name in names_of(each)}
        known = (self.reload(name) for name in self.spread if name in read - given)
        return attrs.evolve(self.loop, body=(*known, *body))

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
    elif isinstance(each, (Load, Offset)):
        yield each.name, each.type
    elif isinstance(each, (Bound, Inside)):
        yield each.name, ScalarType.BOOL if isinstance(each, Inside) else ScalarType.INT64
