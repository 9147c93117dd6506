"""Launches: arguments into a frame, outputs from a pool, kernels onto the current stream."""

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

# Where a parameter of a kernel lies: in the frame of a call, or at an address.
FRAME, CONSTANT = range(2)


class Parameter(Struct):
    """A kernel's parameter: FRAME or CONSTANT; a word of the frame, or an address."""

    kind: int
    place: int


class Launch(Struct):
    """A kernel's function, its grid, its blocks, bytes of shared memory, and its parameters."""

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
    """Kernels that are on a device.

    context: which has to be current.
    launches, launch_list: one after another. most_parameters: of one of them.
    places, place_list: of what is in scratch memory, where it begins there.
    """

    context: Address
    launches: int
    launch_list: Records[Launch]
    most_parameters: int
    places: int
    place_list: Words


class Output(Struct):
    """An output: whether it is given; else the size of its block, its shape, its strides and its dtype."""

    is_given: int
    size: Object
    shape: Object
    strides: Object
    dtype: Object


class LaunchPlan(Struct):
    """Description of a call.

    inputs, outputs: how many there are; the outputs that are given follow the inputs as arguments.
    arguments: how many there are. new: how many outputs are not given.
    where: the argument that says the device.
    words: of a frame: two for each operand, then one for each place in scratch memory.
    alignments: for each variant of the kernels the bytes that all addresses are multiples of.
    devices: how many there are.
    loaded: for each device its variants; None for what has not been loaded.
    scratch: the size of the block for scratch memory, None where there is none.
    launch, context: the driver's ``cuLaunchKernel`` and ``cuCtxGetCurrent``.
    slow: takes the arguments of a call that is another one.
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
    """The current stream of a device, borrowed; None, and no exception, where Python has to look."""
    place = local(Object, 1)
    if containers.PyContextVar_Get(layout.current, None, place) < 0:
        python.PyErr_Clear()
        return None
    streams = place[0]
    python.Py_DecRef(streams)  # the context goes on to hold it
    stream: Object | None = None
    if streams is not layout.without:
        if streams.type is not containers.PyDict_Type:
            return None
        stream = containers.PyDict_GetItem(streams, index)
    return containers.PyDict_GetItem(layout.defaults, index) if stream is None else stream


@internal("alwaysinline")
def take_operand(operand: Object, index: Object, stream: Object, word: Words) -> bool:
    """The address of an array into the frame; false where it is of another device, or other streams use it."""
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
    """Addresses and numbers into the frame; false, and no exception, where one is not as usual."""
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
    """The kernels for the addresses in a frame, where they are loaded and their device is active.

    New outputs, which are not there yet, lie at multiples of more than any alignment.
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
    """An array over a block, whose reference it takes over; None, and no exception, where there is no memory."""
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
    """Make the outputs that are not given; returns how many there are, fewer where no memory waits."""
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
    """Queue the kernels, without the interpreter's lock; returns the driver's error."""
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
    """Queue the kernels with scratch memory, if they take any; returns the driver's error, -1 where none waits."""
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
    """Raise an error of the driver; None."""
    number = python.PyLong_FromLongLong(status)
    if number is None:
        return None
    raised = python.PyObject_CallOneArg(plan.failed, number)
    python.Py_DecRef(number)
    return raised


@exported
def launch_call(self: Array, arguments: Pointer[Object], number: int) -> Object | None:
    """Make outputs, and queue kernels on the current stream."""
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
