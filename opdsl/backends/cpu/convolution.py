"""Convolutions: where the operands of a call lie, as the words that ``convolution_text`` reads."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from opdsl.backends.cpu import builtin, convolution_text, depthwise_text, engine
from opdsl.backends.cpu.builtin import Kernel, Work
from opdsl.backends.cpu.convolution_words import DIMENSIONS, Dimension, Words
from opdsl.backends.cpu.vector_text import Machine, Shape
from opdsl.kernels.calls import WindowSpec
from opdsl.runtime.symbol import largest, smallest

if TYPE_CHECKING:
    from opdsl.kernels.calls import ConvolutionCall

DTYPES = ("float32", "float64")

# Bytes of vectors, and the tiles whose sums fit into the registers of a processor with so many.
_TILES_OF_32 = (Shape(8, (3, 2, 1)), Shape(4, (6, 2, 1)), Shape(2, (6, 1)), Shape(1, (12, 1)))
_TILES_OF_16 = (Shape(4, (3, 2, 1)), Shape(2, (5, 1)), Shape(1, (8, 1)))

# Channels of which the gradient of a weight has planes at a time.
_CHUNK = 8
# Bytes of planes that are near enough to be read again for each output.
_NEAR = 192 << 10
# Multiplications that are worth a thread of their own.
_SHARE = 1 << 19


@functools.cache
def _machine(dtype: str, itemsize: int) -> Machine:
    if engine.has_feature("avx512f"):
        return Machine(dtype, 64 // itemsize, _TILES_OF_32)
    if engine.has_feature("avx2"):
        return Machine(dtype, 32 // itemsize, _TILES_OF_16)
    return Machine(dtype, 16 // itemsize, _TILES_OF_32 if engine.has_feature("neon") else _TILES_OF_16)


@functools.cache
def _code(machine: Machine, is_depthwise: bool) -> engine.Code:
    text = depthwise_text if is_depthwise else convolution_text
    name = f"{text.__name__} {machine}"
    return engine.compile_ir(name, lambda: text.module_ir(machine), text.SYMBOLS, has_long_loops=False)


def _is_depthwise(call: ConvolutionCall) -> bool:
    """Whether each channel is convolved by itself, and channels lie side by side."""
    return call.channels == call.outputs == call.images[1] == call.results[1] == 1 < call.groups


def convolution(call: ConvolutionCall) -> Kernel | None:
    """Plan a convolution, or the gradient of its weight, see ``Compiler.convolution``."""
    if call.dtype.name not in DTYPES:
        return None
    is_depthwise = _is_depthwise(call)
    code = _code(_machine(call.dtype.name, call.dtype.itemsize), is_depthwise)
    spreads, weighs = call.kind == "spread", call.kind == "weigh"
    read, written = (call.results, call.images) if spreads else (call.images, call.results)
    channels, outputs = (call.outputs, call.channels) if spreads else (call.channels, call.outputs)
    # Bands are cut across images and volumes, along signals.
    places = {1: (2,), 2: (0, 2), 3: (0, 1, 2)}[len(call.windows)]
    strides = zip(read[2:], call.weight[2:], written[2:], strict=True)
    given = {
        index: _dimension(window, spreads, *each)
        for index, window, each in zip(places, call.windows, strides, strict=True)
    }
    dimensions = [given.get(dim, _NO_DIMENSION) for dim in range(DIMENSIONS)]
    words = Words(
        samples=call.samples,
        groups=call.groups,
        channels=channels,
        outputs=outputs,
        spreads=int(spreads),
        is_biased=int(call.is_biased),
        out_slot=16 * (4 if call.is_biased else 3),
        band=places[0],
        near=_NEAR // call.dtype.itemsize,
        chunk=smallest(channels, _CHUNK) if weighs else channels,
        x_sample=read[0],
        x_channel=read[1],
        w_group=call.weight[0] * call.outputs,
        w_output=call.weight[1] if spreads else call.weight[0],
        w_channel=call.weight[0] if spreads else call.weight[1],
        out_sample=written[0],
        out_channel=written[1],
    )
    # What threads share out: channels of the weight, or rows of what is written, of all channels where these are lanes.
    rows = call.groups * dimensions[places[0]].steps
    if is_depthwise:
        rows = math.prod(each.out_size for each in dimensions[:-1])
    units = call.groups * channels if weighs else call.samples * rows
    steps = math.prod(each.steps * each.length for each in dimensions)
    total = steps * call.samples * call.groups * channels * outputs
    work = Work(
        loop=code.address("weigh" if weighs else "correlate"),
        elements=units,
        grain=largest(1, _SHARE * units // total) if total > 2 * _SHARE else 0,
        details=[*words, *(word for each in dimensions for word in each)],
    )
    inputs = [builtin.ARRAY] * (3 if call.is_biased else 2)
    return builtin.builtin(f"{call.kind}_cpu", work, inputs, [builtin.Given()], [code])


def _dimension(window: WindowSpec, spreads: bool, x_stride: int, w_stride: int, out_stride: int) -> Dimension:
    """The words of a dimension; where windows spread, results are stepped through by their stride."""
    size, out_size, steps = window.size, window.windows, window.windows
    if spreads:
        size, out_size = out_size, size
        steps = (window.size - window.first - 1) // window.stride - -window.first // window.stride + 1
    return Dimension(
        size=size,
        out_size=out_size,
        steps=steps,
        length=window.length,
        first=window.first,
        stride=window.stride,
        dilation=window.dilation,
        x_stride=x_stride,
        w_stride=w_stride,
        out_stride=out_stride,
    )


_NO_DIMENSION = _dimension(WindowSpec(1, 1, 1, 0, 1, 1), False, 1, 1, 1)
