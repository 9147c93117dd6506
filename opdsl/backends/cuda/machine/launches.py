"""Machine code for kernel launches: packs arguments into a frame, allocates outputs from a pool, queues the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from opdsl.backends.cpu.machine.call import ARRAY, Input, drop_results, hand_out, take_number, wrong_count
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
from opdsl.backends.cpu.machine.tensor import slot
from opdsl.backends.cuda.machine.blocks import Layout, containers, hold, layout_of, take

# Where a kernel's parameter is stored: in the frame of a call, or at a fixed address.
FRAME, CONSTANT = range(2)


class Parameter(Struct):
    """Location of a kernel's parameter: FRAME and the index of a word in the frame, or CONSTANT and an address."""

    kind: int
    place: int


class Launch(Struct):
    """Description of a kernel launch: function, grid, block, bytes of shared memory, and parameters."""

    function: Address
    grid_x: int
    grid_y: int
    grid_z: int
    block_x: int
    block_y: int
    block_z: int
    shared: int
    parameters: int
    parameter_list: Records[Parameter]


class Loaded(Struct):
    """Kernels of a program that are loaded on a device.

    context: the driver context that has to be current.
    launches, launch_list: the launches, in order. most_parameters: the largest number of parameters of one launch.
    places, place_list: offsets of the scratch parameters in scratch memory.
    """

    context: Address
    launches: int
    launch_list: Records[Launch]
    most_parameters: int
    places: int
    place_list: Words


class Output(Struct):
    """Description of an output: either passed by the caller, or allocated with a block size, shape, strides
    and dtype.
    """

    is_given: int
    size: Object
    shape: Object
    strides: Object
    dtype: Object


class LaunchPlan(Struct):
    """Description of a call that the machine code runs.

    inputs, outputs: how many there are; the outputs that are given follow the inputs as arguments.
    arguments: the number of arguments. new: how many outputs are allocated.
    where: the index of the argument whose device the call runs on.
    words: size of a frame: two words for each operand, then one for each scratch parameter.
    alignments: for each variant of the kernels the alignment in bytes that it requires of all addresses.
    devices: the number of devices.
    loaded: for each device its variants; None for those that are not loaded.
    scratch: the size of the block for scratch memory, or None.
    launch, context: the driver's ``cuLaunchKernel`` and ``cuCtxGetCurrent``.
    slow: the Python function that takes calls which this plan does not handle.
    failed: takes the driver's error, and raises it.
    """

    inputs: int
    input_list: Records[Input]
    outputs: int
    output_list: Records[Output]
    arguments: int
    new: int
    where: int
    words: int
    variants: int
    alignments: Words
    devices: int
    loaded: Pointer[Loaded]
    scratch: Object | None
    launch: Callable[
        [Address, Int32, Int32, Int32, Int32, Int32, Int32, Int32, Address, Pointer[Address], Address | None], Int32
    ]
    context: Callable[[Pointer[Address]], Int32]
    slow: Object
    failed: Object


@internal("alwaysinline")
def current_stream(layout: Layout, index: Object) -> Object | None:
    """Return the current stream of a device as a borrowed reference; None, without an exception, if only Python can
    find it.
    """
    place = local(Object, 1)
    if containers.PyContextVar_Get(layout.current, None, place) < 0:
        python.PyErr_Clear()
        return None
    streams = place[0]
    python.Py_DecRef(streams)  # the context variable still holds a reference
    stream: Object | None = None
    if streams is not layout.without:
        if streams.type is not containers.PyDict_Type:
            return None
        stream = containers.PyDict_GetItem(streams, index)
    return containers.PyDict_GetItem(layout.defaults, index) if stream is None else stream


@internal("alwaysinline")
def take_operand(operand: Object, index: Object, stream: Object, word: Words) -> bool:
    """Write the address of an array into the frame; return False if it is on another device or other streams use it."""
    layout = layout_of()
    if operand.type is not layout.array or slot(operand, layout.array_index)[0] is not index:
        return False
    block = slot(operand, layout.array_block)[0]
    if block.type is not layout.block or slot(block, layout.block_stream)[0] is not stream:
        return False
    word[0] = python.PyLong_AsLongLong(slot(operand, layout.array_address)[0])
    return True


@internal("alwaysinline")
def take_operands(plan: LaunchPlan, arguments: Pointer[Object], index: Object, stream: Object, frame: Words) -> bool:
    """Write the addresses and numbers of a call into the frame; return False, without an exception, if an argument
    needs the Python version.
    """
    for i in range(plan.inputs):
        expected = plan.input_list[i]
        if expected.kind == ARRAY:
            if not take_operand(arguments[i], index, stream, frame + 2 * i):
                return False
        elif not take_number(arguments[i], expected, expected.kind, frame + 2 * i):
            python.PyErr_Clear()
            return False
    following = plan.inputs
    for o in range(plan.outputs):
        frame[2 * (plan.inputs + o)] = 0
        if plan.output_list[o].is_given != 0:
            if not take_operand(arguments[following], index, stream, frame + 2 * (plan.inputs + o)):
                return False
            following += 1
    return True


@internal("alwaysinline")
def loaded_for(plan: LaunchPlan, device: int, frame: Words) -> Loaded | None:
    """Return the kernel variant for the addresses in a frame, or None if it is not loaded or its device is not active.

    New outputs have address 0 in the frame here: their later addresses are multiples of more than any alignment.
    """
    joined = 0
    for i in range(plan.inputs):
        if plan.input_list[i].kind == ARRAY:
            joined = joined | frame[2 * i]
    for o in range(plan.outputs):
        joined = joined | frame[2 * (plan.inputs + o)]
    variant = 0
    while variant < plan.variants - 1 and joined % plan.alignments[variant] != 0:
        variant += 1
    if device < 0 or device >= plan.devices:
        return None
    loaded: Loaded | None = plan.loaded[device * plan.variants + variant]
    if loaded is None:
        return None
    context = local(Address, 1)
    return loaded if plan.context(context) == 0 and context[0] is loaded.context else None


