"""Launcher of programs: generates for each a Python function that makes outputs, packs parameters and launches kernels.

All parameters of a program are stored in one frame of memory: first the operands, which each run packs with one call,
then the constants, which are written once. The driver gets arrays of addresses into the frame, so that no object is
made for a parameter. A frame is used by one run at a time; other threads take another one.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from opdsl.backends.cuda.allocator import cache_of, order, rounded
from opdsl.backends.cuda.arrays import maker
from opdsl.backends.cuda.devices import current_device
from opdsl.backends.cuda.dialect import number_type
from opdsl.backends.cuda.draws import captured
from opdsl.backends.cuda.driver import Driver, driver
from opdsl.backends.cuda.launch_plan import LaunchPlan, NewOutput
from opdsl.backends.cuda.nvrtc import compile_cubin
from opdsl.backends.cuda.program import Address, Constant, Launch, Number, Program, Scratch, Source, Variant
from opdsl.backends.cuda.streams import current_streams, stream_of
from opdsl.generated import function_from_source
from opdsl.kernels.calls import NewArray, Output
from opdsl.kernels.iteration.numbers import ACCEPTED
from opdsl.runtime.dtype import DType
from opdsl.runtime.views import required_storage
from opdsl.scalar.types import BOOL, ScalarType

__all__ = ["module_of", "runner"]

_ALIGNMENT = 16
# ctypes stores smaller buffers inside its own objects, where they are not aligned.
_SMALLEST_FRAME = 64

# The range of Python numbers that each type takes.
_RANGES = {ScalarType(name): bounds for name, bounds in ACCEPTED.items()}

# The ``struct`` format of a number, by its C++ type.
_FORMATS = {"double": "d", "long long": "q", "unsigned long long": "Q", "Complex<double>": "dd"}


def runner(name: str, program: Program, outputs: Sequence[Output]) -> Callable[..., Any]:
    """Return a function that runs a program on the current stream of the device that its arrays are on.

    Args:
        name: for tracebacks.
        program: the program to run.
        outputs: its outputs, the last operands.

    Returns:
        A function of the inputs (arrays and Python numbers) and the given outputs. It returns the output that it makes,
        or a tuple of several; it does not check its arguments.

    Raises:
        OverflowError: in a call of the function: a number does not fit its type.
    """
    inputs = program.arrays[: len(program.arrays) - len(outputs)]
    numbers = {} if all(inputs) else _numbers(program)
    # A number that no kernel takes may have any type.
    kinds = tuple(None if is_array else numbers.get(k, ScalarType.BOOL) for k, is_array in enumerate(inputs))
    shape = _Shape(
        name,
        kinds,
        tuple(output.new is None for output in outputs),
        bool(program.variants[-1].launches),
        bool(program.scratch),
    )
    makers = [maker(output.new.shape, output.new.strides, output.dtype) for output in outputs if output.new is not None]
    start = _Start(program, shape)
    run = _factory(shape)(tuple(makers), start, program.scratch)
    has_elements = all(output.new is None or 0 not in output.new.shape for output in outputs)
    if shape.runs and has_elements and (any(shape.given_outputs) or None in kinds):
        run.as_builtin = partial(start.as_builtin, shape, outputs, run)  # type: ignore[attr-defined]
    return run


def _numbers(program: Program) -> dict[int, ScalarType]:
    """Return the operands of a program that are numbers, with the scalar types in which they are computed."""
    launches = [launch for variant in program.variants for launch in variant.launches]
    return {
        argument.operand: argument.kind
        for launch in launches
        for argument in launch.arguments
        if isinstance(argument, Number)
    }


# -------------------------------------------------------------------------------------------------------------- frames


class Frame:
    """Memory for the parameters of one run of a program.

    buffer: all parameters.
    pointers: for each launch the address of an array of the addresses of its parameters.
    """

    __slots__ = ("_arrays", "buffer", "pointers")

    def __init__(self, size: int, constants: Sequence[tuple[int, bytes]], places: Sequence[Sequence[int]]) -> None:
        self.buffer = ctypes.create_string_buffer(max(size, _SMALLEST_FRAME))
        for offset, content in constants:
            ctypes.memmove(ctypes.addressof(self.buffer) + offset, content, len(content))
        begin = ctypes.addressof(self.buffer)
        self._arrays = [(ctypes.c_void_p * max(1, len(place)))(*(begin + index for index in place)) for place in places]
        self.pointers = [ctypes.addressof(array) for array in self._arrays]


class _Ready(NamedTuple):
    """Variant of a program whose kernels are loaded on a device.

    pack: packs operands and scratch addresses into the beginning of a frame.
    frames: free frames; if none is free, ``frame`` makes another one.
    launches: function, grid, block and shared memory of each kernel.
    scratch: offsets of the scratch parameters in the scratch memory.
    """

    pack: Callable[..., None]
    frames: list[Frame]
    frame: Callable[[], Frame]
    launches: tuple[tuple[int, tuple[int, int, int], tuple[int, int, int], int], ...]
    scratch: tuple[int, ...]


class _Start:
    """Callable that starts the kernels of a program, and loads them onto each device on first use there."""

    __slots__ = ("_builtin", "_lock", "_ready", "alignments", "format", "program", "slots")

    def __init__(self, program: Program, shape: _Shape) -> None:
        self.program = program
        self.alignments = tuple(variant.alignment for variant in program.variants)
        self.format, self.slots = _slots(
            tuple("Q" if kind is None else _FORMATS[number_type(kind)] for _, kind in _operands(shape))
        )
        self._ready: dict[tuple[int, int], _Ready] = {}
        self._builtin: LaunchPlan | None = None
        self._lock = threading.Lock()

    def as_builtin(self, shape: _Shape, outputs: Sequence[Output], run: Callable[..., Any]) -> Callable[..., Any]:
        """Return a built-in version of the Python function ``run``, or ``run`` if the driver has no functions for
        machine code.
        """
        if driver().entries() is None:
            return run
        with self._lock:
            if self._builtin is None:
                new = [output.new and _new_output(output.new, output.dtype) for output in outputs]
                scratch = rounded(self.program.scratch) if self.program.scratch else 0
                plan = LaunchPlan(shape.name, self.program, shape.inputs, new, scratch, run)
                for (index, variant), ready in self._ready.items():
                    plan.publish(index, variant, self.program.variants[variant], ready.launches)
                self._builtin = plan
            return self._builtin.function

    def __call__(self, index: int, handle: int, joined: int, scratch: int, *values: Any) -> None:
        """Queue the program's kernels on a stream.

        Args:
            index: index of the device.
            handle: handle of the stream.
            joined: the addresses of all operands, combined by or.
            scratch: the address of the scratch memory.
            values: addresses and numbers in the order in which they are packed.
        """
        api = driver()
        api.activate(index)
        variant = 0
        for alignment in self.alignments:
            if joined % alignment == 0:
                break
            variant += 1
        ready = self._ready.get((index, variant)) or self._load(api, index, variant)
        if handle in captured:
            self._capture(api, ready, handle, scratch, values)
            return
        try:
            frame = ready.frames.pop()
        except IndexError:
            frame = ready.frame()
        ready.pack(frame.buffer, 0, *values, *[scratch + number for number in ready.scratch])
        for (function, grid, block, shared), pointers in zip(ready.launches, frame.pointers, strict=True):
            api.launch(function, grid, block, shared, handle, pointers)
        ready.frames.append(frame)

    def _capture(self, api: Driver, ready: _Ready, handle: int, scratch: int, values: tuple[Any, ...]) -> None:
        """Queue the kernels on a stream that is being captured, with a frame that no other run uses."""
        frame = ready.frame()
        rest = [scratch + number for number in ready.scratch]

        def pack(numbers: Sequence[int | float]) -> None:
            ready.pack(frame.buffer, 0, *numbers, *rest)

        pack(values)
        kernels = []
        for launch, pointers in zip(ready.launches, frame.pointers, strict=True):
            api.launch(*launch, handle, pointers)
            kernels.append((api.last_node(handle), launch, pointers))
        captured[handle].note(pack, values, kernels)

    def _load(self, api: Driver, index: int, variant: int) -> _Ready:
        with self._lock:
            ready = self._ready.get((index, variant))
            if ready is None:
                module = module_of(api, index, self.program.source)
                ready = self._variant(api, module, self.program.variants[variant])
                self._ready[index, variant] = ready
                if self._builtin is not None:
                    self._builtin.publish(index, variant, self.program.variants[variant], ready.launches)
            return ready

    def _variant(self, api: Driver, module: int, variant: Variant) -> _Ready:
        """Look up the kernels of a variant in a loaded module, and compute the frame offset of each parameter."""
        arguments = [argument for launch in variant.launches for argument in launch.arguments]
        scratch = tuple(dict.fromkeys(argument.offset for argument in arguments if isinstance(argument, Scratch)))
        packed = self.format + "Q" * len(scratch)
        size = struct.calcsize(f"={packed}")
        first = size - 8 * len(scratch)
        constants: list[tuple[int, bytes]] = []
        places = []
        for launch in variant.launches:
            here = []
            for argument in launch.arguments:
                if isinstance(argument, Address | Number):
                    here.append(self.slots[argument.operand])
                elif isinstance(argument, Scratch):
                    here.append(first + 8 * scratch.index(argument.offset))
                else:
                    size, offset = _appended(argument, size)
                    constants.append((offset, argument.content))
                    here.append(offset)
            places.append(here)
        launches = tuple(_started(api, module, launch) for launch in variant.launches)
        pack: Callable[..., None] = struct.Struct(f"={packed}").pack_into
        return _Ready(pack, [], lambda: Frame(size, constants, places), launches, scratch)


def _new_output(new: NewArray, dtype: DType) -> NewOutput:
    """Return the description of an output from which machine code allocates it."""
    strides = tuple(stride * dtype.itemsize for stride in new.strides)
    return NewOutput(rounded(required_storage(new.shape, new.strides) * dtype.itemsize), new.shape, strides, dtype)


@lru_cache(maxsize=1024)
def _slots(formats: tuple[str, ...]) -> tuple[str, tuple[int, ...]]:
    """Return the ``struct`` format that packs the operands, and the offset of each one, a multiple of its size of 8 or
    16 bytes.

    >>> _slots(("Q", "dd", "q"))
    ('Qxxxxxxxxddq', (0, 16, 32))
    """
    packed, slots = "", []
    for code in formats:
        size = 8 * len(code)
        packed += "x" * (-struct.calcsize(f"={packed}") % size)
        slots.append(struct.calcsize(f"={packed}"))
        packed += code
    return packed, tuple(slots)


def _appended(constant: Constant, size: int) -> tuple[int, int]:
    """Return the size of a frame with one more constant, and the offset of the constant."""
    offset = -(-size // _ALIGNMENT) * _ALIGNMENT
    return offset + len(constant.content), offset


def _started(api: Driver, module: int, launch: Launch) -> tuple[int, tuple[int, int, int], tuple[int, int, int], int]:
    return api.function(module, launch.entry, launch.shared), launch.grid, launch.block, launch.shared


# ------------------------------------------------------------------------------------------------------------- modules


_modules: dict[tuple[int, int, str, bool], int] = {}
_modules_lock = threading.Lock()


def module_of(api: Driver, index: int, source: Source) -> int:
    """Return a source's module on a device; the first call compiles and loads it."""
    key = (id(api), index, source.fingerprint, source.contracts)
    with _modules_lock:
        module = _modules.get(key)
        if module is None:
            module = _modules[key] = api.load(compile_cubin(source, api.properties(index).architecture))
        return module


