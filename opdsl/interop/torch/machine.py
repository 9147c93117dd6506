"""Fast path for calls of a kernel from torch, in the Python subset that ``opdsl.backends.cpu.machine`` compiles.

The entry function looks for a plan made for tensors of the same dtypes, sizes and strides and for equal other values,
allocates the results in torch, and runs the plan's loop on the memory of the tensors. Where no plan matches, or a
tensor is not plain memory, it calls a Python function. ``opdsl.interop.torch.plans`` writes the data; torch's tensors
are queried through its stable C interface (torch/csrc/inductor/aoti_torch/c/shim.h).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from opdsl.backends.cpu.machine.call import Plan as Loop
from opdsl.backends.cpu.machine.language import (
    Address,
    Byte,
    Int32,
    Library,
    Pointer,
    Records,
    Struct,
    Words,
    address_of,
    exported,
    instruction,
    internal,
    local,
    local_record,
)
from opdsl.backends.cpu.machine.objects import WRITEABLE, Array, Object, python
from opdsl.backends.cpu.machine.tensor import array_over
from opdsl.interop.torch.calls import NOTHING, RECORDED
from opdsl.interop.torch.places import AUTOGRAD, HANDLE, KEYS

MOST_DTYPES = 64
_MOST_ARGUMENTS = 64
_MOST_DIMENSIONS = 64
_EQUAL = 2  # Py_EQ


class Argument(Struct):
    """Guard of a plan for one argument.

    value: the value that the argument has to equal; None for a tensor.
    dtype, dimensions, sizes, strides: of the tensor.
    reach: number of elements between its first and the end of its last.
    itemsize: of an element.
    """

    value: Object | None
    dtype: int
    dimensions: int
    sizes: Words
    strides: Words
    reach: int
    itemsize: int


class Operand(Struct):
    """Source of one input operand of the loop.

    place: the index of a tensor among the arguments; -1 for a number.
    first, second: the number, as the loop's frame holds it.
    reach: how many bytes the tensor reaches over.
    may_be_result: whether it may have the same memory as a result.
    """

    place: int
    first: int
    second: int
    reach: int
    may_be_result: int


class Result(Struct):
    """Description of one result.

    place: the index of the argument that is the result; -1 for a new tensor.
    dtype, dimensions, sizes, strides: of the new tensor.
    reach: how many bytes it reaches over.
    """

    place: int
    dtype: int
    dimensions: int
    sizes: Words
    strides: Words
    reach: int


class Plan(Struct):
    """Plan for calls with equal guards.

    owner: the object that owns the plan.
    arguments, argument_list: the guards of the arguments.
    loop: the plan of the loop.
    operands, operand_list: the operands that are not results.
    results, result_list: the results.
    default: the default dtype that the plan was made under; -1 where it does not matter.
    """

    owner: Object
    arguments: int
    argument_list: Records[Argument]
    loop: Loop
    operands: int
    operand_list: Records[Operand]
    results: int
    result_list: Records[Result]
    default: int


class ArrayDtype(Struct):
    """NumPy's dtype for a torch dtype, None if NumPy has none, and its size in bytes."""

    dtype: Object | None
    itemsize: int


class Call(Struct):
    """Data of an entry function.

    plans: their number, then the address of each; None for none.
    function: Python function that runs calls without a plan.
    tests: ``NOTHING``, ``MEMORY`` (check that tensors are plain memory), or ``RECORDED`` (also check that autograd does
        not record them).
    tensor, parameter: the classes ``torch.Tensor`` and ``torch.nn.Parameter``.
    keys, inference_keys: the dispatch key sets of tensors that are plain memory.
    modes: returns the number of active dispatch modes.
    zero: Python's 0.
    counter: counts writes of the tensors in a tuple.
    dtypes: of arrays, indexed by torch's dtype numbers; only for ``torch_array``.
    """

    plans: Pointer[Plan] | None
    function: Object
    tests: int
    tensor: Object
    parameter: Object
    keys: int
    inference_keys: int
    modes: Object
    zero: Object
    counter: Object
    dtypes: Records[ArrayDtype]


