"""Allocator of page-locked host memory, which a device reads and writes asynchronously.

Blocks are kept when their last array dies, and reused once all streams that read or write them asynchronously are done
with them.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy

from opdsl.backends.cuda.allocator import rounded
from opdsl.backends.cuda.driver import driver, installed
from opdsl.backends.cuda.finalization import drain, finalize
from opdsl.backends.cuda.streams import ENDED, Event, Stream
from opdsl.runtime.dtype import DType
from opdsl.runtime.views import required_storage

__all__ = ["empty", "empty_cache", "is_pinned", "note_use"]

NDArray: TypeAlias = numpy.ndarray[Any, Any]


class _Owner(ctypes.Array[ctypes.c_char]):
    """Buffer object that owns a memory block for the arrays over it, and returns the block when the last of
    them dies.
    """

    _length_ = 0
    _type_ = ctypes.c_char
    _streams: set[Stream] | None = None
    _return: Callable[[int, int, set[Stream]], None] | None = None

    def __del__(self, ended: list[bool] = ENDED) -> None:
        if not ended and self._return is not None:
            self._return(ctypes.addressof(self), len(self), self._streams or set())


@functools.cache
def _owner_type(size: int) -> type[_Owner]:
    return type("Owner", (_Owner,), {"_length_": size, "_type_": ctypes.c_char})


class _Waiting(NamedTuple):
    """Free block, and the events that have to be reached before it is reused."""

    address: int
    events: list[Event]


_lock = threading.RLock()
_free: dict[int, list[_Waiting]] = {}


def empty(shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType) -> NDArray:
    """Return a new, uninitialized array in page-locked memory; strides are in elements.

    Raises:
        DeviceError: there is no CUDA device.
    """
    size = required_storage(shape, strides) * dtype.itemsize
    whole = rounded(max(size, 1))
    api = driver()
    api.activate(0)
    drain()
    with _lock:
        waiting = _free.get(whole, [])
        done = next((block for block in waiting if all(event.query() for event in block.events)), None)
        if done is not None:
            waiting.remove(done)
    address = api.allocate_host(whole) if done is None else done.address
    owner = _owner_type(whole).from_address(address)
    owner._return = _put_back
    steps = tuple(stride * dtype.itemsize for stride in strides)
    return numpy.ndarray(shape, dtype.numpy, owner, 0, steps)  # type: ignore[arg-type]


def _put_back(address: int, size: int, streams: set[Stream]) -> None:
    def keep() -> bool:
        _free.setdefault(size, []).append(_Waiting(address, [stream.record_event() for stream in streams]))
        return True

    if installed() is not None:
        finalize(tuple(streams), keep)


def empty_cache() -> None:
    """Return the free blocks that no stream uses any more to the driver."""
    drain()
    with _lock:
        for size, waiting in tuple(_free.items()):
            done = [block for block in waiting if all(event.query() for event in block.events)]
            for block in done:
                waiting.remove(block)
                driver().free_host(block.address)
            if not waiting:
                del _free[size]


def _owner_of(array: NDArray) -> _Owner | None:
    base: object = array
    while isinstance(base, numpy.ndarray):
        base = getattr(base.base, "_owner", base.base)
    if isinstance(base, memoryview):
        base = base.obj
    return base if isinstance(base, _Owner) else None


def is_pinned(array: NDArray) -> bool:
    """Return whether an array is in page-locked memory of this allocator."""
    return _owner_of(array) is not None


def note_use(array: NDArray, stream: Stream) -> None:
    """Keep a page-locked array's memory from reuse until a stream has done the work that is queued on it now."""
    owner = _owner_of(array)
    if owner is not None:
        if owner._streams is None:
            owner._streams = set()
        owner._streams.add(stream)


def forget() -> None:
    """Drop the free blocks, before tests replace the driver."""
    with _lock:
        _free.clear()
