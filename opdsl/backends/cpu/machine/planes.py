"""Convolutions as implicit matrix products: the right factor is read from padded planes through tables of offsets.

A convolution correlates, with windows that slide over its input, or it is the transpose ("spreads"). Both are computed
as the same sums. First the input is copied to padded planes (``prepare``), one for each residue of the stride, so that
neighboring windows read neighboring elements. Then each result is a sum, over channels and elements of the window, of
an element of the weight times a plane at an offset (``tables``). Between the rows of a plane unneeded results are
computed too, and dropped (``exchange``). A transposed convolution has one such sum for each residue of its results.
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

# The fewest contiguous channels that are worth a transposition.
_FEWEST_TURNED = 4


class Axis(Struct):
    """Dimension of the operand that is read, or of the one that is written.

    Element i of phase r has index ``base + i * step + r``, where phases are the residues of indices modulo the step.

    size: of the dimension.
    stride: elements between neighbors.
    step, phases, base: see above; ``phases`` is the number of residues that occur.
    """

    size: int
    stride: int
    step: int
    phases: int
    base: int


class Dimension(Struct):
    """Sizes and strides of windows along a dimension; there are always three dimensions.

    steps: the number of windows, or of results of a phase.
    length, first, stride, dilation: of the windows.
    w_stride: elements between neighbors of the weight.
    shift: by how much windows extend beyond their first element, in elements of a plane.
    """

    steps: int
    length: int
    first: int
    stride: int
    dilation: int
    w_stride: int
    shift: int


class ConvolutionPlan(Plan):
    """Plan of a convolution.

    dimensions, read, written: three each.
    samples, groups: how many there are.
    channels, filters: the channels per group of the operand that is read, and of the one that is written.
    spreads: whether it is the transpose.
    is_biased: whether the operands include a bias.
    out_slot: words from the frame to the result's address.
    band: the dimension along which results are computed in bands; band_size: the results of a band.
    chunk: the number of channels whose planes are in memory at a time.
    shares_filters: whether threads divide tiles of filters instead of bands.
    x_sample, ...: elements between neighbors; w_output is the weight's stride along the channels that are written,
        w_channel that along the channels that are read.
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
    """Write the number of results that a band has along each dimension, and the index of its first."""
    for dim in unrolled(range(3)):
        counts[dim] = size if plan.band == dim else plan.dimensions[dim].steps
        firsts[dim] = first if plan.band == dim else 0


@internal("alwaysinline")
def window_elements(plan: ConvolutionPlan) -> int:
    """Return the number of elements of a window."""
    return plan.dimensions[0].length * plan.dimensions[1].length * plan.dimensions[2].length


@internal("alwaysinline")
def extent(plan: ConvolutionPlan, dim: int) -> int:
    """Return the size of planes along a dimension, which covers all windows of a band."""
    dimension = plan.dimensions[dim]
    return (plan.band_size if plan.band == dim else dimension.steps) + dimension.shift


@internal("alwaysinline")
def plane_elements(plan: ConvolutionPlan) -> int:
    """Return the number of elements of a plane; a channel has a plane for each phase of the input."""
    return extent(plan, 0) * extent(plan, 1) * extent(plan, 2)


@internal("alwaysinline")
def phases_of(axes: Records[Axis]) -> int:
    """Return the number of phases."""
    return axes[0].phases * axes[1].phases * axes[2].phases


@internal("alwaysinline")
def weight_place(plan: ConvolutionPlan, t: int) -> int:
    """Return the offset of a window element in the weight."""
    place = 0
    for dim in unrolled((2, 1, 0)):
        dimension = plan.dimensions[dim]
        place += t % dimension.length * dimension.w_stride
        t = t // dimension.length
    return place


@internal("alwaysinline")
def ceiling(first: int, second: int) -> int:
    """Return the quotient of two nonnegative integers, rounded up."""
    return (first + second - 1) // second


