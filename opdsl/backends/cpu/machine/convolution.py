"""Kernels of convolutions, their transposes, and the gradients of their weights; ``planes`` explains the algorithm."""

from __future__ import annotations

from typing import cast

from opdsl.backends.cpu.machine.language import Pointer, Words, exported, internal, local, unrolled
from opdsl.backends.cpu.machine.objects import memory
from opdsl.backends.cpu.machine.planes import (
    ConvolutionPlan,
    ceiling,
    cut,
    exchange,
    extent,
    phases_of,
    plane_elements,
    prepare,
    tables,
    weight_place,
    window_elements,
)
from opdsl.backends.cpu.machine.room import LINE, behind, room
from opdsl.backends.cpu.machine.tiles import TILES, dots, tiles
from opdsl.backends.cpu.machine.turn import turn
from opdsl.backends.cpu.machine.vectors import LANES, SIZE, Reals, store, zeros

# Measured costs of the two ways to compute the gradient of a weight, per element of the window: for a vector of windows
# and one output channel, and for one window and a vector of output channels. The way with the smaller total is taken.
_COST_OF_A_DOT = 16
_COST_IN_A_TILE = 11

WIDEST = 1
"""Number of elements in the widest tile."""


@exported
def correlate(frame: Pointer[ConvolutionPlan], begin: int, end: int) -> None:
    """Compute bands [begin, end) of the results, counted over groups and samples, or tiles of filters of all bands.

    The second is for large weights: each band reads the whole weight, whereas each tile of filters reads all planes.
    """
    plan = frame[0]
    operands = cast(Pointer[Reals], frame)
    bias = operands[6] if plan.is_biased != 0 else None
    counts = local(int, 3)
    firsts = local(int, 3)
    cut(plan, 0, plan.band_size, counts, firsts)
    terms = plan.channels * window_elements(plan)
    phases = phases_of(plan.written)
    e1 = extent(plan, 1)
    e2 = extent(plan, 2)
    height = TILES[0].rows
    at = begin
    stop = end
    lowest = 0
    highest = plan.filters
    if plan.shares_filters != 0:
        lowest = begin * height
        highest = min(end * height, plan.filters)
        at = 0
        stop = plan.samples * plan.groups * plan.dimensions[plan.band].steps
    pitch = counts[0] * e1 * e2 + WIDEST
    plane = phases_of(plan.read) * plane_elements(plan)
    planes_size = plan.channels * plane + 2 * WIDEST
    block = room(8 * (2 * terms + phases + 1 + plan.filters) + SIZE * (planes_size + pitch * height) + 6 * LINE)
    ka = cast(Words, behind(block, 0))
    kb = cast(Words, behind(ka, 8 * terms))
    starts = cast(Words, behind(kb, 8 * terms))
    rows = cast(Pointer[Reals], behind(starts, 8 * (phases + 1)))
    planes = cast(Reals, behind(rows, 8 * plan.filters))
    sums = cast(Reals, behind(planes, SIZE * planes_size))
    tables(plan, plan.channels, ka, kb, starts)
    for j in range(0, 2 * WIDEST, LANES):
        store(planes + (plan.channels * plane + j), zeros())
    length = plan.dimensions[plan.band].steps
    while at < stop:
        first = at % length
        group = at // length % plan.groups
        sample = at // length // plan.groups
        size = min(plan.band_size, min(length - first, stop - at))
        cut(plan, first, size, counts, firsts)
        source = operands[2] + (sample * plan.x_sample + group * plan.channels * plan.x_channel)
        prepare(plan, source, planes, plan.channels, counts, firsts)
        for row in range(plan.filters):
            rows[row] = operands[4] + (group * plan.w_group + row * plan.w_output)
        width = ((counts[0] - 1) * e1 + counts[1] - 1) * e2 + counts[2]
        for phase in range(phases):
            start = starts[phase]
            count = starts[phase + 1] - start
            for o in range(lowest, highest, height):
                high = min(height, highest - o)
                tiles(rows + o, high, ka + start, kb + start, count, planes, width, sums, pitch, False, True)
                channel = group * plan.filters + o
                target = operands[plan.out_slot] + (sample * plan.out_sample + channel * plan.out_channel)
                added = None if bias is None else bias + channel
                step = plan.out_channel
                exchange(plan, plan.written, sums, pitch, target, step, high, added, counts, firsts, phase, False)
        at += size
    memory.free(block)


