"""Construction of views: makes the array of a view from the array of a tensor, by fast functions in plans."""

from __future__ import annotations

from typing import Any

import numpy

import opdsl.runtime.values as values
from opdsl.errors import KernelError
from opdsl.runtime.dtype import DType
from opdsl.runtime.geometry import Creation, TensorMeta
from opdsl.runtime.lowering import SymbolicArray, lowering
from opdsl.runtime.memory import device_memory
from opdsl.runtime.storage import base_for_view, storage_root
from opdsl.runtime.strides import byte_strides
from opdsl.runtime.symbol import NotLoweredError
from opdsl.runtime.tensor import MetaArray, Tensor
from opdsl.runtime.views import Sizes, View, required_storage

_Array = numpy.ndarray[Any, Any]

# The flags that a tensor keeps when it gets other memory.
_KEPT = ("requires_grad", "is_view", "creation", "is_inference", "is_conj", "is_neg")


def storage_size(tensor: Tensor) -> int:
    """Return the size in bytes of the memory that a tensor and its views share."""
    root = storage_root(tensor)
    if type(getattr(tensor, "array", None)) is SymbolicArray:  # a lower bound: up to the end of the tensor
        form = tensor.geometry
        return (tensor.storage_offset() + required_storage(form.shape, form.strides)) * form.dtype.itemsize
    if tensor.geometry.device.type == "cpu":
        return values.extent(memory_around(tensor.array, root))
    return required_storage(root.geometry.shape, root.geometry.strides) * root.geometry.dtype.itemsize


def view_of(tensor: Tensor) -> View:
    """Return shape, strides and storage offset of a tensor, from which views are computed."""
    return View(tensor.geometry.shape, tensor.geometry.strides, tensor.storage_offset())


def make_view(
    tensor: Tensor, shape: Sizes, strides: Sizes, storage_offset: int | None = None, dtype: DType | None = None
) -> Tensor:
    """Return a view: a tensor over the memory of another one.

    Args:
        tensor: the tensor whose memory is shared, a view or not.
        shape, strides: the shape and strides of the view, in its elements.
        storage_offset: elements of the view's dtype from the beginning of the storage; None begins at the first element
            of ``tensor``.
        dtype: the dtype of the view; None for the tensor's own.

    Returns:
        A view whose ``_base`` is the root of ``tensor``; it does not require gradients.

    Raises:
        KernelError: the view would leave the storage.
    """
    dtype = dtype or tensor.geometry.dtype
    if storage_offset is None:
        return _attach(tensor, shape, strides, 0, dtype)
    before = storage_offset * dtype.itemsize - tensor.storage_offset() * tensor.geometry.dtype.itemsize
    return _attach(tensor, shape, strides, before, dtype)


