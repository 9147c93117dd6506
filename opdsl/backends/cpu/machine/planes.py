"""Convolutions as products of matrices whose right factor is read where it lies, through tables of offsets.

A convolution correlates: windows slide over its input; or it spreads, the transpose. Both come to the same sums. What
the windows show is made once as planes with their margins (``prepare``): one for each residue of the stride, so that
windows side by side show elements side by side. A result is then a sum, over channels and elements of the window, of a
number of the weight times a plane moved by an offset (``tables``); results of which nothing is asked, between the rows
of a plane, are computed along and dropped (``finish``). A spreading convolution has one such sum for each residue of
its results instead.
"""

from __future__ import annotations

from typing import cast

from opdsl.backends.cpu.machine.call import Plan
from opdsl.backends.cpu.machine.language import Records, Struct, Words, internal, unrolled
from opdsl.backends.cpu.machine.turn import turn
from opdsl.backends.cpu.machine.vectors import (
    LANES,
    Real,
    Reals,
    Vector,
    below,
    gather,
    lane_numbers,
    lanes_from,
    load,
    load_some,
    places_of,
    scatter,
    shuffle,
    spread,
    spread_number,
    store,
    store_some,
)

# Fewer channels side by side than this are not worth to be turned.
_FEWEST_TURNED = 4


class Dimension(Struct):
    """One of the three dimensions.

    size, out_size: of what is read, and of what is written.
    steps: from one window, or result, to the next.
    extent: of a plane.
    length, first, stride, dilation: of the windows.
    x_stride, w_stride, out_stride: elements between neighbours.
    step, phases, base: element i of plane r is that of what is read at base + i * step + r.
    shift: by how much windows reach beyond their first element, in elements of a plane.
    out_step, out_phases, out_base: step i of phase r is the result at out_base + i * out_step + r.
    """

    size: int
    out_size: int
    steps: int
    extent: int
    length: int
    first: int
    stride: int
    dilation: int
    x_stride: int
    w_stride: int
    out_stride: int
    step: int
    phases: int
    base: int
    shift: int
    out_step: int
    out_phases: int
    out_base: int


class ConvolutionPlan(Plan):
    """What a convolution reads.

    dimensions: three.
    samples, groups: how many.
    channels, filters: of a group, of what is read and of what is written.
    spreads: whether it is the transpose.
    is_biased: whether a bias lies among the operands.
    out_slot: words from the frame to the result's address.
    band: the dimension along which results are computed in bands; band_size: how many at a time.
    plane: elements of a channel's planes.
    chunk: of how many channels there are planes at a time.
    x_sample, ...: elements between neighbours; of the weight as it is read, whose rows are what results have.
    """

    dimensions: Records[Dimension]
    samples: int
    groups: int
    channels: int
    filters: int
    spreads: int
    is_biased: int
    out_slot: int
    band: int
    band_size: int
    plane: int
    chunk: int
    x_sample: int
    x_channel: int
    w_group: int
    w_output: int
    w_channel: int
    out_sample: int
    out_channel: int


@internal()
def cut(plan: ConvolutionPlan, first: int, size: int, counts: Words, firsts: Words) -> None:
    """How many results a band has along each dimension, and the first."""
    for dim in unrolled(range(3)):
        counts[dim] = size if plan.band == dim else plan.dimensions[dim].steps
        firsts[dim] = first if plan.band == dim else 0


@internal("alwaysinline")
def plane_elements(plan: ConvolutionPlan) -> int:
    """Elements of one plane."""
    return plan.dimensions[0].extent * plan.dimensions[1].extent * plan.dimensions[2].extent


@internal("alwaysinline")
def window_elements(plan: ConvolutionPlan) -> int:
    """Elements of a window."""
    return plan.dimensions[0].length * plan.dimensions[1].length * plan.dimensions[2].length


@internal("alwaysinline")
def weight_place(plan: ConvolutionPlan, t: int) -> int:
    """Where the weight of an element of the window lies."""
    d0 = plan.dimensions[0]
    d1 = plan.dimensions[1]
    d2 = plan.dimensions[2]
    row = t // d2.length
    return row // d1.length * d0.w_stride + row % d1.length * d1.w_stride + t % d2.length * d2.w_stride


@internal("alwaysinline")
def ceiling(first: int, second: int) -> int:
    """The quotient of two integers that are not negative, rounded up."""
    return (first + second - 1) // second


@internal("alwaysinline")
def first_within(start: int, step: int, count: int) -> int:
    """How many of ``count`` places a step apart are below 0."""
    return min(ceiling(max(0, 0 - start), step), count)


@internal("alwaysinline")
def crosses(channels: int, stride: int, step: int) -> bool:
    """Whether channels lie side by side, and elements of a row do not: rows of all channels are turned."""
    return channels >= _FEWEST_TURNED and stride == 1 and step != 1


# -------------------------------------------------------------------------------------------------------------- planes