@internal("alwaysinline")
def array_on(output: Output, index: Object, block: Object) -> Object | None:
    """Return a new array over a block, taking over the block's reference; None, without an exception, if memory is
    short.
    """
    layout = layout_of()
    array = python.PyType_GenericAlloc(layout.array, 0)
    if array is None:
        python.PyErr_Clear()
        python.Py_DecRef(block)
        return None
    slot(array, layout.array_block)[0] = block
    hold(array, layout.array_address, slot(block, layout.block_address)[0])
    hold(array, layout.array_index, index)
    hold(array, layout.array_shape, output.shape)
    hold(array, layout.array_strides, output.strides)
    hold(array, layout.array_dtype, output.dtype)
    return array


@internal("alwaysinline")
def make_outputs(
    plan: LaunchPlan, cache: Object, index: Object, stream: Object, frame: Words, results: Pointer[Object]
) -> int:
    """Allocate the outputs that are not given, and return how many there are; fewer if the pool has no free memory."""
    count = 0
    for o in range(plan.outputs):
        output = plan.output_list[o]
        if output.is_given == 0:
            block = take(layout_of(), cache, output.size, stream)
            array = array_on(output, index, block) if block is not None else None
            if array is None:
                return count
            frame[2 * (plan.inputs + o)] = python.PyLong_AsLongLong(slot(array, layout_of().array_address)[0])
            results[count] = array
            count += 1
    return count


@internal("alwaysinline")
def start(plan: LaunchPlan, loaded: Loaded, stream: Object, frame: Words) -> int:
    """Queue the kernels of a call with the interpreter's lock released, and return the driver's error code."""
    pointers = local(Address, loaded.most_parameters)
    handle = cast(Address, python.PyLong_AsLongLong(slot(stream, layout_of().stream_handle)[0]))
    status = 0
    state = python.PyEval_SaveThread()
    for k in range(loaded.launches):
        launch = loaded.launch_list[k]
        for p in range(launch.parameters):
            parameter = launch.parameter_list[p]
            pointers[p] = cast(
                Address, cast(int, frame + parameter.place) if parameter.kind == FRAME else parameter.place
            )
        status = plan.launch(
            launch.function,
            launch.grid_x,
            launch.grid_y,
            launch.grid_z,
            launch.block_x,
            launch.block_y,
            launch.block_z,
            launch.shared,
            handle,
            pointers,
            None,
        )
        if status != 0:
            break
    python.PyEval_RestoreThread(state)
    return status


@internal("alwaysinline")
def start_with_scratch(plan: LaunchPlan, loaded: Loaded, cache: Object, stream: Object, frame: Words) -> int:
    """Queue the kernels with scratch memory if they need any; return the driver's error code, or -1 if no memory is
    free.
    """
    size = plan.scratch
    if size is None:
        return start(plan, loaded, stream, frame)
    layout = layout_of()
    scratch = take(layout, cache, size, stream)
    if scratch is None:
        return -1
    address = python.PyLong_AsLongLong(slot(scratch, layout.block_address)[0])
    for k in range(loaded.places):
        frame[2 * (plan.inputs + plan.outputs) + k] = address + loaded.place_list[k]
    status = start(plan, loaded, stream, frame)
    python.Py_DecRef(scratch)
    return status


@internal("noinline cold")
def fail(plan: LaunchPlan, status: int) -> Object | None:
    """Raise the Python exception for an error code of the driver, and return None."""
    number = python.PyLong_FromLongLong(status)
    if number is None:
        return None
    raised = python.PyObject_CallOneArg(plan.failed, number)
    python.Py_DecRef(number)
    return raised


@exported
def launch_call(self: Array, arguments: Pointer[Object], number: int) -> Object | None:
    """Run a planned call: allocate its outputs and queue its kernels on the current stream, or call the plan's Python
    version.
    """
    plan = cast(LaunchPlan, self.data)
    if number != plan.arguments:
        return wrong_count()
    layout = layout_of()
    frame = local(int, plan.words)
    results = local(Object, plan.new + 1)
    outputs = 0
    status = -1
    first = arguments[plan.where]
    if first.type is layout.array and containers.PyDict_Size(layout.captured) == 0:
        index = slot(first, layout.array_index)[0]
        stream = current_stream(layout, index)
        cache = containers.PyDict_GetItem(layout.caches, index)
        if stream is not None and cache is not None:
            python.Py_IncRef(stream)
            python.Py_IncRef(cache)
            if take_operands(plan, arguments, index, stream, frame):
                loaded = loaded_for(plan, python.PyLong_AsLongLong(index), frame)
                if loaded is not None:
                    outputs = make_outputs(plan, cache, index, stream, frame, results)
                    if outputs == plan.new:
                        status = start_with_scratch(plan, loaded, cache, stream, frame)
            python.Py_DecRef(stream)
            python.Py_DecRef(cache)
    if status == 0:
        if outputs > 0:
            return hand_out(results, outputs)
        python.Py_IncRef(python._Py_NoneStruct)
        return python._Py_NoneStruct
    drop_results(results, outputs)
    if status > 0:
        return fail(plan, status)
    return python.PyObject_Vectorcall(plan.slow, arguments, number, None)