@exported
def weigh(frame: Pointer[ConvolutionPlan], begin: int, end: int) -> None:
    """Compute the gradients of a weight for input channels [begin, end), counted over the groups.

    The operands are the gradients of the results and the input, then the result.
    """
    plan = frame[0]
    operands = cast(Pointer[Reals], frame)
    counts = local(int, 3)
    firsts = local(int, 3)
    cut(plan, 0, plan.band_size, counts, firsts)
    window = window_elements(plan)
    terms = plan.chunk * window
    windows = counts[0] * counts[1] * counts[2]
    pitch = (plan.filters + LANES - 1) & -LANES
    whole = min(plan.channels, end - begin) * window
    plane = phases_of(plan.read) * plane_elements(plan)
    planes_size = plan.chunk * plane + 2 * WIDEST
    turned_size = pitch * windows + WIDEST
    elements = planes_size + turned_size + pitch * whole + WIDEST
    block = room(8 * (3 * terms + 2 * windows + 2) + SIZE * elements + 9 * LINE)
    ka = cast(Words, behind(block, 0))
    kb = cast(Words, behind(ka, 8 * terms))
    starts = cast(Words, behind(kb, 8 * terms))
    rows = cast(Pointer[Reals], behind(starts, 16))
    at_window = cast(Words, behind(rows, 8 * terms))
    at_gradient = cast(Words, behind(at_window, 8 * windows))
    planes = cast(Reals, behind(at_gradient, 8 * windows))
    turned = cast(Reals, behind(planes, SIZE * planes_size))
    sums = cast(Reals, behind(turned, SIZE * turned_size))
    tables(plan, plan.chunk, ka, kb, starts)
    for row in range(terms):
        rows[row] = planes + kb[row]
    extents = local(int, 3)
    strides = local(int, 3)
    for dim in unrolled(range(3)):
        extents[dim] = extent(plan, dim)
        strides[dim] = plan.written[dim].stride
    for index in range(windows):
        row_of = index // counts[2]
        place = row_of // counts[1] * extents[1] + row_of % counts[1]
        at_window[index] = place * extents[2] + index % counts[2]
        at_gradient[index] = index * pitch
    length = plan.dimensions[plan.band].steps
    folded = plan.filters * ceiling(counts[2], LANES) * _COST_OF_A_DOT
    tiled = ceiling(plan.filters, LANES) * counts[2] * _COST_IN_A_TILE
    folds = folded < tiled and strides[2] == 1
    for group in range(begin // plan.channels, (end - 1) // plan.channels + 1):
        before = group * plan.channels
        low = max(begin - before, 0)
        high = min(end - before, plan.channels)
        for sample in range(plan.samples):
            for first in range(0, length, plan.band_size):
                cut(plan, first, min(plan.band_size, length - first), counts, firsts)
                start = sample * plan.out_sample + group * plan.filters * plan.out_channel
                results = operands[2] + start
                for dim in unrolled(range(3)):
                    results = results + firsts[dim] * strides[dim]
                if not folds:
                    turn_results(plan, results, turned, pitch, counts, strides)
                adds = sample + first != 0
                for done in range(0, high - low, plan.chunk):
                    channels = min(plan.chunk, high - low - done)
                    channel = before + low + done
                    shown = operands[4] + (sample * plan.x_sample + channel * plan.x_channel)
                    prepare(plan, shown, planes, channels, counts, firsts)
                    target = sums + done * window * pitch
                    many = channels * window
                    if folds:
                        for o in range(plan.filters):
                            gradient = results + o * plan.out_channel
                            dots(rows, many, gradient, counts, strides, extents, target + o, pitch, adds)
                    else:
                        count = counts[0] * counts[1] * counts[2]
                        tiles(rows, many, at_window, at_gradient, count, turned, pitch, target, pitch, adds, False)
        weight = operands[plan.out_slot] + (group * plan.w_group + low * plan.w_channel)
        write_weight(plan, sums, pitch, weight, high - low)
    memory.free(block)


@internal()
def turn_results(
    plan: ConvolutionPlan, results: Reals, turned: Reals, pitch: int, counts: Words, strides: Words
) -> None:
    """Transpose the results of a band so that channels are contiguous: a row of ``pitch`` for each result, padded with
    zeros.
    """
    # Rows that continue one another are processed as one.
    is_one = strides[0] == counts[1] * counts[2] * strides[2] or counts[0] == 1
    is_one = is_one and (strides[1] == counts[2] * strides[2] or counts[1] == 1)
    lines = 1 if is_one else counts[0] * counts[1]
    length = counts[0] * counts[1] * counts[2] // lines
    for line in range(lines):
        source = results + line // counts[1] * strides[0] + line % counts[1] * strides[1]
        target = turned + line * length * pitch
        turn(source, plan.out_channel, strides[2], plan.filters, length, target, pitch, pitch)


@internal()
def write_weight(plan: ConvolutionPlan, sums: Reals, pitch: int, target: Reals, channels: int) -> None:
    """Write the computed gradients, a row for each element of a channel's window, to the memory of the weight."""
    window = window_elements(plan)
    is_dense = plan.w_channel == window
    step = 1
    for dim in unrolled((2, 1, 0)):
        dimension = plan.dimensions[dim]
        is_dense = is_dense and (dimension.w_stride == step or dimension.length == 1)
        step = step * dimension.length
    if is_dense:
        rows = channels * window
        turn(sums, pitch, 1, rows, plan.filters, target, plan.w_output, rows)
        return
    some = channels if plan.w_channel == 1 else 1
    for t in range(window):
        place = weight_place(plan, t)
        source = sums + t * pitch
        for c in range(0, channels, some):
            first = source + c * window * pitch
            to = target + (place + c * plan.w_channel)
            turn(first, window * pitch, 1, some, plan.filters, to, plan.w_output, some)