@internal("noinline")
def prepare(plan: ConvolutionPlan, x: Reals, to: Reals, channels: int, counts: Words, firsts: Words) -> None:
    """Make planes of channels: elements of the input a step apart, zeros where it has none."""
    d0 = plan.dimensions[0]
    d1 = plan.dimensions[1]
    d2 = plan.dimensions[2]
    step0 = d0.step
    step1 = d1.step
    step2 = d2.step
    size0 = d0.size
    size1 = d1.size
    size2 = d2.size
    stride0 = d0.x_stride
    stride1 = d1.x_stride
    stride2 = d2.x_stride
    plane = plan.plane
    row_length = d2.extent
    rows = d1.extent * row_length
    elements = d0.extent * rows
    end1 = counts[1] + d1.shift
    end2 = counts[2] + d2.shift
    turns = crosses(channels, plan.x_channel, step2 * stride2)
    for c in range(0, channels, channels if turns else 1):
        channel = x + c * plan.x_channel
        for r0 in range(d0.phases):
            for r1 in range(d1.phases):
                for r2 in range(d2.phases):
                    phase = to + c * plane + ((r0 * d1.phases + r1) * d2.phases + r2) * elements
                    start0 = d0.base + firsts[0] * step0 + r0
                    start1 = d1.base + firsts[1] * step1 + r1
                    start2 = d2.base + firsts[2] * step2 + r2
                    for i0 in range(counts[0] + d0.shift):
                        s0 = start0 + i0 * step0
                        for i1 in range(end1):
                            s1 = start1 + i1 * step1
                            limit = size2 if s0 >= 0 and s0 < size0 and s1 >= 0 and s1 < size1 else 0
                            row = phase + i0 * rows + i1 * row_length
                            source = channel + s0 * stride0 + s1 * stride1
                            if turns:
                                prepare_across(source, start2, step2, stride2, limit, end2, row, plane, channels)
                            else:
                                copy_row(source, start2, step2, stride2, limit, end2, row)


@internal("alwaysinline")
def prepare_across(
    source: Reals, start: int, step: int, stride: int, limit: int, end: int, row: Reals, plane: int, channels: int
) -> None:
    """A row of the planes of channels that lie side by side."""
    low = first_within(start, step, end)
    high = max(low, first_within(start - limit, step, end)) if limit > 0 else low
    for c in range(channels):
        for j in range(low):
            row[c * plane + j] = cast(Real, 0.0)
    first = source + (start + low * step) * stride
    turn(first, step * stride, 1, high - low, channels, row + low, plane, end - low)


@internal("alwaysinline")
def copy_row(source: Reals, start: int, step: int, stride: int, limit: int, end: int, row: Reals) -> None:
    """Elements from a start on, with zeros outside of the limit. Up to a vector more than the row is written."""
    if step * stride == 1:
        for j in range(0, end, LANES):
            first = start + j
            store(row + j, load_some(source + first, below(lanes_from(first, 1), limit)))
    elif step == 2 and stride == 1:
        for j in range(0, end, LANES):
            first = start + 2 * j
            low = load_some(source + first, below(lanes_from(first, 1), limit))
            first += LANES
            high = load_some(source + first, below(lanes_from(first, 1), limit))
            store(row + j, shuffle(low, high, _even(LANES)))
    else:
        for j in range(0, end, LANES):
            numbers = lanes_from(start + j * step, step)
            places = places_of(source, numbers * spread_number(stride))
            store(row + j, gather(places, below(numbers, limit)))


def _even(lanes: int) -> tuple[int, ...]:
    """Every other lane of two vectors."""
    return tuple(range(0, 2 * lanes, 2))


# ------------------------------------------------------------------------------------------------------------- results


@internal("noinline")
def finish(
    plan: ConvolutionPlan, sums: Reals, pitch: int, height: int, to: Reals, bias: Reals | None, counts: Words,
    firsts: Words, phase: int,
) -> None:  # fmt: skip
    """Write rows of sums, of a phase of the results, to where their results lie, with a bias."""
    d0 = plan.dimensions[0]
    d1 = plan.dimensions[1]
    d2 = plan.dimensions[2]
    step0 = d0.out_step
    step1 = d1.out_step
    step2 = d2.out_step
    size0 = d0.out_size
    size1 = d1.out_size
    size2 = d2.out_size
    stride0 = d0.out_stride
    stride1 = d1.out_stride
    stride2 = d2.out_stride
    row_length = d2.extent
    rows = d1.extent * row_length
    start0 = d0.out_base + firsts[0] * step0 + phase // (d1.out_phases * d2.out_phases)
    start1 = d1.out_base + firsts[1] * step1 + phase // d2.out_phases % d1.out_phases
    start2 = d2.out_base + firsts[2] * step2 + phase % d2.out_phases
    count1 = counts[1]
    count2 = counts[2]
    turns = crosses(height, plan.out_channel, step2 * stride2)
    if turns:
        for r in range(height):
            added = bias_of(bias, r)
            for p in range(0, counts[0] * rows, LANES):
                place = sums + r * pitch + p
                store(place, load(place) + added)
    for r in range(0, height, height if turns else 1):
        added = bias_of(bias, r)
        results = to + r * plan.out_channel
        for i0 in range(counts[0]):
            s0 = start0 + i0 * step0
            for i1 in range(count1):
                s1 = start1 + i1 * step1
                limit = size2 if s0 >= 0 and s0 < size0 and s1 >= 0 and s1 < size1 else 0
                row = sums + r * pitch + i0 * rows + i1 * row_length
                target = results + s0 * stride0 + s1 * stride1
                if turns:
                    low = first_within(start2, step2, count2)
                    high = max(low, first_within(start2 - limit, step2, count2)) if limit > 0 else low
                    place = target + (start2 + low * step2) * stride2
                    turn(row + low, pitch, 1, height, high - low, place, step2 * stride2, height)
                else:
                    store_row(row, added, target, start2, step2, stride2, limit, count2)


