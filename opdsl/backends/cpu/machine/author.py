"""Entry of handwritten kernels and author kernels: a METH_FASTCALL function that puts the arguments into a frame.

It then calls the code that numba or LLVM compiled. A frame has 16 bytes for each argument. The slot of an array holds
the address of the ndarray object itself, whose shape and strides that code reads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from opdsl.backends.cpu.machine.call import ARRAY, NOTHING, Input, take_array, take_number, wrong_count
from opdsl.backends.cpu.machine.language import (
    Address,
    Int32,
    Pointer,
    Records,
    Struct,
    Words,
    exported,
    internal,
    local,
)
from opdsl.backends.cpu.machine.objects import Array, Object, python
from opdsl.backends.cpu.machine.tensor import elements_of

# The number of elements of all arrays from which a call releases the GIL.
AUTHOR_LEAVES_GIL_FROM = 16_384


class AuthorPlan(Struct):
    """Plan of an author kernel or a handwritten kernel.

    kernel: function of addresses for a result and an error, and of the frame, in numba's calling convention; it returns
        0, or anything else for an error.
    arguments, inputs: the number of arguments, and the kind of each.
    reporter: Python function of the address of an error's description; it raises the error.
    """

    kernel: Callable[[Words, Pointer[Address], Words], Int32]
    arguments: int
    inputs: Records[Input]
    reporter: Object


@internal("alwaysinline")
def array_at(frame: Words, slot: int) -> Array:
    """Return the array in a slot of a frame."""
    return cast(Pointer[Array], frame)[2 * slot]


@exported
def author_call(self: Array, arguments: Pointer[Object], number: int) -> Object | None:
    """Run an author kernel or a handwritten kernel."""
    plan = cast(AuthorPlan, self.data)
    if number != plan.arguments:
        return wrong_count()
    frame = local(int, 2 * number)
    result = local(int, 2)
    error = local(Address, 1)
    cast(Words, error)[0] = 0
    elements = 0
    for i in range(number):
        expected = plan.inputs[i]
        slot = frame + 2 * i
        if expected.kind == ARRAY:
            if not take_array(arguments[i], slot):
                return None
            cast(Pointer[Object], slot)[0] = arguments[i]
            elements += elements_of(cast(Array, arguments[i]))
        elif expected.kind != NOTHING and not take_number(arguments[i], expected, expected.kind, slot):
            return None
    status = 0
    if elements >= AUTHOR_LEAVES_GIL_FROM:
        state = python.PyEval_SaveThread()
        status = plan.kernel(result, error, frame)
        python.PyEval_RestoreThread(state)
    else:
        status = plan.kernel(result, error, frame)
    if status == 0:
        python.Py_IncRef(python._Py_NoneStruct)
        return python._Py_NoneStruct
    address = python.PyLong_FromVoidPtr(error[0])
    if address is None:
        return None
    raised = python.PyObject_CallOneArg(plan.reporter, address)
    python.Py_DecRef(address)
    return raised
