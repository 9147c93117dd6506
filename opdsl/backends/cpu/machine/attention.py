"""Attention by tiles: blocks of queries go through the keys with an online softmax, and no matrix of scores is stored.

Scores of a tile are stored with a row for each key, so that the lanes of vectors are queries: maxima and sums of a
query's scores need no reduction of lanes. Both products are computed in registers: scores from keys and turned queries,
sums of values from turned scores and packed values. See Milakov and Gimelshein, Online normalizer calculation for
softmax (2018); Dao et al., FlashAttention (2022).
"""

from __future__ import annotations

from typing import cast

from opdsl.backends.cpu.machine.attention_block import (
    KEYS,
    OUT,
    QUERIES,
    QUERY,
    SUMS,
    VALUE,
    AttentionPlan,
    Block,
    Head,
    head_of,
    lowest,
    maximum,
    padded,
    place_of,
    rounded_scale,
    scale_sums,
    weight,
    write_output,
    write_sums,
)
from opdsl.backends.cpu.machine.attention_one import attend_one
from opdsl.backends.cpu.machine.attention_tiles import multiply, pack_rows, score, take_queries
from opdsl.backends.cpu.machine.language import Pointer, exported, internal, local, local_record, unrolled
from opdsl.backends.cpu.machine.objects import memory
from opdsl.backends.cpu.machine.room import behind, room
from opdsl.backends.cpu.machine.vectors import LANES, SIZE, Real, Reals, Vector, load, spread, store, zeros


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
def attend_block(frame: Pointer[AttentionPlan], block: Block, head: Head, first: int, scale: Real) -> None:
    """Compute attention of the queries from ``first`` on, of one block."""
    scores = cast(Reals, block.scores)
    packed = cast(Reals, block.packed)
    sums = cast(Reals, block.sums)
    plan = frame[0]
    operands = plan.operands
    rows = min(plan.queries - first, QUERIES)
    columns = padded(rows, 2 * LANES)
    pitch = padded(plan.width, LANES)
    query = place_of(frame, head, QUERY) + first * operands[QUERY].row
    take_queries(query, operands[QUERY], rows, columns, plan.size, scale, cast(Reals, block.turned))
    for lane in range(0, columns, LANES):
        store(cast(Reals, block.most) + lane, spread(lowest()))
        store(cast(Reals, block.total) + lane, zeros())
    seen = plan.keys if plan.is_causal == 0 else min(plan.keys, first + rows)
    for column in range(0, seen, KEYS):
        keys = min(seen - column, KEYS)
        score(frame, block, head, first, column, keys)
        weigh(block, keys, columns)
        if column > 0:
            scale_sums(block, rows, pitch)
        value = place_of(frame, head, VALUE) + column * operands[VALUE].row
        pack_rows(value, operands[VALUE], keys, plan.width, packed, pitch)
        multiply(scores, 1, QUERIES, rows, packed, pitch, pitch, keys, sums, pitch, column > 0)
    out = operands[OUT]
    write_output(block, place_of(frame, head, OUT) + first * out.row, out, rows, plan.width, pitch)
    if plan.has_sums != 0:
        to = operands[SUMS]
        write_sums(block, place_of(frame, head, SUMS) + first * to.row, to, rows, columns)


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
    head = local_record(Head)
    for at in range(begin, end):
        head_of(plan, at // plan.blocks, head)
        if plan.is_few != 0:
            for row in range(plan.queries):
                attend_one(frame, block, head, row, scale)
        else:
            attend_block(frame, block, head, at % plan.blocks * QUERIES, scale)
    memory.free(start)