@internal("alwaysinline")
def bias_of(bias: Reals | None, row: int) -> Vector:
    """What is added to a row of sums, in all lanes."""
    return spread(cast(Real, -0.0) if bias is None else bias[row])


@internal("alwaysinline")
def store_row(
    row: Reals, added: Vector, target: Reals, start: int, step: int, stride: int, limit: int, count: int
) -> None:
    """Results from a start on, a step apart, as far as there are any: below the limit, and ``count``."""
    for j in range(0, count, LANES):
        values = load(row + j) + added
        first = start + j * step
        if step * stride == 1:
            mask = below(lanes_from(first, 1), limit) & below(lanes_from(j, 1), count)
            store_some(target + first, values, mask)
        elif step == 2 and stride == 1:
            for half in unrolled(range(2)):
                place = first + half * LANES
                inside = below(lanes_from(place, 1), limit) & below(lanes_from(2 * j + half * LANES, 1), 2 * count)
                even = below(lane_numbers() & spread_number(1), 1)
                store_some(target + place, shuffle(values, values, _twice(LANES, half)), inside & even)
        else:
            numbers = lanes_from(first, step)
            places = places_of(target, numbers * spread_number(stride))
            scatter(places, values, below(numbers, limit) & below(lanes_from(j, 1), count))


def _twice(lanes: int, half: int) -> tuple[int, ...]:
    """Each lane twice; of the lower half of lanes, or the upper one."""
    return tuple((half * lanes + lane) // 2 for lane in range(lanes))


# -------------------------------------------------------------------------------------------------------------- tables


@internal("noinline")
def tables(plan: ConvolutionPlan, channels: int, ka: Words, kb: Words, starts: Words) -> None:
    """Where the factors of a sum lie, phase by phase: in the weight (ka) and in the planes (kb).

    starts: where the part of each phase begins, and its end.
    """
    d0 = plan.dimensions[0]
    d1 = plan.dimensions[1]
    d2 = plan.dimensions[2]
    spreads = plan.spreads != 0
    elements = plane_elements(plan)
    phases = d0.out_phases * d1.out_phases * d2.out_phases
    at = 0
    for phase in range(phases):
        starts[phase] = at
        p0 = phase // d2.out_phases // d1.out_phases
        p1 = phase // d2.out_phases % d1.out_phases
        p2 = phase % d2.out_phases
        for c in range(channels):
            for t0 in range(d0.length):
                if lacks(d0, spreads, t0, p0):
                    continue
                for t1 in range(d1.length):
                    if lacks(d1, spreads, t1, p1):
                        continue
                    for t2 in range(d2.length):
                        if lacks(d2, spreads, t2, p2):
                            continue
                        r0 = residue(d0, spreads, t0)
                        r1 = residue(d1, spreads, t1)
                        r2 = residue(d2, spreads, t2)
                        m0 = moved(d0, spreads, t0)
                        m1 = moved(d1, spreads, t1)
                        m2 = moved(d2, spreads, t2)
                        shown = ((r0 * d1.phases + r1) * d2.phases + r2) * elements
                        kb[at] = c * plan.plane + shown + (m0 * d1.extent + m1) * d2.extent + m2
                        ka[at] = c * plan.w_channel + t0 * d0.w_stride + t1 * d1.w_stride + t2 * d2.w_stride
                        at += 1
    starts[phases] = at


@internal("alwaysinline")
def lacks(dimension: Dimension, spreads: bool, t: int, phase: int) -> bool:
    """Whether an element of the window has no part in the results of a phase."""
    return spreads and t * dimension.dilation % dimension.stride != phase


@internal("alwaysinline")
def residue(dimension: Dimension, spreads: bool, t: int) -> int:
    """The plane that an element of the window meets."""
    return 0 if spreads else t * dimension.dilation % dimension.stride


@internal("alwaysinline")
def moved(dimension: Dimension, spreads: bool, t: int) -> int:
    """Where an element of the window begins in its plane."""
    steps = t * dimension.dilation // dimension.stride
    return dimension.shift - steps if spreads else steps
