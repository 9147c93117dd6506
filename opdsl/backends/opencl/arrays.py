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
    """Memory buffer with an invented address that is unique in the process, since OpenCL has no addresses for buffers.

    buffer: pyopencl's. size: in bytes.
    """

    __slots__ = ("address", "buffer", "size")

    def __init__(self, device: Opened, size: int) -> None:
        try:
            self.buffer = device.pool.allocate(max(size, 16))
        except (library().MemoryError, library().LogicError) as error:  # LogicError if it is too large
            device.pool.free_held()
            raise OutOfMemoryError(f"opencl:{device.index} has no {size} bytes ({error})") from error
        self.size = size
        self.address = (next(_bases) << 40) + _ALIGNMENT


def new_array(shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, index: int) -> DeviceArray:
    """Return an array with undefined elements; strides are in elements.

    Raises:
        OutOfMemoryError: the device has not enough memory.
    """
    size = required_storage(shape, strides) * dtype.itemsize
    block = Block(opened(index), size) if size else NOTHING
    return over(block, block.address, index, shape, tuple(stride * dtype.itemsize for stride in strides), dtype)


def offset(array: DeviceArray) -> int:
    """Return the number of bytes from the beginning of an array's buffer to its first element."""
    begin: int = array.address - array.block.address
    return begin
