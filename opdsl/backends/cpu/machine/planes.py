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
from opdsl.backends.cpu.machine.language import Constant, Records, Struct, Words, internal, local, unrolled
from opdsl.backends.cpu.machine.turn import turn
from opdsl.backends.cpu.machine.vectors import (
    LANES,
    Real,
    Reals,
    first_lanes,
    load,
    load_some,
    shuffle,
    spread,
    store,
    store_some,
    zeros,
)

# Fewer channels side by side than this are not worth to be turned.
_FEWEST_TURNED = 4


class Axis(Struct):
    """A dimension of what is read, or of what is written: element i of phase r lies at ``base + i * step + r``.

    stride: elements between neighbours.
    """

    size: int
    stride: int
    step: int
    phases: int
    base: int


class Dimension(Struct):
    """One of the three dimensions of windows.

    steps: from one window, or result, to the next.
    length, first, stride, dilation: of the windows. w_stride: elements between neighbours of the weight.
    shift: by how much windows reach beyond their first element, in elements of a plane.
    """

    steps: int
    length: int
    first: int
    stride: int
    dilation: int
    w_stride: int
    shift: int


class ConvolutionPlan(Plan):
    """What a convolution reads.

    dimensions, read, written: three each.
    samples, groups: how many.
    channels, filters: of a group, of what is read and of what is written.
    spreads: whether it is the transpose.
    is_biased: whether a bias lies among the operands.
    out_slot: words from the frame to the result's address.
    band: the dimension along which results are computed in bands; band_size: how many at a time.
    chunk: of how many channels there are planes at a time.
    shares_filters: whether threads share out tiles of filters, not bands.
    x_sample, ...: elements between neighbours; of the weight as it is read, whose rows are what results have.
    """

    dimensions: Records[Dimension]
    read: Records[Axis]
    written: Records[Axis]
    samples: int
    groups: int
    channels: int
    filters: int
    spreads: int
    is_biased: int
    out_slot: int
    band: int
    band_size: int
    chunk: int
    shares_filters: int
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
def window_elements(plan: ConvolutionPlan) -> int:
    """Elements of a window."""
    return plan.dimensions[0].length * plan.dimensions[1].length * plan.dimensions[2].length


@internal("alwaysinline")
def extent(plan: ConvolutionPlan, dim: int) -> int:
    """The size of planes along a dimension: what the windows of a band reach."""
    dimension = plan.dimensions[dim]
    return (plan.band_size if plan.band == dim else dimension.steps) + dimension.shift


@internal("alwaysinline")
def plane_elements(plan: ConvolutionPlan) -> int:
    """Elements of one plane; a channel has one for each phase of what is read."""
    return extent(plan, 0) * extent(plan, 1) * extent(plan, 2)


@internal("alwaysinline")
def phases_of(axes: Records[Axis]) -> int:
    """How many phases there are."""
    return axes[0].phases * axes[1].phases * axes[2].phases


@internal("alwaysinline")
def weight_place(plan: ConvolutionPlan, t: int) -> int:
    """Where the weight of an element of the window lies."""
    place = 0
    for dim in unrolled((2, 1, 0)):
        dimension = plan.dimensions[dim]
        place += t % dimension.length * dimension.w_stride
        t = t // dimension.length
    return place


@internal("alwaysinline")
def ceiling(first: int, second: int) -> int:
    """The quotient of two integers that are not negative, rounded up."""
    return (first + second - 1) // second


