"""Random kernels: folds in folds, scans, reads and writes at computed indices, and mixtures of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from opdsl.kernels.building import KernelBuilder
from opdsl.kernels.calls import Layout, OperandSpec
from opdsl.kernels.kernel import SKIP, Kernel, Range
from opdsl.kernels.loops.making import pairwise
from opdsl.runtime.dtype import DType, int32, int64
from opdsl.runtime.strides import contiguous_strides
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.types import ScalarType

INT64 = ScalarType.INT64
RANGES = (Range("i", is_pack=True), Range("k"), Range("j", is_pack=True), Range("t"))

# Ranges of kernels that backends have schedules for: elements, rows and scans, and folds.
STRUCTURED = (RANGES[:1], RANGES[:2], RANGES[::2])


class DrawnKernel(NamedTuple):
    """Kernel with the sizes of its ranges, and arrays for its operands."""

    kernel: Kernel
    sizes: dict[str, tuple[int, ...]]
    operands: dict[str, Any]

    def copied(self) -> dict[str, Any]:
        """Return the operands, with copies of the arrays."""
        return {
            name: np.array(value) if isinstance(value, np.ndarray) else value for name, value in self.operands.items()
        }

    @property
    def layout(self) -> Layout:
        """Return the layout of contiguous operands."""
        specs, dims = [], []
        for operand in self.kernel.operands:
            value = self.operands[operand.name]
            if not isinstance(value, np.ndarray):
                specs.append(OperandSpec(int64, None))
                dims.append(())
                continue
            dtype: DType = int32 if value.dtype == np.int32 else int64
            specs.append(OperandSpec(dtype, tuple(step * dtype.itemsize for step in contiguous_strides(value.shape))))
            dims.append(value.shape[value.ndim - operand.dims :] if operand.dims else ())
        count = len(specs) - len(self.kernel.outputs)
        sizes = tuple(self.sizes[axis.name] for axis in self.kernel.ranges)
        return Layout(sizes, tuple(specs[:count]), tuple(specs[count:]), (None,) * (len(specs) - count), tuple(dims))


def combine(op: str) -> TypedGraph:
    return pairwise((op,), (INT64,))


def further() -> TypedGraph:
    """Return the graph: a value and its index, another value and its index -> those of the larger value."""
    builder = GraphBuilder()
    a, p, b, q = (builder.parameter(name, INT64) for name in "apbq")
    none = builder.node("less", (p, builder.constant(0, INT64)), ScalarType.BOOL)
    beyond = builder.node("bitwise_or", (builder.node("greater", (b, a), ScalarType.BOOL), none), ScalarType.BOOL)
    return builder.finish("further", [builder.node("select", (beyond, *pair), INT64) for pair in ((b, a), (q, p))])


def decaying() -> TypedGraph:
    """Return the step: carried value, element -> new carried value, and that minus the element."""
    builder = GraphBuilder()
    carried, element = builder.parameter("carried", INT64), builder.parameter("element", INT64)
    half = builder.node("floor_divide", (carried, builder.constant(2, INT64)), INT64)
    after = builder.node("add", (half, element), INT64)
    return builder.finish("decaying", [after, builder.node("subtract", (after, element), INT64)])


class _Drawing:
    """Drawing of one kernel.

    axes: its ranges.
    is_structured: whether they are some of ``STRUCTURED``; then all operands have all of them, and folds are over the
        last one.
    values: nodes, each with the ranges along which it varies.
    arrays: the shape and dtype of each operand so far.
    """

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.axes = draw(st.sampled_from((RANGES, *STRUCTURED)))
        self.is_structured = self.axes is not RANGES
        packs = st.lists(st.integers(0, 3), max_size=2).map(tuple)
        self.sizes: dict[str, tuple[int, ...]] = {
            axis.name: draw(packs) if axis.is_pack else (draw(st.integers(0, 4)),) for axis in self.axes
        }
        self.builder = KernelBuilder("drawn", self.axes)
        self.values: list[tuple[int, frozenset[str]]] = []
        self.shapes: dict[str, tuple[tuple[int, ...], Any]] = {}
        self.highest: dict[str, int] = {}

    def array(self, ranges: Sequence[Range], dims: Sequence[int], dtype: Any) -> str:
        name = f"a{len(self.shapes)}"
        self.shapes[name] = (*(size for axis in ranges for size in self.sizes[axis.name]), *dims), dtype
        return self.builder.array(name, ranges, len(dims))

    def ranges(self) -> list[Range]:
        if self.is_structured:
            return [*self.axes]
        chosen = self.draw(st.sets(st.sampled_from(self.axes), max_size=3))
        return [axis for axis in self.axes if axis in chosen]

    def value(self) -> tuple[int, frozenset[str]]:
        return self.draw(st.sampled_from(self.values))

    def read(self) -> None:
        ranges = self.ranges()
        array = self.array(ranges, (), self.draw(st.sampled_from((np.int64, np.int32))))
        self.values.append((self.builder.read(array, INT64), frozenset(axis.name for axis in ranges)))

    def index(self) -> None:
        axis = self.draw(st.sampled_from(self.axes))
        self.values.append((self.builder.index(axis), frozenset((axis.name,))))

    def looked_up(self) -> None:
        """Add an element that is read at computed indices."""
        places = [self.value() for _ in range(self.draw(st.integers(1, 2)))]
        ranges = self.ranges()
        array = self.array(ranges, [self.draw(st.integers(1, 4)) for _ in places], np.int64)
        padding = self.draw(st.sampled_from((0, -7, "replicate", "reflect", "circular", SKIP)))
        along = frozenset(axis.name for axis in ranges).union(*(own for _, own in places))
        self.values.append((self.builder.read(array, INT64, [node for node, _ in places], padding), along))

    def operation(self) -> None:
        (one, along), (other, further_along) = self.value(), self.value()
        op = self.draw(st.sampled_from(("add", "subtract", "multiply", "maximum", "minimum")))
        node = self.builder.graph.node(op, (one, other), INT64)
        seven = self.builder.graph.constant(7, INT64)
        self.values.append((self.builder.graph.node("fmod", (node, seven), INT64), along | further_along))

    def fold(self) -> None:
        node, along = self.value()
        if not along or (self.is_structured and len(self.axes) == 1):
            return
        names = self.draw(st.sets(st.sampled_from(sorted(along)), min_size=1))
        if self.is_structured:
            names = {self.axes[-1].name}
        over = [axis for axis in self.axes if axis.name in names]
        op = self.draw(st.sampled_from(("add", "maximum", "minimum", "further")))
        if op == "further":
            values = [node, self.builder.index(*over)]
            parts = self.builder.fold(over, values, (-(1 << 62), -1), further(), in_order=True)
        else:
            none = {"add": 0, "maximum": -(1 << 62), "minimum": 1 << 62}[op]
            parts = self.builder.fold(over, [node], (none,), combine(op))
        seven = self.builder.graph.constant(7, INT64)
        self.values += [(self.builder.graph.node("fmod", (part, seven), INT64), along - names) for part in parts]

    def scan(self) -> None:
        node, along = self.value()
        axes = [axis for axis in self.axes if not axis.is_pack and axis.name in along]
        if not axes:
            return
        over = self.draw(st.sampled_from(axes))
        if self.draw(st.booleans()):
            parts = self.builder.scan(over, [node], (0,), combine("add"), is_associative=True)
        else:
            parts = self.builder.scan(over, [node], (3,), decaying(), is_reverse=self.draw(st.booleans()))
        seven = self.builder.graph.constant(7, INT64)
        self.values += [(self.builder.graph.node("fmod", (part, seven), INT64), along) for part in parts]

    def write(self, number: int) -> None:
        node, along = self.value()
        if self.is_structured or self.draw(st.booleans()):
            ranges = [axis for axis in self.axes if axis.name in along]
            self.builder.write(self.output(number, ranges, ()), node)
            return
        place, _ = self.value()
        old = self.builder.old(number, INT64)
        total = self.builder.graph.node("add", (old, node), INT64)
        self.builder.write(
            self.output(number, (), (3,)), total, [place], self.draw(st.sampled_from((SKIP, "circular")))
        )

    def output(self, number: int, ranges: Sequence[Range], dims: Sequence[int]) -> str:
        name = f"out{number}"
        self.shapes[name] = (*(size for axis in ranges for size in self.sizes[axis.name]), *dims), np.int64
        return self.builder.array(name, ranges, len(dims))


@st.composite
def drawn_kernels(draw: Any) -> DrawnKernel:
    """Draw a kernel with its sizes and operands."""
    drawing = _Drawing(draw)
    drawing.read()
    steps = [drawing.read, drawing.operation, drawing.operation, drawing.fold, drawing.fold, drawing.scan]
    if not drawing.is_structured:
        steps += [drawing.index, drawing.looked_up]
    for step in draw(st.lists(st.sampled_from(steps), min_size=1, max_size=9)):
        step()
    for number in range(draw(st.integers(1, 2))):
        drawing.write(number)
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    operands: Mapping[str, Any] = {
        name: rng.integers(-5, 6, shape).astype(dtype) for name, (shape, dtype) in drawing.shapes.items()
    }
    return DrawnKernel(drawing.builder.finish(), drawing.sizes, dict(operands))
