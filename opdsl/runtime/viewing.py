"""Tensors that are views: how the array of one is made from the array of another, fast where a plan repeats it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from opdsl.errors import KernelError
from opdsl.runtime.device import backends
from opdsl.runtime.dtype import DType
from opdsl.runtime.geometry import Geometry
from opdsl.runtime.tensor import MetaArray, Tensor, storage_root
from opdsl.runtime.views import Sizes, View, required_storage

_Array = numpy.ndarray[Any, Any]


def storage_size(tensor: Tensor) -> int:
    """Bytes of the memory that the tensor and its views share."""
    root = storage_root(tensor).geometry
    return required_storage(root.shape, root.strides) * root.dtype.itemsize


def view_of(tensor: Tensor) -> View:
    """Where the elements of a tensor lie, to compute views from."""
    return View(tensor.geometry.shape, tensor.geometry.strides, tensor.storage_offset())


def make_view(
    tensor: Tensor, shape: Sizes, strides: Sizes, storage_offset: int | None = None, dtype: DType | None = None
) -> Tensor:
    """A tensor over the same memory.

    Args:
        tensor: whose memory is shared, a view or not.
        shape, strides: of the view, in its elements.
        storage_offset: elements of the view's dtype from the beginning of the storage; None begins where ``tensor``
            does.
        dtype: what the bytes are taken for; None for the tensor's own.

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


def _attach(tensor: Tensor, shape: Sizes, strides: Sizes, offset: int, dtype: DType) -> Tensor:
    """``offset`` counts bytes from the tensor's first element."""
    form = tensor.geometry
    made = Tensor()
    made.geometry = view_geometry(form, shape, strides, dtype)
    made._version = 0
    made._base = storage_root(tensor)
    if form.device.type == "cpu":
        steps = tuple(stride * dtype.itemsize for stride in strides)
        made.array = view_array(tensor.array, shape, steps, offset, dtype.numpy, made._base.array)
    elif form.device.type == "meta":
        before = tensor.storage_offset() * form.dtype.itemsize
        made.array = MetaArray((before + offset) // dtype.itemsize)
    else:
        memory = backends.memory(form.device)
        made.array = memory.view(tensor.array, shape, strides, offset // dtype.itemsize, dtype)
    return made


def view_geometry(form: Geometry, shape: Sizes, strides: Sizes, dtype: DType | None = None) -> Geometry:
    """The geometry of a view: a view that does not require gradients, otherwise like what is viewed."""
    return form.replace(dtype=dtype, shape=shape, strides=strides, is_view=True, requires_grad=False)


def view_array(
    array: _Array, shape: Sizes, strides: Sizes, offset: int, dtype: numpy.dtype[Any], root: _Array | None = None
) -> _Array:
    """An array over the memory of another one.

    Args:
        array: whose first element the offset counts from.
        shape: of the result.
        strides, offset: in bytes; the offset may be negative.
        dtype: of the result.
        root: the array that owns the memory, for a view that leaves ``array``.

    Raises:
        KernelError: the result would leave the memory of ``root``.
    """
    if offset >= 0 and array.flags.c_contiguous:
        try:
            return numpy.ndarray(shape, dtype, array, offset, strides)
        except (ValueError, TypeError):
            # Outside of this array, but perhaps inside of the root; or without elements, where NumPy is stricter.
            pass
    address = array.__array_interface__["data"][0] + offset
    _require_inside(address, shape, strides, dtype.itemsize, array if root is None else root)
    return numpy.asarray(_Interface(array, address, shape, strides, dtype))


def _require_inside(address: int, shape: Sizes, strides: Sizes, itemsize: int, root: _Array) -> None:
    if 0 in shape:
        return
    begin = root.__array_interface__["data"][0]
    end = begin + required_storage(root.shape, root.strides) - 1 + root.itemsize if root.size else begin
    last = address + required_storage(shape, strides) - 1 + itemsize
    if address < begin or last > end:
        raise KernelError(
            f"a view of shape {shape} and strides {strides} (bytes) at byte {address - begin} leaves its storage of "
            f"{end - begin} bytes"
        )


class _Interface:
    """Memory described to NumPy by address; keeps its owner alive."""

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


def view_plan(tensor: Tensor, view: View) -> Callable[[Tensor], Tensor]:
    """Makes the view of every CPU tensor that has the same geometry, as fast as NumPy can.

    Args:
        tensor: one such tensor.
        view: of it; for others the offset is counted from where they begin in their storage.

    Returns:
        A function from a tensor to the view of it.
    """
    viewed = array_viewer(tensor.array, view._replace(offset=view.offset - tensor.storage_offset()))
    form = view_geometry(tensor.geometry, view.shape, view.strides)
    of_a_view = tensor.geometry.is_view

    def take_view(source: Tensor) -> Tensor:
        made = Tensor()
        made.array = viewed(source.array)
        made.geometry = form
        made._version = 0
        made._base = source._base if of_a_view else source
        return made

    return take_view


def array_viewer(array: _Array, view: View) -> Callable[[_Array], _Array]:
    """The fastest way to repeat a view on every array of the same dtype, shape and strides.

    Args:
        array: one such array, to try the ways on.
        view: what the result shows, its offset counted from the array's first element.

    Returns:
        A function that takes such an array and returns the view of it.
    """
    itemsize = array.itemsize
    strides = tuple(stride * itemsize for stride in view.strides)
    for way in _ways(array, view):
        try:
            result = way(array)
        except (ValueError, TypeError, IndexError):
            continue
        if result.strides == strides and result.shape == view.shape and numpy.may_share_memory(result, array):
            return way
    offset, shape, dtype = view.offset * itemsize, view.shape, array.dtype
    if offset >= 0 and array.flags.c_contiguous and 0 not in shape:
        make = numpy.ndarray
        return lambda given: make(shape, dtype, given, offset, strides)
    return lambda given: view_array(given, shape, strides, offset, dtype)


def _ways(array: _Array, view: View) -> list[Callable[[_Array], _Array]]:
    if view.offset:
        return []
    shape = view.shape
    by_steps = {step: dim for dim, step in enumerate(zip(array.shape, array.strides, strict=True))}
    order = [
        by_steps.get((size, stride * array.itemsize), -1) for size, stride in zip(shape, view.strides, strict=True)
    ]
    ways: list[Callable[[_Array], _Array]] = [lambda given: given.view(), lambda given: given.T]
    if len(set(order)) == array.ndim and -1 not in order:
        ways.append(lambda given: given.transpose(order))
    ways.append(lambda given: given.reshape(shape))
    return ways
