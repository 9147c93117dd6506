"""Gradients of attention by tiles: weights are computed again from log-sum-exps, and no matrix of them is stored.

A thread computes whole groups of heads, so that each gradient is added up in one order. See Dao et al., FlashAttention
(2022), algorithm 4.
"""

from __future__ import annotations

from typing import cast

from opdsl.backends.cpu.machine.attention_block import (
    GRAD,
    GRAD_KEY,
    GRAD_QUERY,
    GRAD_VALUE,
    KEY,
    KEYS,
    OUT,
    QUERIES,
    QUERY,
    SUMS,
    VALUE,
    AttentionPlan,
    Block,
    Head,
    Operand,
    head_of,
    padded,
    place_of,
    rounded_scale,
    weight,
)
from opdsl.backends.cpu.machine.attention_tiles import multiply, pack_rows, score, take_queries
from opdsl.backends.cpu.machine.language import Address, Pointer, Struct, exported, instruction, internal, local_record
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
    sum_of_lanes,
    zeros,
)


class Slopes(Struct):
    """Memory of gradients, beside a ``Block`` of queries; rows of elements are whole vectors, padded with zeros.

    turned: gradients of the block's outputs, (width, QUERIES).
    scores: gradients of a tile's scores, (KEYS, QUERIES).
    queries, grads: the block's queries and gradients of outputs, by rows.
    keys: of a tile, by rows.
    of_query: gradients of the block's queries, by rows.
    of_key, of_value: gradients of all keys and values of a group, by rows.
    sums: log-sum-exps of the block's scores.
    through: products of each output with its gradient.
    """

    turned: Address
    scores: Address
    queries: Address
    grads: Address
    keys: Address
    of_query: Address
    of_key: Address
    of_value: Address
    sums: Address
    through: Address


@instruction("fsub {Vector} {0}, {1}")
def difference(first: Vector, second: Vector) -> Vector:
    """Return the differences of two vectors."""
    raise NotImplementedError


@internal("noinline")
def clear(to: Reals, count: int) -> None:
    """Set elements to 0; their number is a multiple of the lanes of a vector."""
    for at in range(0, count, LANES):
        store(to + at, zeros())


@internal("noinline")
def write_rows(source: Reals, pitch: int, to: Reals, operand: Operand, rows: int, width: int) -> None:
    """Copy rows of whole vectors to the rows of an operand."""
    for row in range(rows):
        line = source + row * pitch
        target = to + row * operand.row
        if operand.column == 1:
            for lane in range(0, pitch, LANES):
                store_some(target + lane, load(line + lane), first_lanes(width - lane))
        else:
            for k in range(width):
                target[k * operand.column] = line[k]


@internal("noinline")
def dot(line: Reals, step: int, row: Reals, width: int) -> Real:
    """Return the sum of products of elements, a step apart, with a row of whole vectors."""
    if step != 1:
        total = cast(Real, 0.0)
        for k in range(width):
            total = total + line[k * step] * row[k]
        return total
    sums = zeros()
    for lane in range(0, width, LANES):
        sums = fma(load_some(line + lane, first_lanes(width - lane)), load(row + lane), sums)
    return sum_of_lanes(sums)


@internal("noinline")
def take_outputs(frame: Pointer[AttentionPlan], slopes: Slopes, head: Head, first: int, rows: int) -> None:
    """Take the gradients of a block's outputs, their products with the outputs, and log-sum-exps of scores."""
    plan = frame[0]
    columns = padded(rows, 2 * LANES)
    pitch = padded(plan.width, LANES)
    operand = plan.operands[GRAD]
    grad = place_of(frame, head, GRAD) + first * operand.row
    turn(grad, operand.row, operand.column, rows, plan.width, cast(Reals, slopes.turned), QUERIES, columns)
    grads = cast(Reals, slopes.grads)
    pack_rows(grad, operand, rows, plan.width, grads, pitch)
    out = plan.operands[OUT]
    through = cast(Reals, slopes.through)
    sums = cast(Reals, slopes.sums)
    clear(through, columns)
    clear(sums, columns)
    own = place_of(frame, head, SUMS) + first * plan.operands[SUMS].row
    place = place_of(frame, head, OUT) + first * out.row
    for row in range(rows):
        through[row] = dot(place + row * out.row, out.column, grads + row * pitch, plan.width)
        sums[row] = own[row * plan.operands[SUMS].row]


@internal("noinline")
def weigh_slopes(block: Block, slopes: Slopes, keys: int, columns: int, scale: Real) -> None:
    """Replace scores of a tile by weights, and gradients of weights by those of scores before their factor."""
    scores = cast(Reals, block.scores)
    gradients = cast(Reals, slopes.scores)
    factor = spread(scale)
    for lane in range(0, columns, LANES):
        sums = load(cast(Reals, slopes.sums) + lane)
        through = load(cast(Reals, slopes.through) + lane)
        for key in range(keys):
            place = key * QUERIES + lane
            weights = weight(load(scores + place), sums)
            store(scores + place, weights)
            store(gradients + place, weights * difference(load(gradients + place), through) * factor)


