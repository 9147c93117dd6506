"""Entries for tensors: METH_FASTCALL functions that run a kernel on tensors, or create views and arrays.

They have the effect of a plan in Python, without running Python code. ``opdsl.backends.cpu.tensors`` writes the plans,
and finds the slots of Tensor in memory.
"""

from __future__ import annotations

from typing import cast

from opdsl.backends.cpu.machine.call import refuse, take_array, take_integers, wrong_count
from opdsl.backends.cpu.machine.language import Address, Pointer, Records, Struct, Words, exported, internal, local
from opdsl.backends.cpu.machine.objects import WRITEABLE, Array, Object, numpy, python

# Sources of a kernel's argument: the array of a tensor argument, an argument itself, a fixed object.
ARRAY_OF, ARGUMENT, OBJECT = range(3)

# The size in bytes from which a Python function allocates arrays.
NEW_UP_TO = 1 << 20

_WRONG_TENSOR = b"kernel: an operand is not a Tensor on CPU"


class Result(Struct):
    """Template of a new tensor: the class Tensor, its geometry, its initial version (Python's 0), and the offsets of
    its slots.
    """

    type: Object
    geometry: Object
    version: Object
    array_slot: int
    geometry_slot: int
    version_slot: int
    base_slot: int


class Source(Struct):
    """Source of a kernel's argument: ARRAY_OF or ARGUMENT with the index of an argument, or OBJECT with the object."""

    kind: int
    place: int


class KernelPlan(Struct):
    """Plan of a kernel on tensors.

    arguments: how many there are.
    operands, sources: the number of the kernel's arguments, and the source of each.
    kernel: function of arrays and numbers that returns an array.
    slow: function for calls in which a number does not fit, or an argument has another type than planned.
    converts: whether an OverflowError of the kernel means that a number does not fit.
    result: the tensor.
    """

    arguments: int
    operands: int
    sources: Records[Source]
    kernel: Object
    slow: Object
    converts: int
    result: Result


class ViewPlan(Struct):
    """Plan of a view of a tensor.

    dtype, dimensions, shape: of its array.
    strides: in bytes.
    offset: bytes from the tensor's first element to the view's.
    of_view: whether the tensor is itself a view, whose base becomes that of the result.
    result: the tensor.
    """

    dtype: Object
    dimensions: int
    shape: Words
    strides: Words
    offset: int
    of_view: int
    result: Result


class ArrayPlan(Struct):
    """Plan of a new array, or of a view of an array.

    dtype, dimensions: of it.
    itemsize: bytes of an element of a new array.
    slow: function that allocates arrays of NEW_UP_TO bytes and more, and raises the errors for invalid sizes.
    """

    dtype: Object
    dimensions: int
    itemsize: int
    slow: Object


@internal("alwaysinline")
def slot(of: Object, offset: int) -> Pointer[Object]:
    """Return the address of an object's slot."""
    return cast(Pointer[Object], cast(Address, of) + offset)


@internal("alwaysinline")
def array_of(value: Object, result: Result) -> Object | None:
    """Return the array of a tensor as a borrowed reference, or None without an exception if the value is no plain
    Tensor with an array.
    """
    return slot(value, result.array_slot)[0] if value.type is result.type else None


@internal("alwaysinline")
def new_tensor(result: Result, array: Object, base: Object) -> Object | None:
    """Return a new Tensor over an array, stealing the array's reference, or None with an exception if memory is
    exhausted.
    """
    tensor = python.PyType_GenericAlloc(result.type, 0)
    if tensor is None:
        python.Py_DecRef(array)
        return None
    python.Py_IncRef(result.geometry)
    python.Py_IncRef(result.version)
    python.Py_IncRef(base)
    slot(tensor, result.array_slot)[0] = array
    slot(tensor, result.geometry_slot)[0] = result.geometry
    slot(tensor, result.version_slot)[0] = result.version
    slot(tensor, result.base_slot)[0] = base
    return tensor


@internal("alwaysinline")
def take_values(plan: KernelPlan, arguments: Pointer[Object], frame: Pointer[Object]) -> bool:
    """Write the kernel's arguments to a frame as borrowed references; return false if an argument has another type than
    planned.
    """
    sources = plan.sources
    result = plan.result
    for i in range(plan.operands):
        source = sources[i]
        if source.kind == OBJECT:
            frame[i] = cast(Object, source.place)
        elif source.kind == ARGUMENT:
            frame[i] = arguments[source.place]
        else:
            array = array_of(arguments[source.place], result)
            if array is None:
                return False
            frame[i] = array
    return True