class Asked(Struct):
    """Metadata read from a tensor argument; the handle is None for an argument that is not a tensor."""

    handle: Address | None
    dtype: int
    dimensions: int
    sizes: Words
    strides: Words


_ASKED_WORDS = 5


class Torch(Library):
    """Imported functions of torch, and the loop runner. Functions of torch's stable interface return 0 on success."""

    aoti_torch_get_dtype: Callable[[Address | None, Words], Int32]
    aoti_torch_get_dim: Callable[[Address | None, Words], Int32]
    aoti_torch_get_sizes: Callable[[Address | None, Pointer[Words]], Int32]
    aoti_torch_get_strides: Callable[[Address | None, Pointer[Words]], Int32]
    aoti_torch_get_data_ptr: Callable[[Address | None, Words], Int32]
    aoti_torch_get_storage_offset: Callable[[Address | None, Words], Int32]
    aoti_torch_get_storage_size: Callable[[Address | None, Words], Int32]
    aoti_torch_empty_strided: Callable[[int, Words, Words, Int32, Int32, Int32, Pointer[Address]], Int32]
    aoti_torch_delete_tensor_object: Callable[[Address | None], Int32]
    THPVariable_Wrap: Callable[[Address | None], Object | None]
    default_dtype: Callable[[], Byte]
    run_frame: Callable[[Loop, Words], bool]


torch = Torch()


@instruction("bitcast double {0} to i64")
def bits(number: float) -> int:
    """Return the bits of a floating-point number as an integer."""
    raise NotImplementedError


# Checks of arguments.


@internal("alwaysinline")
def implementation(handle: Address | None) -> Words:
    """Return the pointer to a tensor's implementation from its handle."""
    return cast(Pointer[Words], handle)[0]


@internal("alwaysinline")
def is_memory(call: Call, handle: Address) -> bool:
    """Return whether a tensor is plain memory, as far as the call tests it."""
    if call.tests == NOTHING:
        return True
    words = implementation(handle)
    keys = words[KEYS]
    if keys != call.keys and keys != call.inference_keys:
        return False
    return call.tests != RECORDED or words[AUTOGRAD] == 0


@internal("alwaysinline")
def ask(call: Call, value: Object, asked: Asked) -> bool:
    """Read the metadata of a tensor; return false where it is not plain memory."""
    handle = cast(Address, value) + HANDLE
    if not is_memory(call, handle):
        return False
    asked.dtype = 0
    first = torch.aoti_torch_get_dtype(handle, address_of(asked.dtype))
    second = torch.aoti_torch_get_dim(handle, address_of(asked.dimensions))
    third = torch.aoti_torch_get_sizes(handle, address_of(asked.sizes))
    fourth = torch.aoti_torch_get_strides(handle, address_of(asked.strides))
    asked.handle = handle
    return first | second | third | fourth == 0


@internal("alwaysinline")
def is_tensor(call: Call, value: Object) -> bool:
    """Return whether an argument is exactly a ``torch.Tensor`` or ``torch.nn.Parameter``."""
    return value.type is call.tensor or value.type is call.parameter


@internal("noinline")
def is_same(value: Object, wanted: Object) -> bool:
    """Return whether a value equals the one that a plan was made for. Floats are compared by bits: 0.0 is not -0.0."""
    if value is wanted:
        return True
    if value.type is not wanted.type:
        return False
    if value.type is python.PyFloat_Type:
        return bits(python.PyFloat_AsDouble(value)) == bits(python.PyFloat_AsDouble(wanted))
    verdict = python.PyObject_RichCompareBool(value, wanted, _EQUAL)
    if verdict < 0:
        python.PyErr_Clear()
    return verdict == 1


