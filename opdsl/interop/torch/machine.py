"""A kernel as torch calls it, in the Python that ``opdsl.backends.cpu.machine`` compiles.

The entry looks for a plan that was made for tensors of the same dtypes, sizes and strides and for the same values,
makes the results in torch, and runs the plan's loop on the memory of the tensors. Where there is none, or a tensor is
more than memory, a Python function takes the call. ``opdsl.interop.torch.plans`` writes the data; torch's tensors are
asked through its stable C interface (torch/csrc/inductor/aoti_torch/c/shim.h).
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
    """What an argument has to be.

    value: this one; None for a tensor.
    dtype, dimensions, sizes, strides: of the tensor.
    reach: how many elements lie between its first and the end of its last.
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
    """Where an operand of the loop comes from.

    place: of a tensor among the arguments; -1 for a number.
    first, second: the number, as the loop's frame holds it.
    reach: how many bytes the tensor reaches over.
    may_be_result: whether it may be the memory of a result.
    """

    place: int
    first: int
    second: int
    reach: int
    may_be_result: int


class Result(Struct):
    """What a result is.

    place: of the tensor that it is among the arguments; -1 for a new one.
    dtype, dimensions, sizes, strides: of the new one.
    reach: how many bytes it reaches over.
    """

    place: int
    dtype: int
    dimensions: int
    sizes: Words
    strides: Words
    reach: int


class Plan(Struct):
    """What is done for calls of one kind.

    owner: the object that owns the plan.
    arguments, argument_list: what the arguments have to be.
    loop: the plan of the loop.
    operands, operand_list: those that are no results.
    results, result_list: what the call gives.
    default: the default dtype that it was made under; -1 where that does not matter.
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
    """NumPy's dtype for one of torch, None where there is none, and its size."""

    dtype: Object | None
    itemsize: int


class Call(Struct):
    """What an entry reads.

    plans: their number, then the address of each; None for none.
    function: of Python, which takes other calls.
    tests: ``NOTHING``, ``MEMORY`` (that tensors are no more than memory), or ``RECORDED`` (autograd besides).
    tensor, parameter: the classes ``torch.Tensor`` and ``torch.nn.Parameter``.
    keys, inference_keys: the key sets of tensors that are no more than memory.
    modes: tells how many dispatch modes are on.
    zero: Python's 0.
    counter: counts writes of the tensors in a tuple.
    dtypes: of arrays, by torch's numbers; for ``torch_array`` alone.
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
    """What a tensor has told; the handle is None for what is no tensor."""

    handle: Address | None
    dtype: int
    dimensions: int
    sizes: Words
    strides: Words


_ASKED_WORDS = 5


class Torch(Library):
    """Torch, and what runs loops. Functions of the stable interface return 0 when all is well."""

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
    """A number's bits."""
    raise NotImplementedError


# What is asked of arguments.


@internal("alwaysinline")
def implementation(handle: Address | None) -> Words:
    """What the handle of a tensor points to."""
    return cast(Pointer[Words], handle)[0]


@internal("alwaysinline")
def is_memory(call: Call, handle: Address) -> bool:
    """Whether a tensor is no more than memory, as far as that is tested."""
    if call.tests == NOTHING:
        return True
    words = implementation(handle)
    keys = words[KEYS]
    if keys != call.keys and keys != call.inference_keys:
        return False
    return call.tests != RECORDED or words[AUTOGRAD] == 0


@internal("alwaysinline")
def ask(call: Call, value: Object, asked: Asked) -> bool:
    """Ask a tensor for its geometry; false where it is more than memory."""
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
    """Whether an argument is a tensor, of no other class than torch's own."""
    return value.type is call.tensor or value.type is call.parameter


@internal("noinline")
def is_same(value: Object, wanted: Object) -> bool:
    """Whether a value is the one that a plan was made for. Of floats the bits decide: 0.0 is not -0.0."""
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
    """Whether a tensor lies within its storage, which torch lets anybody shrink."""
    offset = local(int, 1)
    size = local(int, 1)
    failed = torch.aoti_torch_get_storage_offset(handle, offset) | torch.aoti_torch_get_storage_size(handle, size)
    return failed == 0 and (offset[0] + reach) * itemsize <= size[0]


@internal("alwaysinline")
def fits(argument: Object, asked: Asked, wanted: Argument) -> bool:
    """Whether an argument is what a plan was made for."""
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
    """Whether no dispatch mode is on."""
    if call.tests == NOTHING:
        return True
    count = python.PyObject_CallNoArgs(call.modes)
    if count is None:
        python.PyErr_Clear()
        return False
    python.Py_DecRef(count)
    return count is call.zero


# What a plan does.


