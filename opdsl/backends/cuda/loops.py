"""Programs whose kernels are printed from the loop IR: a thread for each point of the outermost loops.

Shapes and strides are parameters, so a new shape compiles nothing; the number of coalesced dimensions, whether 32 bits
address everything, and which elements follow each other are part of the source. Threads run in no order: where several
points write to one place, one of them stays written; an update takes all of them, in any order.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from opdsl.backends.cuda.kernel import Kernel, kernel_of
from opdsl.backends.cuda.loop_program import THREADS, loop_program
from opdsl.kernels.loops import elementwise, folding, schedules
from opdsl.kernels.loops import indexed as over_places
from opdsl.kernels.loops.forms import by_form
from opdsl.kernels.loops.model import Array

if TYPE_CHECKING:
    from opdsl.backends.cuda.program import Program
    from opdsl.kernels.calls import (
        IndexedCall,
        IndexedLoop,
        IndirectCall,
        OperandSpec,
        PointwiseCall,
        Recurring,
        RowCall,
    )
    from opdsl.kernels.loops import model
    from opdsl.kernels.loops.making import Loops
    from opdsl.scalar.graph import TypedGraph

__all__ = ["indexed", "indirect", "launched", "pointwise", "recurrence"]

_POINTWISE, _INDIRECT = by_form(elementwise.pointwise), by_form(elementwise.indirect)
_INDEXED, _RECURRENCE = by_form(over_places.indexed), by_form(folding.recurrence)

# Few, so that rows are spread over multiprocessors.
THREADS_OF_ROWS = 64

# Bytes, and elements, that a thread takes together.
_LARGEST_VECTOR = 16
_MOST_ELEMENTS = 8


def pointwise(graph: TypedGraph, call: PointwiseCall) -> Program:
    """The program of a scalar graph: operands whose elements follow each other have two kernels.

    ``vectors`` loads and stores up to 128 bits at once, where all arrays begin at multiples of so many bytes.
    ``strided`` finds each element from its position, and is the only kernel for operands that lie in other ways.

    Args:
        graph: the function; its parameter and result types may differ from how the operands are stored.
        call: where the operands lie.
    """
    loops = _POINTWISE(graph, call if call.sizes else _of_one(call))
    return loop_program(loops, _elementwise(loops.program, len(call.outputs)))


@functools.lru_cache(maxsize=4096)
def _elementwise(program: model.Program, outputs: int) -> dict[int, Kernel]:
    """The kernels of a loop around a scalar graph."""
    strided = kernel_of("strided", program)
    arrays = [each for each in program.parameters if isinstance(each, Array)]
    read, written = arrays[:-outputs], arrays[-outputs:]
    is_flat = all(each.strides in ((0,), (1,)) for each in read) and all(each.strides == (1,) for each in written)
    if not is_flat:
        return {1: strided}
    largest = max(each.dtype.itemsize for each in arrays)
    elements = _elements(largest)
    return {elements * largest: Kernel("vectors", schedules.vectorised(program, elements), None), 1: strided}


def _of_one(call: PointwiseCall) -> PointwiseCall:
    """The call of a single element as one of a dimension."""

    def lying(spec: OperandSpec) -> OperandSpec:
        return spec if spec.strides is None else spec._replace(strides=(spec.dtype.itemsize,))

    return call._replace(sizes=(1,), inputs=(*map(lying, call.inputs),), outputs=(*map(lying, call.outputs),))


def indirect(graph: TypedGraph, call: IndirectCall) -> Program:
    """The program of a loop with positions: ``gather``, ``scatter``, ``x[indices]``.

    Args:
        graph: the function.
        call: where the operands lie, and which of them positions move.
    """
    loops = _INDIRECT(graph, call)
    return loop_program(loops, {1: kernel_of("indirect", schedules.vectorised(loops.program, _neighbours(call)))})


def _neighbours(call: IndirectCall) -> int:
    """How many neighbours a thread takes: they have their positions in common."""
    is_update = call.writes and call.reads is not None
    if is_update or not call.sizes or any(spec.strides and spec.strides[-1] for spec in call.positions):
        return 1
    specs = {k: spec for k, spec in enumerate((*call.inputs, call.output)) if spec.strides is not None}
    for k, spec in specs.items():
        step = (spec.strides or (0,))[-1]
        if step != spec.dtype.itemsize and (step or k in (call.reads, len(call.inputs))):
            return 1
    return math.gcd(call.sizes[-1], _elements(max(spec.dtype.itemsize for spec in specs.values())))


def _elements(size: int) -> int:
    """How many elements a thread takes together, the largest of which has so many bytes."""
    return max(1, min(_LARGEST_VECTOR // size, _MOST_ELEMENTS))


def indexed(loop: IndexedLoop, call: IndexedCall) -> Program:
    """The program of a function of places: a thread takes all turns of a place.

    Args:
        loop: what is computed.
        call: where the operands lie.
    """
    return launched(_INDEXED(loop, call), len(call.leading) + loop.at)


def recurrence(recurring: Recurring, call: RowCall) -> Program:
    """The program of a recurrence: a thread goes along each row, step by step.

    Args:
        recurring: what is computed at each step.
        call: where the operands lie.
    """
    return launched(_RECURRENCE(recurring, call), len(call.kept), THREADS_OF_ROWS)


def launched(loops: Loops, threaded: int, threads: int = THREADS) -> Program:
    """The program of loops.

    Args:
        loops: what is run.
        threaded: how many of the outermost loops are shared out among threads.
        threads: of a block.
    """
    return loop_program(loops, {1: kernel_of("loops", schedules.threaded(loops.program, threaded))}, threads)
