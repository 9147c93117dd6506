"""Memory of OpenCL tensors, implementing the protocol ``opdsl.runtime.memory.Memory``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy

from opdsl.backends import arrays
from opdsl.backends.arrays import DeviceArray, copy_elements, elements, extent
from opdsl.backends.opencl.arrays import new_array, offset
from opdsl.backends.opencl.devices import index_of, library, opened

if TYPE_CHECKING:
    from opdsl.runtime.device import Device
    from opdsl.runtime.dtype import DType

NDArray = numpy.ndarray[Any, Any]

view, viewer, address = arrays.view, arrays.viewer, arrays.address


def empty(shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device) -> DeviceArray:
    """Return a new array with undefined elements.

    Raises:
        DeviceError: the device does not exist.
        OutOfMemoryError: the device has not enough memory.
    """
    return new_array(shape, strides, dtype, index_of(device))


def copy(source: DeviceArray, target: DeviceArray) -> None:
    """Copy an array into another one of the same shape and dtype and any strides."""
    size = extent(source)
    has_gaps = size != math.prod(source.shape) * source.dtype.itemsize
    if source.strides != target.strides or source.index != target.index or has_gaps:
        copy_elements(source, target, "opencl")
    elif size:
        places = {"src_offset": offset(source), "dst_offset": offset(target)}
        queue = opened(target.index).queue
        library().enqueue_copy(queue, target.block.buffer, source.block.buffer, byte_count=size, **places)


def to_host(array: DeviceArray) -> NDArray:
    """Copy an array to a NumPy array with the same strides, waiting until that is done."""
    size = extent(array)
    memory = numpy.empty(size, numpy.uint8)
    if size:
        queue = opened(array.index).queue
        library().enqueue_copy(queue, memory, array.block.buffer, src_offset=offset(array), is_blocking=True)
    return numpy.ndarray(array.shape, array.dtype.numpy, memory, 0, array.strides)


def from_host(array: NDArray, device: Device, dtype: DType) -> DeviceArray:
    """Copy a NumPy array without gaps to a device, with the same strides."""
    device_array = empty(array.shape, elements(array), dtype, device)
    size = extent(array)
    if size:
        memory = numpy.lib.stride_tricks.as_strided(array.view(), (size // array.itemsize,), (array.itemsize,))
        library().enqueue_copy(opened(device_array.index).queue, device_array.block.buffer, memory, is_blocking=True)
    return device_array


def current_index() -> int:
    """Return the index of the device that a device without an index denotes: 0."""
    return 0


def current_stream(device: Device) -> int:
    """Return the handle of the device's queue."""
    handle: int = opened(index_of(device)).queue.int_ptr
    return handle


def synchronize(device: Device) -> None:
    """Wait until all work queued on a device is done."""
    opened(index_of(device)).queue.finish()
