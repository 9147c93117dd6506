"""Kernels of element functions, reductions, scans, recurrences and row functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from opdsl.kernels.building import INT64, POINTS, ROW, TURNS, KernelBuilder
from opdsl.kernels.kernel import WRAP, Kernel, Range
from opdsl.kernels.loops.making import pairwise
from opdsl.runtime.symbol import is_symbol
from opdsl.scalar.graph import Node, TypedGraph
from opdsl.scalar.types import FLOAT, ScalarType

if TYPE_CHECKING:
    from opdsl.kernels.calls import Folding, Layout, OperandSpec, Recurring, Scanning
    from opdsl.scalar.graph import Number as Value

__all__ = ["elementwise", "gathering", "recurrence", "reduction", "rows", "scan", "with_row_strides"]


def _are_numbers(specs: Sequence[OperandSpec]) -> tuple[bool, ...]:
    return tuple([spec.strides is None for spec in specs])


def elementwise(graph: TypedGraph, layout: Layout) -> Kernel:
    """Return the kernel that computes a graph for each element.

    Args:
        graph: from an element of each input to an element of each output.
        layout: says which inputs are numbers.
    """
    return _elementwise(graph, tuple([spec.strides is None for spec in layout.inputs]), graph.name)


@lru_cache(maxsize=4096)
def _elementwise(graph: TypedGraph, numbers: tuple[bool, ...], name: str) -> Kernel:
    builder = KernelBuilder(name, (POINTS,))
    values = _inputs(builder, numbers, [kind for _, kind in graph.parameters], (POINTS,))
    for k, value in enumerate(builder.computed(graph, values)):
        builder.write(builder.array(f"out{k}", (POINTS,)), value)
    return builder.finish()


def _inputs(
    builder: KernelBuilder, numbers: Sequence[bool], kinds: Sequence[ScalarType], ranges: Sequence[Range]
) -> list[int]:
    """Add an operand for each input, and return their values."""
    return [
        builder.number(f"x{k}", kind) if is_number else builder.read(builder.array(f"a{k}", ranges), kind)
        for k, (is_number, kind) in enumerate(zip(numbers, kinds, strict=True))
    ]


def gathering(graph: TypedGraph, layout: Layout, positions: int, reads: int | None, *, writes: bool) -> Kernel:
    """Return the kernel that computes a graph for each element, where one operand is read or written at indices that
    are read from other operands.

    The operands are the inputs, the arrays of indices, the strides in bytes of the dimensions that they index, the
    sizes of these, then the output.

    Args:
        graph: from an element of each input to an element of the output.
        layout: says which inputs are numbers.
        positions: the number of arrays of indices.
        reads: which input is read at the indices; None for none.
        writes: whether the output is written at them: if one is read, too, that is the output's old element.
    """
    return _gathering(graph, _are_numbers(layout.inputs[: len(graph.parameters)]), positions, reads, writes, graph.name)


@lru_cache(maxsize=4096)
def _gathering(
    graph: TypedGraph, numbers: tuple[bool, ...], positions: int, reads: int | None, writes: bool, name: str
) -> Kernel:
    builder = KernelBuilder(name, (POINTS,))
    extents = tuple((f"step{k}", f"size{k}") for k in range(positions))

    def array(name: str, is_moved: bool) -> str:
        return builder.array(name, (POINTS,), positions, extents) if is_moved else builder.array(name, (POINTS,))

    kinds = [kind for _, kind in graph.parameters]
    inputs = [
        builder.number(f"x{k}", kind) if is_number else array(f"a{k}", k == reads)
        for k, (is_number, kind) in enumerate(zip(numbers, kinds, strict=True))
    ]
    at = [builder.read(builder.array(f"b{k}", (POINTS,)), INT64) for k in range(positions)]
    for which in (0, 1):
        for pair in extents:
            builder.extent(pair[which])
    values = []
    for k, (own, kind) in enumerate(zip(inputs, kinds, strict=True)):
        if isinstance(own, int):
            values.append(own)
        elif k == reads and writes:
            values.append(builder.old(0, kind))
        else:
            values.append(builder.read(own, kind, at if k == reads else (), WRAP if k == reads else None))
    (result,) = builder.computed(graph, values)
    builder.write(array("out", writes), result, at if writes else (), WRAP if writes else None)
    return builder.finish()


def reduction(folding: Folding) -> Kernel:
    """Return the kernel of a reduction."""
    return _reduction(folding, repr(folding.init), folding.combine.name)


@lru_cache(maxsize=4096)
def _reduction(folding: Folding, _init: str, name: str) -> Kernel:
    count, inputs = len(folding.init), len(folding.lift.parameters) - folding.with_index - len(folding.lifted_numbers)
    builder = KernelBuilder(name, (POINTS, TURNS))
    kinds = [kind for _, kind in folding.lift.parameters]
    elements = _inputs(builder, (False,) * inputs, kinds[:inputs], (POINTS, TURNS))
    further = [kind for _, kind in folding.finish.parameters[count + 1 :]]
    numbers = [builder.number(f"x{k}", kind) for k, kind in enumerate(further)]
    index = [builder.index(TURNS)] if folding.with_index else []
    lifted = builder.computed(folding.lift, [*elements, *index, *(numbers[at] for at in folding.lifted_numbers)])
    parts = builder.fold((TURNS,), lifted, folding.init, folding.combine, in_order=folding.in_order)
    results = builder.computed(folding.finish, [*parts, builder.count(TURNS), *numbers])
    for k, result in enumerate(results):
        builder.write(builder.array(f"out{k}", (POINTS,)), result)
    return builder.finish()


def scan(scanning: Scanning) -> Kernel:
    """Return the kernel of an associative scan."""
    return _scan(scanning, repr(scanning.init), scanning.combine.name)


@lru_cache(maxsize=4096)
def _scan(scanning: Scanning, _init: str, name: str) -> Kernel:
    builder = KernelBuilder(name, (POINTS, ROW))
    element = builder.read(builder.array("a0", (POINTS, ROW)), scanning.lift.parameters[0][1])
    index = [builder.index(ROW)] if len(scanning.lift.parameters) > 1 else []
    lifted = builder.computed(scanning.lift, [element, *index])
    parts = builder.scan(ROW, lifted, scanning.init, scanning.combine, is_associative=True)
    for k, result in enumerate(builder.computed(scanning.finish, parts)):
        builder.write(builder.array(f"out{k}", (POINTS, ROW)), result)
    return builder.finish()


def recurrence(recurring: Recurring, layout: Layout) -> Kernel:
    """Return the kernel of a recurrence.

    Args:
        recurring: its step.
        layout: says which inputs are numbers.
    """
    return _recurrence(recurring, _are_numbers(layout.inputs), repr(recurring.init), recurring.step.name)


@lru_cache(maxsize=4096)
def _recurrence(recurring: Recurring, numbers: tuple[bool, ...], _init: str, name: str) -> Kernel:
    step, count = recurring.step, len(recurring.init)
    builder = KernelBuilder(name, (POINTS, ROW))
    values = _inputs(builder, numbers, [kind for _, kind in step.parameters[count:]], (POINTS, ROW))
    parts = builder.scan(ROW, values, recurring.init, step, is_reverse=recurring.is_reverse)
    for k, result in enumerate(parts[count:]):
        builder.write(builder.array(f"out{k}", (POINTS, ROW)), result)
    return builder.finish()


def rows(graph: TypedGraph, layout: Layout) -> tuple[Kernel, Layout]:
    """Return the kernel of a row function, and its layout.

    Args:
        graph: from elements of rows and numbers to elements, or to results for the row as a whole; folds of
            ``opdsl.scalar.intrinsics`` reduce a row.
        layout: strides of all operands for the points, then along the row. Outputs for the row as a whole have a
            stride of 0 along it, which the returned layout leaves out.
    """
    repeated = tuple([_moves((spec.strides or (0,))[-1]) for spec in layout.outputs])
    kernel = _rows(graph, _are_numbers(layout.inputs), repeated, graph.name)
    along = {operand.name: ROW.name in operand.ranges for operand in kernel.operands}
    outputs = tuple(
        spec if along[f"out{k}"] else spec._replace(strides=(spec.strides or ())[:-1])
        for k, spec in enumerate(layout.outputs)
    )
    return kernel, layout._replace(outputs=outputs)


def with_row_strides(kernel: Kernel, layout: Layout) -> Layout:
    """Return a layout in which outputs for a row as a whole have a stride along it, 0."""
    row = kernel.ranges[1].name
    outputs = tuple(
        spec if row in kernel.operand(name).ranges else spec._replace(strides=(*(spec.strides or ()), 0))
        for name, spec in zip(kernel.outputs, layout.outputs, strict=True)
    )
    return layout._replace(outputs=outputs)


def _moves(stride: int) -> bool:
    return is_symbol(stride) or stride != 0


_FOLDS = {"row_sum": "add", "row_mean": "add", "row_max": "maximum", "row_min": "minimum"}


@lru_cache(maxsize=4096)
def _rows(graph: TypedGraph, numbers: tuple[bool, ...], repeated: tuple[bool, ...], name: str) -> Kernel:
    builder = KernelBuilder(name, (POINTS, ROW))
    inputs = iter(_inputs(builder, numbers, [kind for _, kind in graph.parameters], (POINTS, ROW)))
    values: list[int] = []
    varies: list[bool] = []
    for node in graph.nodes:
        arguments = tuple(values[at] for at in node.arguments)
        differs = any(varies[at] for at in node.arguments)
        if node.op == "parameter":
            values.append(next(inputs))
            differs = not numbers[len(values) - 1]
        elif node.op in _FOLDS:
            values.append(_folded_row(builder, node, arguments[0]))
            differs = False
        elif node.op == "row_count":
            values.append(builder.graph.cast(builder.count(ROW), node.type))
            differs = False
        elif node.op == "row_index":
            values.append(builder.index(ROW))
            differs = True
        else:
            values.append(builder.graph.copy(node, arguments))
        varies.append(differs)
    for k, at in enumerate(graph.results):
        ranges = (POINTS, ROW) if varies[at] or repeated[k] else (POINTS,)
        builder.write(builder.array(f"out{k}", ranges), values[at])
    return builder.finish()


def _folded_row(builder: KernelBuilder, node: Node, value: int) -> int:
    """Return the fold of a value along a row, or its mean."""
    (total,) = builder.fold(
        (ROW,), (value,), (neutral(node.op, node.type),), pairwise((_FOLDS[node.op],), (node.type,))
    )
    if node.op != "row_mean":
        return total
    count = builder.graph.cast(builder.count(ROW), node.type)
    return builder.graph.node("divide", (total, count), node.type)


def neutral(fold: str, kind: ScalarType) -> Value:
    """Return the value of a fold of a row without elements."""
    if _FOLDS[fold] == "add":
        return 0
    if kind.category == FLOAT:
        return -math.inf if fold == "row_max" else math.inf
    return kind.bounds[0 if fold == "row_max" else 1]