@internal("alwaysinline")
def new_result(result: Result) -> Address | None:
    """A new tensor in torch; None where torch refuses."""
    pointer = local(Address, 1)
    failed = torch.aoti_torch_empty_strided(
        result.dimensions, result.sizes, result.strides, result.dtype, 0, -1, pointer
    )
    return pointer[0] if failed == 0 else None


@internal("noinline cold")
def delete_results(handles: Pointer[Address | None], count: int) -> None:
    """Let go of new tensors that nobody gets."""
    for at in range(count):
        if handles[at] is not None:
            torch.aoti_torch_delete_tensor_object(handles[at])


@internal("alwaysinline")
def hand_over(handle: Address | None, result: Result, arguments: Pointer[Object]) -> Object | None:
    """A result as Python has it: the given tensor, or a new one, whose handle is given up."""
    if handle is None:
        argument = arguments[result.place]
        python.Py_IncRef(argument)
        return argument
    wrapped = torch.THPVariable_Wrap(handle)
    torch.aoti_torch_delete_tensor_object(handle)
    return wrapped


@internal("noinline")
def stands_apart(frame: Words, plan: Plan, result: Result, begin: int) -> bool:
    """Whether a result that is given shares no memory with an operand, or may."""
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
    """Tell torch of a write; tensors of inference mode have no versions."""
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
    """The operands that are no results into the frame."""
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
    """The results into the frame, new ones with their handles; false where torch has no memory, or one overlaps."""
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
    """One result as it is, several as a tuple; None where Python has no memory."""
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
    """What a call gives whose loop has run."""
    for at in range(plan.results):
        place = plan.result_list[at].place
        if place >= 0:
            count_write(call, asked[place].handle, pointer[place])
    return hand_out(plan, handles, pointer)


@internal("noinline")
def run_plan(call: Call, plan: Plan, asked: Records[Asked], arguments: Pointer[Object]) -> Object | None:
    """Run a plan; None without an exception where there is no memory, or a result overlaps an operand."""
    owner = plan.owner
    python.Py_IncRef(owner)  # calls of other threads may drop it meanwhile
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


# Entries.


@internal("alwaysinline")
def has_names(names: Object | None) -> bool:
    """Whether arguments are given by name; torch gives an empty tuple of names where there are none."""
    return names is not None and python.PyTuple_Size(names) != 0


@internal("alwaysinline")
def ask_all(call: Call, arguments: Pointer[Object], count: int, asked: Records[Asked]) -> bool:
    """Ask all tensors among the arguments; false where one is more than memory."""
    for at in range(count):
        if not is_tensor(call, arguments[at]):
            asked[at].handle = None
        elif not ask(call, arguments[at], asked[at]):
            return False
    return True


@internal("alwaysinline")
def serves(plan: Plan, arguments: Pointer[Object], count: int, asked: Records[Asked]) -> bool:
    """Whether a plan was made for such a call."""
    if count != plan.arguments or (plan.default >= 0 and torch.default_dtype() != plan.default):
        return False
    at = 0
    while at < count and fits(arguments[at], asked[at], plan.argument_list[at]):
        at += 1
    return at == count


@internal("alwaysinline")
def served(call: Call, plans: Pointer[Plan], arguments: Pointer[Object], count: int) -> Object | None:
    """What the plan for a call gives; None where there is none."""
    asked = cast(Records[Asked], local(int, _ASKED_WORDS * count))
    if ask_all(call, arguments, count, asked) and no_modes(call):
        for at in range(cast(Words, plans)[0]):
            plan = plans[at + 1]
            if serves(plan, arguments, count, asked):
                return run_plan(call, plan, asked, arguments)
    return None


@exported
def torch_call(self: Array, arguments: Pointer[Object], count: int, names: Object | None) -> Object | None:
    """A call of a kernel."""
    call = cast(Call, self.data)
    plans = call.plans
    if plans is not None and count <= _MOST_ARGUMENTS and not has_names(names):
        outcome = served(call, plans, arguments, count)
        if outcome is not None:
            return outcome
    return python.PyObject_Vectorcall(call.function, arguments, count, names)


@internal("alwaysinline")
def none() -> Object:
    """None of Python."""
    python.Py_IncRef(python._Py_NoneStruct)
    return python._Py_NoneStruct


@internal("alwaysinline")
def ask_argument(call: Call, value: Object, asked: Asked) -> bool:
    """Ask an argument for its geometry; false where it is no tensor, or more than memory."""
    return is_tensor(call, value) and ask(call, value, asked)


@exported
def torch_form(self: Array, arguments: Pointer[Object], count: int) -> Object | None:
    """The form of a tensor that is contiguous and has two or more of everything, as a number; None for any other."""
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
    """How many elements lie between the first and the end of the last; 0 where there is none.

    Args:
        asked: the tensor.
        itemsize: of an element.
        steps: get its strides in bytes.
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
    """An array over the memory of a tensor; None where it is more than memory, or has none."""
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
