"""Launcher of loop programs: allocates outputs, converts arguments, and queues kernels on the device of the arrays."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy

from opdsl.backends import cache as disk
from opdsl.backends.arrays import DeviceArray
from opdsl.backends.opencl.arrays import new_array, offset
from opdsl.backends.opencl.devices import Opened, library, opened, problem
from opdsl.backends.opencl.printer import argument_types, has_atomics, kernel_source
from opdsl.backends.quick import is_quick
from opdsl.errors import KernelCompileError, UnsupportedDTypeError
from opdsl.kernels.calls import Output
from opdsl.kernels.iteration.numbers import ACCEPTED
from opdsl.kernels.loops.making import Given, Loops, number_of
from opdsl.kernels.loops.model import Array, Fold, Program, Scalar
from opdsl.kernels.loops.schedules import has_common_memory, in_parts, serial, shared
from opdsl.runtime.events import timed
from opdsl.runtime.permanent import kept_forever
from opdsl.scalar.types import BOOL, COMPLEX, INTEGER, ScalarType

__all__ = ["run_program", "runner"]

# Work items of a group that share a point, and how many points keep a device (CPU or not) busy without sharing.
_LANES = 64
_ENOUGH_POINTS = {True: 64, False: 1 << 14}

# Fewer points than this do not keep a device busy: their folds are split into parts of at least as many iterations.
_FEW_POINTS = 32
_TURNS_OF_A_PART = 1 << 15

# Work items of a group in which each has its own point.
_GROUP = 64

_OPTIONS = ("-cl-std=CL1.2",)
_EXACT = "-cl-fp32-correctly-rounded-divide-sqrt"
_QUICK = "-cl-opt-disable"


def runner(loops: Loops, outputs: Sequence[Output]) -> Callable[..., Any]:
    """Return a function that runs a loop program on its arguments.

    Args:
        loops: the loop program.
        outputs: its outputs, the last operands.

    Returns:
        A function of the inputs (arrays and Python numbers) and the given outputs. It returns the output that it makes,
        or a tuple of several; it does not check its arguments.

    Raises:
        OverflowError: in a call of the function: a number does not fit its type.
    """
    program = loops.program
    first = len(loops.arguments) - len(outputs)
    steps = _steps(loops)

    def run(*values: Any) -> Any:
        arguments = list(values[:first])
        index = next((value.index for value in values if isinstance(value, DeviceArray)), 0)
        rest = iter(values[first:])
        results = []
        for dtype, new in outputs:
            arguments.append(next(rest) if new is None else new_array(new.shape, new.strides, dtype, index))
            if new is not None:
                results.append(arguments[-1])
        number = number_of(steps[0])
        scratch = []
        for buffer in steps[0].program.scratch:
            sizes = tuple(map(number, buffer.sizes))
            scratch.append(new_array(sizes, tuple(map(number, buffer.strides)), buffer.dtype, index))
        for step in steps:
            run_program(step, index, arguments, scheduled(step.program, _points(step), opened(index)), scratch)
        return None if not results else results[0] if len(results) == 1 else tuple(results)

    run.__name__ = f"{program.name}_opencl"
    return run


def _steps(loops: Loops) -> tuple[Loops, ...]:
    """Return the loop programs that a call runs in turn: two if few points fold many elements, which groups fold in
    parts.
    """
    points, (first, *_) = _points(loops), loops.program.points[1]
    if not isinstance(first, Fold) or not 0 < points < _FEW_POINTS or loops.program.scratch:
        return (loops,)
    turns = math.prod(map(number_of(loops), (size for _, size in first.ranges)))
    parts = min(_FEW_POINTS // points, turns // _TURNS_OF_A_PART)
    return in_parts(loops, parts, -(-turns // parts)) if parts > 1 else (loops,)


def _points(loops: Loops) -> int:
    """Return the number of points of a call's outermost loops."""
    ranges, _ = loops.program.points
    return math.prod(map(number_of(loops), (size for _, size in ranges)))


