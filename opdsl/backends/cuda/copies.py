"""Copies of arrays: within a device, between devices, and between a device and the host."""

from __future__ import annotations

import math
from typing import Any

import numpy

from opdsl.backends.arrays import DeviceArray, copy_elements, extent
from opdsl.backends.cuda import host
from opdsl.backends.cuda.arrays import maker, stream_for, used_by
from opdsl.backends.cuda.driver import driver
from opdsl.runtime.strides import contiguous_strides

__all__ = ["contiguous", "copy", "to_host", "transfer"]

# Up to this many bytes of gaps are copied along with the elements, which is faster than a kernel that skips them.
_SMALL_GAPS = 1 << 16

NDArray = numpy.ndarray[Any, Any]


def copy(source: DeviceArray, target: DeviceArray) -> None:
    """Copy an array into another one of the same shape and dtype and any strides."""
    if source.index == target.index and source.strides != target.strides:
        copy_elements(source, target, "cuda")
        return
    transfer(source, target, non_blocking=True)


def contiguous(array: DeviceArray, *, fill: bool = True) -> DeviceArray:
    """Return a new contiguous array of the same shape and dtype, with copied elements if ``fill`` is true, else
    undefined.
    """
    device_array = maker(array.shape, contiguous_strides(array.shape), array.dtype)(array.index, stream_for(array))
    if fill:
        copy(array, device_array)
    return device_array


def to_host(array: DeviceArray) -> NDArray:
    """Return an array's elements in host memory, copied when this returns; strides are kept unless they leave large
    gaps.
    """
    size = extent(array)
    if size > math.prod(array.shape) * array.dtype.itemsize + _SMALL_GAPS:
        array = contiguous(array)
        size = extent(array)
    steps = array.strides
    staging: NDArray = numpy.ndarray(array.shape, array.dtype.numpy, numpy.empty(size, numpy.uint8), 0, steps)
    transfer(array, staging, non_blocking=False)
    return staging


def transfer(source: DeviceArray | NDArray, target: DeviceArray | NDArray, *, non_blocking: bool) -> None:
    """Copy the memory from an array's first to its last element, between devices or between a device and the host.

    Args:
        source, target: arrays of the same shape, dtype and strides; at least one is on a device.
        non_blocking: whether the copy may go on after this returns, on the current stream of the device. It does if the
            host's memory is page-locked.
    """
    size = extent(source)
    if size == 0:
        return
    api = driver()
    if isinstance(source, DeviceArray) and isinstance(target, DeviceArray):
        _between_devices(source, target, size)
        return
    leaves = isinstance(source, DeviceArray)
    on_device, on_host = (source, target) if leaves else (target, source)
    assert isinstance(on_device, DeviceArray) and isinstance(on_host, numpy.ndarray), "one of them is on a device"
    stream = stream_for(on_device)
    address, first = used_by(on_device, stream, writes=not leaves), on_host.__array_interface__["data"][0]
    api.copy(first if leaves else address, address if leaves else first, size, stream.handle)
    if non_blocking and host.is_pinned(on_host):
        host.note_use(on_host, stream)
    else:
        stream.synchronize()


def _between_devices(source: DeviceArray, target: DeviceArray, size: int) -> None:
    """Queue a copy on the current stream of the source's device; a stream that uses the target later waits for the
    copy.
    """
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