def _attach(base: Tensor, shape: Sizes, strides: Sizes, offset: int, dtype: DType) -> Tensor:
    """Return a view of a tensor; ``offset`` counts bytes from the tensor's first element."""
    form = base.geometry
    output = Tensor()
    output.geometry = view_geometry(form, shape, strides, dtype)
    output._writes = 0
    output._base = base_for_view(base)
    if type(getattr(base, "array", None)) is SymbolicArray:
        output.array = _symbolic_view(base, shape, strides, offset, dtype)
    elif form.device.type == "cpu":
        steps = byte_strides(strides, dtype.itemsize)
        output.array = view_array(base.array, shape, steps, offset, dtype.numpy, storage_root(base))
    elif form.device.type == "meta":
        before = base.storage_offset() * form.dtype.itemsize
        output.array = MetaArray((before + offset) // dtype.itemsize)
    else:
        memory = device_memory(form.device)
        output.array = memory.view(base.array, shape, strides, offset // dtype.itemsize, dtype)
    return output


def _leaves(form: TensorMeta, shape: Sizes, strides: Sizes, offset: int, dtype: DType) -> bool:
    """Return whether a view leaves its tensor; ``offset`` counts bytes from the tensor's first element."""
    reach = 0 if 0 in shape else required_storage(shape, strides) * dtype.itemsize + offset
    return offset < 0 or reach > required_storage(form.shape, form.strides) * form.dtype.itemsize


def _symbolic_view(base: Tensor, shape: Sizes, strides: Sizes, offset: int, dtype: DType) -> SymbolicArray:
    """Return the symbolic array of a view during lowering; the view must stay within the tensor."""
    form, recorder = base.geometry, lowering.get()
    # Without a plan, this guard would only limit the calls that a traced program serves.
    if recorder is None or (recorder.compiles and _leaves(form, shape, strides, offset, dtype)):
        raise NotLoweredError("a view that leaves its tensor")
    source, start = base.array.source
    if recorder.is_exact and (dtype, shape, strides, offset) == (form.dtype, form.shape, form.strides, 0):
        symbolic_view = SymbolicArray(base.array.text, dtype.numpy, base.storage_offset(), (base, 0))
        symbolic_view.source = source, start
        return symbolic_view
    memory: Any = device_memory(form.device)
    before = base.storage_offset() * form.dtype.itemsize
    if form.device.type == "cpu":
        steps = byte_strides(strides, dtype.itemsize)
        function = memory.array_viewer(dtype.numpy, len(shape))
        operands: tuple[Any, ...] = (source, start + offset, *shape, *steps)
    else:
        function, operands = memory.view, (base.array, shape, strides, offset // dtype.itemsize, dtype)
    (variable,) = recorder.run(function, operands, ["view"])
    is_fixed = recorder.is_exact and dtype is form.dtype and type(offset) is int
    viewed = (base, offset // dtype.itemsize) if is_fixed else None
    symbolic_view = SymbolicArray(variable, dtype.numpy, (before + offset) // dtype.itemsize, viewed)
    if form.device.type == "cpu":
        symbolic_view.source = source, start + offset
    return symbolic_view


def become(tensor: Tensor, view: View) -> Tensor:
    """Change the shape, strides and offset of a tensor in its storage, in place.

    Raises:
        KernelError: the view would leave the storage.
    """
    if type(getattr(tensor, "array", None)) is SymbolicArray:
        raise NotLoweredError("a tensor that gets another shape")
    shown = make_view(tensor, *view)
    if tensor.is_cpu and tensor._base is None and not hasattr(tensor, "_memory"):
        tensor._memory = tensor.array
    tensor.array = shown.array
    tensor.geometry = tensor.geometry.replace(shape=view.shape, strides=view.strides)
    return tensor


def take_memory(tensor: Tensor, source: Tensor) -> Tensor:
    """Make a tensor use the memory, shape and strides of another one, in place; its autograd attributes stay."""
    if any(type(getattr(operand, "array", None)) is SymbolicArray for operand in (tensor, source)):
        raise NotLoweredError("a tensor that gets other memory")
    form, geometry = tensor.geometry, source.geometry
    if geometry.device.type == "cpu" and tensor._base is None:
        tensor._memory = values.memory_of(storage_root(source))
    if hasattr(source, "array"):
        tensor.array = source.array
    marks = {text: getattr(form, text) for text in _KEPT}
    tensor.geometry = geometry.replace(**marks)
    return tensor


def view_geometry(form: TensorMeta, shape: Sizes, strides: Sizes, dtype: DType | None = None) -> TensorMeta:
    """Return the geometry of a view: like that of the viewed tensor, but without ``requires_grad``."""
    creation = Creation.DEFAULT if form.creation.is_apart else form.creation
    return form.replace(dtype=dtype, shape=shape, strides=strides, is_view=True, creation=creation, requires_grad=False)


def view_array(
    array: _Array, shape: Sizes, strides: Sizes, offset: int, dtype: numpy.dtype[Any], root: Tensor | None = None
) -> _Array:
    """Return an array over the memory of another one.

    Args:
        array: the array from whose first element the offset counts.
        shape: the shape of the result.
        strides, offset: in bytes; the offset may be negative.
        dtype: the dtype of the result.
        root: the tensor that owns the memory, for a view that extends beyond ``array``.

    Raises:
        KernelError: the result would leave the memory of ``root``.
    """
    # NumPy treats the buffer of an array without elements as a few bytes.
    if offset >= 0 and array.size and array.flags.c_contiguous:
        try:
            return numpy.ndarray(shape, dtype, array, offset, strides)
        except (ValueError, TypeError):
            # The view exceeds this array, but perhaps not the root; or it has no elements, for which NumPy is stricter.
            pass
    address = array.__array_interface__["data"][0] + offset
    _require_inside(address, shape, strides, dtype.itemsize, memory_around(array, root))
    return numpy.asarray(_Interface(array, address, shape, strides, dtype))


def memory_around(array: _Array, root: Tensor | None) -> _Array:
    """Return the array whose memory a view of ``array`` must not leave: that of ``root`` if it contains ``array``."""
    if root is None:
        return array
    # read first: during lowering, a symbolic array raises NotLoweredError here
    address = array.__array_interface__["data"][0]
    memory = values.memory_of(root)
    begin = memory.__array_interface__["data"][0]
    return memory if begin <= address <= begin + values.extent(memory) else values.owner_of(array)


def _require_inside(address: int, shape: Sizes, strides: Sizes, itemsize: int, memory: _Array) -> None:
    if 0 in shape:
        return
    begin = memory.__array_interface__["data"][0]
    size = values.extent(memory)
    last = address + required_storage(shape, strides) - 1 + itemsize
    if address < begin or last > begin + size:
        raise KernelError(
            f"a view of shape {shape} and strides {strides} (bytes) at byte {address - begin} leaves its storage of "
            f"{size} bytes"
        )


class _Interface:
    """Description of memory for NumPy, by address; it keeps the owner of the memory alive."""

    __slots__ = ("__array_interface__", "_owner")

    def __init__(self, owner: _Array, address: int, shape: Sizes, strides: Sizes, dtype: numpy.dtype[Any]) -> None:
        self._owner = owner
        self.__array_interface__ = {
            "data": (address, not owner.flags.writeable),
            "shape": shape,
            "strides": strides,
            "typestr": dtype.str,
            "version": 3,
        }
