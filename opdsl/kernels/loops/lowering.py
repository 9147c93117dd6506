"""Loops of a kernel: a nest over its points, in which folds and scans run one after another."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from opdsl.errors import KernelError
from opdsl.kernels.calls import Layout, OperandSpec
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.kernel import (
    SKIP,
    Count,
    Kernel,
    Old,
    Operand,
    Write,
    operand_types,
)
from opdsl.kernels.loops import model
from opdsl.kernels.loops.blocks import Scope
from opdsl.kernels.loops.forms import by_form
from opdsl.kernels.loops.making import Given, Loops, Maker, around, product
from opdsl.kernels.loops.model import Size
from opdsl.kernels.loops.nests import Nest
from opdsl.runtime.dtype import float32
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.types import ScalarType

__all__ = ["extra_names", "extra_words", "kept_types", "loops_of", "lowered", "without_memory"]


def lowered(kernel: Kernel, layout: Layout, *, keep: bool = False, trusted: bool = False) -> Loops:
    """Return the loops of a kernel.

    Args:
        kernel: the computation.
        layout: sizes and strides of its operands.
        keep: whether expensive values are kept in local memory for later loops over the same range, instead of
            computed again.
        trusted: whether indices without padding are not checked: the caller guarantees that they are in bounds.
    """
    return _Lowering(kernel, layout, keep=keep, trusted=trusted).loops()


loops_of = by_form(lowered)
"""``lowered``, with one program for all calls that differ in numbers alone."""


def without_memory(loops: Loops) -> Loops:
    """Return loops whose points need no memory of their own.

    Raises:
        KernelError: they keep the results of a scan for later loops, in memory whose size is known in a call only.
    """
    if model.locals_of(loops.program.body):
        raise KernelError(
            f"the kernel {loops.program.name} needs the results of a scan in a later loop, for which this backend has "
            "no memory. Compute what needs them in a kernel of its own."
        )
    return loops


def extra_words(kernel: Kernel, layout: Layout) -> list[int]:
    """Return the values of the words of a kernel's loops that are no sizes or strides, in their order."""
    return [*layout.words, *_products(kernel, layout).values()]


def extra_names(kernel: Kernel, dimensions: Sequence[int]) -> list[str]:
    """Return the names of the words of ``extra_words``.

    Args:
        kernel: the kernel.
        dimensions: the number of dimensions of each of its ranges.
    """
    counts = dict(zip((axis.name for axis in kernel.ranges), dimensions, strict=True))
    counted = dict.fromkeys(source.range for source in kernel.sources if isinstance(source, Count))
    return [*kernel.words, *(f"{name}_count" for name in counted if counts[name] != 1)]


def _products(kernel: Kernel, layout: Layout) -> dict[str, int]:
    """Return the numbers of iterations that are words of their own, by range."""
    sizes = dict(zip((axis.name for axis in kernel.ranges), layout.sizes, strict=True))
    counted = dict.fromkeys(source.range for source in kernel.sources if isinstance(source, Count))
    return {name: product(sizes[name]) for name in counted if len(sizes[name]) != 1}


@functools.lru_cache(maxsize=1024)
def kept_types(kernel: Kernel) -> tuple[ScalarType, ...]:
    """Return the types of the values that ``lowered`` with ``keep`` stores for each element of a row."""
    sizes = tuple(() if axis.is_pack else (1,) for axis in kernel.ranges)
    packs = {axis.name for axis in kernel.ranges if axis.is_pack}
    specs = [
        OperandSpec(float32, (0,) * (len({*operand.ranges} - packs) + operand.dims)) for operand in kernel.operands
    ]
    count = len(kernel.operands) - len(kernel.outputs)
    dims = tuple((1,) * operand.dims for operand in kernel.operands)
    words = (1,) * len(kernel.words)
    layout = Layout(sizes, tuple(specs[:count]), tuple(specs[count:]), (None,) * len(kernel.outputs), dims, words)
    kept = model.locals_of(lowered(kernel, layout, keep=True).program.body)
    return tuple(ScalarType(precision_of(local.array.dtype).name) for local in kept)