@internal("noinline")
def tables(plan: ConvolutionPlan, channels: int, ka: Words, kb: Words, starts: Words) -> None:
    """Where the factors of a sum lie, phase by phase: in the weight (ka) and in the planes (kb).

    starts: where the part of each phase begins, and its end.
    """
    window = window_elements(plan)
    phases = phases_of(plan.written)
    plane_size = phases_of(plan.read) * plane_elements(plan)
    at = 0
    for phase in range(phases):
        begin = at
        starts[phase] = at
        for t in range(window):
            element = t
            asked = phase
            weight = 0
            place = 0
            size = 1
            plane = 0
            planes = 1
            is_met = True
            for dim in unrolled((2, 1, 0)):
                dimension = plan.dimensions[dim]
                k = element % dimension.length
                reach = k * dimension.dilation
                element = element // dimension.length
                weight += k * dimension.w_stride
                is_met = is_met and reach % plan.written[dim].step == asked % plan.written[dim].phases
                asked = asked // plan.written[dim].phases
                plane += reach % plan.read[dim].step * planes
                planes = planes * plan.read[dim].phases
                steps = reach // dimension.stride
                place += (steps if plan.spreads == 0 else dimension.shift - steps) * size
                size = size * extent(plan, dim)
            if is_met:
                ka[at] = weight
                kb[at] = plane * size + place
                at += 1
        count = at - begin
        for _ in range(count * (channels - 1)):  # the next channel's
            ka[at] = ka[at - count] + plan.w_channel
            kb[at] = kb[at - count] + plane_size
            at += 1
    starts[phases] = at


@internal("noinline")
def prepare(plan: ConvolutionPlan, x: Reals, planes: Reals, channels: int, counts: Words, firsts: Words) -> None:
    """Make planes of channels: elements of the input a step apart, zeros where it has none."""
    some = channels if crosses(plan.read, plan.x_channel, channels) else 1
    elements = plane_elements(plan)
    phases = phases_of(plan.read)
    for c in range(0, channels, some):
        for phase in range(phases):
            rows = planes + (c * phases + phase) * elements
            source = x + c * plan.x_channel
            exchange(
                plan,
                plan.read,
                rows,
                phases * elements,
                source,
                plan.x_channel,
                some,
                None,
                counts,
                firsts,
                phase,
                True,
            )


@internal("alwaysinline")
def crosses(axes: Records[Axis], channel: int, channels: int) -> bool:
    """Whether channels lie side by side, and elements of a row do not: rows of all channels are turned."""
    return channels >= _FEWEST_TURNED and channel == 1 and axes[2].step * axes[2].stride != 1


@internal("noinline")
def exchange(
    plan: ConvolutionPlan, axes: Records[Axis], rows: Reals, pitch: int, lie: Reals, channel: int, channels: int,
    bias: Reals | None, counts: Words, firsts: Words, phase: int, reads: Constant,
) -> None:  # fmt: skip
    """Between rows of channels, a pitch apart, and where their elements lie: of a phase, in the band of ``cut``.

    It reads a row of a plane, with zeros outside; or it writes a row of results, with a bias, as far as there are any.
    """
    start = local(int, 3)
    count = local(int, 3)
    step = local(int, 3)
    size = local(int, 3)
    stride = local(int, 3)
    rest = phase
    for dim in unrolled((2, 1, 0)):
        axis = axes[dim]
        start[dim] = axis.base + firsts[dim] * axis.step + rest % axis.phases
        rest = rest // axis.phases
        count[dim] = counts[dim] + (plan.dimensions[dim].shift if reads else 0)
        step[dim] = axis.step
        size[dim] = axis.size
        stride[dim] = axis.stride
    length = extent(plan, 2)
    lines = extent(plan, 1)
    low = min(ceiling(max(0, 0 - start[2]), step[2]), count[2])
    high = max(low, min(ceiling(max(0, size[2] - start[2]), step[2]), count[2]))
    turns = crosses(axes, channel, channels)
    if turns and not reads:
        for c in range(channels):
            added = spread(bias_of(bias, c))
            for j in range(0, count[0] * lines * length, LANES):
                store(rows + c * pitch + j, load(rows + c * pitch + j) + added)
    for c in range(0, channels, channels if turns else 1):
        for i0 in range(count[0]):
            s0 = start[0] + i0 * step[0]
            for i1 in range(count[1]):
                s1 = start[1] + i1 * step[1]
                is_inside = s0 >= 0 and s0 < size[0] and s1 >= 0 and s1 < size[1]
                begin = low if is_inside else count[2]
                end = high if is_inside else count[2]
                row = rows + c * pitch + (i0 * lines + i1) * length
                place = lie + c * channel + s0 * stride[0] + s1 * stride[1] + start[2] * stride[2]
                if turns:
                    turn_row(row, pitch, place, channels, step[2] * stride[2], begin, end, count[2], reads)
                elif reads:
                    copy_row(row, place, step[2] * stride[2], begin, end, count[2])
                else:
                    store_row(row, place, bias_of(bias, c), step[2], stride[2], begin, end)


