"""Arrays in buffers of OpenCL devices."""

from __future__ import annotations

import itertools

from opdsl.backends.arrays import NOTHING, DeviceArray, over
from opdsl.backends.opencl.devices import Opened, library, opened
from opdsl.errors import OutOfMemoryError
from opdsl.runtime.dtype import DType
from opdsl.runtime.views import required_storage

__all__ = ["Block", "new_array", "offset"]

_ALIGNMENT = 1 << 12
_bases = itertools.count(1)


class Block:
    """A buffer, with an address that no other one has: OpenCL tells of none.

    buffer: pyopencl's. size: in bytes.
    """

    __slots__ = ("address", "buffer", "size")

    def __init__(self, device: Opened, size: int) -> None:
        try:
            self.buffer = device.pool.allocate(max(size, 16))
        except (library().MemoryError, library().LogicError) as error:  # what is too large is a wrong value
            device.pool.free_held()
            raise OutOfMemoryError(f"opencl:{device.index} has no {size} bytes ({error})") from error
        self.size = size
        self.address = (next(_bases) << 40) + _ALIGNMENT


def new_array(shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, index: int) -> DeviceArray:
    """An array whose elements have no defined value; strides in elements.

    Raises:
        OutOfMemoryError: the device has not so much memory.
    """
    size = required_storage(shape, strides) * dtype.itemsize
    block = Block(opened(index), size) if size else NOTHING
    return over(block, block.address, index, shape, tuple(stride * dtype.itemsize for stride in strides), dtype)


def offset(array: DeviceArray) -> int:
    """Bytes from the beginning of the buffer to the first element."""
    begin: int = array.address - array.block.address
    return begin
