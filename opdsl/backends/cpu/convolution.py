"""Convolution planner: turns a call into a plan of the kernels in ``machine.convolution`` and ``machine.depthwise``."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from opdsl.backends.cpu import builtin, engine
from opdsl.backends.cpu.builtin import Kernel, Table, Work
from opdsl.backends.cpu.machine import convolution as whole
from opdsl.backends.cpu.machine import depthwise
from opdsl.backends.cpu.machine.language import Struct, exports, words
from opdsl.backends.cpu.machine.planes import Axis, ConvolutionPlan, Dimension
from opdsl.backends.cpu.machine.tiles import Shape
from opdsl.backends.cpu.storage import MEMORY
from opdsl.kernels.calls import WindowSpec
from opdsl.runtime.permanent import kept_forever
from opdsl.runtime.symbol import largest, smallest

if TYPE_CHECKING:
    from opdsl.kernels.calls import ConvolutionCall

DTYPES = ("float32", "float64")

# Tiles whose accumulators fit into the registers of a processor with 32 or with 16 vector registers.
_TILES_OF_32 = (Shape(8, (3, 2, 1)), Shape(4, (6, 2, 1)), Shape(2, (6, 1)), Shape(1, (12, 1)))
_TILES_OF_16 = (Shape(4, (3, 2, 1)), Shape(2, (5, 1)), Shape(1, (8, 1)))

# The number of channels whose planes are in memory at a time for the gradient of a weight.
_CHUNK = 8
# Bytes of planes that stay in a near cache while they are read again for each output.
_NEAR = 192 << 10
# Number of multiplications that is worth a separate thread.
_SHARE = 1 << 19
# Threads divide the filters, not bands of the results, if a filter has this many times the elements of its results,
# because each band reads the whole weight. With fewer tiles some threads would have none. Each thread makes the planes
# again, which costs as much as _TERMS_OF_A_SHARE terms of a tile.
_FILTERS_OVER_RESULTS = 4
_FEWEST_TILES = 8
_TERMS_OF_A_SHARE = 64


class Target(NamedTuple):
    """Compilation target of convolution kernels: a dtype, the vector width in lanes, and register tiles."""

    dtype: str
    lanes: int
    tiles: tuple[Shape, ...]


@functools.cache
def target(dtype: str, itemsize: int) -> Target:
    """Return the compilation target of a dtype on this processor."""
    has_many = engine.has_feature("avx512f") or engine.has_feature("neon")
    return Target(dtype, engine.vector_bytes() // itemsize, _TILES_OF_32 if has_many else _TILES_OF_16)


def text(module: ModuleType, target: Target) -> str:
    """Return the LLVM IR of the kernels of a module of ``machine``."""
    from opdsl.backends.cpu.machine.text import module_text
    from opdsl.backends.cpu.machine.vectors import ATTRIBUTES, given

    widest = target.lanes * max(tile.vectors[0] for tile in target.tiles)
    names = given(MEMORY[target.dtype].llvm, target.lanes, TILES=target.tiles, WIDEST=widest)
    return module_text([module], names, ATTRIBUTES)


@kept_forever
def _code(module: ModuleType, target: Target) -> engine.Code:
    make = functools.partial(text, module, target)
    return engine.compile_ir(f"{module.__name__} {target}", make, exports([module]), has_long_loops=False)


def _is_depthwise(call: ConvolutionCall) -> bool:
    """Return whether a call is a depthwise convolution, one channel per group, with channels adjacent in memory."""
    return call.channels == call.outputs == call.images[1] == call.results[1] == 1 < call.groups


def convolution(call: ConvolutionCall) -> Kernel | None:
    """Plan a convolution, its transpose, or the gradient of its weight, see ``Compiler.convolution``."""
    if call.dtype.name not in DTYPES:
        return None
    is_depthwise = _is_depthwise(call)
    kernels = target(call.dtype.name, call.dtype.itemsize)
    code = _code(depthwise if is_depthwise else whole, kernels)
    spreads, weighs = call.kind == "spread", call.kind == "weigh"
    read, written = (call.results, call.images) if spreads else (call.images, call.results)
    channels, outputs = (call.outputs, call.channels) if spreads else (call.channels, call.outputs)
    # Bands divide the first dimension of images and volumes, and the only one of signals.
    places = {1: (2,), 2: (0, 2), 3: (0, 1, 2)}[len(call.windows)]
    windows, strides = [_NO_WINDOW] * 3, [(1, 1, 1)] * 3
    for index, window, *numbers in zip(places, call.windows, read[2:], call.weight[2:], written[2:], strict=True):
        windows[index], strides[index] = window, (numbers[0], numbers[1], numbers[2])
    dimensions = [_dimension(window, spreads, w) for window, (_, w, _) in zip(windows, strides, strict=True)]
    axes = [_axes(window, spreads, x, out) for window, (x, _, out) in zip(windows, strides, strict=True)]
    chunk = smallest(channels, _CHUNK) if weighs else channels
    band = dimensions[places[0]]
    phases = math.prod(numbers["phases"] for numbers, _ in axes)
    row = phases * math.prod(
        dimension["steps"] + dimension["shift"] for dimension in dimensions if dimension is not band
    )
    band_size = largest(1, smallest(band["steps"], _NEAR // call.dtype.itemsize // (row * chunk)))
    steps = math.prod(dimension["steps"] for dimension in dimensions)
    terms = math.prod(dimension["length"] for dimension in dimensions)
    total = steps * terms * call.samples * call.groups * channels * outputs
    is_shared = total > 2 * _SHARE
    tiles = -(-outputs // kernels.tiles[0].rows)
    shares_filters = is_shared and not (weighs or is_depthwise) and tiles >= _FEWEST_TILES
    shares_filters = shares_filters and outputs * terms > _FILTERS_OVER_RESULTS * steps
    plan: list[int | Table] = words(
        ConvolutionPlan,
        dimensions=_records(Dimension, dimensions),
        read=_records(Axis, [numbers for numbers, _ in axes]),
        written=_records(Axis, [numbers for _, numbers in axes]),
        samples=call.samples,
        groups=call.groups,
        channels=channels,
        filters=outputs,
        spreads=int(spreads),
        is_biased=int(call.is_biased),
        out_slot=2 * (4 if call.is_biased else 3),
        band=places[0],
        band_size=band_size,
        chunk=chunk,
        shares_filters=int(shares_filters),
        x_sample=read[0],
        x_channel=read[1],
        w_group=call.weight[0] * call.outputs,
        w_output=call.weight[1] if spreads else call.weight[0],
        w_channel=call.weight[0] if spreads else call.weight[1],
        out_sample=written[0],
        out_channel=written[1],
    )
    # The units that threads divide: channels of the weight, tiles of filters, or rows of the written operand (each with
    # all channels for depthwise kernels, whose lanes are channels).
    rows = call.groups * band["steps"]
    if is_depthwise:
        rows = math.prod(numbers["size"] for _, numbers in axes[:-1])
    units = call.groups * channels if weighs else call.samples * rows
    least = 1
    if shares_filters:
        units, least = tiles, smallest(largest(4, _TERMS_OF_A_SHARE // terms), tiles // 4)
    work = Work(
        loop=code.address(f"{'weigh' if weighs else 'correlate'}{'_lanes' * is_depthwise}"),
        elements=units,
        grain=largest(least, _SHARE * units // total) if is_shared else 0,
        details=plan,
    )
    inputs = [builtin.ARRAY] * (3 if call.is_biased else 2)
    return builtin.builtin(f"{call.kind}_cpu", work, inputs, [builtin.Given()], [code])


# The window of a dimension that a call does not have.
_NO_WINDOW = WindowSpec(1, 1, 1, 0, 1, 1)


def _records(kind: type[Struct], values: Sequence[Mapping[str, int]]) -> Table:
    return Table([word for value in values for word in words(kind, **value)])


def _dimension(window: WindowSpec, spreads: bool, w_stride: int) -> dict[str, int]:
    """Return the fields of a ``machine.planes.Dimension``; for a transposed convolution ``steps`` counts results a
    stride apart.
    """
    shift = (window.length - 1) * window.dilation // window.stride
    last = (window.size - window.first - 1) // window.stride
    steps = last - -window.first // window.stride + 1 if spreads else window.windows
    return {
        "steps": steps,
        "length": window.length,
        "first": window.first,
        "stride": window.stride,
        "dilation": window.dilation,
        "w_stride": w_stride,
        "shift": shift,
    }


def _axes(window: WindowSpec, spreads: bool, x_stride: int, out_stride: int) -> tuple[dict[str, int], dict[str, int]]:
    """Return the fields of the ``machine.planes.Axis`` of the operand that is read, and of the one that is written."""
    first, stride = window.first, window.stride
    reach = (window.length - 1) * window.dilation
    if spreads:
        skipped = -first // stride
        read = (window.windows, x_stride, 1, 1, skipped - reach // stride)
        written = (window.size, out_stride, stride, stride, skipped * stride + first)
    else:
        read = (window.size, x_stride, stride, smallest(stride, reach + 1), first)
        written = (window.windows, out_stride, 1, 1, 0)
    names = ("size", "stride", "step", "phases", "base")
    return dict(zip(names, read, strict=True)), dict(zip(names, written, strict=True))
