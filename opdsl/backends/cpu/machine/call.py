"""Entry of kernel calls: a METH_FASTCALL function whose ``self`` is the plan.

It writes the operands' addresses and numbers to a frame, allocates the outputs, and runs the plan's loop on the frame.
The plan is the data of an ndarray (``opdsl.backends.cpu.builtin`` writes it), so that ``self`` owns everything that the
call uses. A frame is the plan's address, then 16 bytes for each operand: an address, or a number as double, i64, or two
doubles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from opdsl.backends.cpu.machine.language import (
    Address,
    Pointer,
    Records,
    Struct,
    Words,
    exported,
    internal,
    local,
)
from opdsl.backends.cpu.machine.objects import Array, Object, memory, numpy, python
from opdsl.backends.cpu.machine.signals import was_stopped

# Kinds of inputs.
ARRAY, FLOAT, INTEGER, TRUTH, COMPLEX, NOTHING, WORD = range(7)

# Kinds of outputs: given as an argument, allocated by NumPy, allocated by a Python function.
GIVEN, NEW, CALL = range(3)

_WRONG_COUNT = b"kernel: the number of arguments is not what its plan says"
_WRONG_TYPE = b"kernel: an operand is not a numpy.ndarray here"
_TOO_LARGE = b"kernel: a number does not fit the loop's dtype"


class Input(Struct):
    """Description of an argument: its kind, and for integers the allowed range."""

    kind: int
    lowest: int
    highest: int


class Output(Struct):
    """Description of a result.

    kind: GIVEN, NEW or CALL.
    maker: the dtype of a NEW array, or the function of a CALL.
    dimensions, shape: of the array.
    strides: in bytes; None for contiguous ones.
    """

    kind: int
    maker: Object
    dimensions: int
    shape: Words
    strides: Words | None


class Plan(Struct):
    """Plan of a call: the loop, its inputs and outputs.

    loop: function of a frame, the first element and the one after the last.
    elements: the number of elements.
    grain: elements of the smallest piece that is worth a thread; 0 keeps the call on this thread, under the GIL.
    in_pieces: if there is a grain, the function that runs the loop on the pool, ``pieces.run_in_pieces``.
    inputs, outputs: how many there are.
    arguments: the number of inputs plus that of given outputs.
    input_list, output_list: their descriptions.
    unit: every piece but the last is a multiple of this many elements.
    scratch: bytes of temporary memory for the loop; its address follows the operands in the frame; 0 for none.
    after: function of a frame that runs after the loop.
    keeps_pieces: whether a loop gives other bits if it runs in one piece.
    alone: measured time of the call on one thread, in ticks; 0 at first.
    """

    loop: Callable[[Words, int, int], None]
    elements: int
    grain: int
    in_pieces: Callable[[Plan, Words], None]
    inputs: int
    outputs: int
    arguments: int
    input_list: Records[Input]
    output_list: Records[Output]
    unit: int
    scratch: int
    after: Callable[[Words], None] | None
    keeps_pieces: int
    alone: int


@internal("noinline cold")
def refuse(kind: Pointer[Object], text: bytes) -> None:
    """Raise a Python exception of a type with a message."""
    python.PyErr_SetString(kind[0], text)


@internal("noinline cold")
def wrong_count() -> Object | None:
    """Raise an error for a wrong number of arguments, and return None."""
    refuse(python.PyExc_TypeError, _WRONG_COUNT)
    return None


@internal("alwaysinline")
def take_array(value: Object, slot: Words) -> bool:
    """Store the data address of an ndarray in a frame's slot; return false with an exception for any other object."""
    if value.type is numpy.PyArray_Type or python.PyType_IsSubtype(value.type, numpy.PyArray_Type) != 0:
        cast(Pointer[Address], slot)[0] = cast(Array, value).data
        return True
    refuse(python.PyExc_TypeError, _WRONG_TYPE)
    return False


@internal("noinline")
def take_number(value: Object, expected: Input, kind: int, slot: Words) -> bool:
    """Store a Python number in a frame's slot; return false with an exception if it does not fit."""
    numbers = cast(Pointer[float], slot)
    suspect = True
    if kind in (FLOAT, COMPLEX):
        if kind == COMPLEX:
            numbers[1] = python.PyComplex_ImagAsDouble(value)
            numbers[0] = python.PyComplex_RealAsDouble(value)
        else:
            numbers[0] = python.PyFloat_AsDouble(value)
        suspect = kind == COMPLEX or numbers[0] == -1.0
        # An int has to fit 64 bits even if it is converted to a float.
        large = numbers[0] >= 9223372036854775808.0 or numbers[0] <= -9223372036854775808.0
        if large and value.type is python.PyLong_Type:
            python.PyLong_AsLongLong(value)
            suspect = True
    elif kind == INTEGER:
        slot[0] = python.PyLong_AsLongLong(value)
        if slot[0] < expected.lowest or slot[0] > expected.highest:
            return overflow()
        suspect = slot[0] == -1
    elif kind == WORD:  # 64 bits, signed or unsigned
        slot[0] = python.PyLong_AsLongLong(value)
        if slot[0] == -1 and python.PyErr_Occurred() is not None:
            python.PyErr_Clear()
            slot[0] = python.PyLong_AsUnsignedLongLong(value)
        suspect = slot[0] == -1
    else:
        slot[0] = python.PyObject_IsTrue(value)
        suspect = slot[0] == -1
    return not suspect or python.PyErr_Occurred() is None


