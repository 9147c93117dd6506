"""Kernels of depthwise convolutions with channels last, where vector lanes are channels.

Along a line of results most results use the same elements of the window; only some near the ends use fewer. Tables hold
the offsets of these elements, and several results that use the same ones are computed at once.
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
from opdsl.backends.cpu.machine.planes import Axis, ConvolutionPlan, Dimension, ceiling, weight_place, window_elements
from opdsl.backends.cpu.machine.room import LINE, behind, room
from opdsl.backends.cpu.machine.vectors import (
    LANES,
    SIZE,
    Mask,
    Real,
    Reals,
    Vector,
    first_lanes,
    fma,
    load,
    load_some,
    store_some,
)

# The numbers of results that may be computed at once, and of window elements whose gradients may be.
_RESULTS = (8, 4, 2, 1)
_TERMS = (9, 3, 1)


class Lines(Struct):
    """Tables for the results of a line: memory offsets of the elements that they read, and which elements of the window
    are in bounds.

    weights: of the window's elements, then the bias; rows of channels, ``pitch`` apart.
    pitch: elements between rows of the weights.
    last: offset of the bias in the weights.
    step, out_step: distances in elements between the inputs of successive results of a line, and between these results.
    ahead: distance in elements between the inputs of successive lines.
    kx, kw: offsets of the input elements and of the weights of the first result, column by column of the window.
    met: for the first two dimensions, the offsets that each element of the window reads; -1 if out of bounds.
    starts, begins, ends: for a column of the window, its first index in ``kx``, and the range of results for which it
        is in bounds.
    first, count, change: what ``find`` returns for a result: the first index and the number of elements it reads, and
        the next result that reads other elements.
    """

    weights: Address
    pitch: int
    last: int
    step: int
    out_step: int
    ahead: int
    kx: Words
    kw: Words
    met: Words
    starts: Words
    begins: Words
    ends: Words
    first: int
    count: int
    change: int


@instruction("call void @llvm.prefetch.p0(ptr {0}, i32 0, i32 3, i32 1)")
def prefetch(place: Reals) -> None:
    """Prefetch a cache line."""


@instruction("sdiv i64 {0}, {1}")
def divided(first: int, second: int) -> int:
    """Return the quotient of integers, rounded toward 0."""
    raise NotImplementedError


@internal("alwaysinline")
def quotient(first: int, second: int) -> int:
    """Return ``divided``, with a fast path for the most frequent divisor 1, because division is slow."""
    return first if second == 1 else divided(first, second)


# --------------------------------------------------------------------------------------------------------------- spans


@internal("noinline")
def span(
    lines: Lines, kx: Words, kw: Words, count: int, x: Reals, out: Reals, begin: int, end: int, size: Constant,
    is_sum: Constant,
) -> None:  # fmt: skip
    """Run ``sums`` or ``terms`` for channels [begin, end), a vector at a time."""
    left = (end - begin) & (LANES - 1)
    for c in range(begin, end - left, LANES):
        compute(lines, kx, kw, count, x + c, out + c, c, first_lanes(LANES), size, is_sum)
    if left != 0:
        c = end - left
        compute(lines, kx, kw, count, x + c, out + c, c, first_lanes(left), size, is_sum)


@internal("alwaysinline")
def compute(
    lines: Lines, kx: Words, kw: Words, count: int, x: Reals, out: Reals, c: int, mask: Mask, size: Constant,
    is_sum: Constant,
) -> None:  # fmt: skip
    """Run ``sums`` or ``terms`` for one vector of channels."""
    weights = cast(Reals, lines.weights) + c
    if is_sum:
        sums(kx, kw, count, x, weights, out, lines, mask, size)
    else:
        terms(kx, kw, count, x, weights, out, lines, mask, size)


@internal("alwaysinline")
def sums(
    kx: Words, kw: Words, count: int, x: Reals, weights: Reals, out: Reals, lines: Lines, mask: Mask,
    results: Constant,
) -> None:  # fmt: skip
    """Compute neighboring results, each the sum of a bias and ``count`` products."""
    step = lines.step
    out_step = lines.out_step
    totals = local(Vector, results)
    for k in unrolled(range(results)):
        totals[k] = load(weights + lines.last)
    for term in range(count):
        factor = load(weights + kw[term])
        base = x + kx[term]
        for k in unrolled(range(results)):
            totals[k] = fma(factor, load_some(base + k * step, mask), totals[k])
    # Prefetch the input of the next line: its stride is too large for the processor's own prefetcher.
    following = x + kx[max(count - 1, 0)] + lines.ahead
    for k in unrolled(range(results)):
        prefetch(following + k * step)
    for k in unrolled(range(results)):
        store_some(out + k * out_step, totals[k], mask)


@internal("alwaysinline")
def terms(
    kx: Words, kw: Words, count: int, x: Reals, weights: Reals, out: Reals, lines: Lines, mask: Mask,
    elements: Constant,
) -> None:  # fmt: skip
    """Add to the gradients of some weights, each the sum of ``count`` products of result gradients and inputs."""
    step = lines.step
    out_step = lines.out_step
    bases = local(Reals, elements)
    totals = local(Vector, elements)
    for k in unrolled(range(elements)):
        bases[k] = x + kx[k]
        totals[k] = load_some(weights + kw[k], mask)
    for result in range(count):
        factor = load_some(out + result * out_step, mask)
        for k in unrolled(range(elements)):
            totals[k] = fma(factor, load_some(bases[k] + result * step, mask), totals[k])
    for k in unrolled(range(elements)):
        store_some(weights + kw[k], totals[k], mask)


# -------------------------------------------------------------------------------------------------------------- tables


@internal("alwaysinline")
def reach(dimension: Dimension, axis: Axis, spreads: bool, result: int, t: int) -> int:
    """Return the input index that a result reads with an element of the window, times the step of the results."""
    offset = dimension.first + t * dimension.dilation
    return result * axis.step + (0 - offset if spreads else offset)


@internal("noinline")
def places_met(plan: ConvolutionPlan, dim: int, result: int, places: Words) -> None:
    """Write the input offset that a result reads with each element of the window; -1 if it reads none."""
    dimension = plan.dimensions[dim]
    axis = plan.read[dim]
    spreads = plan.spreads != 0
    step = plan.written[dim].step
    size = axis.size
    for t in range(dimension.length):
        reached = reach(dimension, axis, spreads, result, t)
        place = quotient(reached, step)
        is_inside = place * step == reached and place >= 0 and place < size
        places[t] = place * axis.stride if is_inside else -1


@internal("noinline")
def meet(plan: ConvolutionPlan, lines: Lines, o0: int, o1: int, o2: int) -> None:
    """Fill the tables for a line of results, given its first result."""
    dimension = plan.dimensions[2]
    axis = plan.read[2]
    spreads = plan.spreads != 0
    met0 = lines.met
    met1 = met0 + plan.dimensions[0].length
    places_met(plan, 0, o0, met0)
    places_met(plan, 1, o1, met1)
    length0 = plan.dimensions[0].length
    length1 = plan.dimensions[1].length
    columns = dimension.length
    size = axis.size
    stride = axis.stride
    pitch = lines.pitch
    step = axis.step
    apart = plan.written[2].step
    kx = lines.kx
    kw = lines.kw
    at = 0
    for t2 in range(columns):
        reached = reach(dimension, axis, spreads, o2, t2)
        p2 = quotient(reached, apart)
        lines.begins[t2] = quotient(max(0 - p2, 0) + step - 1, step)
        lines.ends[t2] = quotient(max(size - p2, 0) + step - 1, step)
        lines.starts[t2] = at
        if p2 * apart != reached:
            continue
        for t0 in range(length0):
            if met0[t0] >= 0:
                for t1 in range(length1):
                    if met1[t1] >= 0:
                        kx[at] = met0[t0] + met1[t1] + p2 * stride
                        kw[at] = ((t0 * length1 + t1) * columns + t2) * pitch
                        at += 1
    lines.starts[columns] = at


@internal("noinline")
def find(lines: Lines, result: int, results: int, columns: int) -> None:
    """Store in ``lines`` which table entries a result reads, and the next result that reads others."""
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
    """Initialize the values that all lines share, and allocate the tables."""
    window = window_elements(plan)
    columns = 8 * (plan.dimensions[2].length + 1)
    met = 8 * (plan.dimensions[0].length + plan.dimensions[1].length)
    around = 1 if plan.written[1].size > 1 else 0
    lines.pitch = (plan.groups + LANES - 1) & -LANES
    lines.last = window * lines.pitch
    lines.step = plan.read[2].step * plan.read[2].stride
    lines.out_step = plan.written[2].step * plan.written[2].stride
    lines.ahead = plan.read[around].step * plan.read[around].stride
    block = room(16 * (window + 1) + met + 3 * columns + SIZE * (lines.last + lines.pitch) + 7 * LINE)
    lines.kx = cast(Words, behind(block, 0))
    lines.kw = cast(Words, behind(lines.kx, 8 * (window + 1)))
    lines.met = cast(Words, behind(lines.kw, 8 * (window + 1)))
    lines.starts = cast(Words, behind(lines.met, met))
    lines.begins = cast(Words, behind(lines.starts, columns))
    lines.ends = cast(Words, behind(lines.begins, columns))
    lines.weights = behind(lines.ends, columns)
    return block


@internal()
def go_along(
    plan: ConvolutionPlan, lines: Lines, o0: int, o1: int, o2: int, x: Reals, out: Reals, begin: int, end: int,
    is_sum: Constant,
) -> None:  # fmt: skip
    """Compute a line: its results, or its contribution to the gradients of weights.

    o0, o1, o2: indices of its first result.
    x, out: the addresses of a sample of the operand that is read, and of the one that is written.
    """
    step = lines.step
    out_step = lines.out_step
    out = out + o0 * plan.written[0].stride + o1 * plan.written[1].stride + o2 * plan.written[2].stride
    results = ceiling(plan.written[2].size - o2, plan.written[2].step)
    meet(plan, lines, o0, o1, o2)
    result = 0
    while result < results:
        find(lines, result, results, plan.dimensions[2].length)
        kx = lines.kx + lines.first
        kw = lines.kw + lines.first
        count = lines.count
        many = lines.change - result
        place = x + result * step
        target = out + result * out_step
        done = 0
        if is_sum:
            for size in unrolled(_RESULTS):
                for k in range(done, many - (size - 1), size):
                    span(lines, kx, kw, count, place + k * step, target + k * out_step, begin, end, size, True)
                    done = k + size
        else:
            for size in unrolled(_TERMS):
                for k in range(done, count - (size - 1), size):
                    span(lines, kx + k, kw + k, many, place, target, begin, end, size, False)
                    done = k + size
        result = lines.change


@exported
def correlate_lanes(frame: Pointer[ConvolutionPlan], begin: int, end: int) -> None:
    """Compute lines [begin, end) of the results for all channels, counted over samples."""
    plan = frame[0]
    operands = cast(Pointer[Reals], frame)
    lines = local_record(Lines)
    block = begin_lines(plan, lines)
    weights = cast(Reals, lines.weights)
    window = window_elements(plan)
    for t in range(window):
        place = operands[4] + weight_place(plan, t)
        row = weights + t * lines.pitch
        step = plan.w_group
        for c in range(plan.groups):
            row[c] = place[c * step]
    for c in range(plan.groups):
        weights[lines.last + c] = operands[6][c] if plan.is_biased != 0 else cast(Real, 0.0)
    rows = plan.written[1].size
    apart = plan.written[2].step
    for line in range(begin, end):
        sample = line // rows // plan.written[0].size
        x = operands[2] + sample * plan.x_sample
        out = operands[plan.out_slot] + sample * plan.out_sample
        for phase in range(min(apart, plan.written[2].size)):
            o0 = line // rows % plan.written[0].size
            go_along(plan, lines, o0, line % rows, phase, x, out, 0, plan.groups, True)
    memory.free(block)


@exported
def weigh_lanes(frame: Pointer[ConvolutionPlan], begin: int, end: int) -> None:
    """Compute the gradients of the weights of channels [begin, end); the operands are the gradients of the results, and
    the input.
    """
    plan = frame[0]
    operands = cast(Pointer[Reals], frame)
    lines = local_record(Lines)
    block = begin_lines(plan, lines)
    weights = cast(Reals, lines.weights)
    window = window_elements(plan)
    for at in range(lines.last):
        weights[at] = cast(Real, 0.0)
    for sample in range(plan.samples):
        x = operands[4] + sample * plan.x_sample
        gradients = operands[2] + sample * plan.out_sample
        for o0 in range(plan.written[0].size):
            for o1 in range(plan.written[1].size):
                go_along(plan, lines, o0, o1, 0, x, gradients, begin, end, False)
    for t in range(window):
        place = operands[plan.out_slot] + weight_place(plan, t)
        row = weights + t * lines.pitch
        step = plan.w_group
        for c in range(begin, end):
            place[c * step] = row[c]
    memory.free(block)
