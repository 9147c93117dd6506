"""Loops that sort rows: tiles by a bitonic network over keys and places, longer rows by merging what is sorted.

Where few elements of a longer row are wanted, parts of it keep those that come first, until one part has those of all.
Ties are in order, since a pair of a key and its place is like no other. K. Batcher, Sorting networks and their
applications (1968); S. Odeh, O. Green et al., Merge path - parallel merging made simple (2012).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from opdsl.kernels.calls import OperandSpec
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
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.mathematics.expression import Expression, maximum, minimum, select
from opdsl.scalar.types import ScalarType

if TYPE_CHECKING:
    from opdsl.kernels.calls import Ordering, RowCall
    from opdsl.scalar.graph import TypedGraph

__all__ = ["Sorting", "Step", "sorting"]

_INT32, _INT64, _BOOL = ScalarType.INT32, ScalarType.INT64, ScalarType.BOOL

# The largest key, and a place behind all others.
_MOST = (1 << 63) - 1

# Elements that a point merges.
_MERGED = 8

# Of what keeps the elements that come first: how many tiles a part of a row has at least, so that most elements come
# too late to be kept, and how many parts are enough for a device.
_TILES_OF_A_PART = 16
_MOST_PARTS = 1024


class Step(NamedTuple):
    """Loops, and the memory that their parameters are for.

    memory: ``source``, ``values``, ``indices``, or scratch memory.
    """

    loops: Loops
    memory: tuple[str, ...]


class Sorting(NamedTuple):
    """The loops of ``Compiler.order``, which are run one after another.

    scratch: the names of scratch memory. shape: of each, which is int64.
    """

    steps: tuple[Step, ...]
    scratch: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()


def sorting(ordering: Ordering, call: RowCall, kind: ScalarType, tile: int) -> Sorting:
    """The loops of a stable sort.

    Args:
        ordering: what is wanted.
        call: where the operands lie.
        kind: what elements are compared as.
        tile: how many elements threads sort in memory that they share, a power of two.
    """
    asked = (ordering, call)
    if call.length <= tile:
        return Sorting((Step(_WHOLE(kind, asked, tile=tile), ("source", "values", "indices")),))
    if ordering.wanted <= tile // 2:
        return _few(kind, asked, tile)
    here, there = ("keys0", "places0"), ("keys1", "places1")
    scratch = here + there
    steps = [Step(_TILES(kind, asked, tile=tile), ("source", *here))]
    width = tile
    while width < call.length:
        steps.append(Step(_MERGE(width, asked), (*here, *there)))
        here, there = there, here
        width *= 2
    steps.append(Step(_FINISH(kind, asked), ("source", here[1], "values", "indices")))
    return Sorting(tuple(steps), scratch, (*call.kept, call.length))


def _few(kind: ScalarType, asked: tuple[Ordering, RowCall], tile: int) -> Sorting:
    """The loops that find the few elements of long rows that come first, in ever fewer parts of the rows."""
    ordering, call = asked
    size = max(tile // 2, min(tile, 1 << (4 * ordering.wanted - 1).bit_length()))
    turns, most = tile // 4, -(-_MOST_PARTS // math.prod(call.kept))
    found, written = "places1", "places0"
    steps: list[Step] = []
    length, longest = call.length, 0
    while True:
        rounds = -(-length // (turns * max(1, min(most, length // (_TILES_OF_A_PART * tile)))))
        cut = _Cut(length, -(-length // (turns * rounds)), rounds)
        is_again, is_last = bool(steps), cut.parts == 1
        loops = _FIRST(kind, (*asked, cut), tile=size, turns=turns, is_again=is_again, is_last=is_last)
        memory = ("source", *((found,) if is_again else ()), *(("values", "indices") if is_last else (written,)))
        steps.append(Step(loops, memory))
        if is_last:
            return Sorting(tuple(steps), ("places0", "places1")[: len(steps) - 1], (*call.kept, longest))
        found, written = written, found
        length = cut.parts * ordering.wanted
        longest = max(longest, length)


class _Cut(NamedTuple):
    """How what is looked at of a row is cut: how many places, into how many parts, of how many rounds each."""

    length: int
    parts: int
    rounds: int


def _scratch(call: RowCall, *sizes: int) -> OperandSpec:
    """How scratch memory with so many elements of a row lies."""
    return OperandSpec(int64, tuple(8 * stride for stride in contiguous_strides((*call.kept, *sizes))))


# --------------------------------------------------------------------------------------------------------------- tiles


def _whole(kind: ScalarType, asked: tuple[Ordering, RowCall], *, tile: int) -> Loops:
    """Rows of one tile."""
    ordering, call = asked
    maker = Maker("whole")
    kept, length = maker.ranges("i", call.kept), maker.size("length", call.length)
    own, row = places(kept), (*kept, ("", length))
    source = maker.array("a", call.inputs[0], row)
    body = _sorted_tile(maker, ordering, call.length, kind, tile, (source, own, None))
    rank = ("rank", maker.size("wanted", ordering.wanted))
    taken = (_trusted("slot", "rank", tile), Load("place", "tile_places", ("slot",), _INT64))
    return maker.finish(
        around(kept, [*body, For(*rank, (*taken, *_results(maker, kind, call, source, (*kept, rank))))])
    )


def _tiles(kind: ScalarType, asked: tuple[Ordering, RowCall], *, tile: int) -> Loops:
    """Rows of several tiles, each of them for itself."""
    ordering, call = asked
    spec = _scratch(call, call.length)
    maker = Maker("tiles")
    kept, (tiles,) = maker.ranges("i", call.kept), maker.ranges("t", (-(-call.length // tile),))
    length = maker.size("length", call.length)
    own, row = places(kept), (*kept, ("", length))
    source = maker.array("a", call.inputs[0], row)
    maker.size("tile", tile)
    body = _sorted_tile(maker, ordering, tile, kind, tile, (source, own, tiles[0]))
    stores = [Store(maker.array(name, spec, row), (*own, "target"), f"sorted_{name}") for name in ("keys", "places")]
    taken: list[Statement] = [
        Compute(("target",), _offset(), (tiles[0], "tile", "rank")),
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
    """Keys and places of a tile in the memory of a point, in order; what is beyond the end of a row comes last.

    Args:
        maker: of the loops.
        ordering: which way.
        count: elements of a tile that may be there.
        kind: what elements are compared as.
        tile: its size.
        source: the array, its row, and the number of the tile, None for one that is the row.
    """
    array, own, number = source
    levels = max(0, count - 1).bit_length()
    maker.size("levels", levels)
    maker.size("padded", 1 << levels)
    maker.size("pairs", (1 << levels) // 2)
    at = "at" if number is None else "row_at"
    fill: list[Statement] = [
        *([] if number is None else [Compute((at,), _offset(), (number, "tile", "at"))]),
        Inside("inside", (at,), ("length",)),
        Load("element", array, (*own, at), kind, "inside", 0),
        Compute(("key",), key_graph(kind, ordering.descending), ("element",)),
        Compute(("padded_key",), _padded(), ("inside", "key")),
        _trusted("filled", "at", tile),
        Store("tile_keys", ("filled",), "padded_key"),
        Store("tile_places", ("filled",), at),
    ]
    return [*_memory(tile), For("at", "padded", tuple(fill)), _network(tile)]


def _memory(tile: int) -> list[Statement]:
    """Memory for a tile of keys and places."""
    return [Local(Array(f"tile_{name}", int64, (tile,), (1,))) for name in ("keys", "places")]


def _network(tile: int) -> Statement:
    """Pairs of a tile are exchanged until all are in order."""
    loads = [
        Load(f"{name}_{side}", f"tile_{name}", (side,), _INT64)
        for side in ("one", "other")
        for name in ("keys", "places")
    ]
    stores = [Store(f"tile_{name}", (side,), f"{name}_{other}") for side, other in (("one", "other"), ("other", "one"))
              for name in ("keys", "places")]  # fmt: skip
    exchange: tuple[Statement, ...] = (
        Compute(("low", "high", "turned"), _pair(), ("pair", "step", "block")),
        _trusted("one", "low", tile),
        _trusted("other", "high", tile),
        *loads,
        Compute(("swaps",), _swaps(), (*(each.name for each in loads), "turned")),
        When("swaps", tuple(stores)),
    )
    turn = (
        Compute(("step", "block", "counts"), _turn(), ("level", "sub")),
        When("counts", (For("pair", "pairs", exchange),)),
    )
    return For("level", "levels", (For("sub", "levels", turn, in_order=True),), in_order=True)


# --------------------------------------------------------------------------------------------------- the first elements


def _first(
    kind: ScalarType,
    asked: tuple[Ordering, RowCall, _Cut],
    *,
    tile: int,
    turns: int,
    is_again: bool,
    is_last: bool,
) -> Loops:
    """The elements of a part of a row that come first.

    A tile begins with those that have come first so far; what comes before the last of these is put behind them. When
    there may be no more room it is sorted, and what stands too far behind is forgotten. Where there is no element, a
    pair stands that comes last of all.

    Args:
        kind: what elements are compared as.
        asked: what is wanted, where the operands lie, how rows are cut.
        tile: its size: those that come first and the turns of a round have room in it.
        turns: places that are looked at in a round.
        is_again: whether it looks at the places that parts have found.
        is_last: whether it gives the results, and not places.
    """
    ordering, call, cut = asked
    maker = Maker("again" if is_again else "first")
    kept, (part,) = maker.ranges("i", call.kept), maker.ranges("p", (cut.parts,))
    length, own = maker.size("length", call.length), places(kept)
    source = maker.array("a", call.inputs[0], (*kept, ("", length)))
    wanted, rounds = maker.size("wanted", ordering.wanted), maker.size("rounds", cut.rounds)
    for name, value in {
        "levels": tile.bit_length() - 1,
        "pairs": tile // 2,
        "turns": turns,
        "room": tile - turns,
    }.items():
        maker.size(name, value)
    look: list[Statement] = [Compute(("at",), _looked(), (part[0], rounds, "round", "turns", "turn"))]
    place = "at"
    if is_again:
        looked, place = maker.size("looked", cut.length), "found"
        there = maker.array("places", _scratch(call, cut.length), (*kept, ("", looked)))
        look += [Inside("is_looked", ("at",), (looked,)), Load(place, there, (*own, "at"), _INT64, "is_looked", -1)]
    look += [
        Inside("is_there", (place,), (length,)),
        Load("element", source, (*own, place), kind, "is_there", 0),
        Compute(("key",), key_graph(kind, ordering.descending), ("element",)),
        _trusted("limit", maker.size("last", ordering.wanted - 1), tile),
        *(Load(f"limit_{name}", f"tile_{name}", ("limit",), _INT64) for name in ("keys", "places")),
        Compute(("comes",), _comes(), ("is_there", "key", place, "limit_keys", "limit_places")),
        When(
            "comes",
            (*_claimed("held", tile), Store("tile_keys", ("slot",), "key"), Store("tile_places", ("slot",), place)),
        ),
    ]
    behind = ("behind", maker.size("behind_n", tile - ordering.wanted))
    nobody = (Store("tile_keys", ("nobody",), "most"), Store("tile_places", ("nobody",), "most"))
    hold = Store("held", (0,), wanted)
    forget = (Compute(("after",), _sum(), ("behind", wanted)), _trusted("nobody", "after", tile), *nobody)
    turn: list[Statement] = [
        For("turn", turns, tuple(look)),
        Load("holds", "held", (0,), _INT64),
        Compute(("sorts",), _sorts(), ("holds", "room", "round", rounds)),
        When("sorts", (_network(tile), For(*behind, forget), hold)),
    ]
    rank = ("rank", wanted)
    taken: list[Statement] = [_trusted("sorted", "rank", tile), Load("place", "tile_places", ("sorted",), _INT64)]
    if is_last:
        taken += _results(maker, kind, call, source, (*kept, rank))
    else:
        to = (*kept, part, rank)
        taken.append(
            Store(maker.array("places_found", _scratch(call, cut.parts, ordering.wanted), to), places(to), "place")
        )
    body: list[Statement] = [
        *_memory(tile),
        Local(Array("held", int32, (1,), (1,))),
        Compute(("most",), numbers((_MOST,), (_INT64,)), ()),
        For("nobody", tile, nobody),
        hold,
        For("round", rounds, tuple(turn), in_order=True),
        For(*rank, tuple(taken)),
    ]
    return maker.finish(around((*kept, part), body))


def _claimed(held: str, tile: int) -> list[Statement]:
    """A slot of a tile that no other thread has, by counting how many are held."""
    return [
        Compute(("one",), numbers((1,), (_INT32,)), ()),
        Update(held, (0,), pairwise(("add",), (_INT32,)), (None, "one"), "claimed"),
        Compute(("free",), _widened(), ("claimed",)),
        _trusted("slot", "free", tile),
    ]


# -------------------------------------------------------------------------------------------------------------- merges


def _merge(width: int, asked: tuple[Ordering, RowCall]) -> Loops:
    """Neighbouring runs become one. Each point finds where its part of the result begins in both of them."""
    _, call = asked
    spec, maker = _scratch(call, call.length), Maker("merge")
    kept, (chunk,) = maker.ranges("i", call.kept), maker.ranges("c", (-(-call.length // _MERGED),))
    length = maker.size("length", call.length)
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

    def store(**made: str) -> list[Statement]:
        return [Store(f"its_{name}", (0,), value) for name, value in made.items()]

    def key(name: str, place: str) -> list[Statement]:
        """A key of a place that may lie beyond the row, where nobody asks for it."""
        led = f"{name}_led"
        return [Bound(led, place, length, "replicate"), Load(name, "keys", (*own, led), _INT64)]

    search: list[Statement] = [
        *load("low", "high"),
        Compute(("goes_on", "middle", "left_at", "right_at"), _middle(), ("low_now", "high_now", *_PART[:3])),
        When(
            "goes_on",
            (
                *key("left", "left_at"),
                *key("right", "right_at"),
                Compute(("low_next", "high_next"), _narrowed(), ("left", "right", "low_now", "high_now", "middle")),
                *store(low="low_next", high="high_next"),
            ),
        ),
    ]
    take: list[Statement] = [
        *load("one", "other"),
        Compute(("one_at", "other_at"), _added(), ("begin", "one_now", "second", "other_now")),
        *key("one_key", "one_at"),
        *key("other_key", "other_at"),
        Compute(
            ("from", "one_next", "other_next"),
            _taken(),
            ("one_key", "other_key", "one_at", "other_at", "one_now", "other_now", "lefts", "rights"),
        ),
        *store(one="one_next", other="other_next"),
        Compute(("target",), _sum(), ("first", "item")),
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
        Compute((*_PART, "first", "lefts", "rights", "low_first", "high_first"), _part(), (chunk[0], "width", length)),
        *store(low="low_first", high="high_first"),
        For("turn", "turns", tuple(search), in_order=True),
        Load("lefts_before", "its_low", (0,), _INT64),
        Compute(("rights_before",), _difference(), ("diagonal", "lefts_before")),
        *store(one="lefts_before", other="rights_before"),
        For("item", _MERGED, tuple(take), in_order=True),
    ]
    return maker.finish(around((*kept, chunk), body))


_PART = ("begin", "second", "diagonal")


def _finish(kind: ScalarType, asked: tuple[Ordering, RowCall]) -> Loops:
    """The elements that are wanted, and where they stood."""
    ordering, call = asked
    spec, maker = _scratch(call, call.length), Maker("results")
    kept, (along,) = maker.ranges("i", call.kept), maker.ranges("j", (ordering.wanted,))
    length = maker.size("length", call.length)
    ranges: tuple[Range, ...] = (*kept, along)
    source = maker.array("a", call.inputs[0], (*kept, ("", length)))
    there = Load("place", maker.array("places", spec, ranges), places(ranges), _INT64)
    return maker.finish(around(ranges, [there, *_results(maker, kind, call, source, ranges)]))


def _results(
    maker: Maker, kind: ScalarType, call: RowCall, source: str, ranges: Sequence[Range]
) -> tuple[Statement, ...]:
    """What stood at a place of a row, and the place, as results."""
    index = places(ranges)
    return (
        _trusted("from", "place", "length"),
        Load("found", source, (*index[:-1], "from"), kind),
        Store(maker.array("values", call.outputs[0], ranges), index, "found"),
        Store(maker.array("indices", call.outputs[1], ranges), index, "place"),
    )


_WHOLE, _TILES, _FIRST = by_form(_whole), by_form(_tiles), by_form(_first)
_MERGE, _FINISH = by_form(_merge), by_form(_finish)


def _trusted(name: str, place: str, size: int | str) -> Bound:
    return Bound(name, place, size, "trusted")


# -------------------------------------------------------------------------------------------------------------- graphs


def _graph(parameters: str) -> Callable[[Callable[..., Sequence[Expression]]], Callable[[], TypedGraph]]:
    """A graph of whole numbers, and of conditions, whose names begin with ``is_``."""

    def made(compute: Callable[..., Sequence[Expression]]) -> Callable[[], TypedGraph]:
        @functools.cache
        def graph() -> TypedGraph:
            builder = GraphBuilder()
            given = [
                Expression(builder, builder.parameter(name, _BOOL if name.startswith("is_") else _INT64))
                for name in parameters.split()
            ]
            return builder.finish(compute.__name__.strip("_"), [each.position for each in compute(*given)])

        return graph

    return made


@_graph("is_there key")
def _padded(is_there: Expression, key: Expression) -> Sequence[Expression]:
    """The key, or the largest."""
    return (select(is_there, key, _MOST),)


@_graph("number size at")
def _offset(number: Expression, size: Expression, at: Expression) -> Sequence[Expression]:
    return (number * size + at,)


@_graph("one other")
def _sum(one: Expression, other: Expression) -> Sequence[Expression]:
    return (one + other,)


@_graph("one other")
def _difference(one: Expression, other: Expression) -> Sequence[Expression]:
    return (one - other,)


@_graph("begin one second other")
def _added(begin: Expression, one: Expression, second: Expression, other: Expression) -> Sequence[Expression]:
    return (begin + one, second + other)


@_graph("level sub")
def _turn(level: Expression, sub: Expression) -> Sequence[Expression]:
    """How far apart those lie that are exchanged, in blocks of how many the order is turned around; whether to go."""
    half = level.constant(1) << level
    return (half >> sub, half + half, sub <= level)


@_graph("pair step block")
def _pair(pair: Expression, step: Expression, block: Expression) -> Sequence[Expression]:
    """Both of a pair, and whether to turn them."""
    one = pair + pair - (pair & (step - 1))
    return (one, one + step, (one & block).differs(0))


@_graph("key place other_key other_place is_turned")
def _swaps(
    key: Expression, place: Expression, other_key: Expression, other_place: Expression, is_turned: Expression
) -> Sequence[Expression]:
    """Whether a pair is out of order."""
    return (_precedes(other_key, other_place, key, place) ^ is_turned,)


def _precedes(key: Expression, place: Expression, other_key: Expression, other_place: Expression) -> Expression:
    return (key < other_key) | (key.equals(other_key) & (place < other_place))


@_graph("part rounds round turns turn")
def _looked(
    part: Expression, rounds: Expression, number: Expression, turns: Expression, turn: Expression
) -> Sequence[Expression]:
    """The place that a turn of a round looks at."""
    return ((part * rounds + number) * turns + turn,)


@_graph("is_there key place limit_key limit_place")
def _comes(
    is_there: Expression, key: Expression, place: Expression, limit_key: Expression, limit_place: Expression
) -> Sequence[Expression]:
    """Whether an element comes before the last of those that have come first so far."""
    return (is_there & _precedes(key, place, limit_key, limit_place),)


@_graph("holds room round rounds")
def _sorts(holds: Expression, room: Expression, number: Expression, rounds: Expression) -> Sequence[Expression]:
    """Whether there may be no room for another round, or none comes."""
    return ((holds > room) | (number + 1).equals(rounds),)


@functools.cache
def _widened() -> TypedGraph:
    """A whole number of 32 bits as one of 64."""
    builder = GraphBuilder()
    number = Expression(builder, builder.parameter("number", _INT32))
    return builder.finish("widened", [number.cast(_INT64).position])


@_graph("chunk width length")
def _part(chunk: Expression, width: Expression, length: Expression) -> Sequence[Expression]:
    """Of a part of what is merged: where both runs begin, and it within them; where it begins in the row; how long the
    runs are; between which numbers of the first run's elements come before it.
    """
    first = chunk * _MERGED
    begin = first - (first & (width + width - 1))
    second = minimum(begin + width, length)
    lefts, rights = second - begin, minimum(begin + width + width, length) - second
    diagonal = first - begin
    return (begin, second, diagonal, first, lefts, rights, maximum(diagonal - rights, 0), minimum(diagonal, lefts))


@_graph("low high begin second diagonal")
def _middle(
    low: Expression, high: Expression, begin: Expression, second: Expression, diagonal: Expression
) -> Sequence[Expression]:
    """Whether to go on searching, and what is compared."""
    middle = (low + high) >> 1
    return (low < high, middle, begin + middle, second + diagonal - 1 - middle)


@_graph("left right low high middle")
def _narrowed(
    left: Expression, right: Expression, low: Expression, high: Expression, middle: Expression
) -> Sequence[Expression]:
    before = left <= right
    return (select(before, middle + 1, low), select(before, high, middle))


@_graph("left right left_at right_at one other lefts rights")
def _taken(
    left: Expression,
    right: Expression,
    left_at: Expression,
    right_at: Expression,
    one: Expression,
    other: Expression,
    lefts: Expression,
    rights: Expression,
) -> Sequence[Expression]:
    """Where the next element comes from, and how many have come from both runs then."""
    is_left = (other >= rights) | ((one < lefts) & (left <= right))
    return (select(is_left, left_at, right_at), select(is_left, one + 1, one), select(is_left, other, other + 1))