class _Lowering:
    """Builder of the loops of one kernel; see ``Owner`` for its attributes."""

    def __init__(self, kernel: Kernel, layout: Layout, *, keep: bool, trusted: bool) -> None:
        self.kernel, self.layout, self.keep, self.trusted = kernel, layout, keep, trusted
        self.graph, self.limits = _clipped(kernel)
        self.maker = maker = Maker(kernel.name)
        self.ranges: dict[str, tuple[model.Range, ...]] = {}
        for axis, sizes in zip(kernel.ranges, layout.sizes, strict=True):
            own = (
                maker.ranges(axis.name, sizes) if axis.is_pack else ((axis.name, maker.size(f"{axis.name}_n", *sizes)),)
            )
            self.ranges[axis.name] = own
        for word, value in zip(kernel.words, layout.words, strict=True):
            maker.size(word, value)
        counts = _products(kernel, layout).items()
        self.counts = {name: maker.size(f"{name}_count", value) for name, value in counts}
        self.specs = dict(
            zip((operand.name for operand in kernel.operands), (*layout.inputs, *layout.outputs), strict=True)
        )
        self.dims: dict[str, tuple[Size, ...]] = {}
        self._declare()
        self.blocks = 0

    # ------------------------------------------------------------------------------------------------------- operands

    def _declare(self) -> None:
        """Declare the operands, in the order of the arguments."""
        types, numbers = operand_types(self.kernel), self.kernel.numbers
        itemsizes = _extents(self.kernel, self.specs)
        dims = self.layout.dims or ((),) * len(self.kernel.operands)
        for at, (operand, own) in enumerate(zip(self.kernel.operands, dims, strict=True)):
            spec = self.specs[operand.name]
            if operand.name in numbers:
                self.maker.number(operand.name, types[operand.name])
            elif operand.name in itemsizes:
                self.maker.given(operand.name, Given(at, itemsizes[operand.name]))
                self.maker.skip()
            elif spec.counts:
                self.maker.number(operand.name, ScalarType.INT64)
            else:
                self._array(operand, spec, own)

    def _array(self, operand: Operand, spec: OperandSpec, dims: Sequence[int]) -> None:
        name, along = operand.name, self.along(operand)
        if operand.extents:
            self.dims[name] = tuple(size for _, size in operand.extents)
            self.maker.array(name, spec, along, [(size, step) for step, size in operand.extents])
            return
        self.dims[name] = tuple(self.maker.size(f"{name}_n{k}", size) for k, size in enumerate(dims))
        self.maker.array(name, spec, (*along, *(("", size) for size in self.dims[name])))

    def along(self, operand: Operand) -> tuple[model.Range, ...]:
        return self.dimensions(operand.ranges)

    def dimensions(self, ranges: Iterable[str]) -> tuple[model.Range, ...]:
        return tuple(axis for range_name in ranges for axis in self.ranges[range_name])

    def loops(self) -> Loops:
        """Build the complete loops."""
        points = self.kernel.points
        body = Nest(self).level(Scope(frozenset(points), {}, {}), self.kernel.writes)
        return self.maker.finish(around(self.dimensions(points), body))

    def old_of(self, write: Write) -> int | None:
        source = Old(self.kernel.writes.index(write))
        return self.kernel.sources.index(source) if source in self.kernel.sources else None


def _extents(kernel: Kernel, specs: dict[str, OperandSpec]) -> dict[str, int]:
    """Return the operands that are sizes or strides, with the numbers by which they are divided: strides are in bytes
    as operands, and in elements as words.
    """
    divisors: dict[str, int] = {}
    for operand in kernel.operands:
        for step, size in operand.extents:
            divisors |= {step: specs[operand.name].dtype.itemsize, size: 1}
    return divisors


def _clipped(kernel: Kernel) -> tuple[TypedGraph, dict[int, int]]:
    """Turn upper limits in indices into separate bounds checks: ``p if p < limit else -1`` becomes the index ``p`` with
    a limit, where accesses that are out of bounds are skipped.

    Returns:
        The graph, and for indices among its results the nodes that they have to be less than.
    """
    graph = kernel.graph
    results, limits = list(graph.results), {}
    for place in (at for read in (*kernel.reads, *kernel.writes) if read.padding == SKIP for at in read.at):
        node = graph.nodes[results[place]]
        if node.op != "select":
            continue
        condition, _, other = (graph.nodes[at] for at in node.arguments)
        is_outside = other.op == "constant" and isinstance(other.value, int) and other.value < 0
        if condition.op == "less" and condition.arguments[0] == node.arguments[1] and is_outside:
            results[place], limits[place] = node.arguments[1], condition.arguments[1]
    return TypedGraph(graph.name, graph.nodes, tuple(results)), limits