@internal("noinline")
def tables(plan: ConvolutionPlan, channels: int, ka: Words, kb: Words, starts: Words) -> None:
    """Write the offsets of the factors of each sum, phase by phase: in the weight (ka) and in the planes (kb).

    starts: the start index of each phase, and the end.
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
        for _ in range(count * (channels - 1)):  # entries of the next channel
            ka[at] = ka[at - count] + plan.w_channel
            kb[at] = kb[at - count] + plane_size
            at += 1
    starts[phases] = at


@internal("noinline")
def prepare(plan: ConvolutionPlan, x: Reals, planes: Reals, channels: int, counts: Words, firsts: Words) -> None:
    """Copy channels of the input to padded planes: each holds elements a stride apart, and zeros out of bounds."""
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
    """Return whether channels are contiguous and elements of a row are not, so that rows of all channels are transposed
    at once.
    """
    return channels >= _FEWEST_TURNED and channel == 1 and axes[2].step * axes[2].stride != 1


@internal("noinline")
def exchange(
    plan: ConvolutionPlan, axes: Records[Axis], rows: Reals, pitch: int, lie: Reals, channel: int, channels: int,
    bias: Reals | None, counts: Words, firsts: Words, phase: int, reads: Constant,
) -> None:  # fmt: skip
    """Copy between rows of channels, a pitch apart, and the elements of a tensor: for one phase and a band of ``cut``.

    If it reads, it fills rows of planes, with zeros out of bounds. Otherwise it writes rows of results, with a bias
    added, if they are in bounds.
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
    """Return the bias of a channel, or -0.0, which changes no sum, if the convolution has no bias."""
    return cast(Real, -0.0) if bias is None else bias[channel]


@internal("alwaysinline")
def turn_row(
    row: Reals, pitch: int, place: Reals, channels: int, step: int, low: int, high: int, count: int, reads: Constant
) -> None:
    """Copy a row of all channels, which are contiguous in the tensor, by a transposition."""
    if reads:
        for c in range(channels):
            for j in range(low):
                row[c * pitch + j] = cast(Real, 0.0)
        turn(place + low * step, step, 1, high - low, channels, row + low, pitch, count - low)
    else:
        turn(row + low, pitch, 1, channels, high - low, place + low * step, step, channels)


@internal("alwaysinline")
def fill(row: Reals, begin: int, end: int) -> None:
    """Fill elements with zeros, writing up to a vector more."""
    for j in range(begin, end, LANES):
        store(row + j, zeros())


@internal("alwaysinline")
def copy_row(row: Reals, place: Reals, step: int, low: int, high: int, count: int) -> None:
    """Copy elements [low, high) with a stride, and fill the rest of the row with zeros, writing up to a vector more."""
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
    """Store results [low, high) with a bias added, to elements with a stride."""
    done = low
    if step * stride == 1:
        for j in range(low, high - (LANES - 1), LANES):
            store(place + j, load(row + j) + spread(added))
            done = j + LANES
        if done < high:
            store_some(place + done, load(row + done) + spread(added), first_lanes(high - done))
            done = high
    elif step == 2 and stride == 1:  # only this thread writes the results in between, too
        for j in range(low, high - LANES, LANES):
            values = load(row + j) + spread(added)
            for half in unrolled(range(2)):
                target = place + 2 * j + half * LANES
                store(target, shuffle(values, load(target), _between(LANES, half)))
            done = j + LANES
    for j in range(done, high):
        place[j * step * stride] = row[j] + added


def _even(lanes: int) -> tuple[int, ...]:
    """Return the indices of every other lane of two vectors."""
    return tuple(range(0, 2 * lanes, 2))


def _between(lanes: int, half: int) -> tuple[int, ...]:
    """Return the lanes that interleave one half of a vector with every other lane of a second vector, which stay
    unchanged.
    """
    return tuple(lanes + lane if lane % 2 else (half * lanes + lane) // 2 for lane in range(lanes))
