"""Attention by tiles: blocks of queries go through the keys with an online softmax, and no matrix of scores is stored.

Scores of a tile are stored with a row for each key, so that the lanes of vectors are queries: maxima and sums of a
query's scores need no reduction of lanes. Both products are computed in registers: scores from keys and turned queries,
sums of values from turned scores and packed values. See Milakov and Gimelshein, Online normalizer calculation for
softmax (2018); Dao et al., FlashAttention (2022).
"""

from __future__ import annotations

from typing import cast

from opdsl.backends.cpu.machine.attention_block import (
    KEY,
    KEYS,
    MASK,
    OUT,
    QUERIES,
    QUERY,
    SUMS,
    VALUE,
    AttentionPlan,
    Block,
    Operand,
    lowest,
    maximum,
    minimum,
    padded,
    place_of,
    rounded_scale,
    scale_sums,
    weight,
    write_output,
    write_sums,
)
from opdsl.backends.cpu.machine.attention_one import attend_one
from opdsl.backends.cpu.machine.language import Constant, Pointer, exported, internal, local, local_record, unrolled
from opdsl.backends.cpu.machine.objects import memory
from opdsl.backends.cpu.machine.room import behind, room
from opdsl.backends.cpu.machine.turn import turn
from opdsl.backends.cpu.machine.vectors import (
    LANES,
    SIZE,
    Real,
    Reals,
    Vector,
    first_lanes,
    fma,
    load,
    load_some,
    spread,
    store,
    store_some,
    zeros,
)

HEIGHTS: tuple[int, ...] = ()
"""Numbers of rows that a register tile may have, largest first, down to 1."""

# Numbers of vectors in a row of a register tile.
_WIDTHS = (2, 1)


@internal("noinline")
def tile(
    a: Reals, a_row: int, a_column: int, b: Reals, b_row: int, count: int, c: Reals, c_row: int, adds: bool,
    height: Constant, width: Constant,
) -> None:  # fmt: skip
    """Compute a tile in registers, the sums of ``a[r * a_row + k * a_column] * b[k * b_row + lane]`` over k; ``adds``
    them to ``c`` if wanted.
    """
    lines = local(Reals, height)
    columns = local(Vector, width)
    sums = local(Vector, height * width)
    for r in unrolled(range(height)):
        lines[r] = a + r * a_row
    for cell in unrolled(range(height * width)):
        sums[cell] = zeros()
    for k in range(count):
        line = b + k * b_row
        at = k * a_column
        for v in unrolled(range(width)):
            columns[v] = load(line + v * LANES)
        for r in unrolled(range(height)):
            factor = spread(lines[r][at])
            for v in unrolled(range(width)):
                sums[r * width + v] = fma(factor, columns[v], sums[r * width + v])
    if adds:
        for r in unrolled(range(height)):
            for v in unrolled(range(width)):
                sums[r * width + v] = sums[r * width + v] + load(c + r * c_row + v * LANES)
    for r in unrolled(range(height)):
        for v in unrolled(range(width)):
            store(c + r * c_row + v * LANES, sums[r * width + v])


@internal("noinline")
def multiply(
    a: Reals, a_row: int, a_column: int, rows: int, b: Reals, b_row: int, columns: int, count: int, c: Reals,
    c_row: int, adds: bool,
) -> None:  # fmt: skip
    """Multiply two matrices tile by tile, as ``tile``; ``columns`` is a multiple of the lanes of a vector."""
    covered = 0
    for width in unrolled(_WIDTHS):
        wide = width * LANES
        for column in range(covered, columns - (wide - 1), wide):
            done = 0
            for height in unrolled(HEIGHTS):
                for row in range(done, rows - (height - 1), height):
                    target = c + row * c_row + column
                    tile(a + row * a_row, a_row, a_column, b + column, b_row, count, target, c_row, adds, height, width)
                    done = row + height
            covered = column + wide


@internal("noinline")
def mask_future(block: Block, first: int, column: int, keys: int, columns: int) -> None:
    """Set the scores of keys after the query's own index to -inf.

    first, column: indices of the block's first query and of the tile's first key.
    """
    scores = cast(Reals, block.scores)
    none = spread(lowest())
    for key in range(max(first - column, 0), keys):
        for lane in range(0, columns, LANES):
            store_some(scores + key * QUERIES + lane, none, first_lanes(column + key - first - lane))


@internal("noinline")
def apply_mask(block: Block, keys: int, columns: int, selects: bool) -> None:
    """Add the mask of a tile to its scores; or select scores by it, also those that are NaN, which become inf."""
    scores = cast(Reals, block.scores)
    added = cast(Reals, block.added)
    for key in range(keys):
        for lane in range(0, columns, LANES):
            place = scores + key * QUERIES + lane
            mask = load(added + key * QUERIES + lane)
            store(place, minimum(load(place), mask) if selects else load(place) + mask)


@internal("noinline")
def weigh(block: Block, keys: int, columns: int) -> None:
    """Replace the scores of a tile by weights, relative to the largest score so far, and add these up.

    ``kept`` becomes the factor of earlier weights.
    """
    scores = cast(Reals, block.scores)
    highest = cast(Reals, block.most)
    totals = cast(Reals, block.total)
    factors = cast(Reals, block.kept)
    for lane in range(0, columns, 2 * LANES):
        place = scores + lane
        before = local(Vector, 2)
        most = local(Vector, 2)
        total = local(Vector, 2)
        for v in unrolled(range(2)):
            before[v] = load(highest + lane + v * LANES)
            most[v] = before[v]
        for key in range(keys):
            for v in unrolled(range(2)):
                most[v] = maximum(most[v], load(place + key * QUERIES + v * LANES))
        for v in unrolled(range(2)):
            factor = weight(before[v], most[v])
            total[v] = load(totals + lane + v * LANES) * factor
            store(factors + lane + v * LANES, factor)
            store(highest + lane + v * LANES, most[v])
        for key in range(keys):
            for v in unrolled(range(2)):
                weights = weight(load(place + key * QUERIES + v * LANES), most[v])
                store(place + key * QUERIES + v * LANES, weights)
                total[v] = total[v] + weights
        for v in unrolled(range(2)):
            store(totals + lane + v * LANES, total[v])