# -------------------------------------------------------------------------------------------------------------- source


class _Shape(NamedTuple):
    """Key of a generated launch function: everything that its source depends on.

    name: for tracebacks.
    inputs: for each input the type of a number, None for an array.
    given_outputs: for each output whether it is given.
    runs: whether there is anything to launch.
    has_scratch: whether it needs scratch memory.
    """

    name: str
    inputs: tuple[ScalarType | None, ...]
    given_outputs: tuple[bool, ...]
    runs: bool
    has_scratch: bool


@lru_cache(maxsize=1024)
def _factory(shape: _Shape) -> Callable[..., Callable[..., Any]]:
    """Compile the ``make`` function that returns a launch function; equal shapes share it."""
    namespace: dict[str, Any] = {
        "cache_of": cache_of,
        "current_device": current_device,
        "order": order,
        "rounded": rounded,
        "stream_of": stream_of,
        "streams": current_streams,
    }
    return function_from_source("make", _text(shape), namespace, title=f"CUDA launch {shape.name}")


def _text(shape: _Shape) -> str:
    """Return the Python source of the ``make`` function; its operands are called ``operand0``, ``operand1``, ..."""
    count = len(shape.inputs)
    arrays = [f"operand{k}" for k, kind in enumerate(shape.inputs) if kind is None]
    outputs = [f"operand{count + k}" for k in range(len(shape.given_outputs))]
    names = [name for name, is_given in zip(outputs, shape.given_outputs, strict=True) if is_given]
    texts = [name for name in outputs if name not in names]
    handed = [*(f"operand{k}" for k in range(count)), *names]
    where = next((f"{parameter}.index" for parameter in (*names, *arrays)), "current_device()")
    lines = [f"index = {where}", "stream = streams().get(index) or stream_of(index)"]
    lines += [line for k, kind in enumerate(shape.inputs) if kind for line in _checked(f"operand{k}", kind)]
    lines += [f"{name} = makers[{k}](index, stream)" for k, name in enumerate(texts)]
    if shape.runs:
        for name in (*arrays, *names):
            lines += [
                f"if {name}.block.stream is not stream:",
                f"    order({name}.block, stream, {name in names})",
            ]
        if shape.has_scratch:
            lines.append("memory = cache_of(index).take(rounded(scratch), stream)")
        values = [f"{name}.address" if kind is None else _packed(name, kind) for name, kind in _operands(shape)]
        joined = " | ".join(f"{name}.address" for name in (*arrays, *outputs)) or "0"
        base = "memory.address" if shape.has_scratch else "0"
        lines.append(f"start(index, stream.handle, {joined}, {base}, {', '.join(values)})")
    if texts:
        lines.append(f"return {', '.join(texts)}")
    body = "\n".join(f"        {line}" for line in lines)
    return f"def make(makers, start, scratch):\n    def run({', '.join(handed)}):\n{body}\n    return run\n"


def _operands(shape: _Shape) -> list[tuple[str, ScalarType | None]]:
    kinds = [*shape.inputs, *(None for _ in shape.given_outputs)]
    return [(f"operand{k}", kind) for k, kind in enumerate(kinds)]


def _packed(name: str, kind: ScalarType) -> str:
    """Return the Python expressions for the values that a number is packed as."""
    if _FORMATS[number_type(kind)] == "dd":
        return f"{name}.real, {name}.imag"
    if _FORMATS[number_type(kind)] == "Q":
        return f"{name} & {(1 << 64) - 1}"
    return f"1 if {name} else 0" if kind.category == BOOL else name


def _checked(name: str, kind: ScalarType) -> list[str]:
    """Return the Python lines that check the range of an integer; a float that is too large is refused when it is
    packed.
    """
    if kind not in _RANGES:
        return []
    low, high = _RANGES[kind]
    return [f"if not {low} <= {name} <= {high}:", f"    raise OverflowError(f'{{{name}}} is no {kind}')"]
