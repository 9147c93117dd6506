"""The walk over rows: from elements [begin, end), counted in row-major order of the plan's sizes, to calls of the row
kernel, which handles elements of the innermost dimension only.

The operands that a row kernel sees have the frame's format: 16 bytes each, an address or a number. Numbers have
strides of 0, so that they come through unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from opdsl.backends.cpu.machine.call import Plan
from opdsl.backends.cpu.machine.language import Pointer, Words, copy_bytes, exported, internal, local

TILE_ROWS = 64
TILE_COLUMNS = 32


class WalkPlan(Plan):
    """What a walk reads.

    row: the row kernel, of operands, a count of at least 1, strides; of walks over tiles that turn it takes a whole
        tile: the number of rows and their strides, too.
    operands, dimensions: how many there are; at least one dimension.
    sizes: of the dimensions.
    strides: in bytes, for each dimension one for each operand.
    turns: of walks over tiles, whether the row kernel takes a whole tile.
    later: of walks over chunks, what is walked when all are done.
    """

    row: Callable[..., None]
    operands: int
    dimensions: int
    sizes: Words
    strides: Words
    turns: int
    later: WalkPlan


@internal("alwaysinline")
def move(target: Words, source: Words, strides: Words, steps: int, count: int) -> None:
    """Operands so many steps further."""
    for k in range(count):
        target[2 * k] = source[2 * k] + strides[k] * steps


@exported
def walk(frame: Pointer[WalkPlan], begin: int, end: int) -> None:
    """Rows of elements [begin, end)."""
    walk_plan(frame[0], cast(Words, frame) + 2, begin, end)


@exported
def walk_chunks(frame: Pointer[WalkPlan], begin: int, end: int) -> None:
    """The same, where the last operand is a number that is 0 at first: which chunk it is."""
    plan = frame[0]
    last = plan.operands - 1
    slots = local(int, 2 * plan.operands)
    copy_bytes(slots, cast(Words, frame) + 2, 16 * last)
    slots[2 * last] = 0
    walk_plan(plan, slots, begin, end)


@exported
def walk_later(frame: Pointer[WalkPlan]) -> None:
    """What comes after a walk over chunks."""
    plan = frame[0].later
    walk_plan(plan, cast(Words, frame) + 2, 0, plan.elements)


@internal("alwaysinline")
def walk_plan(plan: WalkPlan, slots: Words, begin: int, end: int) -> None:
    """Rows of elements [begin, end) of operands."""
    if begin >= end:
        return
    row = plan.row
    sizes = plan.sizes
    strides = plan.strides
    count = plan.operands
    last = plan.dimensions - 1
    row_strides = strides + last * count
    if last == 0 and begin == 0:
        row(slots, end, row_strides)
        return
    outer_at = local(int, 2 * count)  # the operands at the start of the row
    row_at = local(int, 2 * count)  # and at the first element to do
    index = local(int, plan.dimensions)
    copy_bytes(outer_at, slots, 16 * count)
    copy_bytes(row_at, slots, 16 * count)
    inner = sizes[last]
    column = begin
    if last > 0:
        column = begin % inner
        rest = begin // inner
        for d in range(last - 1, -1, -1):
            index[d] = rest % sizes[d]
            rest = rest // sizes[d]
            move(outer_at, outer_at, strides + d * count, index[d], count)
    left = end - begin
    while True:
        todo = min(inner - column, left)
        move(row_at, outer_at, row_strides, column, count)
        row(row_at, todo, row_strides)
        left -= todo
        if left == 0:
            return
        column = 0
        e = last - 1
        while index[e] + 1 >= sizes[e]:  # like an odometer
            move(outer_at, outer_at, strides + e * count, 0 - index[e], count)
            index[e] = 0
            e -= 1
        index[e] += 1
        move(outer_at, outer_at, strides + e * count, 1, count)


@exported
def walk_tiles(frame: Pointer[WalkPlan], begin: int, end: int) -> None:
    """Bands [begin, end) of tiles, where some operands lie along the last dimension and some along the one before.

    A band is TILE_ROWS rows of the innermost matrix, and goes through the row kernel TILE_COLUMNS columns at a time, so
    that the lines of memory that its rows begin are still in the first cache when the next row needs them.
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