@internal("alwaysinline")
def is_held(handle: Address | None, reach: int, itemsize: int) -> bool:
    """Return whether a tensor is within its storage, which torch allows to be shrunk."""
    offset = local(int, 1)
    size = local(int, 1)
    failed = torch.aoti_torch_get_storage_offset(handle, offset) | torch.aoti_torch_get_storage_size(handle, size)
    return failed == 0 and (offset[0] + reach) * itemsize <= size[0]


@internal("alwaysinline")
def fits(argument: Object, asked: Asked, wanted: Argument) -> bool:
    """Return whether an argument satisfies the guard of a plan."""
    value = wanted.value
    if value is not None:
        return asked.handle is None and is_same(argument, value)
    if asked.handle is None or asked.dtype != wanted.dtype or asked.dimensions != wanted.dimensions:
        return False
    for dim in range(asked.dimensions):
        if asked.sizes[dim] != wanted.sizes[dim] or asked.strides[dim] != wanted.strides[dim]:
            return False
    return is_held(asked.handle, wanted.reach, wanted.itemsize)


@internal("alwaysinline")
def no_modes(call: Call) -> bool:
    """Return whether no dispatch mode is active."""
    if call.tests == NOTHING:
        return True
    count = python.PyObject_CallNoArgs(call.modes)
    if count is None:
        python.PyErr_Clear()
        return False
    python.Py_DecRef(count)
    return count is call.zero


# Execution of a plan.


@internal("alwaysinline")
def new_result(result: Result) -> Address | None:
    """Allocate a result tensor in torch; return None if torch fails."""
    pointer = local(Address, 1)
    failed = torch.aoti_torch_empty_strided(
        result.dimensions, result.sizes, result.strides, result.dtype, 0, -1, pointer
    )
    return pointer[0] if failed == 0 else None


@internal("noinline cold")
def delete_results(handles: Pointer[Address | None], count: int) -> None:
    """Free new result tensors that are not returned."""
    for at in range(count):
        if handles[at] is not None:
            torch.aoti_torch_delete_tensor_object(handles[at])


@internal("alwaysinline")
def hand_over(handle: Address | None, result: Result, arguments: Pointer[Object]) -> Object | None:
    """Return a result as a Python object: the argument that was passed, or a new tensor, whose handle is released."""
    if handle is None:
        argument = arguments[result.place]
        python.Py_IncRef(argument)
        return argument
    wrapped = torch.THPVariable_Wrap(handle)
    torch.aoti_torch_delete_tensor_object(handle)
    return wrapped


@internal("noinline")
def stands_apart(frame: Words, plan: Plan, result: Result, begin: int) -> bool:
    """Return whether a result that was passed as an argument overlaps no operand, except one that may be the same
    memory.
    """
    for at in range(plan.operands):
        operand = plan.operand_list[at]
        if operand.place >= 0 and operand.place != result.place:
            other = frame[2 * (at + 1)]
            is_apart = other + operand.reach <= begin or other >= begin + result.reach
            if not is_apart and (operand.may_be_result == 0 or other != begin):
                return False
    return True


@internal("noinline")
def count_write(call: Call, handle: Address | None, tensor: Object) -> None:
    """Increment the version counter of a written tensor; tensors of inference mode have none."""
    if implementation(handle)[KEYS] == call.inference_keys:
        return
    written = python.PyTuple_New(1)
    if written is None:
        python.PyErr_Clear()
        return
    python.Py_IncRef(tensor)
    python.PyTuple_SetItem(written, 0, tensor)
    answer = python.PyObject_CallOneArg(call.counter, written)
    python.Py_DecRef(written)
    if answer is None:
        python.PyErr_Clear()
    else:
        python.Py_DecRef(answer)


@internal("alwaysinline")
def take_operands(plan: Plan, asked: Records[Asked], frame: Words) -> None:
    """Store the operands that are not results in the frame."""
    for at in range(plan.operands):
        operand = plan.operand_list[at]
        slot = frame + 2 * (at + 1)
        if operand.place < 0:
            slot[0] = operand.first
            slot[1] = operand.second
        else:
            torch.aoti_torch_get_data_ptr(asked[operand.place].handle, slot)


