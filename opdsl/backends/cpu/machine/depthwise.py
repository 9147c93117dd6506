"""Convolutions of each channel by itself where channels lie side by side: they are the lanes of vectors.

A line of results meets the same elements of windows from one end to the other, but for some near its ends: tables have
where they lie, and several results that meet the same are computed at once.
"""

from __future__ import annotations

from typing import cast

from opdsl.backends.cpu.machine.language import (
    Address,
    Constant,
    Pointer,
    Struct,
    Words,
    exported,
    instruction,
    internal,
    local,
    local_record,
    unrolled,
)
from opdsl.backends.cpu.machine.objects import memory
from opdsl.backends.cpu.machine.planes import ConvolutionPlan, Dimension, ceiling, weight_place, window_elements
from opdsl.backends.cpu.machine.room import LINE, behind, room
from opdsl.backends.cpu.machine.vectors import (
    LANES,
    SIZE,
    Mask,
    Real,
    Reals,
    Vector,
    below,
    fma,
    lane_numbers,
    load,
    load_some,
    store_some,
)

# Results that are computed at once, and elements of windows whose gradients are.
_RESULTS = (8, 4, 2, 1)
_TERMS = (9, 3, 1)


class Lines(Struct):
    """What is the same for all lines, and what the results of one meet.

    weights: of elements of the window, then the bias; rows of channels, ``pitch`` apart.
    last: elements before the bias.
    apart: from one result of a line to the next that meets elements of the same phase.
    step, out_step: elements from what one result of a line meets to what the next one does, and to that one.
    ahead: from what one line meets to what the next one does.
    kx, kw: where elements that the first result meets lie in what is read, and in the weights, column by column of the
        window.
    starts, begins, ends: of a column, its first one, and between which results it is inside of what is read.
    first, count, change: what a result meets, and the next one that meets others.
    """

    weights: Address
    pitch: int
    last: int
    apart: int
    step: int
    out_step: int
    ahead: int
    kx: Words
    kw: Words
    starts: Words
    begins: Words
    ends: Words
    first: int
    count: int
    change: int


@instruction("call void @llvm.prefetch.p0(ptr {0}, i32 0, i32 3, i32 1)")
def prefetch(place: Reals) -> None:
    """Ask for what lies at a place."""


@instruction("sdiv i64 {0}, {1}")
def divided(first: int, second: int) -> int:
    """The quotient of integers, rounded towards 0."""
    raise NotImplementedError


@internal("alwaysinline")
def quotient(first: int, second: int) -> int:
    """``divided``; most are by 1, and dividing takes as long as all else."""
    return first if second == 1 else divided(first, second)


# --------------------------------------------------------------------------------------------------------------- spans


@internal("noinline")
def sums(
    lines: Lines, kx: Words, kw: Words, count: int, x: Reals, out: Reals, begin: int, end: int, results: Constant
) -> None:
    """Results of all channels, each the sum of ``count`` terms, and of what lies behind the last weight."""
    left = (end - begin) & (LANES - 1)
    for c in range(begin, end - left, LANES):
        sums_of_lanes(lines, kx, kw, count, x + c, out + c, c, below(lane_numbers(), LANES), results)
    if left != 0:
        c = end - left
        sums_of_lanes(lines, kx, kw, count, x + c, out + c, c, below(lane_numbers(), left), results)


@internal("alwaysinline")
def sums_of_lanes(
    lines: Lines, kx: Words, kw: Words, count: int, x: Reals, out: Reals, c: int, mask: Mask, results: Constant
) -> None:
    """As ``sums``, of as many channels as a vector has lanes."""
    weights = cast(Reals, lines.weights) + c
    step = lines.step
    out_step = lines.out_step
    ahead = lines.ahead
    totals = local(Vector, results)
    for k in unrolled(range(results)):
        totals[k] = load(weights + lines.last)
    for term in range(count):
        factor = load(weights + kw[term])
        base = x + kx[term]
        for k in unrolled(range(results)):
            totals[k] = fma(factor, load_some(base + k * step, mask), totals[k])
    # What the next line meets first: channels of neighbours are too far apart for the processor to foresee.
    following = x + kx[max(count - 1, 0)] + ahead
    for k in unrolled(range(results)):
        prefetch(following + k * step)
    for k in unrolled(range(results)):
        store_some(out + k * out_step, totals[k], mask)


@internal("noinline")
def terms(
    lines: Lines, kx: Words, kw: Words, count: int, x: Reals, out: Reals, begin: int, end: int, elements: Constant
) -> None:
    """Add to weights, each the sum of ``count`` products of results and what they meet."""
    left = (end - begin) & (LANES - 1)
    for c in range(begin, end - left, LANES):
        terms_of_lanes(lines, kx, kw, count, x + c, out + c, c, below(lane_numbers(), LANES), elements)
    if left != 0:
        c = end - left
        terms_of_lanes(lines, kx, kw, count, x + c, out + c, c, below(lane_numbers(), left), elements)