@internal("noinline cold")
def overflow() -> bool:
    """Raise an error for a number that does not fit, unless an exception is set, and return false."""
    if python.PyErr_Occurred() is None:
        refuse(python.PyExc_OverflowError, _TOO_LARGE)
    return False


@internal("alwaysinline")
def take_integers(arguments: Pointer[Object], numbers: Words, count: int) -> bool:
    """Store Python integers in an array; return false with an exception if one is no integer or does not fit."""
    for i in range(count):
        number = python.PyLong_AsLongLong(arguments[i])
        numbers[i] = number
        if number == -1 and python.PyErr_Occurred() is not None:
            return False
    return True


@internal("alwaysinline")
def new_array(output: Output) -> Array | None:
    """Return a new output array, or None with an exception."""
    if output.kind == CALL:
        return cast(Array, python.PyObject_CallNoArgs(output.maker))
    python.Py_IncRef(output.maker)  # NumPy steals a reference, even if it fails
    return numpy.PyArray_NewFromDescr(
        numpy.PyArray_Type, output.maker, output.dimensions, output.shape, output.strides, None, 0, None
    )


@internal("alwaysinline")
def scratch_slot(frame: Words, plan: Plan) -> Pointer[Address]:
    """Return the slot of a frame that holds the address of the scratch memory."""
    return cast(Pointer[Address], frame + 2 * (plan.inputs + plan.outputs + 1))


@internal("alwaysinline")
def run(plan: Plan, frame: Words) -> bool:
    """Run the plan's loop over a filled frame; return false with an exception if memory is exhausted or a signal has
    stopped it.
    """
    if plan.scratch == 0:
        run_loop(plan, frame)
        return not was_stopped()
    scratch = memory.malloc(plan.scratch)
    if scratch is None:
        python.PyErr_NoMemory()
        return False
    scratch_slot(frame, plan)[0] = scratch
    run_loop(plan, frame)
    memory.free(scratch)
    return not was_stopped()


@exported
def run_frame(plan: Plan, frame: Words) -> bool:
    """Run the plan's loop over a frame that another entry than ``kernel_call`` has filled; the result is that of
    ``run``.
    """
    return run(plan, frame)


@internal("alwaysinline")
def run_loop(plan: Plan, frame: Words) -> None:
    """Run the plan's loop, on the pool if it is large enough."""
    if plan.grain == 0:
        plan.loop(frame, 0, plan.elements)
        run_after(plan, frame)
    else:
        plan.in_pieces(plan, frame)


@internal("alwaysinline")
def run_after(plan: Plan, frame: Words) -> None:
    """Run the function that follows the loop, if there is one."""
    after = plan.after
    if after is not None:
        after(frame)


@internal("alwaysinline")
def hand_out(results: Pointer[Object], count: int) -> Object | None:
    """Return a single result itself, several as a tuple, stealing the references."""
    if count == 1:
        return results[0]
    whole = python.PyTuple_New(count)
    if whole is None:
        drop_results(results, count)
        return None
    for i in range(count):
        python.PyTuple_SetItem(whole, i, results[i])
    return whole


@internal("noinline cold")
def drop_results(results: Pointer[Object], count: int) -> None:
    """Release results of a call that fails."""
    for i in range(count):
        python.Py_DecRef(results[i])


@exported
def kernel_call(plan: Array, arguments: Pointer[Object], count: int) -> Object | None:
    """Run the plan that is the data of an array; the entry of plans."""
    return call_plan(cast(Plan, plan.data), arguments, count)


@exported
def call_plan(plan: Plan, arguments: Pointer[Object], count: int) -> Object | None:
    """Run a plan: convert the arguments, allocate the results, run the loop."""
    if count != plan.arguments:
        return wrong_count()
    inputs = plan.inputs
    outputs = plan.outputs
    input_list = plan.input_list
    output_list = plan.output_list
    frame = local(int, 2 * (inputs + outputs + 2))
    results = local(Object, outputs)
    cast(Pointer[Plan], frame)[0] = plan
    for i in range(inputs):
        expected = input_list[i]
        slot = frame + 2 * (i + 1)
        kind = expected.kind
        if kind == ARRAY:
            if not take_array(arguments[i], slot):
                return None
        elif not take_number(arguments[i], expected, kind, slot):
            return None
    following = inputs
    for o in range(outputs):
        output = output_list[o]
        result: Object | None = None
        if output.kind == GIVEN:
            result = arguments[following]
            following += 1
            python.Py_IncRef(result)
        else:
            result = new_array(output)
            if result is None:
                drop_results(results, o)
                return None
        results[o] = result
        if not take_array(result, frame + 2 * (inputs + o + 1)):
            drop_results(results, o + 1)
            return None
    if not run(plan, frame):
        drop_results(results, outputs)
        return None
    return hand_out(results, outputs)