def run_program(
    loops: Loops, index: int, arguments: Sequence[Any], program: Program, scratch: Sequence[Any] = ()
) -> None:
    """Queue a loop program on a device.

    Args:
        loops: the loop program, with the words of the call.
        index: index of the device.
        arguments: arguments of the call.
        program: the scheduled form of the loop program.
        scratch: its scratch memory.
    """
    points = _points(loops)
    if points == 0:
        return
    handed: list[Any] = []
    for argument, place in zip(arguments, loops.arguments, strict=True):
        if place is not None:
            handed += _handed(program.parameters[place], argument)
    for array, memory in zip(program.scratch, scratch, strict=True):
        handed += _handed(array, memory)
    handed += [arguments[word.argument] // word.divisor if isinstance(word, Given) else word for word in loops.words]
    _kernel(program, index).start(opened(index), points, handed)


def scheduled(program: Program, points: int, device: Opened) -> Program:
    """Choose how a device runs a program: a group per point if there are few points, a single work item if it lacks
    atomics.
    """
    if not has_atomics(program, words=64 if device.exchanges_long else 32):
        return serial(program)
    is_shared = points < _ENOUGH_POINTS[device.is_cpu] or has_common_memory(program)
    return shared(program, _LANES) if is_shared else program


def _handed(parameter: Array | Scalar, value: Any) -> list[Any]:
    """Return the kernel arguments for one parameter of a loop program."""
    if isinstance(parameter, Array):
        return [value.block.buffer, offset(value)]
    kind = parameter.type
    if kind.category == COMPLEX:
        number = complex(value)
        return [number.real, number.imag]
    if kind.category == BOOL:
        return [1 if value else 0]
    return [_whole(value, kind) if kind.category == INTEGER else float(value)]


def _whole(value: Any, kind: ScalarType) -> int:
    """Convert an integer to the range of its type, wrapping negative numbers for an unsigned one; check that
    it fits.
    """
    low, high = ACCEPTED[kind.value]
    number = int(value)
    if not low <= number <= high:
        raise OverflowError(f"{value} is no {kind}")
    least, most = kind.bounds
    return (number - least) % (most - least + 1) + least


# ------------------------------------------------------------------------------------------------------------- kernels


class _Kernel(NamedTuple):
    """Kernel on a device, with a lock, since only one call at a time can set its arguments."""

    kernel: Any
    lanes: int
    is_serial: bool
    lock: threading.Lock

    def start(self, device: Opened, points: int, arguments: Sequence[Any]) -> None:
        """Set the arguments, and queue the kernel for a number of points."""
        group = 1 if self.is_serial else self.lanes if self.lanes > 1 else min(_GROUP, points)
        count = 1 if self.is_serial else points * group if self.lanes > 1 else -(-points // group) * group
        with self.lock:
            self.kernel(device.queue, (count,), (group,), *arguments)


@kept_forever
def _kernel(program: Program, index: int) -> _Kernel:
    device = opened(index)
    if not device.doubles:
        _refuse_doubles(program, device)
    kernel = _built(kernel_source(program, doubles=device.doubles), device).run
    types: list[Any] = []
    for parameter in (*program.parameters, *program.scratch):
        if isinstance(parameter, Array):
            types += [None, numpy.int64]
        else:
            types += [numpy.dtype(kind.value).type for kind in argument_types(parameter)]
    kernel.set_scalar_arg_dtypes([*types, *[numpy.int64] * len(program.words)])
    return _Kernel(kernel, program.lanes, program.is_serial, threading.Lock())


def _refuse_doubles(program: Program, device: Opened) -> None:
    for parameter in program.parameters:
        name = parameter.dtype.name if isinstance(parameter, Array) else parameter.type.value
        if name in ("float64", "complex128"):
            raise UnsupportedDTypeError(f"opencl:{device.index} has no {name}. Convert first: x.to(opdsl.float32).")


def _built(source: str, device: Opened) -> Any:
    """Build an OpenCL program from source, or load its binary from the disk cache."""
    cl = library()
    exact = bool(device.device.single_fp_config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT)
    options = [*_OPTIONS, *([_EXACT] if exact else []), *([_QUICK] if is_quick() else [])]
    key = f"opencl {device.key} {options} {source}"
    stored = disk.load(key)
    if stored is not None:
        try:
            return cl.Program(device.context, [device.device], [stored]).build(options)
        except cl.Error:  # another version of the driver does not accept the binary
            pass
    try:
        with timed("compile", f"opencl:{device.index}"):
            program = cl.Program(device.context, source).build(options, cache_dir=False)
    except cl.Error as error:
        known = problem(device.index)
        why = f"{known}.\n{error}" if known else str(error)
        raise KernelCompileError(f"opencl:{device.index} does not compile a kernel: {why}") from error
    disk.store(key, program.get_info(cl.program_info.BINARIES)[0])
    return program
