"""The driver of reductions. The plan's module brings functions over sets of accumulators: one set holds, for each
accumulator of the reduction, an array over lanes. Lanes are neighbouring kept elements, or parts of the elements that
are folded, which ``collapse`` then folds into lane 0.

A task is a tile of kept elements and a chunk of what is folded into them. Blocks of the chunk are folded into set 0;
when enough are in it, it is combined into set 1, of which sixteen make one contribution to set 2, and so on, so that
rounding errors grow slowly. How elements are grouped depends on the geometry alone, never on threads or alignment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from opdsl.backends.cpu.machine.call import Plan, scratch_slot
from opdsl.backends.cpu.machine.language import Address, Byte, Pointer, Words, exported, internal, local
from opdsl.backends.cpu.machine.walk import move

# Kinds of lanes: kept elements; folded elements; these, one lane after another; short contiguous rows, of which a tile
# has as many as a set has lanes.
ACROSS, ALONG, ORDERED, ROWS = range(4)

# Elements of a lane that are folded into set 0 before it is combined into set 1.
FULL_SET = 128

_SETS = 4


class ReducePlan(Plan):
    """What a reduction reads.

    fold: of a set, the first lane, elements of the inputs, lanes, their strides, steps, their strides, the elements'
        index, its step from lane to lane, from step to step, the numbers.
    combine: of a set, a later one, lanes.
    reset: of a set and lanes, to the accumulators of no elements.
    collapse: of a set and lanes, a power of two.
    finish: of a set, lanes, the count, the numbers, outputs, strides.
    bytes: of a set.
    kind, lanes: of a set.
    chunks, blocks: of each tile.
    chunk_blocks, row_blocks: blocks of each chunk, of each row.
    block: elements of each block.
    row_length, row_strides: of each row; strides of each input.
    around, around_sizes, around_strides: dimensions around the row; strides for each dimension of each input.
    count: elements that are folded into each kept one.
    tiles: all of them.
    row_tiles, kept_length: tiles and elements of each kept row.
    kept_strides: in a kept row, of the inputs, then of the outputs.
    outer, outer_sizes: dimensions around the kept row.
    outer_strides: for each dimension of the inputs, then of the outputs.
    arrays, results, numbers: how many inputs, outputs and numbers there are.
    rows: of a set, a set of results, elements of the inputs, rows, their strides, their length, the numbers.
    """

    fold: Callable[[Address, int, Words, int, Words, int, Words, int, int, int, Words], None]
    combine: Callable[[Address, Address, int], None]
    reset: Callable[[Address, int], None]
    collapse: Callable[[Address, int], None]
    finish: Callable[[Address, int, int, Words, Words, Words], None]
    bytes: int
    kind: int
    lanes: int
    chunks: int
    blocks: int
    chunk_blocks: int
    row_blocks: int
    block: int
    row_length: int
    row_strides: Words
    around: int
    around_sizes: Words
    around_strides: Words
    count: int
    tiles: int
    row_tiles: int
    kept_length: int
    kept_strides: Words
    outer: int
    outer_sizes: Words
    outer_strides: Words
    arrays: int
    results: int
    numbers: int
    rows: Callable[[Address, Address, Words, int, Words, int, Words], None]


@exported
def reduce(frame: Pointer[ReducePlan], begin: int, end: int) -> None:
    """Tasks [begin, end)."""
    plan = frame[0]
    sets = local(Byte, plan.bytes * _SETS, 64)
    slots = local(int, 2 * (plan.arrays + plan.results))
    places = local(int, 4 * plan.arrays)
    for task in range(begin, end):
        reduce_task(frame, plan, task, sets, slots, places)


@internal("alwaysinline")
def reduce_numbers(frame: Pointer[ReducePlan], plan: ReducePlan) -> Words:
    """The numbers of a call."""
    return cast(Words, frame) + 2 * (1 + plan.arrays)


@internal()
def reduce_locate(frame: Pointer[ReducePlan], plan: ReducePlan, tile: int, slots: Words) -> int:
    """Where a tile begins: addresses of the inputs and the outputs into ``slots``, 16 bytes each. Returns its width."""
    moving = plan.arrays + plan.results
    operands = cast(Words, frame) + 2
    for k in range(moving):
        slots[2 * k] = operands[2 * (k if k < plan.arrays else plan.numbers + k)]
    row = tile // plan.row_tiles
    widest = plan.lanes if plan.kind == ACROSS or plan.kind == ROWS else 1
    column = (tile - row * plan.row_tiles) * widest
    move(slots, slots, plan.kept_strides, column, moving)
    for d in range(plan.outer - 1, -1, -1):
        around = row // plan.outer_sizes[d]
        move(slots, slots, plan.outer_strides + d * moving, row - around * plan.outer_sizes[d], moving)
        row = around
    return min(plan.kept_length - column, widest)


@internal()
def reduce_find(plan: ReducePlan, slots: Words, places: Words, row: int, start: int) -> None:
    """Addresses of the inputs' elements of a row of folded ones into ``places``, 16 bytes each."""
    count = plan.arrays
    move(places, slots, plan.row_strides, start, count)
    for d in range(plan.around - 1, -1, -1):
        around = row // plan.around_sizes[d] if d > 0 else 0
        move(places, places, plan.around_strides + d * count, row - around * plan.around_sizes[d], count)
        row = around


