"""Loops of convolutions as implicit matrix products: windows are read into tiles, never written to memory.

For each sample and group, the weight as a matrix (outputs x elements of a window) is multiplied with the windows as a
matrix (elements of a window x windows). A group of threads takes a tile of outputs and windows, and goes through the
elements of windows tile by tile.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from opdsl.kernels.calls import OperandSpec
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.loops.making import Loops, Maker, around, pairwise, places, zero
from opdsl.kernels.loops.model import (
    Array,
    Bound,
    Compute,
    For,
    Inside,
    Load,
    Local,
    Parts,
    Range,
    Statement,
    Store,
    TileProduct,
    When,
)
from opdsl.runtime.dtype import int32, int64
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.mathematics.expression import Expression
from opdsl.scalar.types import ScalarType

if TYPE_CHECKING:
    from opdsl.kernels.calls import ConvolutionCall
    from opdsl.runtime.dtype import DType
    from opdsl.scalar.graph import TypedGraph

__all__ = ["Tiling", "correlation"]

_INT64 = ScalarType.INT64

# Elements between the rows of tiles, beyond their columns: words of neighboring rows are then in other banks.
_PADDING = 8


class Tiling(NamedTuple):
    """Sizes of the tiles of a convolution, powers of two from 16 on.

    outputs, windows: of a tile of results. inner: elements of windows that are multiplied at once.
    is_large: whether 32 bits do not hold all positions of windows and of their elements.
    """

    outputs: int
    windows: int
    inner: int
    is_large: bool = False

    @property
    def steps(self) -> tuple[int, int, int]:
        """Return the elements from row to row of sums, of the weight and of windows."""
        return self.windows + _PADDING, self.inner + _PADDING, self.windows + _PADDING


def correlation(call: ConvolutionCall, tiling: Tiling) -> Loops:
    """Build the loops of ``Compiler.convolution`` for the kind ``correlate``."""
    maker = Maker("convolve")
    sample, group = maker.ranges("i", (call.samples, call.groups))
    maker.size("output_n", call.outputs)
    maker.size("channel_n", call.channels)
    for dim, window in enumerate(call.windows):
        for field in ("size", "windows", "length", "first", "stride", "dilation"):
            maker.size(f"{field}{dim}", getattr(window, field))
    maker.size("window_n", math.prod(window.windows for window in call.windows))
    maker.size("inner_n", call.channels * math.prod(window.length for window in call.windows))
    images, weight, bias, results = _operands(maker, call, (sample, group))
    build = _Builder(tiling, ScalarType(precision_of(call.dtype).name), len(call.windows))
    turn = (build.elements(), build.weights(weight, group), build.images(images, (sample, group)), build.product())
    body = [
        *(Local(array) for array in build.memory(call.dtype)),
        *build.begun(),
        For("inner_tile", Parts("inner_n", tiling.inner), turn, in_order=True),
        build.stored(results, bias, (sample, group)),
    ]
    tiles = [("output_tile", Parts("output_n", tiling.outputs)), ("window_tile", Parts("window_n", tiling.windows))]
    return maker.finish(around((sample, group, *tiles), body))


def _operands(maker: Maker, call: ConvolutionCall, head: tuple[Range, Range]) -> tuple[str, str, str | None, str]:
    """Declare the operands: images, weight, bias if there is one, and results; return their names."""
    _, group = head
    output, channel = ("", "output_n"), ("", "channel_n")

    def array(name: str, strides: Sequence[int], ranges: Sequence[Range], sizes: str = "") -> str:
        spec = OperandSpec(call.dtype, tuple(call.dtype.itemsize * step for step in strides))
        further: list[Range] = [("", f"{sizes}{dim}") for dim in range(len(call.windows))] if sizes else []
        return maker.array(name, spec, (*ranges, *further))

    sample, plane, *steps = call.images
    images = array("images", (sample, plane * call.channels, plane, *steps), (*head, channel), "size")
    row, *steps = call.weight
    weight = array("weight", (row * call.outputs, row, *steps), (group, output, channel), "length")
    bias = array("bias", (call.outputs, 1), (group, output)) if call.is_biased else None
    sample, plane, *steps = call.results
    results = array("results", (sample, plane * call.outputs, plane, *steps), (*head, output), "windows")
    return images, weight, bias, results


# ---------------------------------------------------------------------------------------------------------- statements


class _Builder:
    """Builder of the statements of a tile.

    tiling: the sizes of tiles. kind: the type of sums. count: the number of dimensions of windows.
    """

    def __init__(self, tiling: Tiling, kind: ScalarType, count: int) -> None:
        self.tiling, self.kind, self.count = tiling, kind, count

    def memory(self, dtype: DType) -> list[Array]:
        """Return the local memory: three tiles, the places of windows, and the elements of windows."""
        tiling = self.tiling
        sums, left, right = tiling.steps
        whole = int64 if tiling.is_large else int32
        sizes = {
            "sums": (precision_of(dtype), tiling.outputs * sums),
            "left": (dtype, tiling.outputs * left),
            "right": (dtype, tiling.inner * right),
            "channels": (whole, tiling.inner),
        }
        for dim in range(self.count):
            sizes |= {f"places{dim}": (whole, tiling.windows), f"elements{dim}": (whole, tiling.inner)}
        return [Array(name, stored, (count,), (1,)) for name, (stored, count) in sizes.items()]

    def begun(self) -> list[Statement]:
        """Build the loops that clear the sums, and compute the place of each window along each dimension."""
        count = self.tiling.outputs * self.tiling.steps[0]
        names = [f"window{dim}" for dim in range(self.count)]
        inner = [f"windows{dim}" for dim in range(1, self.count)]
        unraveled = _unraveled(self.tiling.windows, self.count, is_large=self.tiling.is_large)
        return [
            Compute(("nothing",), zero(self.kind), ()),
            For("cleared", count, (Store("sums", ("cleared",), "nothing"),)),
            For("window_at", self.tiling.windows, (
                Compute(tuple(names), unraveled, ("window_tile", "window_at", *inner)),
                *(Store(f"places{dim}", ("window_at",), name) for dim, name in enumerate(names)),
            )),
        ]  # fmt: skip

    def elements(self) -> Statement:
        """Build the loop that computes the channel and the place in the window of each element of a tile."""
        names = ["channel", *(f"element{dim}" for dim in range(self.count))]
        lengths = [f"length{dim}" for dim in range(self.count)]
        targets = ["channels", *(f"elements{dim}" for dim in range(self.count))]
        unraveled = _unraveled(self.tiling.inner, self.count + 1, is_large=self.tiling.is_large)
        return For("inner_at", self.tiling.inner, (
            Compute(tuple(names), unraveled, ("inner_tile", "inner_at", *lengths)),
            *(Store(target, ("inner_at",), name) for target, name in zip(targets, names, strict=True)),
        ))  # fmt: skip

    def element(self, prefix: str, row: str) -> list[Statement]:
        """Build the loads of the channel and the place in the window of an element, whose names have a prefix."""
        names = ["channel", *(f"element{dim}" for dim in range(self.count))]
        arrays = ["channels", *(f"elements{dim}" for dim in range(self.count))]
        bound = Bound(f"{prefix}_inner", row, self.tiling.inner, "trusted")
        loads = [
            Load(f"{prefix}_{name}", array, (bound.name,), _INT64) for name, array in zip(names, arrays, strict=True)
        ]
        return [bound, *loads]

    def weights(self, weight: str, group: Range) -> Statement:
        """Build the loop that copies a tile of the weight to local memory, with zeros beyond its elements."""
        tiling, (_, step, _) = self.tiling, self.tiling.steps
        elements = tuple(f"weight_element{dim}" for dim in range(self.count))
        index = ("weight_output", "weight_channel", *elements)
        sizes = ("output_n", "channel_n", *(f"length{dim}" for dim in range(self.count)))
        return For("weight_at", tiling.outputs * tiling.inner, (
            Compute(("weight_output", "weight_row", "weight_slot"), _located(tiling.inner, tiling.outputs, step),
                    ("weight_at", "output_tile")),
            *self.element("weight", "weight_row"),
            Inside("weight_there", index, sizes),
            Load("weight_value", weight, (*places([group]), *index), self.kind, "weight_there", 0),
            Bound("weight_place", "weight_slot", tiling.outputs * step, "trusted"),
            Store("left", ("weight_place",), "weight_value"),
        ))  # fmt: skip

    def images(self, images: str, head: Sequence[Range]) -> Statement:
        """Build the loop that copies elements of windows to local memory, with zeros for padding."""
        tiling, (_, _, step) = self.tiling, self.tiling.steps
        at: list[Statement] = [
            Compute(("image_row", "image_column", "image_slot"), _placed(tiling.windows, step), ("image_at",)),
            *self.element("image", "image_row"),
            Bound("image_window", "image_column", tiling.windows, "trusted"),
        ]
        for dim in range(self.count):
            at += [
                Load(f"image_place{dim}", f"places{dim}", ("image_window",), _INT64),
                Compute((f"image_index{dim}",), _coordinate(), (f"image_place{dim}", f"stride{dim}", f"first{dim}",
                                                                f"image_element{dim}", f"dilation{dim}")),
            ]  # fmt: skip
        index = ("image_channel", *(f"image_index{dim}" for dim in range(self.count)))
        sizes = ("channel_n", *(f"size{dim}" for dim in range(self.count)))
        return For("image_at", tiling.inner * tiling.windows, (
            *at,
            Inside("image_there", index, sizes),
            Load("image_value", images, (*places(head), *index), self.kind, "image_there", 0),
            Bound("image_slot_place", "image_slot", tiling.inner * step, "trusted"),
            Store("right", ("image_slot_place",), "image_value"),
        ))  # fmt: skip

    def product(self) -> Statement:
        """Build the product of the tiles of the weight and of windows, which is added to the sums."""
        tiling = self.tiling
        return TileProduct(
            "sums", "left", "right", tiling.outputs, tiling.inner, tiling.windows, tiling.steps, adds=True
        )

    def stored(self, results: str, bias: str | None, head: Sequence[Range]) -> Statement:
        """Build the loop that stores the sums, plus a bias."""
        tiling, (step, _, _) = self.tiling, self.tiling.steps
        windows = tuple(f"result_place{dim}" for dim in range(self.count))
        sizes = ("output_n", *(f"windows{dim}" for dim in range(self.count)))
        group, value = places(head[1:]), "result_sum"
        write: list[Statement] = [
            Bound("result_slot_place", "result_slot", tiling.outputs * step, "trusted"),
            Load("result_sum", "sums", ("result_slot_place",), self.kind),
        ]
        if bias is not None:
            value = "result"
            write += [
                Load("result_bias", bias, (*group, "result_output"), self.kind),
                Compute(("result",), pairwise(("add",), (self.kind,)), ("result_sum", "result_bias")),
            ]
        write.append(Store(results, (*places(head), "result_output", *windows), value))
        return For("result_at", tiling.outputs * tiling.windows, (
            Compute(("result_output", "result_column", "result_slot"), _located(tiling.windows, tiling.outputs, step),
                    ("result_at", "output_tile")),
            Bound("result_window", "result_column", tiling.windows, "trusted"),
            *(Load(name, f"places{dim}", ("result_window",), _INT64) for dim, name in enumerate(windows)),
            Inside("result_there", ("result_output", *windows), sizes),
            When("result_there", tuple(write)),
        ))  # fmt: skip


# -------------------------------------------------------------------------------------------------------------- graphs


def _graph(name: str, parameters: Sequence[str], compute: Callable[..., Sequence[Expression]]) -> TypedGraph:
    """Build a graph of whole numbers from a function of expressions."""
    builder = GraphBuilder()
    expressions = [Expression(builder, builder.parameter(parameter, _INT64)) for parameter in parameters]
    return builder.finish(name, [expression.position for expression in compute(*expressions)])


@functools.cache
def _unraveled(tile: int, count: int, *, is_large: bool) -> TypedGraph:
    """Build the graph: the number of a tile, a place in it, the sizes of inner dimensions -> the indices of the place
    in ``count`` dimensions; the outermost one exceeds its size beyond the end. Divisions are of 32 bits unless
    ``is_large``.
    """
    kind = _INT64 if is_large else ScalarType.INT32

    def compute(number: Expression, at: Expression, *sizes: Expression) -> Sequence[Expression]:
        position, indices = (number * tile + at).cast(kind), []
        for size in reversed(sizes):
            indices.append(position.apply("fmod", size.cast(kind)).cast(_INT64))
            position = position.apply("quotient", size.cast(kind))
        return [position.cast(_INT64), *reversed(indices)]

    return _graph("unraveled", ("number", "at", *(f"size{dim}" for dim in range(1, count))), compute)


@functools.cache
def _placed(width: int, step: int) -> TypedGraph:
    """Build the graph: a place in rows of ``width`` elements -> row, column, place in rows that are ``step`` apart."""

    def compute(at: Expression) -> Sequence[Expression]:
        row, column = at >> (width.bit_length() - 1), at & (width - 1)
        return row, column, row * step + column

    return _graph("placed", ("at",), compute)


@functools.cache
def _located(width: int, rows: int, step: int) -> TypedGraph:
    """Build the graph: a place in a tile, the number of the tile -> row of all rows, column, place in memory."""

    def compute(at: Expression, tile: Expression) -> Sequence[Expression]:
        row, column = at >> (width.bit_length() - 1), at & (width - 1)
        return tile * rows + row, column, row * step + column

    return _graph("located", ("at", "tile"), compute)


@functools.cache
def _coordinate() -> TypedGraph:
    """Build the graph: the index of a window, the distance of windows, the first element, the index of an element, the
    distance of elements -> the index of the element in the image.
    """
    names = ("window", "stride", "first", "element", "dilation")
    return _graph(
        "coordinate", names, lambda window, stride, first, element, gap: (window * stride + first + element * gap,)
    )
