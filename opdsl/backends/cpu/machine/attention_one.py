"""Attention of single queries, for heads with few of them: vectors hold elements of a key, then keys, then elements of
a value.
"""

from __future__ import annotations

from typing import cast

from opdsl.backends.cpu.machine.attention_block import (
    KEY,
    KEYS,
    MASK,
    OUT,
    QUERY,
    SUMS,
    VALUE,
    AttentionPlan,
    Block,
    Head,
    lowest,
    maximum,
    padded,
    place_of,
    scale_sums,
    weight,
    write_output,
    write_sums,
)
from opdsl.backends.cpu.machine.language import Pointer, instruction, internal, local, unrolled
from opdsl.backends.cpu.machine.vectors import (
    LANES,
    Real,
    Reals,
    Vector,
    first_lanes,
    fma,
    load,
    load_some,
    spread,
    store,
    sum_of_lanes,
    zeros,
)

# Numbers of vectors of values that are added up at once.
_VALUES = (8, 4, 2, 1)


@instruction("call {Real} @llvm.vector.reduce.fmax.{SUFFIX}({Vector} {0})")
def maximum_of_lanes(values: Vector) -> Real:
    """Return the largest element; a number rather than NaN."""
    raise NotImplementedError


@internal("noinline")
def score_keys(query: Reals, key: Reals, step: int, keys: int, size: int, scores: Reals) -> None:
    """Compute the scores of one query, whose elements are padded with zeros; those up to a whole vector become -inf."""
    left = size & (LANES - 1)
    whole = size - left
    for at in range(keys):
        line = key + at * step
        score = zeros()
        for lane in range(0, whole, LANES):
            score = fma(load(line + lane), load(query + lane), score)
        if left != 0:
            score = fma(load_some(line + whole, first_lanes(left)), load(query + whole), score)
        scores[at] = sum_of_lanes(score)
    for at in range(keys, padded(keys, LANES)):
        scores[at] = lowest()


@internal("noinline")
def weigh_one(block: Block, keys: int) -> None:
    """Replace the scores of one query by weights, as ``weigh``."""
    scores = cast(Reals, block.scores)
    highest = cast(Reals, block.most)
    totals = cast(Reals, block.total)
    before = spread(highest[0])
    largest = before
    for at in range(0, keys, LANES):
        largest = maximum(largest, load(scores + at))
    most = spread(maximum_of_lanes(largest))
    total = zeros()
    for at in range(0, keys, LANES):
        weights = weight(load(scores + at), most)
        store(scores + at, weights)
        total = total + weights
    factor = weight(before, most)
    store(highest, most)
    store(cast(Reals, block.kept), factor)
    store(totals, load(totals) * factor + spread(sum_of_lanes(total)))


@internal("noinline")
def add_values(block: Block, value: Reals, step: int, keys: int, width: int, adds: bool) -> None:
    """Add up the values of a tile, weighted for one query; ``adds`` them to earlier sums if wanted."""
    weights = cast(Reals, block.scores)
    sums = cast(Reals, block.sums)
    done = 0
    for count in unrolled(_VALUES):
        for column in range(done, width - (count * LANES - 1), count * LANES):
            parts = local(Vector, count)
            for v in unrolled(range(count)):
                parts[v] = load(sums + column + v * LANES) if adds else zeros()
            for at in range(keys):
                factor = spread(weights[at])
                for v in unrolled(range(count)):
                    parts[v] = fma(factor, load(value + at * step + column + v * LANES), parts[v])
            for v in unrolled(range(count)):
                store(sums + column + v * LANES, parts[v])
            done = column + count * LANES
    if done < width:
        inside = first_lanes(width - done)
        part = load(sums + done) if adds else zeros()
        for at in range(keys):
            part = fma(spread(weights[at]), load_some(value + at * step + done, inside), part)
        store(sums + done, part)


@internal("noinline")
def attend_one(frame: Pointer[AttentionPlan], block: Block, head: Head, row: int, scale: Real) -> None:
    """Compute attention of one query."""
    plan = frame[0]
    operands = plan.operands
    query = cast(Reals, block.turned)
    scores = cast(Reals, block.scores)
    pitch = padded(plan.width, LANES)
    source = place_of(frame, head, QUERY) + row * operands[QUERY].row
    for k in range(padded(plan.size, LANES)):
        query[k] = source[k * operands[QUERY].column] * scale if k < plan.size else cast(Real, 0.0)
    store(cast(Reals, block.most), spread(lowest()))
    store(cast(Reals, block.total), zeros())
    key = place_of(frame, head, KEY)
    value = place_of(frame, head, VALUE)
    key_step = operands[KEY].row
    value_step = operands[VALUE].row
    seen = plan.keys if plan.is_causal == 0 else min(plan.keys, row + 1)
    for column in range(0, seen, KEYS):
        keys = min(seen - column, KEYS)
        score_keys(query, key + column * key_step, key_step, keys, plan.size, scores)
        if plan.is_masked != 0:
            mask = operands[MASK]
            added = place_of(frame, head, MASK) + row * mask.row + column * mask.column
            for at in range(keys):
                masked = added[at * mask.column]
                if plan.selects == 0:
                    scores[at] = scores[at] + masked
                elif masked == lowest():
                    scores[at] = masked
        weigh_one(block, keys)
        if column > 0:
            scale_sums(block, 1, pitch)
        add_values(block, value + column * value_step, value_step, keys, plan.width, column > 0)
    out = operands[OUT]
    write_output(block, place_of(frame, head, OUT) + row * out.row, out, 1, plan.width, pitch)
    if plan.has_sums != 0:
        to = operands[SUMS]
        write_sums(block, place_of(frame, head, SUMS) + row * to.row, to, 1, LANES)
