"""Gathering and scattering of elements at positions, and the bounds checks of positions beforehand.

A loop over a shape runs one step for each of its elements. Each step has an element in a tensor, at the loop's strides,
and positions offset it along dimensions of the tensor; every operator that indexes by tensors is such a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy

from opdsl.errors import DeviceError, DTypeError, PositionError
from opdsl.kernels.calls import Folding, Layout, OperandSpec
from opdsl.kernels.compiler import Compiled, compiler_for
from opdsl.kernels.functions import gathering, reduction
from opdsl.kernels.iteration.coalescing import coalesce
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.iteration.reduction_iterator import reduction_layout
from opdsl.kernels.iteration.strides import Shape, Strides, loop_order, steps
from opdsl.kernels.outputs import array_of
from opdsl.kernels.primitives.host import is_beyond, through_host
from opdsl.runtime.calling import described
from opdsl.runtime.device import cpu, meta
from opdsl.runtime.dtype import DType, bool_, int16, int32, int64, uint8
from opdsl.runtime.geometry import TensorMeta, geometry
from opdsl.runtime.lowering import lowering, made_once
from opdsl.runtime.memory import device_memory
from opdsl.runtime.tensor import Tensor

if TYPE_CHECKING:
    from opdsl.scalar import ScalarFunction
    from opdsl.scalar.graph import TypedGraph

# Copies move bits in integer dtypes: NaN payloads stay, and few kernels are needed. complex128 is copied as numbers.
_BITS = {1: uint8, 2: int16, 4: int32, 8: int64}
_LARGEST = (1 << 63) - 1

Number = bool | int | float | complex


class Positions(NamedTuple):
    """Indices into one dimension of a tensor, one for each step of a loop.

    tensor: int64, broadcast to the loop's shape; negative ones count from the end of the dimension.
    size, stride: of the dimension, the stride in elements.
    """

    tensor: Tensor
    size: int
    stride: int


def range_of(positions: Tensor, likely: int = 0) -> tuple[int, int] | None:
    """Return the smallest and the largest element of an int64 tensor; None if it is empty.

    Args:
        positions: the tensor.
        likely: the example value of the largest element while a call is lowered; comparisons with it should come out as
            in most calls.

    Raises:
        DTypeError: it is of another dtype.
    """
    _require_int64(positions)
    if positions.geometry.numel == 0:
        return None
    if is_beyond(positions):
        return cast("tuple[int, int]", through_host(range_of, [positions]))
    hosts = range_loop(positions.geometry)(array_of(positions))
    if positions.device is not cpu:
        memory = device_memory(positions.device)
        hosts = [memory.to_host(host) for host in hosts]
    recorder = lowering.get()
    if recorder is not None:
        # The plan assumes that positions are in bounds, and guards on it.
        names = [recorder.run(int, (host,), ["end"])[0] for host in hosts]
        ends: Any = recorder.size(names[0], 0, None), recorder.size(names[1], likely, None)
        return cast("tuple[int, int]", ends)
    least, greatest = hosts
    return int(least), int(greatest)


def _require_int64(positions: Tensor) -> None:
    if positions.dtype is not int64:
        raise DTypeError(f"expected scalar type Long but found {positions.dtype.scalar_type}")


def known_inside(positions: Tensor, least: int, size: int) -> bool:
    """Let the plan of a call being lowered guard that all elements of an int64 tensor are in ``[least, size)``; return
    whether it does.

    Return False where nothing is lowered, or the tensor is not on the CPU. A constant of the plan is checked at once,
    and the result returned.

    Raises:
        DTypeError: see ``range_of``.
        NotLoweredError: the tensor was made while the call was lowered.
    """
    _require_int64(positions)
    recorder = lowering.get()
    if recorder is None or positions.device is not cpu:
        return False
    array = recorder.source(positions.array)
    known = recorder.constants.get(array)
    if isinstance(known, numpy.ndarray):
        return not known.size or bool(least <= known.min() and known.max() < size)
    key = array, recorder.source(least), recorder.source(size)
    if recorder.is_checked(key):
        return True
    is_inside = _inside_loop(positions.geometry)(array_of(positions), least, size)
    recorder.ask(is_inside.text, True)
    return True


def looked_at_later(
    positions: Tensor, least: int, size: int, kind: type[Exception] = PositionError, text: str | None = None
) -> bool:
    """Let a device check asynchronously that all elements of an int64 tensor are in ``[least, size)``; return whether
    it does.

    The error is raised by the next call that waits for the device. Until then, loops read the first element in place of
    elements out of bounds.

    Args:
        positions: the tensor.
        least, size: the bounds.
        kind, text: of the error, for tensors that are no positions.
    """
    _require_int64(positions)
    if positions.device in (cpu, meta) or is_beyond(positions):
        return False
    look = getattr(device_memory(positions.device), "look_inside", None)
    if look is None or (text is None and size == 0):
        return False
    recorder, key = lowering.get(), tuple[str, ...]()
    if recorder is not None:
        key = "on the device", positions.array.text, recorder.source(least), recorder.source(size)
        if recorder.is_checked(key):
            return True
    if positions.geometry.numel:
        said = text or "index {value} is out of bounds for dimension with size {size}"
        look(kind, f"{described()}: {said}", array_of(positions), least, size)
        if recorder is not None:
            recorder.is_checked(key)  # the step that looks has no results, so it counts as a write
    return True


def gather(out: Tensor, source: Tensor, strides: Strides, positions: Sequence[Positions]) -> None:
    """Copy into every element of ``out`` the element of ``source`` at its positions.

    Args:
        out: of the loop's shape.
        source: of the same dtype, in other memory.
        strides: of the loop's steps through ``source``, in elements.
        positions: in bounds of their dimensions.
    """
    if out.geometry.numel == 0 or out.geometry.device is meta:
        return
    if is_beyond(out):
        through_host(gather, (out, source, strides, positions), [out])
        return
    arrays = [array_of(position.tensor) for position in positions]
    gather_loop(out.geometry, source.dtype, strides, positions)(array_of(source), *arrays, array_of(out))


def gather_loop(out: TensorMeta, dtype: DType, strides: Strides, positions: Sequence[Positions]) -> Compiled:
    """Return the compiled loop of ``gather``, called with the arrays of the source and of the positions, and that of
    ``out``.

    Args:
        out: of at least one element.
        dtype: of the source.
        strides, positions: as for ``gather``.
    """
    taken = (_bits(out.dtype, dtype), _scaled(strides, dtype))
    loop = _copy_loop(
        out.device.type, out.shape, (taken[0], steps(out, out.shape)), taken, _geometries(positions), False
    )
    return partial(_with_steps, loop, _steps(positions, dtype)) if positions else loop


def _with_steps(loop: Compiled, moved: tuple[int, ...], source: Any, *arrays: Any) -> None:
    loop(source, *arrays[:-1], *moved, arrays[-1])


def scatter(
    target: Tensor,
    shape: Shape,
    strides: Strides,
    positions: Sequence[Positions],
    values: Tensor | Number,
    combine: Callable[..., Any] | None = None,
    numbers: Sequence[Number] = (),
) -> None:
    """Write values into the elements of ``target`` at positions, in the order of the loop.

    Args:
        target: the tensor to write.
        shape: of the loop.
        strides: of the loop's steps through ``target``, in elements.
        positions: in bounds of their dimensions.
        values: broadcast to the loop's shape and converted; in memory that is not the target's.
        combine: a scalar function of the old element, the value, and ``numbers``; without one the value replaces the
            element.
        numbers: further arguments of ``combine``.

    Raises:
        DeviceError: values or positions are on another device than the target.
    """
    if 0 in shape or target.geometry.device is meta:
        return
    for tensor in (values, *(position.tensor for position in positions)):
        if isinstance(tensor, Tensor) and tensor.device is not target.device:
            raise DeviceError(
                f"Expected all tensors to be on the same device, but found at least two devices, {target.device} and "
                f"{tensor.device}!"
            )
    if is_beyond(target):
        through_host(scatter, (target, shape, strides, positions, values, combine, numbers), [target])
        return
    operand = values if isinstance(values, Tensor) else None
    kind = None if operand is None else operand.geometry
    loop = scatter_loop(target.geometry, shape, strides, positions, kind, combine, numbers)
    value = values if operand is None else array_of(operand)
    loop(value, *(array_of(position.tensor) for position in positions), array_of(target))


def scatter_loop(
    target: TensorMeta,
    shape: Shape,
    strides: Strides,
    positions: Sequence[Positions],
    values: TensorMeta | None,
    combine: Callable[..., Any] | None = None,
    numbers: Sequence[Number] = (),
) -> Compiled:
    """Return the compiled loop of ``scatter``, called with the values' array or the number, the arrays of the
    positions, and that of the target.

    Args:
        values: their geometry; None for a number.
        target, shape, strides, positions, combine, numbers: as for ``scatter``, for a loop of at least one step.
    """
    moved = _steps(positions, target.dtype)
    place = (target.dtype, _scaled(strides, target.dtype))
    operand: tuple[DType, Strides | None] = (precision_of(target.dtype), None)
    if values is not None:
        operand = (values.dtype, steps(values, shape))
    if combine is None:
        if values is not None and values.dtype is target.dtype:
            bits = _bits(target.dtype, values.dtype)
            place, operand = (bits, place[1]), (bits, operand[1])
        loop = _copy_loop(target.device.type, shape, place, operand, _geometries(positions), True)
        return partial(_with_steps, loop, moved)
    assert isinstance(combine, FunctionType), "a scalar function is written in Python"
    update = _update_loop(target.device.type, combine, len(numbers), shape, place, operand, _geometries(positions))

    def run(value: Any, *arrays: Any) -> None:
        update(arrays[-1], value, *numbers, *arrays[:-1], *moved, arrays[-1])

    return run


def _bits(dtype: DType, other: DType) -> DType:
    return _BITS.get(dtype.itemsize, dtype) if dtype is other else dtype


def _scaled(strides: Strides, dtype: DType) -> Strides:
    return tuple(stride * dtype.itemsize for stride in strides)


def _geometries(positions: Sequence[Positions]) -> tuple[TensorMeta, ...]:
    return tuple(position.tensor.geometry for position in positions)


def _steps(positions: Sequence[Positions], dtype: DType) -> tuple[int, ...]:
    """Return the strides in bytes of the positions' dimensions, then their sizes."""
    return (*(position.stride * dtype.itemsize for position in positions), *(position.size for position in positions))