@internal("noinline")
def take_queries(query: Reals, operand: Operand, rows: int, columns: int, size: int, scale: Real, to: Reals) -> None:
    """Turn the queries of a block, and multiply them by the factor of scores."""
    turn(query, operand.row, operand.column, rows, size, to, QUERIES, columns)
    for k in range(size):
        for lane in range(0, columns, LANES):
            place = to + k * QUERIES + lane
            store(place, load(place) * spread(scale))


@internal("noinline")
def pack_values(value: Reals, operand: Operand, keys: int, width: int, to: Reals, pitch: int) -> None:
    """Copy the values of a tile to rows of whole vectors, padded with zeros."""
    for key in range(keys):
        source = value + key * operand.row
        target = to + key * pitch
        if operand.column == 1:
            for lane in range(0, pitch, LANES):
                store(target + lane, load_some(source + lane, first_lanes(width - lane)))
        else:
            for k in range(pitch):
                target[k] = source[k * operand.column] if k < width else cast(Real, 0.0)


@internal("noinline")
def attend_block(
    frame: Pointer[AttentionPlan], block: Block, sample: int, group: int, member: int, first: int, scale: Real
) -> None:
    """Compute attention of the queries from ``first`` on, of one block."""
    turned = cast(Reals, block.turned)
    scores = cast(Reals, block.scores)
    added = cast(Reals, block.added)
    packed = cast(Reals, block.packed)
    sums = cast(Reals, block.sums)
    highest = cast(Reals, block.most)
    totals = cast(Reals, block.total)
    plan = frame[0]
    operands = plan.operands
    rows = min(plan.queries - first, QUERIES)
    columns = padded(rows, 2 * LANES)
    pitch = padded(plan.width, LANES)
    key = place_of(frame, sample, group, 0, KEY)
    value = place_of(frame, sample, group, 0, VALUE)
    query = place_of(frame, sample, group, member, QUERY) + first * operands[QUERY].row
    take_queries(query, operands[QUERY], rows, columns, plan.size, scale, turned)
    for lane in range(0, columns, LANES):
        store(highest + lane, spread(lowest()))
        store(totals + lane, zeros())
    seen = plan.keys if plan.is_causal == 0 else min(plan.keys, first + rows)
    for column in range(0, seen, KEYS):
        keys = min(seen - column, KEYS)
        row = operands[KEY].row
        step = operands[KEY].column
        part = key + column * row
        multiply(part, row, step, keys, turned, QUERIES, columns, plan.size, scores, QUERIES, False)
        if plan.is_masked != 0:
            mask = operands[MASK]
            source = place_of(frame, sample, group, member, MASK) + first * mask.row + column * mask.column
            turn(source, mask.row, mask.column, rows, keys, added, QUERIES, columns)
            apply_mask(block, keys, columns, plan.selects != 0)
        if plan.is_causal != 0 and column + keys > first:
            mask_future(block, first, column, keys, columns)
        weigh(block, keys, columns)
        if column > 0:
            scale_sums(block, rows, pitch)
        pack_values(value + column * operands[VALUE].row, operands[VALUE], keys, plan.width, packed, pitch)
        multiply(scores, 1, QUERIES, rows, packed, pitch, pitch, keys, sums, pitch, column > 0)
    out = place_of(frame, sample, group, member, OUT) + first * operands[OUT].row
    write_output(block, out, operands[OUT], rows, plan.width, pitch)
    if plan.has_sums != 0:
        to = place_of(frame, sample, group, member, SUMS) + first * operands[SUMS].row
        write_sums(block, to, operands[SUMS], rows, columns)


@exported
def attention(frame: Pointer[AttentionPlan], begin: int, end: int) -> None:
    """Compute attention of the blocks [begin, end) of queries, counted over samples, groups, heads and blocks."""
    plan = frame[0]
    scale = rounded_scale(frame)
    pitch = padded(plan.width, LANES)
    tile_size = KEYS * QUERIES
    elements = plan.size * QUERIES + tile_size * (1 + plan.is_masked) + (KEYS + QUERIES) * pitch + 3 * QUERIES
    start = room((elements + 512) * SIZE)
    block = local_record(Block)
    block.turned = behind(start, 0)
    block.scores = behind(block.turned, plan.size * QUERIES * SIZE)
    block.added = behind(block.scores, tile_size * SIZE)
    block.packed = behind(block.added, tile_size * plan.is_masked * SIZE)
    block.sums = behind(block.packed, KEYS * pitch * SIZE)
    block.most = behind(block.sums, QUERIES * pitch * SIZE)
    block.total = behind(block.most, QUERIES * SIZE)
    block.kept = behind(block.total, QUERIES * SIZE)
    for at in range(begin, end):
        head = at // plan.blocks
        first = at % plan.blocks * QUERIES
        group = head // plan.members
        sample = group // plan.groups
        if plan.is_few != 0:
            for row in range(plan.queries):
                attend_one(frame, block, sample, group % plan.groups, head % plan.members, row, scale)
        else:
            attend_block(frame, block, sample, group % plan.groups, head % plan.members, first, scale)
    memory.free(start)
