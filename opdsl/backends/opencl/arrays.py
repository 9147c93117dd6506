"""What the array of an OpenCL tensor is: a buffer, and where in it the elements lie."""

from __future__ import annotations

import itertools
from typing import Any

import numpy

from opdsl.backends.opencl.devices import Opened, library, opened
from opdsl.errors import KernelError, OutOfMemoryError
from opdsl.runtime.dtype import DType
from opdsl.runtime.views import required_storage

__all__ = ["Block", "BufferArray", "extent", "new_array", "view"]

NDArray = numpy.ndarray[Any, Any]

_ALIGNMENT = 1 << 12
_bases = itertools.count(1)


class Block:
    """A buffer, with an address that no other one has: OpenCL tells of none.

    buffer: pyopencl's. size: in bytes. base: the address.
    """

    __slots__ = ("base", "buffer", "size")

    def __init__(self, device: Opened, size: int) -> None:
        try:
            self.buffer = device.pool.allocate(max(size, 16))
        except (library().MemoryError, library().LogicError) as error:  # what is too large is a wrong value
            device.pool.free_held()
            raise OutOfMemoryError(f"opencl:{device.index} has no {size} bytes ({error})") from error
        self.size = size
        self.base = (next(_bases) << 40) + _ALIGNMENT


class BufferArray:
    """Elements in a buffer.

    block: the buffer. offset: of the first element, in bytes. index: of the device. shape: sizes. strides: in bytes.
    dtype: of the elements.
    """

    __slots__ = ("block", "dtype", "index", "offset", "shape", "strides")

    def __init__(
        self, block: Block, offset: int, index: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType
    ) -> None:
        self.block, self.offset, self.index = block, offset, index
        self.shape, self.strides, self.dtype = shape, strides, dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __repr__(self) -> str:
        return f"BufferArray({self.dtype.name}, {self.shape}, strides={self.strides}, opencl:{self.index})"


def new_array(shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, index: int) -> BufferArray:
    """An array whose elements have no defined value; strides in elements.

    Raises:
        OutOfMemoryError: the device has not so much memory.
    """
    size = required_storage(shape, strides) * dtype.itemsize
    steps = tuple(stride * dtype.itemsize for stride in strides)
    return BufferArray(Block(opened(index), size), 0, index, shape, steps, dtype)


def view(
    array: BufferArray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: DType
) -> BufferArray:
    """Another array over the same buffer.

    Args:
        array: whose buffer is shared.
        shape: of the result.
        strides, offset: in elements of ``dtype``; the offset counts from the first element of ``array``.
        dtype: what the bytes are taken for.

    Raises:
        KernelError: it would leave the buffer.
    """
    steps = tuple(stride * dtype.itemsize for stride in strides)
    size = required_storage(shape, strides) * dtype.itemsize
    begin = array.offset + offset * dtype.itemsize
    if size and (begin < 0 or begin + size > array.block.size):
        raise KernelError(
            f"a view of shape {shape} and strides {strides} at byte {begin} leaves its storage of "
            f"{array.block.size} bytes"
        )
    return BufferArray(array.block, begin if size else 0, array.index, shape, steps, dtype)


def extent(array: BufferArray | NDArray) -> int:
    """Bytes from the first element to behind the last one."""
    itemsize: int = array.dtype.itemsize
    return required_storage(array.shape, array.strides) - 1 + itemsize if 0 not in array.shape else 0