@exported
def tensor_call(self: Array, arguments: Pointer[Object], number: int) -> Object | None:
    """Run a kernel on tensors, and return a new tensor."""
    plan = cast(KernelPlan, self.data)
    if number != plan.arguments:
        return wrong_count()
    count = plan.operands
    frame = local(Object, count)
    if take_values(plan, arguments, frame):
        # Another thread may replace a tensor's array meanwhile, so references are held.
        for i in range(count):
            python.Py_IncRef(frame[i])
        array = python.PyObject_Vectorcall(plan.kernel, frame, count, None)
        for i in range(count):
            python.Py_DecRef(frame[i])
        if array is not None:
            return new_tensor(plan.result, array, python._Py_NoneStruct)
        if plan.converts == 0 or python.PyErr_ExceptionMatches(python.PyExc_OverflowError[0]) == 0:
            return None
        python.PyErr_Clear()
    return python.PyObject_Vectorcall(plan.slow, arguments, number, None)


@internal("alwaysinline")
def array_over(
    owner: Object, dtype: Object, dimensions: int, shape: Words, strides: Words, data: Address, flags: int
) -> Object | None:
    """Return an array over memory that another object owns, or None with an exception."""
    python.Py_IncRef(owner)  # NumPy steals both references, even if it fails
    python.Py_IncRef(dtype)
    tensor = numpy.PyArray_NewFromDescr(numpy.PyArray_Type, dtype, dimensions, shape, strides, data, flags, None)
    if tensor is None:
        python.Py_DecRef(owner)
        return None
    if numpy.PyArray_SetBaseObject(tensor, owner) < 0:
        python.Py_DecRef(tensor)
        return None
    return tensor


@internal("alwaysinline")
def view_of(array: Array, dtype: Object, dimensions: int, shape: Words, strides: Words, offset: int) -> Object | None:
    """Return a view of an array, or None with an exception."""
    return array_over(array, dtype, dimensions, shape, strides, array.data + offset, array.flags & WRITEABLE)


@exported
def view_call(self: Array, arguments: Pointer[Object], number: int) -> Object | None:
    """Return a view of a tensor."""
    plan = cast(ViewPlan, self.data)
    if number != 1:
        return wrong_count()
    source = arguments[0]
    array = cast(Array | None, array_of(source, plan.result))
    if array is None:
        refuse(python.PyExc_TypeError, _WRONG_TENSOR)
        return None
    view = view_of(array, plan.dtype, plan.dimensions, plan.shape, plan.strides, plan.offset)
    if view is None:
        return None
    return new_tensor(plan.result, view, slot(source, plan.result.base_slot)[0] if plan.of_view != 0 else source)


@exported
def array_view(self: Array, arguments: Pointer[Object], number: int) -> Object | None:
    """Return a view of an array, given the array, an offset in bytes, the sizes, and the strides in bytes."""
    plan = cast(ArrayPlan, self.data)
    dimensions = plan.dimensions
    if number != 2 * dimensions + 2:
        return wrong_count()
    numbers = local(int, number)
    if not take_integers(arguments + 1, numbers, number - 1) or not take_array(arguments[0], numbers + (number - 1)):
        return None
    shape = numbers + 1
    return view_of(cast(Array, arguments[0]), plan.dtype, dimensions, shape, shape + dimensions, numbers[0])


@exported
def array_new(self: Array, arguments: Pointer[Object], index: int) -> Object | None:
    """Return a new contiguous array with the sizes that are the arguments."""
    plan = cast(ArrayPlan, self.data)
    shape = local(int, index)
    size = plan.itemsize
    fits = index == plan.dimensions
    for i in range(index):
        number = python.PyLong_AsLongLong(arguments[i])
        shape[i] = number
        size *= number
        fits = fits and number >= 0 and number < NEW_UP_TO and size < NEW_UP_TO
        if not fits:
            break
    if not fits:
        python.PyErr_Clear()  # an integer may exceed 64 bits
        return python.PyObject_Vectorcall(plan.slow, arguments, index, None)
    python.Py_IncRef(plan.dtype)  # NumPy steals a reference, even if it fails
    return numpy.PyArray_NewFromDescr(numpy.PyArray_Type, plan.dtype, index, shape, None, None, 0, None)


@internal()
def elements_of(array: Array) -> int:
    """Return the number of elements of an ndarray."""
    count = 1
    for i in range(array.dimensions):
        count *= array.shape[i]
    return count


@exported
def array_address(self: Array, arguments: Pointer[Object], number: int) -> Object | None:
    """Return the address of an array's first element as an integer, or 0 if it has no elements."""
    data = local(int, 1)
    if number != 1:
        return wrong_count()
    if not take_array(arguments[0], data):
        return None
    return python.PyLong_FromVoidPtr(cast(Address, data[0]) if elements_of(cast(Array, arguments[0])) > 0 else None)