# ---------------------------------------------------------------------------------------------------------- the loops


@made_once(512)
def _copy_loop(
    device_type: str,
    shape: Shape,
    output: tuple[DType, Strides],
    source: tuple[DType, Strides | None],
    positions: tuple[TensorMeta, ...],
    writes: bool,
) -> Compiled:
    """Compile a loop that gathers or scatters elements, and converts them if the dtypes differ."""
    from opdsl.scalar.graph import Node, TypedGraph
    from opdsl.scalar.types import ScalarType

    kind = ScalarType(precision_of(output[0] if source[1] is None else source[0]).name)
    graph = TypedGraph("copy", (Node("parameter", (), kind, "value"),), (0,))
    return _compile(device_type, graph, shape, [source], output, positions, None if writes else 0, writes)


@made_once(512)
def _update_loop(
    device_type: str,
    function: FunctionType,
    numbers: int,
    shape: Shape,
    target: tuple[DType, Strides],
    value: tuple[DType, Strides | None],
    positions: tuple[TensorMeta, ...],
) -> Compiled:
    """Compile a loop that combines the elements at positions with values."""
    scalar = _scalar_function(function)
    dtype = precision_of(target[0])
    graph = scalar.specialise(dict.fromkeys(scalar.parameters, dtype.name), results=[dtype.name])
    return _compile(device_type, graph, shape, [target, value, *[(dtype, None)] * numbers], target, positions, 0, True)