@internal("alwaysinline")
def terms_of_lanes(
    lines: Lines, kx: Words, kw: Words, count: int, x: Reals, out: Reals, c: int, mask: Mask, elements: Constant
) -> None:
    """As ``terms``, of as many channels as a vector has lanes."""
    step = lines.step
    out_step = lines.out_step
    weights = local(Reals, elements)
    bases = local(Reals, elements)
    totals = local(Vector, elements)
    for k in unrolled(range(elements)):
        weights[k] = cast(Reals, lines.weights) + c + kw[k]
        bases[k] = x + kx[k]
        totals[k] = load_some(weights[k], mask)
    for result in range(count):
        factor = load_some(out + result * out_step, mask)
        for k in unrolled(range(elements)):
            totals[k] = fma(factor, load_some(bases[k] + result * step, mask), totals[k])
    for k in unrolled(range(elements)):
        store_some(weights[k], totals[k], mask)


# -------------------------------------------------------------------------------------------------------------- tables


@internal("alwaysinline")
def distance(plan: ConvolutionPlan, dimension: Dimension, result: int, t: int) -> int:
    """How far a result reaches with an element of the window, in steps of ``divisor``."""
    reach = dimension.first + t * dimension.dilation
    return result - reach if plan.spreads != 0 else reach + result * dimension.stride


@internal("alwaysinline")
def divisor(plan: ConvolutionPlan, dimension: Dimension) -> int:
    """The steps of ``distance``; what lies between them does not meet."""
    return dimension.stride if plan.spreads != 0 else 1


@internal("alwaysinline")
def meets(plan: ConvolutionPlan, dimension: Dimension, result: int, t: int) -> int:
    """Where a result meets what is read with an element of the window; -1 for nowhere."""
    reached = distance(plan, dimension, result, t)
    position = quotient(reached, divisor(plan, dimension))
    is_inside = position * divisor(plan, dimension) == reached and position >= 0 and position < dimension.size
    return position if is_inside else -1


@internal("noinline")
def meet(plan: ConvolutionPlan, lines: Lines, o0: int, o1: int, o2: int) -> None:
    """Enter into the tables what the results of a line meet, of which the first is given."""
    d0 = plan.dimensions[0]
    d1 = plan.dimensions[1]
    d2 = plan.dimensions[2]
    step = 1 if plan.spreads != 0 else d2.stride
    at = 0
    for t2 in range(d2.length):
        reached = distance(plan, d2, o2, t2)
        p2 = quotient(reached, divisor(plan, d2))
        lines.begins[t2] = quotient(max(0 - p2, 0) + step - 1, step)
        lines.ends[t2] = quotient(max(d2.size - p2, 0) + step - 1, step)
        lines.starts[t2] = at
        if p2 * divisor(plan, d2) != reached:
            continue
        for t1 in range(d1.length):
            p1 = meets(plan, d1, o1, t1)
            if p1 < 0:
                continue
            for t0 in range(d0.length):
                p0 = meets(plan, d0, o0, t0)
                if p0 >= 0:
                    lines.kx[at] = p0 * d0.x_stride + p1 * d1.x_stride + p2 * d2.x_stride
                    lines.kw[at] = ((t0 * d1.length + t1) * d2.length + t2) * lines.pitch
                    at += 1
    lines.starts[d2.length] = at


@internal("noinline")
def find(lines: Lines, result: int, results: int, columns: int) -> None:
    """What a result meets: the first of the tables, and how many, and the next result that meets others."""
    first = 1 << 62
    end = 0
    change = results
    for k in range(columns):
        begin = lines.begins[k]
        after = lines.ends[k]
        if begin > result:
            change = min(change, begin)
        if after > result:
            change = min(change, after)
            if begin <= result:
                first = min(first, lines.starts[k])
                end = lines.starts[k + 1]
    lines.first = min(first, end)
    lines.count = end - lines.first
    lines.change = change


# --------------------------------------------------------------------------------------------------------------- lines


