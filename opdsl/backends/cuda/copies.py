"""Copies between arrays of devices, and of the host."""

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

# Bytes between elements that are sooner copied with them than left out, which takes a kernel.
_SMALL_GAPS = 1 << 16

NDArray = numpy.ndarray[Any, Any]


def copy(source: DeviceArray, target: DeviceArray) -> None:
    """Copies into an array of the same shape and dtype, of any strides."""
    if source.index == target.index and source.strides != target.strides:
        copy_elements(source, target, "cuda")
        return
    transfer(source, target, non_blocking=True)


def contiguous(array: DeviceArray, *, fill: bool = True) -> DeviceArray:
    """A new contiguous array of the same shape and dtype; with the elements of the array if it is to be filled."""
    device_array = maker(array.shape, contiguous_strides(array.shape), array.dtype)(array.index, stream_for(array))
    if fill:
        copy(array, device_array)
    return device_array


def to_host(array: DeviceArray) -> NDArray:
    """The elements in the host's memory when this returns, with the same strides unless there are large gaps."""
    size = extent(array)
    if size > math.prod(array.shape) * array.dtype.itemsize + _SMALL_GAPS:
        array = contiguous(array)
        size = extent(array)
    steps = array.strides
    staging: NDArray = numpy.ndarray(array.shape, array.dtype.numpy, numpy.empty(size, numpy.uint8), 0, steps)
    transfer(array, staging, non_blocking=False)
    return staging


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
