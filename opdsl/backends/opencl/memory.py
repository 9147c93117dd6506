"""Memory of OpenCL tensors: see ``opdsl.runtime.memory.Memory``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy

from opdsl.backends.opencl import arrays
from opdsl.backends.opencl.arrays import BufferArray, extent, new_array
from opdsl.backends.opencl.devices import index_of, library, opened
from opdsl.runtime.device import Device

if TYPE_CHECKING:
    from opdsl.runtime.dtype import DType

NDArray = numpy.ndarray[Any, Any]

view = arrays.view


def empty(shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device) -> BufferArray:
    """A new array with undefined contents.

    Raises:
        DeviceError: the device is not there.
        OutOfMemoryError: it has not so much memory.
    """
    return new_array(shape, strides, dtype, index_of(device))


def address(array: BufferArray) -> int:
    """A number that stands for where the first element lies, 0 where there is none."""
    return array.block.base + array.offset if 0 not in array.shape else 0


def copy(source: BufferArray, target: BufferArray) -> None:
    """Copies into an array of the same shape and dtype, of any strides."""
    size = extent(source)
    has_gaps = size != math.prod(source.shape) * source.dtype.itemsize
    if source.strides == target.strides and source.index == target.index and not has_gaps:
        if size:
            _copied(target.index, target.block.buffer, source.block.buffer, target.offset, source.offset, size)
        return
    from opdsl.kernels.outputs import tensor_over
    from opdsl.kernels.primitives.copying import copy_elements
    from opdsl.runtime.geometry import geometry

    def tensor(array: BufferArray) -> Any:
        steps = tuple(step // array.dtype.itemsize for step in array.strides)
        return tensor_over(array, geometry(array.dtype, Device("opencl", array.index), array.shape, steps))

    copy_elements(tensor(target), tensor(source))


def _copied(index: int, target: Any, source: Any, to: int, begin: int, size: int) -> None:
    library().enqueue_copy(opened(index).queue, target, source, byte_count=size, src_offset=begin, dst_offset=to)


def to_host(array: BufferArray) -> NDArray:
    """The elements in the host's memory, with the same strides; it is there when this returns."""
    size = extent(array)
    memory = numpy.empty(size, numpy.uint8)
    if size:
        queue = opened(array.index).queue
        library().enqueue_copy(queue, memory, array.block.buffer, src_offset=array.offset, is_blocking=True)
    return numpy.ndarray(array.shape, array.dtype.numpy, memory, 0, array.strides)


def from_host(array: NDArray, device: Device, dtype: DType) -> BufferArray:
    """A copy of an array without gaps, in the same order."""
    made = empty(array.shape, tuple(step // array.itemsize for step in array.strides), dtype, device)
    size = extent(array)
    if size:
        memory = numpy.lib.stride_tricks.as_strided(array.view(), (size // array.itemsize,), (array.itemsize,))
        library().enqueue_copy(opened(made.index).queue, made.block.buffer, memory, is_blocking=True)
    return made


def current_index() -> int:
    """The number that a device without one stands for."""
    return 0


def current_stream(device: Device) -> int:
    """The handle of the device's queue."""
    handle: int = opened(index_of(device)).queue.int_ptr
    return handle


def synchronize(device: Device) -> None:
    """Waits until everything queued on ``device`` is done."""
    opened(index_of(device)).queue.finish()
