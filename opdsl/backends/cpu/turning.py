"""Copies of transposed matrices by a kernel that transposes square blocks in vector registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opdsl.backends.cpu import engine
from opdsl.backends.cpu.machine import turn
from opdsl.runtime.permanent import kept_forever

if TYPE_CHECKING:
    from opdsl.kernels.calls import OperandSpec
    from opdsl.scalar.graph import TypedGraph

TURNING = "turning"

# The LLVM type as which elements are copied, by size in bytes.
_MOVED = {2: "half", 4: "float", 8: "double"}
# The smallest block size in elements: a row of 8 doubles fills a cache line.
_FEWEST = 8


def is_turned(graph: TypedGraph, operands: Sequence[OperandSpec]) -> bool:
    """Return whether a call copies a transposed matrix: the source is contiguous along the last dimension but one, the
    target along the last.
    """
    if len(operands) != 2 or len(graph.nodes) != 1 or not engine.has_feature("avx2"):
        return False
    source, target = operands
    size = source.dtype.itemsize
    if size not in _MOVED or source.dtype is not target.dtype or source.strides is None or target.strides is None:
        return False
    return source.strides[-2] == size and target.strides[-1] == size


@kept_forever
def turning_code(size: int) -> engine.Code:
    """Compile the kernel for elements of a size in bytes."""
    from opdsl.backends.cpu.machine.text import module_text
    from opdsl.backends.cpu.machine.vectors import ATTRIBUTES, given

    names = given(_MOVED[size], max(engine.vector_bytes() // size, _FEWEST))
    return engine.compile_ir(f"turning {size}", lambda: module_text([turn], names, ATTRIBUTES), [TURNING])
