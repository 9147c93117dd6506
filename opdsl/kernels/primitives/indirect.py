"""Elements at places that positions tell: gathering them, writing them, and checking the positions beforehand.

A loop over a shape takes one step for each of its elements. Each step has a place in a tensor, where strides lead, and
positions move it along dimensions of the tensor; everything that indexes by tensors is such a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy

from opdsl.errors import DeviceError, DTypeError, PositionError
from opdsl.kernels.calls import Folding, IndirectCall, OperandSpec, ReductionCall
from opdsl.kernels.compiler import Compiled, compiler_for
from opdsl.kernels.iteration.coalescing import coalesce
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.iteration.reduction_iterator import reduction_call
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

# A copy moves bits, so that NaN payloads stay and few kernels are needed; those of complex128 are moved as numbers.
_BITS = {1: uint8, 2: int16, 4: int32, 8: int64}
_LARGEST = (1 << 63) - 1

Number = bool | int | float | complex


class Positions(NamedTuple):
    """How steps are moved along one dimension of a tensor.

    tensor: int64, broadcast to the loop's shape; negative ones count from the end of the dimension.
    size, stride: of the dimension, the stride in elements.
    """

    tensor: Tensor
    size: int
    stride: int


def range_of(positions: Tensor, likely: int = 0) -> tuple[int, int] | None:
    """The smallest and the largest element of an int64 tensor; None where there is none.

    Args:
        positions: the tensor.
        likely: what the largest is taken for while a call is lowered: what is asked of it should be answered as in
            most calls.

    Raises:
        DTypeError: it is of another dtype, as which it would be read.
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
        # Positions are taken to lie inside; a plan looks whether they do.
        names = [recorder.run(int, (host,), ["end"])[0] for host in hosts]
        ends: Any = recorder.size(names[0], 0, None), recorder.size(names[1], likely, None)
        return cast("tuple[int, int]", ends)
    least, greatest = hosts
    return int(least), int(greatest)


def _require_int64(positions: Tensor) -> None:
    if positions.dtype is not int64:
        raise DTypeError(f"expected scalar type Long but found {positions.dtype.scalar_type}")


def known_inside(positions: Tensor, least: int, size: int) -> bool:
    """Whether a call is lowered whose plans look that all elements of an int64 tensor lie from ``least`` to ``size``.

    That is noted then; it is False where nothing is lowered.

    Raises:
        DTypeError: see ``range_of``.
    """
    _require_int64(positions)
    recorder = lowering.get()
    if recorder is None or positions.device is not cpu:
        return False
    known = recorder.constants.get(positions.array.text)
    if isinstance(known, numpy.ndarray):
        return not known.size or bool(least <= known.min() and known.max() < size)
    key = positions.array.text, recorder.source(least), recorder.source(size)
    if recorder.is_checked(key):
        return True
    is_inside = _inside_loop(positions.geometry)(array_of(positions), least, size)
    recorder.ask(is_inside.text, True)
    return True


def looked_at_later(
    positions: Tensor, least: int, size: int, kind: type[Exception] = PositionError, text: str | None = None
) -> bool:
    """Whether the device looks by itself that all elements of an int64 tensor lie from ``least`` to ``size``.

    Nobody waits for it then: whoever does so next gets the error. Loops with positions lead those outside to the first
    element.

    Args:
        kind, text: of the error, for what are no positions.
    """
    _require_int64(positions)
    if positions.device in (cpu, meta) or is_beyond(positions):
        return False
    look = getattr(device_memory(positions.device), "look_inside", None)
    if look is None or (text is None and size == 0):
        return False
    if positions.geometry.numel:
        said = text or "index {value} is out of bounds for dimension with size {size}"
        look(kind, f"{described()}: {said}", array_of(positions), least, size)
    return True


def gather(out: Tensor, source: Tensor, strides: Strides, positions: Sequence[Positions]) -> None:
    """Writes into every element of ``out`` the element of ``source`` that its step leads to.

    Args:
        out: of the loop's shape.
        source: of the same dtype, in other memory.
        strides: of the steps through ``source``, in elements.
        positions: inside of their dimensions.
    """
    if out.geometry.numel == 0 or out.geometry.device is meta:
        return
    if is_beyond(out):
        through_host(gather, (out, source, strides, positions), [out])
        return
    arrays = [array_of(position.tensor) for position in positions]
    gather_loop(out.geometry, source.dtype, strides, positions)(array_of(source), *arrays, array_of(out))


def gather_loop(out: TensorMeta, dtype: DType, strides: Strides, positions: Sequence[Positions]) -> Compiled:
    """The loop of ``gather``: the arrays of the source and of the positions, and that of ``out``, which it fills.

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
    """Writes values into the elements of ``target`` that steps lead to, one step after the other.

    Args:
        target: of which the loop's steps move through ``strides``.
        shape: of the loop.
        strides: of the steps through ``target``, in elements.
        positions: inside of their dimensions.
        values: broadcast to the loop's shape and converted; in memory that is not the target's.
        combine: a scalar function of the element that is there, the value, and ``numbers``; without one the value is
            written as it is.
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
    """The loop of ``scatter``: the values' array, or the number, the arrays of the positions, and that of the target.

    Args:
        values: where they lie; None for a number.
        target, shape, strides, positions, combine, numbers: as for ``scatter``, of a loop of at least one step.
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
    """How many bytes lie between neighbours of the positions' dimensions, and how many there are."""
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
    """A loop that copies, and converts if the dtypes differ: from where positions lead, or to there."""
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
    """A loop that combines what is where positions lead with values."""
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
    strides = [tensor[1] or () for tensor in arrays]
    order = loop_order(shape, strides)
    sizes, coalesced = coalesce([shape[dim] for dim in order], [[stride[dim] for dim in order] for stride in strides])
    rest = iter(coalesced)
    written = OperandSpec(output[0], next(rest))
    read = tuple(OperandSpec(dtype, None if numbers is None else next(rest)) for dtype, numbers in inputs)
    moves = tuple(OperandSpec(int64, next(rest)) for _ in positions)
    call = IndirectCall(sizes, read, written, moves, reads, writes)
    return compiler_for(device_type).indirect(graph, call)


# -------------------------------------------------------------------------------------------------- smallest, largest


@cache
def _scalar_function(function: FunctionType) -> ScalarFunction:
    from opdsl.scalar import read

    return read(function)


@made_once(512)
def range_loop(form: TensorMeta) -> Compiled:
    """The reduction of ``range_of``, an array -> arrays of the smallest and the largest element."""
    results = [geometry(int64, form.device, ())] * 2
    call = reduction_call([form], tuple(range(form.ndim)), results, allocate=True)
    return _folded(form, _both, ["int64"] * 2, call)


def _inside_loop(form: TensorMeta) -> Compiled:
    """An array and the ends of a range -> an array of whether all elements lie in it."""
    result = geometry(bool_, form.device, ())
    call = reduction_call([form], tuple(range(form.ndim)), [result], allocate=True, numbers=(int64, int64))
    return _folded(form, _within, ["bool"], call)


def _folded(form: TensorMeta, finish: Callable[..., Any], results: list[str], call: ReductionCall) -> Compiled:
    """The reduction to the smallest and the largest element, and what is made of them."""
    lift, combine = (_integers(function, ["int64"] * 2) for function in (_twice, _wider))
    folding = Folding((_LARGEST, -_LARGEST - 1), lift, combine, _integers(finish, results))
    return compiler_for(form.device.type).reduction(folding, call)


def _integers(function: Callable[..., Any], results: list[str]) -> TypedGraph:
    """A scalar function of int64."""
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
