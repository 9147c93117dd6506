"""Memory of CUDA tensors: see ``opdsl.runtime.memory.Memory``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy

from opdsl.backends.cuda import arrays, host
from opdsl.backends.cuda.allocator import order
from opdsl.backends.cuda.arrays import DeviceArray, extent, stream_for, used_by
from opdsl.backends.cuda.driver import driver
from opdsl.backends.cuda.interchange import array_interface, export_dlpack, take_array, take_dlpack
from opdsl.backends.cuda.streams import Stream, current_device, device, index_of, stream_of, synchronize
from opdsl.runtime.dtype import DType

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
    "is_pinned",
    "maker",
    "record_use",
    "synchronize",
    "take_array",
    "take_dlpack",
    "to_host",
    "transfer",
    "view",
]

NDArray = numpy.ndarray[Any, Any]

view = arrays.view
empty_pinned = host.empty
is_pinned = host.is_pinned


def empty(shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device) -> DeviceArray:
    """A new array with undefined contents, for the current stream of its device.

    Raises:
        DeviceError: the device is not there.
        OutOfMemoryError: it has not so much memory.
    """
    index = index_of(device)
    return arrays.maker(shape, strides, dtype)(index, stream_of(index))


def maker(shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device) -> Callable[[], DeviceArray]:
    """What ``empty`` does, as a function."""
    index = index_of(device)
    make = arrays.maker(shape, strides, dtype)
    return lambda: make(index, stream_of(index))


def address(array: DeviceArray) -> int:
    """The address of the first element, 0 where there is none."""
    return array.address


def copy(source: DeviceArray, target: DeviceArray) -> None:
    """Copies into an array of the same shape and dtype, of any strides."""
    if source.index == target.index and source.strides != target.strides:
        from opdsl.kernels.outputs import tensor_over
        from opdsl.kernels.primitives import copy_elements
        from opdsl.runtime.device import Device
        from opdsl.runtime.geometry import geometry

        def tensor(array: DeviceArray) -> Any:
            steps = tuple(step // array.dtype.itemsize for step in array.strides)
            return tensor_over(array, geometry(array.dtype, Device("cuda", array.index), array.shape, steps))

        copy_elements(tensor(target), tensor(source))
        return
    transfer(source, target, non_blocking=True)


def to_host(array: DeviceArray) -> NDArray:
    """The elements in the host's memory, with the same strides; it is there when this returns."""
    steps = array.strides
    size = extent(array)
    made: NDArray = numpy.ndarray(array.shape, array.dtype.numpy, numpy.empty(size, numpy.uint8), 0, steps)
    transfer(array, made, non_blocking=False)
    return made


def from_host(array: NDArray, device: Device) -> DeviceArray:
    """A copy of an array without gaps, in the same order."""
    from opdsl.runtime.dtype import bfloat16, to_dtype

    # NumPy's arrays of uint16 are bfloat16's bits here: there is no dtype uint16.
    dtype = bfloat16 if array.dtype == bfloat16.numpy else to_dtype(array.dtype)
    made = empty(array.shape, tuple(step // array.itemsize for step in array.strides), dtype, device)
    transfer(array, made, non_blocking=False)
    return made


def transfer(source: DeviceArray | NDArray, target: DeviceArray | NDArray, *, non_blocking: bool) -> None:
    """Copies the memory from the first to the last element, between devices or a device and the host.

    Args:
        source, target: of the same shape, dtype and strides; one of them at least is on a device.
        non_blocking: whether it may go on after this returns, on the current stream of the device. It does where the
            host's memory is page-locked.
    """
    size = extent(source)
    if size == 0:
        return
    api = driver()
    if isinstance(source, DeviceArray) and isinstance(target, DeviceArray):
        _between_devices(source, target, size)
        return
    on_device, on_host = (source, target) if isinstance(source, DeviceArray) else (target, source)
    assert isinstance(on_device, DeviceArray) and isinstance(on_host, numpy.ndarray), "one of them is on a device"
    stream = stream_for(on_device)
    place, first = used_by(on_device, stream, writes=on_device is target), on_host.__array_interface__["data"][0]
    api.copy(*((place, first) if on_device is target else (first, place)), size, stream.handle)
    if non_blocking and is_pinned(on_host):
        host.note_use(on_host, stream)
    else:
        stream.synchronize()


def _between_devices(source: DeviceArray, target: DeviceArray, size: int) -> None:
    """Queued on the current stream of the source's device; that of the target's waits for it when it is used."""
    stream = stream_for(source)
    api = driver()
    if source.index == target.index:
        used_by(target, stream, writes=True)
        api.copy(target.address, used_by(source, stream, writes=False), size, stream.handle)
        return
    api.activate(target.index)
    used_by(target, stream, writes=True)
    first = used_by(source, stream, writes=False)
    api.copy_peer(target.address, target.index, first, source.index, size, stream.handle)


def record_use(array: DeviceArray, stream: Stream) -> None:
    """Keeps an array's memory, when it is freed, until a stream has done what is queued on it then."""
    if array.block.stream is not stream:
        order(array.block, stream, writes=False)


def current_index() -> int:
    """The index that a device without one stands for."""
    return current_device()


def current_stream(device: Device) -> int:
    """The driver's number of the stream that kernels of the calling thread are queued on."""
    return stream_of(index_of(device)).handle


_NOTHING: AbstractContextManager[object] = nullcontext()
_same = device


def guard(device: Device) -> AbstractContextManager[object]:
    """Makes a device the current one while it is entered."""
    return _NOTHING if device.index in (None, current_device()) else _same(device)