@internal("alwaysinline")
def take_results(plan: Plan, asked: Records[Asked], frame: Words, handles: Pointer[Address | None]) -> bool:
    """Allocate the results and store them in the frame; return false where allocation fails, or a result overlaps an
    operand.
    """
    for at in range(plan.results):
        result = plan.result_list[at]
        slot = frame + 2 * (plan.operands + at + 1)
        if result.place < 0:
            pointer = new_result(result)
            handles[at] = pointer
            if pointer is None:
                delete_results(handles, at)
                return False
            torch.aoti_torch_get_data_ptr(pointer, slot)
        else:
            handles[at] = None
            torch.aoti_torch_get_data_ptr(asked[result.place].handle, slot)
            if not stands_apart(frame, plan, result, slot[0]):
                delete_results(handles, at)
                return False
    return True


@internal("alwaysinline")
def hand_out(plan: Plan, handles: Pointer[Address | None], arguments: Pointer[Object]) -> Object | None:
    """Return one result alone, or several as a tuple; None if Python is out of memory."""
    if plan.results == 1:
        return hand_over(handles[0], plan.result_list[0], arguments)
    whole = python.PyTuple_New(plan.results)
    if whole is None:
        delete_results(handles, plan.results)
        return None
    for at in range(plan.results):
        tensor = hand_over(handles[at], plan.result_list[at], arguments)
        python.PyTuple_SetItem(whole, at, cast(Object, tensor))
    return whole


@internal("alwaysinline")
def finish(
    call: Call, plan: Plan, asked: Records[Asked], handles: Pointer[Address | None], pointer: Pointer[Object]
) -> Object | None:
    """Count the writes and return the results of a call whose loop has run."""
    for at in range(plan.results):
        place = plan.result_list[at].place
        if place >= 0:
            count_write(call, asked[place].handle, pointer[place])
    return hand_out(plan, handles, pointer)


@internal("noinline")
def run_plan(call: Call, plan: Plan, asked: Records[Asked], arguments: Pointer[Object]) -> Object | None:
    """Run a plan; return None without an exception where memory is exhausted, or a result overlaps an operand."""
    owner = plan.owner
    python.Py_IncRef(owner)  # other threads may drop the plan meanwhile
    frame = local(int, 2 * (plan.operands + plan.results + 2))
    handles = cast(Pointer[Address | None], local(Address, plan.results))
    frame[0] = cast(int, plan.loop)
    take_operands(plan, asked, frame)
    outcome = cast(Object, None)
    if take_results(plan, asked, frame, handles):
        if torch.run_frame(plan.loop, frame):
            outcome = cast(Object, finish(call, plan, asked, handles, arguments))
        else:
            delete_results(handles, plan.results)
        if outcome is None:
            python.PyErr_Clear()
    python.Py_DecRef(owner)
    return outcome


# Entry functions.


@internal("alwaysinline")
def has_names(names: Object | None) -> bool:
    """Return whether there are keyword arguments; torch passes an empty tuple of names where there are none."""
    return names is not None and python.PyTuple_Size(names) != 0


@internal("alwaysinline")
def ask_all(call: Call, arguments: Pointer[Object], count: int, asked: Records[Asked]) -> bool:
    """Read the metadata of all tensor arguments; return false where one is not plain memory."""
    for at in range(count):
        if not is_tensor(call, arguments[at]):
            asked[at].handle = None
        elif not ask(call, arguments[at], asked[at]):
            return False
    return True


@internal("alwaysinline")
def serves(plan: Plan, arguments: Pointer[Object], count: int, asked: Records[Asked]) -> bool:
    """Return whether a call satisfies all guards of a plan."""
    if count != plan.arguments or (plan.default >= 0 and torch.default_dtype() != plan.default):
        return False
    at = 0
    while at < count and fits(arguments[at], asked[at], plan.argument_list[at]):
        at += 1
    return at == count