@internal()
def reduce_stretch(plan: ReducePlan, strides: Words, factor: int) -> None:
    """Strides of rows, so many elements each."""
    for k in range(plan.arrays):
        strides[k] = plan.row_strides[k] * factor


@internal()
def reduce_block(
    frame: Pointer[ReducePlan], plan: ReducePlan, into: Address, slots: Words, places: Words, block: int, width: int
) -> int:
    """Fold one block into set 0. Returns how many elements each lane took, at most."""
    numbers = reduce_numbers(frame, plan)
    strides = plan.row_strides
    stretched = places + 2 * plan.arrays
    lanes = plan.lanes
    row = block // plan.row_blocks
    start = (block - row * plan.row_blocks) * plan.block
    length = min(plan.row_length - start, plan.block)
    reduce_find(plan, slots, places, row, start)
    index = row * plan.row_length + start
    if plan.kind == ACROSS:
        plan.fold(into, 0, places, width, plan.kept_strides, length, strides, index, 0, 1, numbers)
        return length
    steps = length // lanes
    done = steps * lanes
    if plan.kind == ORDERED:  # lane k takes the k-th part of the block
        reduce_stretch(plan, stretched, steps)
        plan.fold(into, 0, places, lanes, stretched, steps, strides, index, steps, 1, numbers)
        move(places, places, strides, done, plan.arrays)
        plan.fold(into, lanes - 1, places, 1, strides, length - done, strides, index + done, 0, 1, numbers)
        plan.collapse(into, lanes)
        return FULL_SET
    # Lane k takes elements k, k + lanes ...
    reduce_stretch(plan, stretched, lanes)
    plan.fold(into, 0, places, lanes, strides, steps, stretched, index, 1, lanes, numbers)
    if length > done:
        move(places, places, strides, done, plan.arrays)
        plan.fold(into, 0, places, length - done, strides, 1, stretched, index + done, 1, 0, numbers)
    return steps + 1


@internal()
def reduce_task(
    frame: Pointer[ReducePlan], plan: ReducePlan, task: int, sets: Address, slots: Words, places: Words
) -> None:
    """A chunk of a tile."""
    size = plan.bytes
    counts = local(int, _SETS)
    for level in range(_SETS):
        counts[level] = 0
    tile = task // plan.chunks
    chunk = task - tile * plan.chunks
    width = reduce_locate(frame, plan, tile, slots)
    if plan.kind == ROWS:
        numbers = reduce_numbers(frame, plan)
        plan.rows(sets, sets + size, slots, width, plan.kept_strides, plan.row_length, numbers)
        reduce_finish(frame, plan, sets + size, width, slots)
        return
    lanes = width if plan.kind == ACROSS else plan.lanes
    kept_lanes = 1 if plan.kind == ORDERED else lanes  # in sets above 0
    plan.reset(sets, lanes)
    after = min((chunk + 1) * plan.chunk_blocks, plan.blocks)
    taken = 0
    top = 0
    for block in range(chunk * plan.chunk_blocks, after):
        taken += reduce_block(frame, plan, sets, slots, places, block, width)
        if taken < FULL_SET or block + 1 == after:
            continue
        taken = 0
        level = 0
        while True:  # a set into the next one
            lower = sets + level * size
            level += 1
            upper = sets + level * size
            if level > top:
                plan.reset(upper, kept_lanes)
                top = level
            plan.combine(upper, lower, kept_lanes)
            plan.reset(lower, lanes if level == 1 else kept_lanes)
            counts[level] += 1
            if counts[level] < 16 or level == _SETS - 1:
                break
            counts[level] = 0
    total = sets + top * size  # higher sets hold earlier elements
    for level in range(top - 1, -1, -1):
        plan.combine(total, sets + level * size, kept_lanes)
    if plan.kind == ALONG:
        plan.collapse(total, lanes)
    if plan.chunks == 1:
        reduce_finish(frame, plan, total, width, slots)
    else:
        kept = reduce_scratch(frame, plan) + task * size
        plan.reset(kept, width)
        plan.combine(kept, total, width)


@internal("alwaysinline")
def reduce_scratch(frame: Pointer[ReducePlan], plan: ReducePlan) -> Address:
    """A set for each task."""
    return scratch_slot(cast(Words, frame), plan)[0]


@internal()
def reduce_finish(frame: Pointer[ReducePlan], plan: ReducePlan, total: Address, width: int, slots: Words) -> None:
    """Store the results of a tile."""
    outputs = slots + 2 * plan.arrays
    strides = plan.kept_strides + plan.arrays
    plan.finish(total, width, plan.count, reduce_numbers(frame, plan), outputs, strides)


@exported
def reduce_complete(frame: Pointer[ReducePlan]) -> None:
    """After the tasks, when tiles have several chunks: combine them like a tournament, neighbours first."""
    plan = frame[0]
    size = plan.bytes
    slots = local(int, 2 * (plan.arrays + plan.results))
    for tile in range(plan.tiles):
        width = reduce_locate(frame, plan, tile, slots)
        sets = reduce_scratch(frame, plan) + tile * plan.chunks * size
        gap = 1
        while gap < plan.chunks:
            for chunk in range(0, plan.chunks - gap, 2 * gap):
                plan.combine(sets + chunk * size, sets + (chunk + gap) * size, width)
            gap *= 2
        reduce_finish(frame, plan, sets, width, slots)
