"""Loops of attention by tiles: an online softmax, which never stores the matrix of scores.

A group of threads takes a tile of queries, and goes through the keys tile by tile. For each query it keeps the largest
score so far, the sum of weights, and the sum of weighted values; if a tile has a larger score, earlier sums are scaled.
M. Milakov, N. Gimelshein, Online normalizer calculation for softmax (2018); T. Dao et al., FlashAttention (2022).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from opdsl.kernels.calls import OperandSpec
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.loops import attention_graphs as graphs
from opdsl.kernels.loops.making import Loops, Maker, around, numbers, pairwise, places
from opdsl.kernels.loops.model import (
    Array,
    Bound,
    Compute,
    Fold,
    For,
    Inside,
    Load,
    Local,
    Parts,
    Statement,
    Store,
    TileProduct,
    When,
)
from opdsl.runtime.dtype import bool_
from opdsl.scalar.types import ScalarType

if TYPE_CHECKING:
    from opdsl.kernels.calls import AttentionCall
    from opdsl.runtime.dtype import DType

__all__ = ["Tiling", "attention", "shared_bytes"]

# Elements between the rows of tiles of scores and sums, beyond their columns: their pairs are then in other banks.
_PADDING = 8


class Tiling(NamedTuple):
    """Sizes of the tiles of attention, all of them powers of two, except those of heads, which are multiples of 16.

    rows, keys: queries and keys of a tile.
    size, value_size: elements of queries and keys, and of values, with padding.
    padding: elements between the rows of queries, keys and values beyond their columns.
    parts: how many threads share the softmax of a row of scores.
    """

    rows: int
    keys: int
    size: int
    value_size: int
    padding: int
    parts: int

    @property
    def query_step(self) -> int:
        """Return the elements from query to query."""
        return self.size + self.padding

    @property
    def key_step(self) -> int:
        """Return the elements from key to key, and from value to value, which take turns in one tile."""
        return max(self.size, self.value_size) + self.padding

    @property
    def score_step(self) -> int:
        """Return the elements from row to row of scores."""
        return self.keys + _PADDING

    @property
    def sum_step(self) -> int:
        """Return the elements from row to row of sums of values."""
        return self.value_size + _PADDING


def _memory(dtype: DType, tiling: Tiling) -> list[Array]:
    """Return the local memory of a tile of queries."""
    wide, rows = precision_of(dtype), tiling.rows
    sizes = {
        "queries": (dtype, rows * tiling.query_step),
        "others": (dtype, tiling.keys * tiling.key_step),
        "scores": (wide, rows * tiling.score_step),
        "sums": (wide, rows * tiling.sum_step),
        "peaks": (wide, rows * tiling.parts),
        "totals": (wide, rows * tiling.parts),
        "most": (wide, rows),
        "total": (wide, rows),
        "factors": (wide, rows),
    }
    return [Array(name, kind, (count,), (1,)) for name, (kind, count) in sizes.items()]


def shared_bytes(dtype: DType, tiling: Tiling) -> int:
    """Return the bytes of local memory of a tile of queries."""
    return sum(
        array.sizes[0] * array.dtype.itemsize for array in _memory(dtype, tiling) if isinstance(array.sizes[0], int)
    )


def attention(call: AttentionCall, tiling: Tiling) -> Loops:
    """Build the loops of ``Compiler.attention``."""
    maker = Maker("attend")
    kind = ScalarType(precision_of(call.dtype).name)
    own = maker.ranges("i", (call.batch, call.groups, call.members))
    for name in ("queries", "keys", "size", "value_size"):
        maker.size(f"{name}_n", getattr(call, name))
    shared, row, key = own[:2], ("", "queries_n"), ("", "keys_n")
    element, value_element = ("", "size_n"), ("", "value_size_n")
    query = maker.array("query", _spec(call.dtype, call.query), (*own, row, element))
    keys = maker.array("key", _spec(call.dtype, call.key), (*shared, key, element))
    values = maker.array("value", _spec(call.dtype, call.value), (*shared, key, value_element))
    mask = None
    if call.mask_dtype is not None:
        mask = maker.array("mask", _spec(call.mask_dtype, call.mask), (*own, row, key))
    scale = maker.number("scale", kind)
    out = maker.array("out", _spec(call.dtype, call.out), (*own, row, value_element))
    build = _Builder(tiling, kind, call, places(own))
    body = [
        *(Local(array) for array in _memory(call.dtype, tiling)),
        *build.begun(),
        build.filled(_Rows(query, places(own), "tile", "queries_n", "size_n"), tiling.rows, tiling.size),
        For("key_tile", Parts("keys_n", tiling.keys), build.seen(build.turn(keys, values, mask, scale)), in_order=True),
        build.stored(out),
    ]
    return maker.finish(around((*own, ("tile", Parts("queries_n", tiling.rows))), body))


class _Rows(NamedTuple):
    """Rows of an array that are copied tile by tile.

    array, head: the array, and its indices before that of the row.
    tile: the index of the tile. rows, columns: the words of the sizes of the array.
    """

    array: str
    head: Sequence[str]
    tile: str
    rows: str
    columns: str


def _spec(dtype: DType, strides: Sequence[int]) -> OperandSpec:
    return OperandSpec(dtype, tuple(dtype.itemsize * step for step in strides))


# ---------------------------------------------------------------------------------------------------------- statements


class _Builder:
    """Builder of the statements of a tile.

    tiling: the sizes of tiles. kind: the type of scores. call: the call. index: of a head.
    """

    def __init__(self, tiling: Tiling, kind: ScalarType, call: AttentionCall, index: tuple[str, ...]) -> None:
        self.tiling, self.kind, self.call, self.index = tiling, kind, call, index

    def turn(self, keys: str, values: str, mask: str | None, scale: str) -> tuple[Statement, ...]:
        """Build the statements that add a tile of keys and values to the sums of a tile of queries."""
        tiling, group = self.tiling, self.index[:2]
        return (
            self.filled(_Rows(keys, group, "key_tile", "keys_n", "size_n"), tiling.keys, tiling.size),
            TileProduct("scores", "queries", "others", tiling.rows, tiling.size, tiling.keys,
                        (tiling.score_step, tiling.query_step, tiling.key_step), is_transposed=True),
            self.masked(mask, scale),
            self.weighted(),
            self.totaled(),
            self.scaled(),
            self.filled(_Rows(values, group, "key_tile", "keys_n", "value_size_n"), tiling.keys, tiling.value_size),
            TileProduct("sums", "scores", "others", tiling.rows, tiling.keys, tiling.value_size,
                        (tiling.sum_step, tiling.score_step, tiling.key_step), adds=True),
        )  # fmt: skip

    def begun(self) -> list[Statement]:
        """Build the initial sums and largest scores."""
        lowest = Compute(("nothing", "lowest"), numbers((0, -math.inf), (self.kind, self.kind)), ())
        rows = Store("most", ("begun",), "lowest"), Store("total", ("begun",), "nothing")
        cleared = For("cleared", self.tiling.rows * self.tiling.sum_step, (Store("sums", ("cleared",), "nothing"),))
        return [lowest, cleared, For("begun", self.tiling.rows, rows)]

    def filled(self, source: _Rows, rows: int, columns: int) -> Statement:
        """Build the loop that copies a tile of rows to local memory, with zeros beyond the rows and columns of the
        array.
        """
        name, wide = source.array, _power_of_two(columns)
        target, step = ("queries", self.tiling.query_step) if name == "query" else ("others", self.tiling.key_step)
        at, row, column, slot = (f"{name}_{part}" for part in ("at", "row", "column", "slot"))
        copy: tuple[Statement, ...] = (
            Inside(f"{name}_there", (row, column), (source.rows, source.columns)),
            Load(f"{name}_element", name, (*source.head, row, column), self.kind, f"{name}_there", 0),
            Bound(f"{name}_place", slot, rows * step, "trusted"),
            Store(target, (f"{name}_place",), f"{name}_element"),
        )
        if wide != columns:
            copy = (Inside(f"{name}_kept", (column,), (columns,)), When(f"{name}_kept", copy))
        located = Compute((row, column, slot), graphs.located(wide, rows, step), (at, source.tile))
        return For(at, rows * wide, (located, *copy))

    def seen(self, turn: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """Leave out tiles of keys that no query of the tile attends to, if queries attend to earlier keys only."""
        if not self.call.is_causal:
            return turn
        graph = graphs.is_seen(self.tiling.rows, self.tiling.keys)
        return (Compute(("is_seen",), graph, ("tile", "key_tile")), When("is_seen", turn))

    def masked(self, mask: str | None, scale: str) -> Statement:
        """Build the loop that scales and masks scores, and stores the largest score of each part of a row."""
        tiling, kind = self.tiling, self.kind
        fold = Fold(
            ("peak",),
            (-math.inf,),
            pairwise(("maximum",), (kind,)),
            (("turn", tiling.keys // tiling.parts),),
            (
                *self.element("turn", "masked_row", "masked_part"),
                Compute(("key_index",), graphs.affine(tiling.keys), ("key_tile", "column")),
                Inside("is_there", ("query_index", "key_index"), ("queries_n", "keys_n")),
                Load("score", "scores", ("score_place",), kind),
                *self.mask(mask, scale),
                Store("scores", ("score_place",), "masked"),
            ),
            ("masked",),
        )
        own = Compute(("masked_row", "masked_part"), graphs.split(tiling.parts), ("mask_at",))
        query = Compute(("query_index",), graphs.affine(tiling.rows), ("tile", "masked_row"))
        return For("mask_at", tiling.rows * tiling.parts, (own, query, fold, Store("peaks", ("mask_at",), "peak")))

    def mask(self, mask: str | None, scale: str) -> Sequence[Statement]:
        """Build the scaled and masked score: -inf for keys that the query does not attend to."""
        counts = "is_there"
        arguments: tuple[str, ...] = ()
        graph: Callable[..., Any] = graphs.plain
        statements: list[Statement] = []
        if self.call.is_causal:
            counts = "is_open"
            statements.append(Compute((counts,), graphs.is_open(), ("is_there", "query_index", "key_index")))
        if mask is not None:
            is_chosen = self.call.mask_dtype is bool_
            kind, place = ScalarType.BOOL if is_chosen else self.kind, (*self.index, "query_index", "key_index")
            statements.append(Load("bias", mask, place, kind, "is_there", 0))
            graph, arguments = (graphs.chosen if is_chosen else graphs.added), ("bias",)
        masked = Compute(("masked",), graphs.masked_score(self.kind, graph), ("score", scale, counts, *arguments))
        return [*statements, masked]

    def element(self, turn: str, row: str, part: str) -> tuple[Statement, ...]:
        """Build the column, and the place in memory, of the score that a thread takes in a turn."""
        graph = graphs.column(self.tiling.parts, self.tiling.score_step)
        size = self.tiling.rows * self.tiling.score_step
        return (
            Compute(("column", "score_slot"), graph, (turn, row, part)),
            Bound("score_place", "score_slot", size, "trusted"),
        )

    def peak(self, row: str, name: str) -> tuple[Statement, ...]:
        """Build the largest score of a row up to the current tile; the earlier one is ``name`` with ``_before``."""
        tiling, kind = self.tiling, self.kind
        maximum = pairwise(("maximum",), (kind,))
        return (
            Bound(f"{name}_row", row, tiling.rows, "trusted"),
            Load(f"{name}_before", "most", (f"{name}_row",), kind),
            Fold((name,), (f"{name}_before",), maximum, ((f"{name}_part", tiling.parts),), (
                Compute((f"{name}_slot",), graphs.affine(tiling.parts), (row, f"{name}_part")),
                Bound(f"{name}_place", f"{name}_slot", tiling.rows * tiling.parts, "trusted"),
                Load(f"{name}_other", "peaks", (f"{name}_place",), kind),
            ), (f"{name}_other",)),
        )  # fmt: skip

    def weighted(self) -> Statement:
        """Build the loop that replaces scores by weights, and stores the sum of weights of each part of a row."""
        tiling, kind = self.tiling, self.kind
        fold = Fold(
            ("weights",),
            (0,),
            pairwise(("add",), (kind,)),
            (("weight_turn", tiling.keys // tiling.parts),),
            (
                *self.element("weight_turn", "weight_row", "weight_part"),
                Load("raw", "scores", ("score_place",), kind),
                Compute(("weight",), graphs.weight(kind), ("raw", "highest")),
                Store("scores", ("score_place",), "weight"),
            ),
            ("weight",),
        )
        own = Compute(("weight_row", "weight_part"), graphs.split(tiling.parts), ("weight_at",))
        body = (own, *self.peak("weight_row", "highest"), fold, Store("totals", ("weight_at",), "weights"))
        return For("weight_at", tiling.rows * tiling.parts, body)

    def totaled(self) -> Statement:
        """Build the loop that updates the largest score and the sum of weights of each row, and stores the factor of
        its earlier sums.
        """
        tiling, kind = self.tiling, self.kind
        return For("total_row", tiling.rows, (
            *self.peak("total_row", "top"),
            Compute(("factor",), graphs.weight(kind), ("top_before", "top")),
            Load("total_before", "total", ("total_row",), kind),
            Compute(("total_kept",), pairwise(("multiply",), (kind,)), ("total_before", "factor")),
            Fold(("total_now",), ("total_kept",), pairwise(("add",), (kind,)), (("total_part", tiling.parts),), (
                Compute(("total_slot",), graphs.affine(tiling.parts), ("total_row", "total_part")),
                Bound("total_place", "total_slot", tiling.rows * tiling.parts, "trusted"),
                Load("total_other", "totals", ("total_place",), kind),
            ), ("total_other",)),
            Store("most", ("total_row",), "top"),
            Store("total", ("total_row",), "total_now"),
            Store("factors", ("total_row",), "factor"),
        ))  # fmt: skip

    def scaled(self) -> Statement:
        """Build the loop that multiplies the sums of earlier tiles with the factors of their rows."""
        tiling, kind = self.tiling, self.kind
        return self.over_sums("scaled", (
            Bound("scaled_row", "scaled_local", tiling.rows, "trusted"),
            Load("scaled_by", "factors", ("scaled_row",), kind),
            Load("scaled_old", "sums", ("scaled_place",), kind),
            Compute(("scaled_new",), pairwise(("multiply",), (kind,)), ("scaled_old", "scaled_by")),
            Store("sums", ("scaled_place",), "scaled_new"),
        ))  # fmt: skip

    def over_sums(self, name: str, body: Sequence[Statement]) -> Statement:
        """Build a loop over the sums of values; their place, and their row of the tile, have names with a prefix."""
        tiling = self.tiling
        wide = _power_of_two(tiling.value_size)
        row, column, slot = f"{name}_local", f"{name}_column", f"{name}_slot"
        inner = (Bound(f"{name}_place", slot, tiling.rows * tiling.sum_step, "trusted"), *body)
        first = Compute((row, column, slot), graphs.placed(wide, tiling.sum_step), (f"{name}_at",))
        if wide != tiling.value_size:
            is_kept = f"{name}_kept"
            inner = (Inside(is_kept, (column,), (tiling.value_size,)), When(is_kept, inner))
        return For(f"{name}_at", tiling.rows * wide, (first, *inner))

    def stored(self, out: str) -> Statement:
        """Build the loop that stores the means of values; queries that attend to no key get 0."""
        tiling, kind = self.tiling, self.kind
        return self.over_sums("result", (
            Compute(("result_query",), graphs.affine(tiling.rows), ("tile", "result_local")),
            Inside("result_there", ("result_query", "result_column"), ("queries_n", "value_size_n")),
            When("result_there", (
                Bound("result_row", "result_local", tiling.rows, "trusted"),
                Load("result_total", "total", ("result_row",), kind),
                Load("result_sum", "sums", ("result_place",), kind),
                Compute(("result",), graphs.mean(kind), ("result_sum", "result_total")),
                Store(out, (*self.index, "result_query", "result_column"), "result"),
            )),
        ))  # fmt: skip


def _power_of_two(count: int) -> int:
    """Return the smallest power of two that is not less than a number."""
    return 1 << (count - 1).bit_length()
