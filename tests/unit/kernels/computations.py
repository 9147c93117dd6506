"""Kernels with their layouts, from functions and from sizes and strides, for tests of loops and of compilers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from opdsl.kernels import functions
from opdsl.kernels.calls import Folding, Layout, NewArray, OperandSpec, Recurring, Scanning
from opdsl.kernels.kernel import Kernel
from opdsl.runtime.dtype import DType, int64

if TYPE_CHECKING:
    from opdsl.scalar.graph import TypedGraph

Specs: TypeAlias = "tuple[OperandSpec, ...]"
Computation: TypeAlias = "tuple[Kernel, Layout]"
"""What compilers and makers of loops take."""


def elements(
    graph: TypedGraph,
    sizes: tuple[int, ...],
    inputs: Specs,
    outputs: Specs,
    allocate: tuple[NewArray | None, ...] | None = None,
) -> Computation:
    """Return the computation of a graph for each element; outputs are given unless ``allocate`` says otherwise."""
    layout = Layout((sizes,), inputs, outputs, _given(outputs, allocate))
    return functions.elementwise(graph, layout), layout


def folded(
    folding: Folding,
    kept: tuple[int, ...],
    reduced: tuple[int, ...],
    inputs: Specs,
    outputs: Specs,
    allocate: tuple[NewArray | None, ...] | None = None,
    numbers: Sequence[DType] = (),
) -> Computation:
    """Return a reduction; strides are those of kept dimensions, then of reduced ones."""
    read = (*inputs, *(OperandSpec(dtype, None) for dtype in numbers))
    return functions.reduction(folding), Layout((kept, reduced), read, outputs, _given(outputs, allocate))


def rows(graph: TypedGraph, kept: tuple[int, ...], length: int, inputs: Specs, outputs: Specs) -> Computation:
    """Return the computation of a row function."""
    return functions.rows(graph, rows_layout(kept, length, inputs, outputs))


def scanned(scanning: Scanning, kept: tuple[int, ...], length: int, inputs: Specs, outputs: Specs) -> Computation:
    """Return an associative scan of rows."""
    return functions.scan(scanning), rows_layout(kept, length, inputs, outputs)


def recurring(carried: Recurring, kept: tuple[int, ...], length: int, inputs: Specs, outputs: Specs) -> Computation:
    """Return a recurrence along rows."""
    layout = rows_layout(kept, length, inputs, outputs)
    return functions.recurrence(carried, layout), layout


def rows_layout(kept: tuple[int, ...], length: int, inputs: Specs, outputs: Specs) -> Layout:
    """Return a layout of rows, whose outputs are given; strides are those of kept dimensions, then along the row."""
    return Layout((kept, (length,)), inputs, outputs, _given(outputs))


def gathered(
    graph: TypedGraph,
    sizes: tuple[int, ...],
    inputs: Specs,
    output: OperandSpec,
    positions: Specs,
    reads: int | None,
    *,
    writes: bool,
) -> Computation:
    """Return the computation of a graph for each element with one operand at indices from arrays, see
    ``functions.gathering``.
    """
    extents = (OperandSpec(int64, None),) * (2 * len(positions))
    layout = Layout((sizes,), (*inputs, *positions, *extents), (output,), (None,))
    return functions.gathering(graph, layout, len(positions), reads, writes=writes), layout


def _given(outputs: Specs, allocate: tuple[NewArray | None, ...] | None = None) -> tuple[NewArray | None, ...]:
    return (None,) * len(outputs) if allocate is None else allocate
