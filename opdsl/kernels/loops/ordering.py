"""Loops that sort rows: tiles by a bitonic network over keys and indices, longer rows by merging sorted tiles.

If only few elements of a long row are wanted, each chunk of the row keeps its first ones, until one chunk has those of
all. The sort is stable, since no two pairs of a key and its index are equal. K. Batcher, Sorting networks and their
applications (1968); S. Odeh, O. Green et al., Merge path - parallel merging made simple (2012).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from opdsl.kernels.calls import OperandSpec
from opdsl.kernels.loops import ordering_graphs as graphs
from opdsl.kernels.loops.forms import by_form
from opdsl.kernels.loops.making import Loops, Maker, around, numbers, pairwise, places
from opdsl.kernels.loops.model import (
    Array,
    Bound,
    Compute,
    For,
    Inside,
    Load,
    Local,
    Range,
    Statement,
    Store,
    Update,
    When,
)
from opdsl.kernels.primitives.ordering import key_graph
from opdsl.runtime.dtype import int32, int64
from opdsl.runtime.strides import contiguous_strides
from opdsl.scalar.types import ScalarType

if TYPE_CHECKING:
    from opdsl.kernels.calls import Layout, Ordering

__all__ = ["Sorting", "Step", "sorting"]

_INT32, _INT64 = ScalarType.INT32, ScalarType.INT64


# For top-k: the least number of tiles in a chunk of a row, so that most elements of it are rejected, and the number of
# chunks that keeps a device busy.
_TILES_OF_A_PART = 16
_MOST_PARTS = 1024


class Step(NamedTuple):
    """Loops of one kernel of a sort, and the memory that is passed for their parameters.

    memory: ``source``, ``values``, ``indices``, or scratch memory.
    """

    loops: Loops
    memory: tuple[str, ...]


class Sorting(NamedTuple):
    """Loops of ``Compiler.order``, which run one after another.

    scratch: the names of scratch memory. shape: of each scratch array, which is int64.
    """

    steps: tuple[Step, ...]
    scratch: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()


def sorting(ordering: Ordering, layout: Layout, kind: ScalarType, tile: int) -> Sorting:
    """Build the loops of a stable sort.

    Args:
        ordering: options of the sort.
        layout: sizes and strides of the operands.
        kind: the type in which elements are compared.
        tile: how many elements threads sort in shared memory, a power of two.
    """
    asked = (ordering, layout)
    if layout.sizes[1][0] <= tile:
        return Sorting((Step(_WHOLE(kind, asked, tile=tile), ("source", "values", "indices")),))
    if ordering.wanted <= tile // 2:
        return _few(kind, asked, tile)
    here, there = ("keys0", "places0"), ("keys1", "places1")
    scratch = here + there
    steps = [Step(_TILES(kind, asked, tile=tile), ("source", *here))]
    width = tile
    while width < layout.sizes[1][0]:
        steps.append(Step(_MERGE(width, asked), (*here, *there)))
        here, there = there, here
        width *= 2
    steps.append(Step(_FINISH(kind, asked), ("source", here[1], "values", "indices")))
    return Sorting(tuple(steps), scratch, (*layout.sizes[0], layout.sizes[1][0]))


def _few(kind: ScalarType, asked: tuple[Ordering, Layout], tile: int) -> Sorting:
    """Build the loops that select the few first elements of long rows (top-k), in ever fewer chunks of the rows."""
    ordering, layout = asked
    size = max(tile // 2, min(tile, 1 << (4 * ordering.wanted - 1).bit_length()))
    turns, most = tile // 4, -(-_MOST_PARTS // math.prod(layout.sizes[0]))
    text, written = "places1", "places0"
    steps: list[Step] = []
    length, longest = layout.sizes[1][0], 0
    while True:
        rounds = -(-length // (turns * max(1, min(most, length // (_TILES_OF_A_PART * tile)))))
        cut = _Cut(length, -(-length // (turns * rounds)), rounds)
        is_again, is_last = bool(steps), cut.parts == 1
        loops = _FIRST(kind, (*asked, cut), tile=size, turns=turns, is_again=is_again, is_last=is_last)
        memory = ("source", *((text,) if is_again else ()), *(("values", "indices") if is_last else (written,)))
        steps.append(Step(loops, memory))
        if is_last:
            return Sorting(tuple(steps), ("places0", "places1")[: len(steps) - 1], (*layout.sizes[0], longest))
        text, written = written, text
        length = cut.parts * ordering.wanted
        longest = max(longest, length)


class _Cut(NamedTuple):
    """Splitting of a row for top-k: how many indices are searched, in how many chunks, in how many rounds each."""

    length: int
    parts: int
    rounds: int


def _scratch(layout: Layout, *sizes: int) -> OperandSpec:
    """Return the operand specification of contiguous int64 scratch memory with ``sizes`` for each row."""
    return OperandSpec(int64, tuple(8 * stride for stride in contiguous_strides((*layout.sizes[0], *sizes))))


# --------------------------------------------------------------------------------------------------------------- tiles


def _whole(kind: ScalarType, asked: tuple[Ordering, Layout], *, tile: int) -> Loops:
    """Build the loops that sort rows of at most one tile."""
    ordering, layout = asked
    maker = Maker("whole")
    kept, length = maker.ranges("i", layout.sizes[0]), maker.size("length", layout.sizes[1][0])
    own, row = places(kept), (*kept, ("", length))
    source = maker.array("a", layout.inputs[0], row)
    body = _sorted_tile(maker, ordering, layout.sizes[1][0], kind, tile, (source, own, None))
    rank = ("rank", maker.size("wanted", ordering.wanted))
    taken = (_trusted("slot", "rank", tile), Load("place", "tile_places", ("slot",), _INT64))
    return maker.finish(
        around(kept, [*body, For(*rank, (*taken, *_results(maker, kind, layout, source, (*kept, rank))))])
    )


def _tiles(kind: ScalarType, asked: tuple[Ordering, Layout], *, tile: int) -> Loops:
    """Build the loops that sort each tile of rows of several tiles."""
    ordering, layout = asked
    spec = _scratch(layout, layout.sizes[1][0])
    maker = Maker("tiles")
    kept, (tiles,) = maker.ranges("i", layout.sizes[0]), maker.ranges("t", (-(-layout.sizes[1][0] // tile),))
    length = maker.size("length", layout.sizes[1][0])
    own, row = places(kept), (*kept, ("", length))
    source = maker.array("a", layout.inputs[0], row)
    maker.size("tile", tile)
    body = _sorted_tile(maker, ordering, tile, kind, tile, (source, own, tiles[0]))
    stores = [Store(maker.array(name, spec, row), (*own, "target"), f"sorted_{name}") for name in ("keys", "places")]
    taken: list[Statement] = [
        Compute(("target",), graphs.offset(), (tiles[0], "tile", "rank")),
        Inside("is_there", ("target",), (length,)),
        _trusted("slot", "rank", tile),
        *(Load(f"sorted_{name}", f"tile_{name}", ("slot",), _INT64) for name in ("keys", "places")),
        When("is_there", tuple(stores)),
    ]
    return maker.finish(around((*kept, tiles), [*body, For("rank", tile, tuple(taken))]))


def _sorted_tile(
    maker: Maker,
    ordering: Ordering,
    count: int,
    kind: ScalarType,
    tile: int,
    source: tuple[str, Sequence[str], str | None],
) -> list[Statement]:
    """Build statements that sort the keys and indices of a tile in local memory; padding beyond the end of a row comes
    last.

    Args:
        maker: of the loops.
        ordering: options of the sort.
        count: elements of a tile, without padding.
        kind: the type in which elements are compared.
        tile: its size.
        source: the array, its row, and the number of the tile, None for a tile that is the whole row.
    """
    array, own, number = source
    levels = max(0, count - 1).bit_length()
    maker.size("levels", levels)
    maker.size("padded", 1 << levels)
    maker.size("pairs", (1 << levels) // 2)
    at = "at" if number is None else "row_at"
    fill: list[Statement] = [
        *([] if number is None else [Compute((at,), graphs.offset(), (number, "tile", "at"))]),
        Inside("inside", (at,), ("length",)),
        Load("element", array, (*own, at), kind, "inside", 0),
        Compute(("key",), key_graph(kind, ordering.descending), ("element",)),
        Compute(("padded_key",), graphs.padded(), ("inside", "key")),
        _trusted("filled", "at", tile),
        Store("tile_keys", ("filled",), "padded_key"),
        Store("tile_places", ("filled",), at),
    ]
    return [*_memory(tile), For("at", "padded", tuple(fill)), _network(tile)]


def _memory(tile: int) -> list[Statement]:
    """Declare local memory for the keys and indices of a tile."""
    return [Local(Array(f"tile_{name}", int64, (tile,), (1,))) for name in ("keys", "places")]


def _network(tile: int) -> Statement:
    """Build the bitonic sorting network of a tile, which exchanges pairs that are out of order."""
    loads = [
        Load(f"{name}_{side}", f"tile_{name}", (side,), _INT64)
        for side in ("one", "other")
        for name in ("keys", "places")
    ]
    stores = [Store(f"tile_{name}", (side,), f"{name}_{other}") for side, other in (("one", "other"), ("other", "one"))
              for name in ("keys", "places")]  # fmt: skip
    exchange: tuple[Statement, ...] = (
        Compute(("low", "high", "turned"), graphs.pair(), ("pair", "step", "block")),
        _trusted("one", "low", tile),
        _trusted("other", "high", tile),
        *loads,
        Compute(("swaps",), graphs.swaps(), (*(load.name for load in loads), "turned")),
        When("swaps", tuple(stores)),
    )
    turn = (
        Compute(("step", "block", "counts"), graphs.turn(), ("level", "sub")),
        When("counts", (For("pair", "pairs", exchange),)),
    )
    return For("level", "levels", (For("sub", "levels", turn, in_order=True),), in_order=True)


# --------------------------------------------------------------------------------------------------- the first elements


def _first(
    kind: ScalarType,
    asked: tuple[Ordering, Layout, _Cut],
    *,
    tile: int,
    turns: int,
    is_again: bool,
    is_last: bool,
) -> Loops:
    """Build the loops that select the first elements of a chunk of a row.

    A tile begins with the first elements so far; elements that precede the last of these are appended. When the tile
    may have no more space it is sorted, and elements after the wanted ones are dropped. Empty slots hold a pair that
    follows all others.

    Args:
        kind: the type in which elements are compared.
        asked: options of the sort, the layout, and how rows are split.
        tile: its size, which holds the wanted elements and those of one round.
        turns: elements that are read in a round.
        is_again: whether it reads the indices that an earlier pass has selected.
        is_last: whether it writes the results, and not indices.
    """
    ordering, layout, cut = asked
    maker = Maker("again" if is_again else "first")
    kept, (part,) = maker.ranges("i", layout.sizes[0]), maker.ranges("p", (cut.parts,))
    source = maker.array("a", layout.inputs[0], (*kept, ("", maker.size("length", layout.sizes[1][0]))))
    wanted, rounds = maker.size("wanted", ordering.wanted), maker.size("rounds", cut.rounds)
    maker.size("levels", tile.bit_length() - 1)
    maker.size("pairs", tile // 2)
    look: list[Statement] = [
        Compute(("at",), graphs.looked(), (part[0], rounds, "round", maker.size("turns", turns), "turn")),
        *(_found(maker, layout, cut, kept) if is_again else ()),
        *_kept(maker, ordering, kind, tile, (source, *places(kept), "found" if is_again else "at")),
    ]
    nobody = (Store("tile_keys", ("nobody",), "most"), Store("tile_places", ("nobody",), "most"))
    hold = Store("held", (0,), wanted)
    forget = (Compute(("after",), graphs.total(), ("behind", wanted)), _trusted("nobody", "after", tile), *nobody)
    behind = For("behind", maker.size("behind_n", tile - ordering.wanted), forget)
    turn: tuple[Statement, ...] = (
        For("turn", turns, tuple(look)),
        Load("holds", "held", (0,), _INT64),
        Compute(("sorts",), graphs.sorts(), ("holds", maker.size("room", tile - turns), "round", rounds)),
        When("sorts", (_network(tile), behind, hold)),
    )
    rank, to = ("rank", wanted), (*kept, part, ("rank", wanted))
    if is_last:
        results = _results(maker, kind, layout, source, (*kept, rank))
    else:
        buffer = maker.array("places_found", _scratch(layout, cut.parts, ordering.wanted), to)
        results = (Store(buffer, places(to), "place"),)
    body: list[Statement] = [
        *_memory(tile),
        Local(Array("held", int32, (1,), (1,))),
        Compute(("most",), numbers((graphs.MOST,), (_INT64,)), ()),
        For("nobody", tile, nobody),
        hold,
        For("round", rounds, turn, in_order=True),
        For(*rank, (_trusted("sorted", "rank", tile), Load("place", "tile_places", ("sorted",), _INT64), *results)),
    ]
    return maker.finish(around((*kept, part), body))


def _found(maker: Maker, layout: Layout, cut: _Cut, kept: Sequence[Range]) -> tuple[Statement, ...]:
    """Build statements that load an index that an earlier pass selected; -1 beyond the end."""
    looked = maker.size("looked", cut.length)
    there = maker.array("places", _scratch(layout, cut.length), (*kept, ("", looked)))
    return (
        Inside("is_looked", ("at",), (looked,)),
        Load("found", there, (*places(kept), "at"), _INT64, "is_looked", -1),
    )


def _kept(maker: Maker, ordering: Ordering, kind: ScalarType, tile: int, place: Sequence[str]) -> tuple[Statement, ...]:
    """Build statements that append an element to the first ones so far, if it precedes the last of them."""

    array, *index = place
    claim = (*_claimed("held", tile), Store("tile_keys", ("slot",), "key"), Store("tile_places", ("slot",), index[-1]))
    return (
        Inside("is_there", (index[-1],), ("length",)),
        Load("element", array, tuple(index), kind, "is_there", 0),
        Compute(("key",), key_graph(kind, ordering.descending), ("element",)),
        _trusted("limit", maker.size("last", ordering.wanted - 1), tile),
        *(Load(f"limit_{name}", f"tile_{name}", ("limit",), _INT64) for name in ("keys", "places")),
        Compute(("comes",), graphs.comes(), ("is_there", "key", index[-1], "limit_keys", "limit_places")),
        When("comes", claim),
    )


def _claimed(held: str, tile: int) -> list[Statement]:
    """Build statements that claim a slot of a tile for one thread, by an atomic counter."""
    return [
        Compute(("one",), numbers((1,), (_INT32,)), ()),
        Update(held, (0,), pairwise(("add",), (_INT32,)), (None, "one"), "claimed"),
        Compute(("free",), graphs.widened(), ("claimed",)),
        _trusted("slot", "free", tile),
    ]


# -------------------------------------------------------------------------------------------------------------- merges


def _merge(width: int, asked: tuple[Ordering, Layout]) -> Loops:
    """Build the loops that merge adjacent sorted runs; each thread finds where its chunk of the result begins in both
    runs.
    """
    _, layout = asked
    spec, maker = _scratch(layout, layout.sizes[1][0]), Maker("merge")
    kept, (chunk,) = maker.ranges("i", layout.sizes[0]), maker.ranges("c", (-(-layout.sizes[1][0] // graphs.MERGED),))
    length = maker.size("length", layout.sizes[1][0])
    maker.size("width", width)
    maker.size("turns", width.bit_length())
    row, own = (*kept, ("", length)), places(kept)
    names = ("keys", "places", "merged_keys", "merged_places")
    for name in names:
        maker.array(name, spec, row)
    state = ("low", "high", "one", "other")
    locals_ = [Local(Array(f"its_{name}", int64, (1,), (1,))) for name in state]

    def load(*wanted: str) -> list[Statement]:
        return [Load(f"{name}_now", f"its_{name}", (0,), _INT64) for name in wanted]

    def store(**values: str) -> list[Statement]:
        return [Store(f"its_{name}", (0,), value) for name, value in values.items()]

    def key(name: str, place: str) -> list[Statement]:
        """Build statements that load the key at an index, clamped to the row; a clamped key is never used."""
        led = f"{name}_led"
        return [Bound(led, place, length, "replicate"), Load(name, "keys", (*own, led), _INT64)]

    search: list[Statement] = [
        *load("low", "high"),
        Compute(("goes_on", "middle", "left_at", "right_at"), graphs.middle(), ("low_now", "high_now", *_PART[:3])),
        When(
            "goes_on",
            (
                *key("left", "left_at"),
                *key("right", "right_at"),
                Compute(
                    ("low_next", "high_next"), graphs.narrowed(), ("left", "right", "low_now", "high_now", "middle")
                ),
                *store(low="low_next", high="high_next"),
            ),
        ),
    ]
    take: list[Statement] = [
        *load("one", "other"),
        Compute(("one_at", "other_at"), graphs.added(), ("begin", "one_now", "second", "other_now")),
        *key("one_key", "one_at"),
        *key("other_key", "other_at"),
        Compute(
            ("from", "one_next", "other_next"),
            graphs.taken(),
            ("one_key", "other_key", "one_at", "other_at", "one_now", "other_now", "lefts", "rights"),
        ),
        *store(one="one_next", other="other_next"),
        Compute(("target",), graphs.total(), ("first", "item")),
        Inside("is_there", ("target",), (length,)),
        _trusted("taken", "from", length),
        When(
            "is_there",
            tuple(
                part
                for name in ("keys", "places")
                for part in (
                    Load(f"{name}_taken", name, (*own, "taken"), _INT64),
                    Store(f"merged_{name}", (*own, "target"), f"{name}_taken"),
                )
            ),
        ),
    ]
    body: list[Statement] = [
        *locals_,
        Compute(
            (*_PART, "first", "lefts", "rights", "low_first", "high_first"), graphs.part(), (chunk[0], "width", length)
        ),
        *store(low="low_first", high="high_first"),
        For("turn", "turns", tuple(search), in_order=True),
        Load("lefts_before", "its_low", (0,), _INT64),
        Compute(("rights_before",), graphs.difference(), ("diagonal", "lefts_before")),
        *store(one="lefts_before", other="rights_before"),
        For("item", graphs.MERGED, tuple(take), in_order=True),
    ]
    return maker.finish(around((*kept, chunk), body))


_PART = ("begin", "second", "diagonal")


def _finish(kind: ScalarType, asked: tuple[Ordering, Layout]) -> Loops:
    """Build the loops that write the wanted elements and their indices."""
    ordering, layout = asked
    spec, maker = _scratch(layout, layout.sizes[1][0]), Maker("results")
    kept, (along,) = maker.ranges("i", layout.sizes[0]), maker.ranges("j", (ordering.wanted,))
    length = maker.size("length", layout.sizes[1][0])
    ranges: tuple[Range, ...] = (*kept, along)
    source = maker.array("a", layout.inputs[0], (*kept, ("", length)))
    there = Load("place", maker.array("places", spec, ranges), places(ranges), _INT64)
    return maker.finish(around(ranges, [there, *_results(maker, kind, layout, source, ranges)]))


def _results(
    maker: Maker, kind: ScalarType, layout: Layout, source: str, ranges: Sequence[Range]
) -> tuple[Statement, ...]:
    """Build statements that store the element at an index of a row, and the index, as results."""
    index = places(ranges)
    return (
        _trusted("from", "place", "length"),
        Load("found", source, (*index[:-1], "from"), kind),
        Store(maker.array("values", layout.outputs[0], ranges), index, "found"),
        Store(maker.array("indices", layout.outputs[1], ranges), index, "place"),
    )


_WHOLE, _TILES, _FIRST = by_form(_whole), by_form(_tiles), by_form(_first)
_MERGE, _FINISH = by_form(_merge), by_form(_finish)


def _trusted(name: str, place: str, size: int | str) -> Bound:
    return Bound(name, place, size, "trusted")
