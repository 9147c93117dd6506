"""Schedules of elementwise kernels and of gathers and scatters on CUDA: a thread takes an element, or neighbors."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from opdsl.backends.cuda.kernel import Kernel, kernel_of
from opdsl.backends.cuda.loop_program import THREADS, Step, program_of
from opdsl.kernels.kernel import Old, Read, sources_behind
from opdsl.kernels.loops.lowering import loops_of
from opdsl.kernels.loops.model import Array
from opdsl.kernels.loops.schedules import shared, vectorised
from opdsl.kernels.loops.tiles import TILE, in_tiles

if TYPE_CHECKING:
    from opdsl.backends.cuda.program import Program
    from opdsl.kernels.calls import Layout, OperandSpec
    from opdsl.kernels.kernel import Kernel as Computation
    from opdsl.kernels.loops import model

__all__ = ["elements_of_vector", "indirect", "pointwise"]

# The most bytes, and elements, that a thread loads or stores at once.
_LARGEST_VECTOR = 16
_MOST_ELEMENTS = 8


def pointwise(kernel: Computation, layout: Layout) -> Program:
    """Return the program of an elementwise kernel, with two kernels if all operands are contiguous.

    ``vectors`` loads and stores up to 128 bits at once, if all arrays begin at multiples of that many bytes.
    ``together`` does so along the last dimension, where operands are contiguous or repeated along it.
    ``tiled`` reads operands that are contiguous along another dimension through shared memory.
    ``strided`` computes the offset of each element, for all other operands.
    """
    layout = layout if layout.sizes[0] else _of_one(layout)
    loops = loops_of(kernel, layout)
    across = _transposed(layout)
    if across is not None:
        return program_of({1: [Step(loops, _tiled(loops.program, *across))]})
    together = _elements_together(layout)
    kernels = _elementwise(loops.program, len(layout.outputs), together)
    return program_of({alignment: [Step(loops, kernel)] for alignment, kernel in kernels.items()})


def _elements_together(layout: Layout) -> int:
    """Return how many neighbors along the last dimension a thread takes: 1 unless every operand is contiguous or
    repeated along it.
    """
    specs = [spec for spec in (*layout.inputs, *layout.outputs) if spec.strides]
    if any(spec.strides and spec.strides[-1] not in (0, spec.dtype.itemsize) for spec in specs):
        return 1
    return math.gcd(layout.sizes[0][-1], elements_of_vector(max(spec.dtype.itemsize for spec in specs)))


def _transposed(layout: Layout) -> tuple[tuple[int, ...], int] | None:
    """Return the inputs that are contiguous along another dimension than the outputs, and that dimension; None if there
    are none, or too few elements along one of the two dimensions.
    """
    (sizes,) = layout.sizes
    if any(spec.strides is None or spec.strides[-1] != spec.dtype.itemsize for spec in layout.outputs):
        return None
    dims = {
        position: spec.strides.index(spec.dtype.itemsize)
        for position, spec in enumerate(layout.inputs)
        if spec.strides and spec.strides[-1] not in (0, spec.dtype.itemsize) and spec.dtype.itemsize in spec.strides
    }
    if not dims:
        return None
    along = next(iter(dims.values()))
    if min(sizes[along], sizes[-1]) < TILE:
        return None
    return tuple(position for position, dim in dims.items() if dim == along), along


@functools.lru_cache(maxsize=4096)
def _tiled(program: model.Program, inputs: tuple[int, ...], dim: int) -> Kernel:
    ranges, _ = program.points
    arrays = [program.parameters[position].name for position in inputs]
    return kernel_of("tiled", shared(in_tiles(program, arrays, ranges[dim][0]), THREADS))


@functools.lru_cache(maxsize=4096)
def _elementwise(program: model.Program, outputs: int, together: int) -> dict[int, Kernel]:
    """Return the kernels of a loop around a scalar graph, by the alignment in bytes that they require; ``together``:
    see ``_elements_together``.
    """
    strided = kernel_of("strided", program)
    arrays = [parameter for parameter in program.parameters if isinstance(parameter, Array)]
    read, written = arrays[:-outputs], arrays[-outputs:]
    is_flat = all(array.strides in ((0,), (1,)) for array in read) and all(array.strides == (1,) for array in written)
    if not is_flat:
        return {1: kernel_of("together", vectorised(program, together)) if together > 1 else strided}
    largest = max(array.dtype.itemsize for array in arrays)
    elements = elements_of_vector(largest)
    return {elements * largest: Kernel("vectors", vectorised(program, elements), None), 1: strided}


def _of_one(layout: Layout) -> Layout:
    """Return the layout of a single element without dimensions as one with a dimension of size 1."""

    def lying(spec: OperandSpec) -> OperandSpec:
        return spec if spec.strides is None else spec._replace(strides=(spec.dtype.itemsize,))

    return layout._replace(sizes=((1,),), inputs=(*map(lying, layout.inputs),), outputs=(*map(lying, layout.outputs),))


def indirect(kernel: Computation, layout: Layout) -> Program:
    """Return the program of a loop with index tensors: ``gather``, ``scatter``, ``x[indices]``."""
    loops = loops_of(kernel, layout)
    program = vectorised(loops.program, _neighbours(kernel, layout))
    return program_of({1: [Step(loops, kernel_of("indirect", program))]})


def _neighbours(kernel: Computation, layout: Layout) -> int:
    """Return how many neighboring elements a thread takes, which share the values of the index tensors."""
    (sizes,) = layout.sizes
    updates = any(isinstance(source, Old) for source in kernel.sources)
    specs = {
        operand: spec
        for operand, spec in zip(kernel.operands, (*layout.inputs, *layout.outputs), strict=True)
        if spec.strides is not None
    }
    behind = sources_behind(kernel, [at for access in (*kernel.reads, *kernel.writes) for at in access.at])
    positions = {source.operand for at in behind if isinstance(source := kernel.sources[at], Read)}
    if (
        updates
        or not sizes
        or any(spec.strides and spec.strides[-1] for operand, spec in specs.items() if operand.name in positions)
    ):
        return 1
    for operand, spec in specs.items():
        step = (spec.strides or (0,))[-1]
        is_moved = bool(operand.dims) or operand.name in kernel.outputs
        if operand.name not in positions and step != spec.dtype.itemsize and (step or is_moved):
            return 1
    widest = max(spec.dtype.itemsize for operand, spec in specs.items() if operand.name not in positions)
    return math.gcd(sizes[-1], elements_of_vector(widest))


def elements_of_vector(size: int) -> int:
    """Return how many elements a thread takes together, given the bytes of the largest element."""
    return max(1, min(_LARGEST_VECTOR // size, _MOST_ELEMENTS))
