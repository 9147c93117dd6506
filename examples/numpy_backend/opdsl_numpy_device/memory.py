"""Memory of the device: the functions that ``opdsl.runtime.memory.Memory`` requires of every backend.

Strides and offsets count elements. An array is a view of one block of bytes, as it would be on a real device, and the
host gets copies only.
"""

from __future__ import annotations

from typing import Any

import numpy

from opdsl.runtime import Device, DType

Array = numpy.ndarray[Any, Any]


def empty(shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device) -> Array:
    """Allocate a new array with uninitialized elements."""
    last = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    count = 0 if 0 in shape else last + 1
    block = numpy.empty(count * dtype.itemsize, numpy.uint8)
    return numpy.ndarray(shape, dtype.numpy, block, 0, _in_bytes(strides, dtype))


def view(array: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: DType) -> Array:
    """Return another array over the same block of bytes; ``offset`` counts from the first element of ``array``."""
    block = array.base
    assert isinstance(block, numpy.ndarray), "every array of this device lies in a block"
    begin = address(array) - address(block) + offset * dtype.itemsize
    return numpy.ndarray(shape, dtype.numpy, block, begin, _in_bytes(strides, dtype))


def address(array: Array) -> int:
    """Return the address of the first element."""
    first: int = array.__array_interface__["data"][0]
    return first


def copy(source: Array, target: Array) -> None:
    """Copy the elements of an array to another one of the same shape and dtype."""
    target[...] = source


def to_host(array: Array) -> Array:
    """Copy the elements to memory of the host."""
    return array.copy()


def from_host(array: Array, device: Device, dtype: DType) -> Array:
    """Copy an array of the host, whose elements are in row-major order, to a new array of the device."""
    tensor: Array = numpy.ndarray(array.shape, array.dtype, numpy.empty(array.nbytes, numpy.uint8))
    tensor[...] = array
    return tensor


def _in_bytes(strides: tuple[int, ...], dtype: DType) -> tuple[int, ...]:
    return tuple(stride * dtype.itemsize for stride in strides)
