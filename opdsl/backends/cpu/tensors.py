"""Plans as built-in functions of tensors, which unwrap their arrays and create the result without running Python code.

The machine code reads and writes the slots of ``Tensor`` objects in memory. Their offsets are found by looking for
known objects in a tensor that holds them, so nothing is assumed about how Python lays objects out.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from opdsl.backends.cpu.builtin import Kernel, Table, builtin_over
from opdsl.backends.cpu.machine.language import words
from opdsl.backends.cpu.machine.tensor import ARGUMENT, ARRAY_OF, OBJECT, KernelPlan, Result, ViewPlan
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.strides import byte_strides
from opdsl.runtime.tensor import Tensor

if TYPE_CHECKING:
    from opdsl.runtime.plan_call import PlanCall, PlanOperand


def plan(compiled: Callable[..., Any], call: PlanCall, slow: Callable[..., object]) -> Kernel:
    """Return a plan as a built-in function of tensors and numbers that returns a new tensor.

    Args:
        compiled: the kernel; the array that it returns must belong to the result alone.
        call: the operands of the kernel, and the geometry of the result.
        slow: function for calls whose arguments are not plain tensors with arrays, or with a number that does not fit.
    """
    sources = Table([word for operand in call.operands for word in _words(operand)])
    header: list[int | Table] = words(
        KernelPlan,
        arguments=call.arguments,
        operands=len(call.operands),
        sources=sources,
        kernel=id(compiled),
        slow=id(slow),
        converts=int(call.converts),
        result=_result(call.result),
    )
    return builtin_over(call.name, "tensor_call", header, [compiled, slow, call])


def view_function(source: TensorMeta, view: TensorMeta, offset: int) -> Kernel:
    """Return a built-in function from a tensor to a view of it, see ``opdsl.backends.cpu.memory.viewer``."""
    size, dtype = view.dtype.itemsize, view.dtype.numpy
    header: list[int | Table] = words(
        ViewPlan,
        dtype=id(dtype),
        dimensions=view.ndim,
        shape=Table(view.shape),
        strides=Table(byte_strides(view.strides, size)),
        offset=offset * size,
        of_view=int(source.is_view and not source.creation.is_apart),
        result=_result(view),
    )
    return builtin_over("view_cpu", "view_call", header, [dtype, view])


def _words(operand: PlanOperand) -> tuple[int, int]:
    if operand.place is None:
        return OBJECT, id(operand.value)
    return ARRAY_OF if operand.is_array else ARGUMENT, operand.place


def _result(form: TensorMeta) -> Table:
    """Return the words of a ``Result``, which describe how to create a tensor of a geometry."""
    return Table(words(Result, type=id(Tensor), geometry=id(form), version=id(_FIRST_VERSION), **_slots()))


_FIRST_VERSION = 0


@functools.cache
def _slots() -> dict[str, int]:
    """Return the offsets of the slots that machine code reads and writes."""
    names = {"array": "array", "geometry": "geometry", "version": "_writes", "base": "_base"}
    offsets = slots_of(Tensor, tuple(names.values()))
    return {f"{name}_slot": offsets[slot] for name, slot in names.items()}


def slots_of(kind: type, names: Sequence[str]) -> dict[str, int]:
    """Return the offsets of slots in the objects of a class, in bytes.

    Args:
        kind: the class; an object of it is created without ``__init__``.
        names: of the slots, which are set and deleted again.
    """
    marked: Any = object.__new__(kind)
    marks = {name: object() for name in names}
    for name, mark in marks.items():
        setattr(marked, name, mark)
    size = ctypes.sizeof(ctypes.c_size_t)
    words = list((ctypes.c_size_t * (kind.__basicsize__ // size)).from_address(id(marked)))
    offsets = {name: size * words.index(id(mark)) for name, mark in marks.items()}
    for name in names:
        delattr(marked, name)
    return offsets
