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
