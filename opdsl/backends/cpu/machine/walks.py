"""Traversals of strided operands by chunks and by tiles, instead of by rows."""

from __future__ import annotations

from typing import cast

from opdsl.backends.cpu.machine.language import Pointer, Words, copy_bytes, exported, local
from opdsl.backends.cpu.machine.walk import WalkPlan, move, walk_plan

TILE_ROWS = 64
TILE_COLUMNS = 32


@exported
def walk_chunks(frame: Pointer[WalkPlan], begin: int, end: int) -> None:
    """Call the row kernel for elements [begin, end) of all chunks; the last operand is the chunk's number, from 0."""
    plan = frame[0]
    last = plan.operands - 1
    slots = local(int, 2 * plan.operands)
    copy_bytes(slots, cast(Words, frame) + 2, 16 * last)
    slots[2 * last] = 0
    walk_plan(plan, slots, begin, end)


@exported
def walk_later(frame: Pointer[WalkPlan]) -> None:
    """Run the traversal that follows one over chunks, over all its elements."""
    plan = frame[0].later
    walk_plan(plan, cast(Words, frame) + 2, 0, plan.elements)


@exported
def walk_tiles(frame: Pointer[WalkPlan], begin: int, end: int) -> None:
    """Traverse bands [begin, end) of tiles, for operands that are contiguous along different dimensions, the last two.

    A band is TILE_ROWS rows of the innermost matrix. The row kernel processes TILE_COLUMNS columns of it at a time, so
    that the cache lines at the beginning of its rows are still in the L1 cache when the next row needs them.
    """
    plan = frame[0]
    row = plan.row
    sizes = plan.sizes
    strides = plan.strides
    turns = plan.turns != 0
    count = plan.operands
    slots = cast(Words, frame) + 2
    last = plan.dimensions - 1
    columns = sizes[last]
    rows = sizes[last - 1]
    column_strides = strides + last * count
    row_strides = strides + (last - 1) * count
    bands = (rows + TILE_ROWS - 1) // TILE_ROWS
    band_at = local(int, 2 * count)
    tile_at = local(int, 2 * count)
    copy_bytes(band_at, slots, 16 * count)
    copy_bytes(tile_at, slots, 16 * count)
    for band in range(begin, end):
        first_row = band % bands * TILE_ROWS
        move(band_at, slots, row_strides, first_row, count)
        matrix = band // bands
        for d in range(last - 2, -1, -1):
            move(band_at, band_at, strides + d * count, matrix % sizes[d], count)
            matrix = matrix // sizes[d]
        height = min(rows - first_row, TILE_ROWS)
        for column in range(0, columns, TILE_COLUMNS):
            width = min(columns - column, TILE_COLUMNS)
            move(tile_at, band_at, column_strides, column, count)
            if turns:
                row(tile_at, width, column_strides, height, row_strides)
            else:
                for _ in range(height):
                    row(tile_at, width, column_strides)
                    move(tile_at, tile_at, row_strides, 1, count)
