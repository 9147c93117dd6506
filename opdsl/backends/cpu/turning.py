"""Copies of matrices whose rows lie as columns: squares of vectors are turned in registers."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opdsl.backends.cpu import engine

if TYPE_CHECKING:
    from opdsl.kernels.calls import OperandSpec
    from opdsl.scalar.graph import TypedGraph

# The kernel's name: void (operands, width, column strides, height, row strides), of a tile.
TURNING = "turning"

# The elements that are moved, by their size: their bits are not looked at.
_MOVED = {2: "float16", 4: "float32", 8: "float64"}
_REGISTER = 64


def is_turned(graph: TypedGraph, operands: Sequence[OperandSpec]) -> bool:
    """Whether a call copies elements that lie along the last dimension but one to where they lie along the last."""
    if len(operands) != 2 or len(graph.nodes) != 1 or not engine.has_feature("avx512bw"):
        return False
    source, target = operands
    size = source.dtype.itemsize
    if size not in _MOVED or source.dtype is not target.dtype or source.strides is None or target.strides is None:
        return False
    return source.strides[-2] == size and target.strides[-1] == size


@functools.cache
def turning_code(size: int) -> engine.Code:
    """The kernel for elements of a size."""
    return engine.compile_ir(f"turning {size}", lambda: _text(size), [TURNING])


def _text(size: int) -> str:
    from opdsl.backends.cpu.turn_text import turn_ir
    from opdsl.backends.cpu.vector_text import ATTRIBUTES, Function, Machine, Shape, declarations

    machine = Machine(_MOVED[size], _REGISTER // size, (Shape(1, (1,)),))
    given = "ptr %operands, i64 %width, ptr %column_strides, i64 %height, ptr %row_strides"
    text = Function(machine, f"void @{TURNING}({given})")
    source, target = (text.pointer("%operands", place) for place in (0, 2))
    pitch = text.divide(text.word("%column_strides", 0), size)
    written = text.divide(text.word("%row_strides", 1), size)
    sizes = ["i64 1", "i64 %width", "i64 %height"]
    text.call("turn", f"ptr {source}", f"i64 {pitch}", *sizes, f"ptr {target}", f"i64 {written}", "i64 %width")
    return "\n".join([turn_ir(machine), text.end(), declarations(machine), ATTRIBUTES])