def _compile(
    device_type: str,
    graph: TypedGraph,
    shape: Shape,
    inputs: Sequence[tuple[DType, Strides | None]],
    output: tuple[DType, Strides],
    positions: tuple[TensorMeta, ...],
    reads: int | None,
    writes: bool,
) -> Compiled:
    arrays = [
        output,
        *(input for input in inputs if input[1] is not None),
        *((int64, steps(position, shape)) for position in positions),
    ]
    strides = [array[1] or () for array in arrays]
    order = loop_order(shape, strides)
    sizes, coalesced = coalesce([shape[dim] for dim in order], [[stride[dim] for dim in order] for stride in strides])
    rest = iter(coalesced)
    written = OperandSpec(output[0], next(rest))
    read = [OperandSpec(dtype, None if numbers is None else next(rest)) for dtype, numbers in inputs]
    read += [OperandSpec(int64, next(rest)) for _ in positions] + [OperandSpec(int64, None)] * (2 * len(positions))
    layout = Layout((sizes,), tuple(read), (written,), (None,))
    kernel = gathering(graph, layout, len(positions), reads, writes=writes)
    return compiler_for(device_type).compile(kernel, layout)


# -------------------------------------------------------------------------------------------------- smallest, largest


@cache
def _scalar_function(function: FunctionType) -> ScalarFunction:
    from opdsl.scalar import read

    return read(function)


@made_once(512)
def range_loop(form: TensorMeta) -> Compiled:
    """Return the compiled reduction of ``range_of``: an array -> arrays of the smallest and the largest element."""
    results = [geometry(int64, form.device, ())] * 2
    layout = reduction_layout([form], tuple(range(form.ndim)), results, allocate=True)
    return _folded(form, _both, ["int64"] * 2, layout)


def _inside_loop(form: TensorMeta) -> Compiled:
    """Return the compiled reduction: an array and the ends of a range -> whether all elements are in the range."""
    result = geometry(bool_, form.device, ())
    layout = reduction_layout([form], tuple(range(form.ndim)), [result], allocate=True, numbers=(int64, int64))
    return _folded(form, _within, ["bool"], layout)


def _folded(form: TensorMeta, finish: Callable[..., Any], results: list[str], layout: Layout) -> Compiled:
    """Compile a reduction to the smallest and the largest element, finished by a function of them."""
    lift, combine = (_integers(function, ["int64"] * 2) for function in (_twice, _wider))
    folding = Folding((_LARGEST, -_LARGEST - 1), lift, combine, _integers(finish, results))
    return compiler_for(form.device.type).compile(reduction(folding), layout)


def _integers(function: Callable[..., Any], results: list[str]) -> TypedGraph:
    """Return a scalar function typed for int64."""
    assert isinstance(function, FunctionType), "one of those beneath"
    scalar = _scalar_function(function)
    return scalar.specialise(dict.fromkeys(scalar.parameters, "int64"), results=results)


def _twice(value: Any) -> Any:
    return value, value


def _wider(least: Any, greatest: Any, other_least: Any, other_greatest: Any) -> Any:
    return min(least, other_least), max(greatest, other_greatest)


def _both(least: Any, greatest: Any, count: Any) -> Any:
    return least, greatest


def _within(least: Any, greatest: Any, count: Any, first: Any, end: Any) -> Any:
    return least >= first and greatest < end
