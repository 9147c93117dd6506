"""Traversal of strided operands: calls a row kernel for elements [begin, end), counted in row-major order of the sizes.

The row kernel processes elements of the innermost dimension only. The operands that it gets have the frame's format: 16
bytes each, an address or a number. Numbers have strides of 0, so that they stay unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from opdsl.backends.cpu.machine.call import Plan
from opdsl.backends.cpu.machine.language import Pointer, Words, copy_bytes, exported, internal, local


class WalkPlan(Plan):
    """Plan of a traversal.

    row: the row kernel, function of operands, a count of at least 1, and strides; in traversals of transposed tiles it
        takes a whole tile, and also the number of rows and their strides.
    operands, dimensions: how many there are; at least one dimension.
    sizes: of the dimensions.
    strides: in bytes, for each dimension one for each operand.
    turns: for traversals of tiles, whether the row kernel takes a whole tile.
    later: for traversals of chunks, the plan of the one that follows when all chunks are done.
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
    """Advance the addresses of operands by a number of steps."""
    for k in range(count):
        target[2 * k] = source[2 * k] + strides[k] * steps


@exported
def walk(frame: Pointer[WalkPlan], begin: int, end: int) -> None:
    """Call the row kernel for elements [begin, end)."""
    walk_plan(frame[0], cast(Words, frame) + 2, begin, end)


@internal("alwaysinline")
def walk_plan(plan: WalkPlan, slots: Words, begin: int, end: int) -> None:
    """Call the row kernel of a plan for elements [begin, end) of given operands."""
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
    row_at = local(int, 2 * count)  # the operands at the next element to process
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