@internal()
def begin_lines(plan: ConvolutionPlan, lines: Lines) -> Address:
    """What is the same for all lines, and memory for what is not."""
    d0 = plan.dimensions[0]
    d1 = plan.dimensions[1]
    d2 = plan.dimensions[2]
    spreads = plan.spreads != 0
    window = window_elements(plan)
    columns = 8 * (d2.length + 1)
    lines.pitch = (plan.groups + LANES - 1) & -LANES
    lines.last = window * lines.pitch
    lines.apart = d2.stride if spreads else 1
    lines.step = d2.x_stride if spreads else d2.stride * d2.x_stride
    around = d1 if d1.out_size > 1 else d0
    lines.ahead = around.x_stride if spreads else around.stride * around.x_stride
    lines.out_step = lines.apart * d2.out_stride
    block = room(16 * (window + 1) + 3 * columns + SIZE * (lines.last + lines.pitch) + 6 * LINE)
    lines.kx = cast(Words, behind(block, 0))
    lines.kw = cast(Words, behind(lines.kx, 8 * (window + 1)))
    lines.starts = cast(Words, behind(lines.kw, 8 * (window + 1)))
    lines.begins = cast(Words, behind(lines.starts, columns))
    lines.ends = cast(Words, behind(lines.begins, columns))
    lines.weights = behind(lines.ends, columns)
    return block


@internal()
def go_along(
    plan: ConvolutionPlan, lines: Lines, o0: int, o1: int, o2: int, x: Reals, out: Reals, begin: int, end: int,
    is_sum: Constant,
) -> None:  # fmt: skip
    """Compute a line: the sums that its results are, or the gradients of weights.

    o0, o1, o2: its first result. x, out: the addresses of a sample, and of that result.
    """
    results = ceiling(plan.dimensions[2].out_size - o2, lines.apart)
    meet(plan, lines, o0, o1, o2)
    result = 0
    while result < results:
        find(lines, result, results, plan.dimensions[2].length)
        kx = lines.kx + lines.first
        kw = lines.kw + lines.first
        count = lines.count
        many = lines.change - result
        place = x + result * lines.step
        target = out + result * lines.out_step
        done = 0
        if is_sum:
            for size in unrolled(_RESULTS):
                for k in range(done, many - (size - 1), size):
                    results_at = target + k * lines.out_step
                    sums(lines, kx, kw, count, place + k * lines.step, results_at, begin, end, size)
                    done = k + size
        else:
            for size in unrolled(_TERMS):
                for k in range(done, count - (size - 1), size):
                    terms(lines, kx + k, kw + k, many, place, target, begin, end, size)
                    done = k + size
        result = lines.change


@exported
def correlate_lanes(frame: Pointer[ConvolutionPlan], begin: int, end: int) -> None:
    """Lines [begin, end) of the results of all channels, counted through samples."""
    plan = frame[0]
    operands = cast(Pointer[Reals], frame)
    lines = local_record(Lines)
    block = begin_lines(plan, lines)
    weights = cast(Reals, lines.weights)
    for t in range(window_elements(plan)):
        place = operands[4] + weight_place(plan, t)
        row = weights + t * lines.pitch
        step = plan.w_group
        for c in range(plan.groups):
            row[c] = place[c * step]
    for c in range(plan.groups):
        weights[lines.last + c] = operands[6][c] if plan.is_biased != 0 else cast(Real, 0.0)
    d0 = plan.dimensions[0]
    d1 = plan.dimensions[1]
    d2 = plan.dimensions[2]
    for line in range(begin, end):
        o1 = line % d1.out_size
        o0 = line // d1.out_size % d0.out_size
        sample = line // d1.out_size // d0.out_size
        x = operands[2] + sample * plan.x_sample
        for phase in range(min(lines.apart, d2.out_size)):
            place = operands[plan.out_slot] + sample * plan.out_sample
            place = place + o0 * d0.out_stride + o1 * d1.out_stride + phase * d2.out_stride
            go_along(plan, lines, o0, o1, phase, x, place, 0, plan.groups, 1)
    memory.free(block)


@exported
def weigh_lanes(frame: Pointer[ConvolutionPlan], begin: int, end: int) -> None:
    """The gradients of the weights of channels [begin, end): the operands are those of the results, and the input."""
    plan = frame[0]
    operands = cast(Pointer[Reals], frame)
    lines = local_record(Lines)
    block = begin_lines(plan, lines)
    weights = cast(Reals, lines.weights)
    for at in range(lines.last):
        weights[at] = cast(Real, 0.0)
    d0 = plan.dimensions[0]
    d1 = plan.dimensions[1]
    for sample in range(plan.samples):
        x = operands[4] + sample * plan.x_sample
        for o0 in range(d0.out_size):
            for o1 in range(d1.out_size):
                place = operands[2] + sample * plan.out_sample + o0 * d0.out_stride + o1 * d1.out_stride
                go_along(plan, lines, o0, o1, 0, x, place, begin, end, 0)
    for t in range(window_elements(plan)):
        place = operands[plan.out_slot] + weight_place(plan, t)
        row = weights + t * lines.pitch
        step = plan.w_group
        for c in range(begin, end):
            place[c * step] = row[c]
    memory.free(block)