@internal("noinline")
def differentiate_tile(
    frame: Pointer[AttentionPlan], block: Block, slopes: Slopes, head: Head, first: int, column: int, keys: int,
    scale: Real,
) -> None:  # fmt: skip
    """Add the gradients that a tile of scores contributes to its queries, keys and values."""
    plan = frame[0]
    rows = min(plan.queries - first, QUERIES)
    columns = padded(rows, 2 * LANES)
    size = padded(plan.size, LANES)
    width = padded(plan.width, LANES)
    weights = cast(Reals, block.scores)
    gradients = cast(Reals, slopes.scores)
    packed = cast(Reals, slopes.keys)
    score(frame, block, head, first, column, keys)
    operand = plan.operands[VALUE]
    value = place_of(frame, head, VALUE) + column * operand.row
    turned = cast(Reals, slopes.turned)
    multiply(value, operand.row, operand.column, keys, turned, QUERIES, columns, plan.width, gradients, QUERIES, False)
    weigh_slopes(block, slopes, keys, columns, scale)
    of_value = cast(Reals, slopes.of_value) + column * width
    multiply(weights, QUERIES, 1, keys, cast(Reals, slopes.grads), width, width, rows, of_value, width, True)
    of_key = cast(Reals, slopes.of_key) + column * size
    multiply(gradients, QUERIES, 1, keys, cast(Reals, slopes.queries), size, size, rows, of_key, size, True)
    key = plan.operands[KEY]
    pack_rows(place_of(frame, head, KEY) + column * key.row, key, keys, plan.size, packed, size)
    of_query = cast(Reals, slopes.of_query)
    multiply(gradients, 1, QUERIES, rows, packed, size, size, keys, of_query, size, column > 0)


@internal("noinline")
def differentiate_head(frame: Pointer[AttentionPlan], block: Block, slopes: Slopes, head: Head, scale: Real) -> None:
    """Write the gradients of a head's queries, and add those of its keys and values."""
    plan = frame[0]
    size = padded(plan.size, LANES)
    operand = plan.operands[QUERY]
    to = plan.operands[GRAD_QUERY]
    for first in range(0, plan.queries, QUERIES):
        rows = min(plan.queries - first, QUERIES)
        query = place_of(frame, head, QUERY) + first * operand.row
        take_queries(query, operand, rows, padded(rows, 2 * LANES), plan.size, scale, cast(Reals, block.turned))
        pack_rows(query, operand, rows, plan.size, cast(Reals, slopes.queries), size)
        take_outputs(frame, slopes, head, first, rows)
        seen = plan.keys if plan.is_causal == 0 else min(plan.keys, first + rows)
        for column in range(0, seen, KEYS):
            differentiate_tile(frame, block, slopes, head, first, column, min(seen - column, KEYS), scale)
        place = place_of(frame, head, GRAD_QUERY) + first * to.row
        write_rows(cast(Reals, slopes.of_query), size, place, to, rows, plan.size)


@internal("noinline")
def place_blocks(plan: AttentionPlan, start: Address, block: Block, slopes: Slopes) -> None:
    """Divide memory among a block of queries and gradients."""
    size = padded(plan.size, LANES) * SIZE
    width = padded(plan.width, LANES) * SIZE
    tile_size = KEYS * QUERIES * SIZE
    block.turned = behind(start, 0)
    block.scores = behind(block.turned, size * QUERIES)
    block.added = behind(block.scores, tile_size)
    slopes.turned = behind(block.added, tile_size * plan.is_masked)
    slopes.scores = behind(slopes.turned, width * QUERIES)
    slopes.queries = behind(slopes.scores, tile_size)
    slopes.grads = behind(slopes.queries, size * QUERIES)
    slopes.keys = behind(slopes.grads, width * QUERIES)
    slopes.of_query = behind(slopes.keys, size * KEYS)
    slopes.sums = behind(slopes.of_query, size * QUERIES)
    slopes.through = behind(slopes.sums, QUERIES * SIZE)
    slopes.of_key = behind(slopes.through, QUERIES * SIZE)
    slopes.of_value = behind(slopes.of_key, size * plan.keys)


@exported
def attention_gradient(frame: Pointer[AttentionPlan], begin: int, end: int) -> None:
    """Compute the gradients of the groups [begin, end) of heads, counted over samples and groups."""
    plan = frame[0]
    scale = rounded_scale(frame)
    size = padded(plan.size, LANES)
    width = padded(plan.width, LANES)
    elements = (3 * size + 2 * width + 2) * QUERIES + (2 + plan.is_masked) * KEYS * QUERIES + KEYS * size
    start = room((elements + plan.keys * (size + width) + 1024) * SIZE)
    block = local_record(Block)
    slopes = local_record(Slopes)
    head = local_record(Head)
    place_blocks(plan, start, block, slopes)
    of_key = cast(Reals, slopes.of_key)
    of_value = cast(Reals, slopes.of_value)
    for group in range(begin, end):
        clear(of_key, plan.keys * size)
        clear(of_value, plan.keys * width)
        for member in range(plan.members):
            head_of(plan, group * plan.members + member, head)
            differentiate_head(frame, block, slopes, head, scale)
        key = plan.operands[GRAD_KEY]
        value = plan.operands[GRAD_VALUE]
        write_rows(of_key, size, place_of(frame, head, GRAD_KEY), key, plan.keys, plan.size)
        write_rows(of_value, width, place_of(frame, head, GRAD_VALUE), value, plan.keys, plan.width)
    memory.free(start)
