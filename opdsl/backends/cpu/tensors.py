"""Plans as built-in functions of tensors: reading their arrays and making the result takes no Python (tensor.ll).

The machine code reads and writes the slots of ``Tensor`` where they lie in memory. Where that is, is found by looking
for known objects in a tensor that holds them, so nothing is assumed about how Python lays objects out.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from opdsl.backends.cpu.builtin import Kernel, Table, builtin_over
from opdsl.backends.cpu.native import CONSTANTS
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.strides import byte_strides
from opdsl.runtime.tensor import Tensor

if TYPE_CHECKING:
    from opdsl.runtime.plan_call import PlanCall, PlanOperand


def plan(compiled: Callable[..., Any], call: PlanCall, slow: Callable[..., object]) -> Kernel:
    """A plan as a built-in function of tensors and numbers that gives a new tensor.

    Args:
        compiled: the kernel; it gives an array that is the result's own.
        call: what the kernel is called with, and what is made of its array.
        slow: takes the arguments where they are no plain tensors with arrays, or where a number does not fit.
    """
    sources = Table([word for each in call.operands for word in _words(each)])
    header: list[int | Table] = [call.arguments, len(call.operands), sources, id(compiled), id(slow)]
    return builtin_over(
        call.name, "tensor_call", [*header, int(call.converts), _result(call.result)], [compiled, slow, call]
    )


def view_function(source: TensorMeta, view: TensorMeta, offset: int) -> Kernel:
    """A built-in function from a tensor to a view of it; see ``opdsl.backends.cpu.memory.viewer``."""
    size, dtype = view.dtype.itemsize, view.dtype.numpy
    steps = Table(byte_strides(view.strides, size))
    layout: list[int | Table] = [id(dtype), view.ndim, Table(view.shape), steps, offset * size]
    header = [*layout, int(source.is_view and not source.creation.is_apart), _result(view)]
    return builtin_over("view_cpu", "view_call", header, [dtype, view])


def _words(operand: PlanOperand) -> tuple[int, int]:
    if operand.place is None:
        return CONSTANTS["OBJECT"], id(operand.value)
    return CONSTANTS["ARRAY_OF" if operand.is_array else "ARGUMENT"], operand.place


def _result(form: TensorMeta) -> Table:
    """How tensor.ll makes a tensor of a geometry."""
    return Table([id(Tensor), id(form), id(_FIRST_VERSION), *_slots()])


_FIRST_VERSION = 0


@functools.cache
def _slots() -> tuple[int, ...]:
    """Where the slots ``array``, ``geometry``, ``_writes`` and ``_base`` lie in a tensor, in bytes."""
    marked: Any = Tensor()
    marks = [object() for _ in range(4)]
    marked.array, marked.geometry, marked._writes, marked._base = marks
    size = ctypes.sizeof(ctypes.c_size_t)
    words = list((ctypes.c_size_t * (Tensor.__basicsize__ // size)).from_address(id(marked)))
    return tuple(size * words.index(id(each)) for each in marks)
