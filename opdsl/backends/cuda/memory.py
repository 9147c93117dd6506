"""Memory of CUDA tensors, implementing the protocol ``opdsl.runtime.memory.Memory``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy

from opdsl.backends import arrays as shared
from opdsl.backends.arrays import NOTHING, DeviceArray, over
from opdsl.backends.cuda import arrays, copies, host, reports
from opdsl.backends.cuda.allocator import order
from opdsl.backends.cuda.devices import current_device, device, index_of
from opdsl.backends.cuda.interchange import array_interface, export_dlpack, take_array, take_dlpack
from opdsl.backends.cuda.streams import Stream, stream_of, synchronize
from opdsl.runtime.dtype import DType, int64

if TYPE_CHECKING:
    from opdsl.runtime.device import Device

__all__ = [
    "address",
    "array_interface",
    "copy",
    "current_index",
    "current_stream",
    "empty",
    "empty_pinned",
    "export_dlpack",
    "from_host",
    "guard",
    "is_current",
    "is_pinned",
    "look_inside",
    "maker",
    "record_use",
    "report",
    "synchronize",
    "take_array",
    "take_dlpack",
    "to_host",
    "transfer",
    "view",
    "viewer",
]

NDArray = numpy.ndarray[Any, Any]

copy = copies.copy
to_host = copies.to_host
transfer = copies.transfer
view, viewer, address = shared.view, shared.viewer, shared.address
empty_pinned = host.empty
is_pinned = host.is_pinned


def empty(shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device) -> DeviceArray:
    """Return a new array with undefined elements, for use on the current stream of its device.

    Raises:
        DeviceError: the device does not exist.
        OutOfMemoryError: the device has not enough memory.
    """
    index = index_of(device)
    return arrays.maker(shape, strides, dtype)(index, stream_of(index))


def maker(shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device) -> Callable[[], DeviceArray]:
    """Return a function that allocates arrays as ``empty`` does."""
    index = index_of(device)
    make = arrays.maker(shape, strides, dtype)
    return lambda: make(index, stream_of(index))


def from_host(array: NDArray, device: Device, dtype: DType) -> DeviceArray:
    """Copy a NumPy array without gaps to a device, with the same strides."""
    device_array = empty(array.shape, shared.elements(array), dtype, device)
    transfer(array, device_array, non_blocking=False)
    return device_array


def record_use(array: DeviceArray, stream: Stream) -> None:
    """Record that a stream uses an array: its memory, once freed, is not reused before the work queued on the stream is
    done.
    """
    if array.block.stream is not stream:
        order(array.block, stream, writes=False)


def current_index() -> int:
    """Return the index of the device that a device without an index denotes."""
    return current_device()


def current_stream(device: Device) -> int:
    """Return the driver's handle of the stream on which kernels of the calling thread are queued."""
    return stream_of(index_of(device)).handle


def look_inside(kind: type[Exception], text: str, array: DeviceArray, least: int, size: int) -> None:
    """See ``positions.look_inside``."""
    from opdsl.backends.cuda import positions  # imported late, because it imports the launcher

    positions.look_inside(kind, text, array, least, size)


def report(kind: type[Exception], text: str, device: Device) -> tuple[DeviceArray, int]:
    """Return the array in which kernels report an error, in page-locked memory, and the number of the error."""
    return over(NOTHING, reports.record(), index_of(device), (reports.WORDS,), (8,), int64), reports.number_of(
        kind, text
    )


_NOTHING: AbstractContextManager[object] = nullcontext()
_same = device


def is_current(device: Device) -> bool:
    """Return whether a device is the current one, as recorded in the dispatcher's state."""
    return device.index == current_device()


def guard(device: Device) -> AbstractContextManager[object]:
    """Return a context manager that makes a device the current one."""
    return _NOTHING if device.index in (None, current_device()) else _same(device)