@internal("alwaysinline")
def served(call: Call, plans: Pointer[Plan], arguments: Pointer[Object], count: int) -> Object | None:
    """Run a call by the plan that matches it; return None if no plan matches."""
    asked = cast(Records[Asked], local(int, _ASKED_WORDS * count))
    if ask_all(call, arguments, count, asked) and no_modes(call):
        for at in range(cast(Words, plans)[0]):
            plan = plans[at + 1]
            if serves(plan, arguments, count, asked):
                return run_plan(call, plan, asked, arguments)
    return None


@exported
def torch_call(self: Array, arguments: Pointer[Object], count: int, names: Object | None) -> Object | None:
    """Call a kernel: by a plan, or by the Python function."""
    call = cast(Call, self.data)
    plans = call.plans
    if plans is not None and count <= _MOST_ARGUMENTS and not has_names(names):
        outcome = served(call, plans, arguments, count)
        if outcome is not None:
            return outcome
    return python.PyObject_Vectorcall(call.function, arguments, count, names)


@internal("alwaysinline")
def none() -> Object:
    """Return a new reference to Python's None."""
    python.Py_IncRef(python._Py_NoneStruct)
    return python._Py_NoneStruct


@internal("alwaysinline")
def ask_argument(call: Call, value: Object, asked: Asked) -> bool:
    """Read the metadata of an argument; return false where it is not a tensor, or not plain memory."""
    return is_tensor(call, value) and ask(call, value, asked)


@exported
def torch_form(self: Array, arguments: Pointer[Object], count: int) -> Object | None:
    """Return a number that identifies dtype and rank of a contiguous tensor with all sizes at least 2; None for any
    other.
    """
    asked = local_record(Asked)
    if not ask_argument(cast(Call, self.data), arguments[0], asked):
        return none()
    step = 1
    for dim in range(asked.dimensions - 1, -1, -1):
        size = asked.sizes[dim]
        if size < 2 or asked.strides[dim] != step:
            return none()
        step *= size
    return python.PyLong_FromLongLong(asked.dtype * 1024 + asked.dimensions)


@internal("alwaysinline")
def reach_of(asked: Asked, itemsize: int, steps: Words) -> int:
    """Return the number of elements of memory from a tensor's first element to the end of its last one; 0 for an empty
    tensor.

    Args:
        asked: the tensor.
        itemsize: of an element.
        steps: receives its strides in bytes.
    """
    reach = 1
    for dim in range(asked.dimensions):
        if asked.sizes[dim] <= 0:
            return 0
        steps[dim] = asked.strides[dim] * itemsize
        reach += (asked.sizes[dim] - 1) * asked.strides[dim]
    return reach


@exported
def torch_array(self: Array, arguments: Pointer[Object], count: int) -> Object | None:
    """Return an array over the memory of a tensor; None if it is not plain memory, or has none."""
    call = cast(Call, self.data)
    argument = arguments[0]
    asked = local_record(Asked)
    if not ask_argument(call, argument, asked):
        return none()
    if asked.dtype < 0 or asked.dtype >= MOST_DTYPES or asked.dimensions > _MOST_DIMENSIONS:
        return none()
    of_array = call.dtypes[asked.dtype]
    dtype = of_array.dtype
    steps = local(int, _MOST_DIMENSIONS)
    data = local(int, 1)
    reach = reach_of(asked, of_array.itemsize, steps)
    if dtype is None or reach == 0 or not is_held(asked.handle, reach, of_array.itemsize):
        return none()
    if torch.aoti_torch_get_data_ptr(asked.handle, data) != 0 or data[0] == 0:
        return none()
    return array_over(argument, dtype, asked.dimensions, asked.sizes, steps, cast(Address, data[0]), WRITEABLE)
