"""Programs that sort rows, or find what comes first in their order."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from opdsl.backends.cuda.kernel import Kernel, kernel_of
from opdsl.backends.cuda.loop_program import THREADS, sequence
from opdsl.backends.cuda.program import Address, Argument, Program, Scratch
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.loops.ordering import sorting
from opdsl.kernels.loops.schedules import shared
from opdsl.scalar.types import ScalarType

if TYPE_CHECKING:
    from opdsl.kernels.calls import Ordering, RowCall
    from opdsl.kernels.loops import model

__all__ = ["order"]

# Elements of a tile, which a block sorts in shared memory.
_TILE = 2048

# Of arrays in scratch memory, in bytes.
_ALIGNMENT = 16


def order(ordering: Ordering, call: RowCall) -> Program:
    """The program that sorts rows, equal elements left in order, NaN the largest.

    Args:
        ordering: which elements of a row are wanted.
        call: one input; the outputs are its elements in order and their places, int64.
    """
    steps, scratch, shape = sorting(ordering, call, ScalarType(precision_of(call.inputs[0].dtype).name), _TILE)
    size = -(-8 * math.prod(shape) // _ALIGNMENT) * _ALIGNMENT
    operands = ("source", "values", "indices")
    memory: dict[str, Argument] = {name: Address(k) for k, name in enumerate(operands)}
    memory |= {name: Scratch(k * size) for k, name in enumerate(scratch)}
    made = [(loops, _kernel(loops.program), [memory[name] for name in names]) for loops, names in steps]
    return sequence(made, len(operands), len(scratch) * size)


@functools.lru_cache(maxsize=1024)
def _kernel(program: model.Program) -> Kernel:
    return kernel_of(program.name, shared(program, THREADS))
