"""What the array of a CUDA tensor is: a block of memory, and where in it the elements lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opdsl.backends.cuda.allocator import NOTHING, Block, cache_of, order, rounded
from opdsl.backends.cuda.driver import driver
from opdsl.backends.cuda.streams import Stream, stream_of
from opdsl.errors import KernelError
from opdsl.runtime.dtype import DType
from opdsl.runtime.views import required_storage

__all__ = ["DeviceArray", "extent", "maker", "over", "used_by", "view"]


class DeviceArray:
    """Elements in the memory of a device.

    There is no ``__init__``: whoever makes one, plans among them, sets everything.

    block: the memory; ``NOTHING`` where there are no elements.
    address: of the first element, 0 where there is none.
    index: of the device.
    shape: sizes.
    strides: in bytes.
    dtype: of the elements.
    """

    __slots__ = ("address", "block", "dtype", "index", "shape", "strides")

    address: int
    block: Any
    dtype: DType
    index: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __repr__(self) -> str:
        place = f"cuda:{self.index}, {self.address:#x}"
        return f"DeviceArray({self.dtype.name}, {self.shape}, strides={self.strides}, {place})"


def over(
    block: Any, address: int, index: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType
) -> DeviceArray:
    """An array of given memory; strides in bytes."""
    made = DeviceArray()
    made.block = block
    made.address = address
    made.index = index
    made.shape = shape
    made.strides = strides
    made.dtype = dtype
    return made


def maker(shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType) -> Callable[[int, Stream], DeviceArray]:
    """Makes arrays whose elements have no defined value.

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
        made = DeviceArray()
        made.block = block = cache_of(index).take(whole, stream)
        made.address = block.address
        made.index = index
        made.shape = shape
        made.strides = steps
        made.dtype = dtype
        return made

    return make


def view(
    array: DeviceArray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: DType
) -> DeviceArray:
    """Another array over the same memory.

    Args:
        array: whose block is shared.
        shape: of the result.
        strides, offset: in elements of ``dtype``; the offset counts from the first element of ``array``.
        dtype: what the bytes are taken for.

    Raises:
        KernelError: it would leave the block.
    """
    steps = tuple(stride * dtype.itemsize for stride in strides)
    size = required_storage(shape, strides) * dtype.itemsize
    if size == 0:
        return over(NOTHING, 0, array.index, shape, steps, dtype)
    address, block = array.address + offset * dtype.itemsize, array.block
    if address < block.address or address + size > block.address + block.size:
        raise KernelError(
            f"a view of shape {shape} and strides {strides} at byte {address - block.address} leaves its storage of "
            f"{block.size} bytes"
        )
    return over(block, address, array.index, shape, steps, dtype)


def extent(array: Any) -> int:
    """Bytes from the first element to behind the last one; of NumPy's arrays too."""
    itemsize: int = array.dtype.itemsize
    return required_storage(array.shape, array.strides) - 1 + itemsize if 0 not in array.shape else 0


def used_by(array: DeviceArray, stream: Stream, *, writes: bool) -> int:
    """Let a stream wait for what has to come before it uses an array, and activate the device.

    Returns:
        The address of the first element.
    """
    driver().activate(stream.index)
    block: Block = array.block
    if block.stream is not stream:
        order(block, stream, writes)
    return array.address


def stream_for(array: DeviceArray) -> Stream:
    """The stream that work on an array is queued on."""
    return stream_of(array.index)