@internal("alwaysinline")
def bias_of(bias: Reals | None, channel: int) -> Real:
    """What is added to a row of sums."""
    return cast(Real, -0.0) if bias is None else bias[channel]


@internal("alwaysinline")
def turn_row(
    row: Reals, pitch: int, place: Reals, channels: int, step: int, low: int, high: int, count: int, reads: Constant
) -> None:
    """A row of channels that lie side by side."""
    if reads:
        for c in range(channels):
            for j in range(low):
                row[c * pitch + j] = cast(Real, 0.0)
        turn(place + low * step, step, 1, high - low, channels, row + low, pitch, count - low)
    else:
        turn(row + low, pitch, 1, channels, high - low, place + low * step, step, channels)


@internal("alwaysinline")
def fill(row: Reals, begin: int, end: int) -> None:
    """Zeros, and up to a vector more."""
    for j in range(begin, end, LANES):
        store(row + j, zeros())


@internal("alwaysinline")
def copy_row(row: Reals, place: Reals, step: int, low: int, high: int, count: int) -> None:
    """Elements [low, high), which lie a step apart, among zeros. Up to a vector more than the row is written."""
    fill(row, 0, low)
    done = low
    if step == 1:
        for j in range(low, high - (LANES - 1), LANES):
            store(row + j, load(place + j))
            done = j + LANES
        if done < high:
            store(row + done, load_some(place + done, first_lanes(high - done)))
            done += LANES
    elif step == 2:
        for j in range(low, high - LANES, LANES):
            store(row + j, shuffle(load(place + 2 * j), load(place + 2 * j + LANES), _even(LANES)))
            done = j + LANES
        if done < high:
            left = 2 * (high - done) - 1
            first = load_some(place + 2 * done, first_lanes(left))
            second = load_some(place + 2 * done + LANES, first_lanes(left - LANES))
            store(row + done, shuffle(first, second, _even(LANES)))
            done += LANES
    for j in range(done, high):
        row[j] = place[j * step]
    fill(row, max(done, high), count)


@internal("alwaysinline")
def store_row(row: Reals, place: Reals, added: Real, step: int, stride: int, low: int, high: int) -> None:
    """Results [low, high), with a bias, to places a step apart."""
    done = low
    if step * stride == 1:
        for j in range(low, high - (LANES - 1), LANES):
            store(place + j, load(row + j) + spread(added))
            done = j + LANES
        if done < high:
            store_some(place + done, load(row + done) + spread(added), first_lanes(high - done))
            done = high
    elif step == 2 and stride == 1:  # the results between are of this row too: nobody else writes them meanwhile
        for j in range(low, high - LANES, LANES):
            values = load(row + j) + spread(added)
            for half in unrolled(range(2)):
                target = place + 2 * j + half * LANES
                store(target, shuffle(values, load(target), _between(LANES, half)))
            done = j + LANES
    for j in range(done, high):
        place[j * step * stride] = row[j] + added


def _even(lanes: int) -> tuple[int, ...]:
    """Every other lane of two vectors."""
    return tuple(range(0, 2 * lanes, 2))


def _between(lanes: int, half: int) -> tuple[int, ...]:
    """Lanes of the lower half of a vector, or the upper one, each before one of a second vector that stays."""
    return tuple(lanes + lane if lane % 2 else (half * lanes + lane) // 2 for lane in range(lanes))
