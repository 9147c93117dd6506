"""Copying, casting and filling of tensors, by the backends' compilers; all layers above may use them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from opdsl.dispatch.layers.math_bits import resolved, stored_as, without_bits
from opdsl.errors import DTypeError, ShapeError
from opdsl.kernels.compiler import Compiled, compile_elements, has_compiler
from opdsl.kernels.iteration.broadcasting import broadcast
from opdsl.kernels.iteration.dtypes import c_name, precision_of
from opdsl.kernels.iteration.numbers import Number, to_element
from opdsl.kernels.iteration.strides import dense_strides
from opdsl.kernels.iteration.tensor_iterator import pointwise_layout
from opdsl.kernels.outputs import (
    OutputSpec,
    Target,
    array_of,
    as_resized,
    check_device,
    check_read_only,
    check_written,
    new_tensor,
    tensor_over,
)
from opdsl.runtime.device import Device, MemoryFormat, contiguous_format, cpu, meta
from opdsl.runtime.dtype import DType, float32, float64, int16, int32, int64, uint8
from opdsl.runtime.geometry import TensorMeta, geometry, geometry_of
from opdsl.runtime.lowering import deferred, made_once
from opdsl.runtime.memory import device_memory
from opdsl.runtime.overlap import Overlap, is_copied_onto_itself, overlap
from opdsl.runtime.storage import bump_version
from opdsl.runtime.strides import contiguous_strides, strides_for
from opdsl.runtime.tensor import Tensor
from opdsl.runtime.values import has_bits
from opdsl.runtime.viewing import make_view

# The dtypes in which bits are copied where no conversion is needed: NaN payloads stay unchanged.
_BITS = {1: uint8, 2: int16, 4: int32, 8: int64}
_PAIRS = {8: float32, 16: float64}


# -------------------------------------------------------------------------------------------------- public functions


def copy_(target: Tensor, source: Tensor, *, non_blocking: bool = False) -> Tensor:
    """Copy the elements of ``source`` into ``target``, cast to its dtype and broadcast to its shape.

    Args:
        target: of any strides and dtype, on any device.
        source: of any strides and dtype, on any device.
        non_blocking: whether a copy between page-locked memory of the host and a device may go on after this returns.

    Returns:
        ``target``.

    Raises:
        ShapeError: the shapes do not fit.
        OverlapError: they overlap in memory so that the copy would change elements before it reads them.
    """
    shape = broadcast(target.shape, source.shape)
    if shape != target.shape:
        raise ShapeError(f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(shape)}")
    is_partial = overlap(target, source) is Overlap.PARTIAL
    check_written(target, [] if is_partial and is_copied_onto_itself(target, source) else [source], [])
    copy_elements(target, source, non_blocking=non_blocking)
    return target


def fill_(target: Tensor, value: Number) -> Tensor:
    """Fill ``target`` with a number, even where its elements share memory.

    Raises:
        NumberError: the dtype cannot represent it.
        ReadOnlyError: the memory is that of a read-only array.
    """
    number = to_element(value, target.dtype, target.geometry.numel)
    check_read_only(target)
    if target.device is not meta:
        _fill(target, number)
    return target


def cast(source: Tensor, dtype: DType) -> Tensor:
    """Return a new tensor with the elements of ``source`` in another dtype, with the same order of dimensions in
    memory.
    """
    return copied(source, geometry(dtype, source.device, source.shape, dense_strides(source.geometry)))


def copied(source: Tensor, form: TensorMeta, *, non_blocking: bool = False, pinned: bool = False) -> Tensor:
    """Return a new tensor with a geometry and the elements of ``source``, which has the same shape and any device.

    ``non_blocking``: see ``copy_``. ``pinned``: whether the CPU tensor is in page-locked memory.
    """
    output = new_tensor(form, pinned=pinned)
    copy_elements(output, source, non_blocking=non_blocking)
    return output


def clone(source: Tensor, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
    """Return a copy of a tensor in new memory.

    Args:
        source: the tensor.
        memory_format: the order of the dimensions; ``preserve_format`` keeps that of a dense source.
    """
    if memory_format is MemoryFormat.preserve_format:
        strides = dense_strides(source.geometry)
    else:
        strides = strides_for(source.shape, memory_format)
    return copied(source, geometry(source.dtype, source.device, source.shape, strides))


def write_out(operator: str, out: Tensor, value: Tensor, *, contiguous: bool = False) -> Tensor:
    """Copy a result into an ``out=`` tensor, resizing it if necessary.

    Args:
        operator: its name, for messages.
        out: the ``out=`` tensor.
        value: the result.
        contiguous: whether an output that is resized becomes contiguous, instead of getting the result's strides.

    Raises:
        DTypeError, DeviceError, OverlapError: the output does not fit; it is unchanged then.
    """
    return write_outs(operator, (out,), (value,), contiguous=contiguous)[0]


def write_outs(
    operator: str, outs: Sequence[Tensor], values: Sequence[Tensor], *, contiguous: bool = False
) -> tuple[Tensor, ...]:
    """Copy several results into ``out=`` tensors as ``write_out`` does; none is written unless all fit.

    Raises:
        DTypeError, DeviceError, OverlapError: an output does not fit.
    """
    targets = [
        (_checked_target(operator, out, value, contiguous=contiguous), value)
        for out, value in zip(outs, values, strict=True)
        if out is not value
    ]
    for target, value in targets:
        copy_elements(target.working(), value)
        bump_version(target.out)
    return tuple(outs)


def check_storable(pairs: Iterable[tuple[Tensor, Tensor]]) -> None:
    """Check that several outputs can be resized and written, before the first of them is.

    Args:
        pairs: outputs, each with the tensor that will be copied into it.

    Raises:
        ReadOnlyError, OverlapError: one cannot.
    """
    for out, value in pairs:
        check_written(as_resized(out, value.shape), [value], [])


def _checked_target(operator: str, out: Tensor, value: Tensor, *, contiguous: bool) -> Target:
    check_written(out, [value], [])
    if out.dtype is not value.dtype:
        raise DTypeError(
            f"{operator}: Expected out tensor to have dtype {c_name(value.dtype)}, but got {c_name(out.dtype)} instead"
        )
    strides = contiguous_strides(value.shape) if contiguous else value.strides
    spec = OutputSpec(value.dtype, value.device, value.shape, strides)
    check_device(out, spec)
    return Target(out, spec, False)


def check_inplace(operator: str, target: Tensor, value: Tensor) -> None:
    """Check that a result fits the tensor that an in-place call stores it in (``check_inplace`` of torchgen).

    Raises:
        ShapeError, DTypeError: shape or dtype differ.
    """
    if target.dtype is not value.dtype:
        raise DTypeError(
            f"{operator}: Bad in-place call: input tensor dtype {c_name(target.dtype)} and output tensor dtype "
            f"{c_name(value.dtype)} should match"
        )
    if target.shape != value.shape:
        raise ShapeError(
            f"{operator}: Bad in-place call: input tensor size {list(target.shape)} and output tensor size "
            f"{list(value.shape)} should match"
        )


# ---------------------------------------------------------------------------------------------------- how they do it


def copy_elements(target: Tensor, source: Tensor, *, non_blocking: bool = False) -> None:
    """Copy elements as ``copy_`` does, without checks and without bumping the version."""
    if target.device is meta or target.geometry.numel == 0:
        return
    source = resolved(source)
    if has_bits(target):
        source, target = stored_as(target, source.to(target.dtype)), without_bits(target)
    if not has_compiler(target.device.type):
        _copy_without_compiler(target, source)
        return
    if source.device is not target.device:
        if _transferred(target, source, non_blocking=non_blocking):
            return
        source = _on_device_of(target, source)
    elements_loop(target.geometry, source.geometry)(array_of(source), array_of(target))


def _transferred(target: Tensor, source: Tensor, *, non_blocking: bool) -> bool:
    """Transfer memory between devices unconverted, where both tensors have the same dense layout; return whether that
    was done.
    """
    form, other = target.geometry, source.geometry
    transfer = _transfer_between(form.device, other.device)
    alike = (form.dtype, form.shape, form.strides) == (other.dtype, other.shape, other.strides)
    if transfer is None or not alike or not form.is_non_overlapping_and_dense():
        return False
    transfer(array_of(source), array_of(target), non_blocking=non_blocking)
    return True


def _transfer_between(first: Device, second: Device) -> Callable[..., None] | None:
    """Return the function that copies memory between two devices; None if the copy goes through the host."""
    types = {first.type, second.type} - {cpu.type}
    if len(types) != 1:
        return None
    transfer_between: Callable[..., None] | None = getattr(
        device_memory(second if first is cpu else first), "transfer", None
    )
    return transfer_between


def _on_device_of(target: Tensor, source: Tensor) -> Tensor:
    """Copy a tensor to the device of another one."""
    if _transfer_between(target.device, source.device) is not None:
        dense = source if source.geometry.is_non_overlapping_and_dense() else clone(source, contiguous_format)
        moved = new_tensor(geometry(source.dtype, target.device, dense.shape, dense.strides))
        copy_elements(moved, dense)
        return moved
    host = _on_host(source)
    if target.device is cpu:
        return host
    dense = host if host.geometry.is_contiguous() else clone(host, contiguous_format)
    array = device_memory(target.device).from_host(array_of(dense), target.device, source.dtype)
    return tensor_over(array, geometry(source.dtype, target.device, source.shape))


def _on_host(source: Tensor) -> Tensor:
    """Return a tensor's elements as a CPU tensor; the tensor itself if it is one."""
    if source.device is cpu:
        return source
    host = device_memory(source.device).to_host(array_of(source))
    return tensor_over(host, geometry_of(host, source.dtype))


