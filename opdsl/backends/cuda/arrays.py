"""Arrays in CUDA memory: their allocation, and the stream order of their uses."""

from __future__ import annotations

from collections.abc import Callable

from opdsl.backends.arrays import NOTHING, DeviceArray, over
from opdsl.backends.cuda.allocator import Block, cache_of, order, rounded
from opdsl.backends.cuda.driver import driver
from opdsl.backends.cuda.streams import Stream, stream_of
from opdsl.runtime.dtype import DType
from opdsl.runtime.views import required_storage

__all__ = ["maker", "stream_for", "used_by"]


def maker(shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType) -> Callable[[int, Stream], DeviceArray]:
    """Return a function that allocates arrays of one shape, memory layout and dtype, with undefined elements.

    Args:
        shape: sizes.
        strides: in elements.
        dtype: of the elements.

    Returns:
        A function of the index of a device and the stream that uses the array first.
    """
    steps = tuple(stride * dtype.itemsize for stride in strides)
    size = required_storage(shape, strides) * dtype.itemsize
    if size == 0:
        return lambda index, stream: over(NOTHING, 0, index, shape, steps, dtype)
    whole = rounded(size)

    def make(index: int, stream: Stream) -> DeviceArray:
        device_array = DeviceArray()
        device_array.block = block = cache_of(index).take(whole, stream)
        device_array.address = block.address
        device_array.index = index
        device_array.shape = shape
        device_array.strides = steps
        device_array.dtype = dtype
        return device_array

    return make


def used_by(array: DeviceArray, stream: Stream, *, writes: bool) -> int:
    """Make a stream wait for earlier uses of an array by other streams, and activate the stream's device.

    Args:
        array: read or written next.
        stream: the stream on which that is queued.
        writes: whether the array is written.

    Returns:
        The address of the first element.
    """
    driver().activate(stream.index)
    block: Block = array.block
    if block.stream is not stream:
        order(block, stream, writes)
    return array.address


def stream_for(array: DeviceArray) -> Stream:
    """Return the stream on which work on an array is queued: the current stream of its device."""
    return stream_of(array.index)
