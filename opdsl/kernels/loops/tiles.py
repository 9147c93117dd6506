"""Tiles of transposed operands: elements that are contiguous along another dimension than the results are read in their
own order, and pass through memory that a group of threads shares.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence

import attrs

from opdsl.kernels.loops.making import around
from opdsl.kernels.loops.model import (
    Array,
    Bound,
    Compute,
    For,
    Inside,
    Load,
    Local,
    Parts,
    Program,
    Range,
    Size,
    Statement,
    Store,
    When,
)
from opdsl.kernels.loops.rewriting import renamed
from opdsl.runtime.dtype import to_dtype
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.types import ScalarType

__all__ = ["TILE", "in_tiles"]

TILE = 32
"""Rows and columns of a tile."""

# Rows of shared memory have one element more, so that neither rows nor columns of a tile meet in one bank.
_STEP = TILE + 1

_INT64 = ScalarType.INT64


def in_tiles(program: Program, arrays: Collection[str], along: str) -> Program:
    """Compute the points of two dimensions in square tiles; schedules share each tile among threads.

    Args:
        program: its loops are around loads, computations and stores.
        arrays: the arrays that are read through shared memory, each once.
        along: the index along which their elements are contiguous. The results' are along the last one.
    """
    ranges, body = program.points
    sizes, last = dict(ranges), ranges[-1][0]
    blocks = [(f"{name}_tile", Parts(sizes[name], TILE)) for name in (along, last)]
    loads = [statement for statement in body if isinstance(statement, Load) and statement.array in arrays]
    others = [statement for statement in body if statement not in loads]
    kinds = {load.array: load.type for load in loads}
    memory = [
        Local(Array(f"{array}_near", to_dtype(kind.value), (TILE * _STEP,), (1,))) for array, kind in kinds.items()
    ]
    staged = (along, last), _located((along, last), sizes, "staged", columns_first=False)
    used = (along, last), _located((along, last), sizes, "used", columns_first=True)
    own = {name: f"{name}_staged" for name in (along, last, *(load.name for load in loads))}
    first: list[Statement] = [
        statement
        for load in loads
        for statement in (renamed(load, own), Store(f"{load.array}_near", ("slot_staged",), own[load.name]))
    ]
    second: list[Statement] = [
        *(Load(load.name, f"{load.array}_near", ("slot_used",), load.type) for load in loads),
        *(renamed(other, {name: f"{name}_used" for name in staged[0]}) for other in others),
    ]
    inner: tuple[Statement, ...] = (
        *memory,
        For("turn_staged", TILE * TILE, (*staged[1], When("inside_staged", tuple(first)))),
        For("turn_used", TILE * TILE, (*used[1], When("inside_used", tuple(second)))),
    )
    outer: Sequence[Range] = [item for item in ranges if item[0] not in used[0]]
    return attrs.evolve(program, body=around((*outer, *blocks), inner), threaded=len(outer) + 2)


def _located(
    pair: tuple[str, str], sizes: Mapping[str, Size], suffix: str, *, columns_first: bool
) -> tuple[Statement, ...]:
    """Return the statements that compute the two indices of an element of a tile, whether they are in bounds, and its
    place in shared memory.

    columns_first: whether consecutive turns go along the second index.
    """
    names, turn = tuple(f"{name}_{suffix}" for name in pair), f"turn_{suffix}"
    blocks = tuple(f"{name}_tile" for name in pair)
    place = f"place_{suffix}"
    return (
        Compute((*names, place), _element(columns_first), (turn, *blocks)),
        Inside(f"inside_{suffix}", names, tuple(sizes[name] for name in pair)),
        Bound(f"slot_{suffix}", place, TILE * _STEP, "trusted"),
    )


@functools.cache
def _element(columns_first: bool) -> TypedGraph:
    """Build the graph: a turn and the numbers of two blocks -> both indices, and the place in shared memory."""
    builder = GraphBuilder()
    turn, *blocks = (builder.parameter(name, _INT64) for name in ("turn", "row_block", "column_block"))

    def node(op: str, first: int, second: int) -> int:
        return builder.node(op, (first, second), _INT64)

    def number(value: int) -> int:
        return builder.constant(value, _INT64)

    fast = node("bitwise_and", turn, number(TILE - 1))
    slow = node("bits_right", turn, number(TILE.bit_length() - 1))
    row, column = (slow, fast) if columns_first else (fast, slow)
    indices = [
        node("add", node("multiply", block, number(TILE)), own)
        for block, own in zip(blocks, (row, column), strict=True)
    ]
    return builder.finish("element", [*indices, node("add", node("multiply", column, number(_STEP)), row)])
