"""Plan of attention, the memory of a block of queries, and the functions that its kernels share."""

from __future__ import annotations

from typing import cast

from opdsl.backends.cpu.machine.call import Plan
from opdsl.backends.cpu.machine.language import Address, Constant, Pointer, Records, Struct, instruction, internal
from opdsl.backends.cpu.machine.vectors import (
    LANES,
    SIZE,
    Real,
    Reals,
    Vector,
    first_lanes,
    load,
    rounded,
    spread,
    store,
    store_some,
)

# Queries and keys of a tile: a multiple of all heights and widths of register tiles, so that the scores of a tile fit
# the second-level cache.
QUERIES, KEYS = 96, 128

# The operands of a call.
QUERY, KEY, VALUE, OUT, SUMS, MASK, GRAD, GRAD_QUERY, GRAD_KEY, GRAD_VALUE = range(10)


class Operand(Struct):
    """Operand of a call.

    slot: words from the frame to its address.
    sample, group, member, row, column: elements to the next sample, group of heads, head of a group, query or key, and
        element of it; for a mask and for log-sum-exps, to the next query and key.
    """

    slot: int
    sample: int
    group: int
    member: int
    row: int
    column: int


class AttentionPlan(Plan):
    """Plan of attention, in which threads divide blocks of queries.

    operands: queries, keys, values, the output, log-sum-exps of scores, and the mask that is added to scores; for
        gradients the output's gradient, and those of queries, keys and values.
    groups, members: the number of groups of heads that share keys and values, and of heads in a group.
    queries, keys: of a head.
    size, width: elements of a query or key, and of a value.
    blocks: the number of blocks of queries of a head.
    is_few: whether queries are taken one by one, since there are few; elements of keys and values are then contiguous.
    is_causal: whether a query attends only to keys up to its own index.
    is_masked, has_sums: whether there are a mask and log-sum-exps.
    selects: whether the mask, of inf and -inf, selects scores; otherwise it is added to them.
    scale_slot: words from the frame to the factor of scores.
    """

    operands: Records[Operand]
    groups: int
    members: int
    queries: int
    keys: int
    size: int
    width: int
    blocks: int
    is_few: int
    is_causal: int
    is_masked: int
    selects: int
    has_sums: int
    scale_slot: int


class Head(Struct):
    """Indices of a head: of its sample, of its group, and among the heads of the group."""

    sample: int
    group: int
    member: int


class Block(Struct):
    """Memory of a block of queries.

    turned: queries times the factor of scores, (size, QUERIES).
    scores: of a tile, (KEYS, QUERIES).
    added: the mask of a tile, (KEYS, QUERIES).
    packed: values of a tile, (KEYS, width), with rows of whole vectors.
    sums: sums of weighted values, (QUERIES, width), with rows of whole vectors.
    most, total, kept: for each query the largest score so far, the sum of weights, and the factor of earlier sums.
    """

    turned: Address
    scores: Address
    added: Address
    packed: Address
    sums: Address
    most: Address
    total: Address
    kept: Address


@instruction("call {Vector} @weight({Vector} {0}, {Vector} {1})")
def weight(scores: Vector, most: Vector) -> Vector:
    """Return ``exp(scores - most)``, and 0 for scores of -inf."""
    raise NotImplementedError


@instruction("call {Vector} @logarithm({Vector} {0})")
def logarithm(values: Vector) -> Vector:
    """Return the natural logarithm."""
    raise NotImplementedError


@instruction("call {Vector} @llvm.maxnum.{SUFFIX}({Vector} {0}, {Vector} {1})")
def maximum(first: Vector, second: Vector) -> Vector:
    """Return the larger elements; a number rather than NaN."""
    raise NotImplementedError


@instruction("call {Vector} @llvm.minnum.{SUFFIX}({Vector} {0}, {Vector} {1})")
def minimum(first: Vector, second: Vector) -> Vector:
    """Return the smaller elements; a number rather than NaN."""
    raise NotImplementedError


@instruction("fdiv {Vector} {0}, {1}")
def quotient(first: Vector, second: Vector) -> Vector:
    """Return the quotients of two vectors."""
    raise NotImplementedError


@instruction("""{t}none = fcmp oeq {Vector} {0}, zeroinitializer
select {Mask} {t}none, {Vector} {1}, {Vector} {0}""")
def unless_zero(values: Vector, other: Vector) -> Vector:
    """Return elements of the second vector where those of the first are 0."""
    raise NotImplementedError


@instruction("fadd {Real} 0xFFF0000000000000, 0.0")
def lowest() -> Real:
    """Return -inf."""
    raise NotImplementedError


@internal("alwaysinline")
def padded(count: int, unit: Constant) -> int:
    """Return the next multiple of a number of elements."""
    return (count + unit - 1) // unit * unit


@internal("alwaysinline")
def head_of(plan: AttentionPlan, at: int, head: Head) -> None:
    """Set the indices of a head, given its position among all."""
    group = at // plan.members
    head.member = at % plan.members
    head.group = group % plan.groups
    head.sample = group // plan.groups


@internal("alwaysinline")
def place_of(frame: Pointer[AttentionPlan], head: Head, which: Constant) -> Reals:
    """Return the address of a head's part of an operand."""
    operand = frame[0].operands[which]
    return (
        cast(Pointer[Reals], frame)[operand.slot]
        + head.sample * operand.sample
        + head.group * operand.group
        + head.member * operand.member
    )


@internal("alwaysinline")
def rounded_scale(frame: Pointer[AttentionPlan]) -> Real:
    """Return the factor of scores in the precision of elements."""
    value = cast(Pointer[float], frame)[frame[0].scale_slot]
    return rounded(value) if SIZE == 4 else cast(Real, value)


@internal("noinline")
def scale_sums(block: Block, rows: int, width: int) -> None:
    """Multiply earlier sums of values by the factors of their queries."""
    sums = cast(Reals, block.sums)
    factors = cast(Reals, block.kept)
    for row in range(rows):
        if factors[row] != cast(Real, 1.0):
            factor = spread(factors[row])
            for lane in range(0, width, LANES):
                place = sums + row * width + lane
                store(place, load(place) * factor)


@internal("noinline")
def write_output(block: Block, out: Reals, operand: Operand, rows: int, width: int, pitch: int) -> None:
    """Write sums of values divided by sums of weights; queries that attend to no key get 0."""
    sums = cast(Reals, block.sums)
    totals = cast(Reals, block.total)
    for row in range(rows):
        total = unless_zero(spread(totals[row]), spread(cast(Real, 1.0)))
        source = sums + row * pitch
        target = out + row * operand.row
        for lane in range(0, pitch, LANES):
            mean = quotient(load(source + lane), total)
            if operand.column == 1:
                store_some(target + lane, mean, first_lanes(width - lane))
            else:
                store(source + lane, mean)
        if operand.column != 1:
            for k in range(width):
                target[k * operand.column] = source[k]


@internal("noinline")
def write_sums(block: Block, to: Reals, operand: Operand, rows: int, columns: int) -> None:
    """Write the log-sum-exp of each query's scores."""
    highest = cast(Reals, block.most)
    totals = cast(Reals, block.total)
    factors = cast(Reals, block.kept)
    for lane in range(0, columns, LANES):
        store(factors + lane, load(highest + lane) + logarithm(load(totals + lane)))
    for row in range(rows):
        to[row * operand.row] = factors[row]