def _copy_without_compiler(target: Tensor, source: Tensor) -> None:
    """Copy into the memory of a backend without a compiler; elements are converted and broadcast on the host."""
    same = source.device is target.device and source.dtype is target.dtype and source.shape == target.shape
    if not same:
        host = new_tensor(geometry(target.dtype, cpu, target.shape))
        copy_elements(host, _on_host(source))
        source = _on_device_of(target, host)
    device_memory(target.device).copy(array_of(source), array_of(target))


def _view(source: Tensor, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> Tensor:
    """View the memory of a tensor under another dtype; strides and offset count elements of that dtype."""
    before = source.storage_offset() * (source.dtype.itemsize // dtype.itemsize)
    return make_view(source, shape, strides, before + offset, dtype)


def real_and_imaginary(tensor: Tensor) -> Tensor:
    """View a complex tensor as a real one, with real and imaginary parts along a new last dimension."""
    return _view(tensor, _PAIRS[tensor.dtype.itemsize], (*tensor.shape, 2), (*_doubled(tensor.strides), 1))


def _part(source: Tensor, part: int) -> Tensor:
    return _view(source, _PAIRS[source.dtype.itemsize], source.shape, _doubled(source.strides), part)


def _doubled(strides: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(2 * stride for stride in strides)


@made_once(512)
def elements_loop(target: TensorMeta, source: TensorMeta) -> Compiled:
    """Return the compiled loop that casts and copies the elements of a source array into a target array.

    Args:
        target, source: on one device that compiles; the source's shape broadcasts to the target's.
    """
    from opdsl.scalar.graph import Node, TypedGraph
    from opdsl.scalar.types import ScalarType

    if target.dtype is source.dtype:
        target, source = _bits(target), _bits(source)
    kind = ScalarType(precision_of(source.dtype).name)
    graph = TypedGraph("copy", (Node("parameter", (), kind, "value"),), (0,))
    layout = pointwise_layout(target.shape, [source], [target])
    return compile_elements(target.device.type, graph, layout)


def _bits(form: TensorMeta) -> TensorMeta:
    """Return the geometry of the same memory as integers."""
    size = form.dtype.itemsize
    if size in _BITS:
        return geometry(_BITS[size], form.device, form.shape, form.strides)
    return geometry(int64, form.device, (*form.shape, 2), (*_doubled(form.strides), 1))


def _fill(target: Tensor, number: Any) -> None:
    if not has_compiler(target.device.type):
        host = new_tensor(geometry(target.dtype, cpu, target.shape))
        _fill(host, number)
        copy_elements(target, host)
        return
    if target.dtype.is_complex:
        for part, value in enumerate((_real, _imaginary)):
            _fill(_part(target, part), value(number))
        return
    if target.geometry.numel:
        fill_loop(target.geometry)(number, array_of(target))


@deferred
def _real(number: complex) -> float:
    return number.real


@deferred
def _imaginary(number: complex) -> float:
    return number.imag


@made_once(512)
def fill_loop(target: TensorMeta) -> Compiled:
    """Return the compiled loop that fills an array with a number."""
    from opdsl.scalar.graph import Node, TypedGraph
    from opdsl.scalar.types import ScalarType

    dtype = precision_of(target.dtype)
    graph = TypedGraph("fill", (Node("parameter", (), ScalarType(dtype.name), "value"),), (0,))
    layout = pointwise_layout(target.shape, [dtype], [target])
    return compile_elements(target.device.type, graph, layout)
