"""Pools of free device memory, for streams and for captures on them.

Small blocks are never split or merged: there is a list of free ones for each size. For large blocks there are lists of
those that were freed last, since the same sizes come again; if none of a size is in its list, all of them go to a
``Heap``, where they are merged and split.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from opdsl.backends.cuda.driver import Driver, installed
from opdsl.backends.cuda.finalization import Queue, finalize_last
from opdsl.backends.cuda.heap import Heap
from opdsl.backends.cuda.machine.blocks import LARGEST_SMALL

__all__ = ["CapturePool", "Counter", "Pool", "Reserved", "forget", "reserved_on"]


class Counter:
    """Counter with its current value, its peak, and the total of its increases."""

    __slots__ = ("current", "peak", "total")

    def __init__(self) -> None:
        self.current = self.peak = self.total = 0

    def move(self, amount: int) -> None:
        """Add an amount to the counter, negative for a decrease."""
        self.current += amount
        self.total += max(amount, 0)
        self.peak = max(self.peak, self.current)


class Reserved(NamedTuple):
    """Counters of memory that the driver has allocated: bytes and numbers of small, large and all segments."""

    small_bytes: Counter
    large_bytes: Counter
    bytes: Counter
    small: Counter
    large: Counter
    segments: Counter

    def move(self, size: int, sign: int) -> None:
        """Count a segment that the driver allocates (sign 1) or frees (sign -1)."""
        is_small = size <= LARGEST_SMALL
        with _counting:
            for counter in (self.bytes, self.small_bytes if is_small else self.large_bytes):
                counter.move(sign * size)
            for counter in (self.segments, self.small if is_small else self.large):
                counter.move(sign)


_counting = threading.RLock()
_reserved: dict[int, Reserved] = {}


def reserved_on(index: int) -> Reserved:
    """Return the counters of the memory that is reserved on a device."""
    known = _reserved.get(index)
    return known if known is not None else _reserved.setdefault(index, Reserved(*(Counter() for _ in range(6))))


def forget() -> None:
    """Drop all counters, before tests replace the driver."""
    _reserved.clear()


class Pool(dict[int, list[int]]):
    """Addresses of free memory by size, which work queued on one stream may use at once.

    Args:
        index: index of the device.
    """

    __slots__ = ("__weakref__", "_heap", "_is_busy", "_lock", "_reserved")

    def __init__(self, index: int) -> None:
        super().__init__()
        self._heap = Heap()
        # Reentrant: a finalizer or signal handler may run while the same thread holds the lock.
        self._lock = threading.RLock()
        self._is_busy = False
        self._reserved = reserved_on(index)

    @contextmanager
    def _merging(self) -> Iterator[Heap | None]:
        """Yield the heap, with all large free blocks merged into it; None if this thread is changing it already."""
        with self._lock:
            if self._is_busy:
                yield None
                return
            self._is_busy = True
            try:
                for size, waiting in tuple(self.items()):
                    if size > LARGEST_SMALL:
                        for address in _popped(waiting):
                            self._heap.give(address, size)
                yield self._heap
            finally:
                self._is_busy = False

    @property
    def bytes(self) -> int:
        """Return the number of free bytes."""
        return sum(size * len(waiting) for size, waiting in tuple(self.items())) + self._heap.free_bytes

    @property
    def split_bytes(self) -> int:
        """Return the number of free bytes in segments that are partly in use."""
        with self._merging() as heap:
            return heap.split_bytes if heap is not None else 0

    def put(self, address: int, size: int) -> None:
        """Add the memory of a block that has died."""
        self.setdefault(size, []).append(address)

    def take(self, size: int) -> int:
        """Return the address of ``size`` bytes of free memory, removed from the pool; 0 if no block is large enough."""
        try:
            return self[size].pop()
        except (KeyError, IndexError):
            if size <= LARGEST_SMALL:
                return 0
        with self._merging() as heap:
            return heap.take(size) if heap is not None else 0

    def split(self, address: int, whole: int, size: int) -> int:
        """Split a new segment: return the size of the block at its beginning, with the rest free; the whole size if it
        cannot be split now.
        """
        with self._merging() as heap:
            if heap is None:
                return whole
            heap.add(address, whole, size)
            return size

    def segments(self) -> list[tuple[int, int]]:
        """Remove the free memory that can be returned to the driver, and return its addresses and sizes."""
        with self._merging() as heap:
            large = heap.segments() if heap is not None else []
        lists = [(size, waiting) for size, waiting in tuple(self.items()) if size <= LARGEST_SMALL]
        small = [(address, size) for size, waiting in lists for address in _popped(waiting)]
        return [*small, *large]

    def give_to_driver(self, api: Driver, stream: int) -> int:
        """Return free memory to the driver, in the order of a stream; return the number of segments."""
        segments = self.segments()
        for address, size in segments:
            api.free(address, stream)
            self._reserved.move(size, -1)
        return len(segments)


def _popped(waiting: list[int]) -> Iterator[int]:
    """Pop addresses from a list until it is empty, while other threads may pop, too."""
    while True:
        try:
            address = waiting.pop()
        except IndexError:
            return
        yield address


class CapturePool(Pool):
    """Memory that a captured graph uses in each run; it is used for nothing else while the graph or one of its blocks
    lives.

    Args:
        stream: the stream that is captured.

    held: blocks that the capture uses but has not allocated, by address.
    """

    __slots__ = ("held", "stream")

    def __init__(self, stream: Queue) -> None:
        super().__init__(stream.index)
        self.stream = stream
        self.held: dict[int, Any] = {}

    def take_over(self, other: Pool) -> None:
        """Take the free memory of another pool of the same stream, except that of segments that are partly in use."""
        for address, size in other.segments():
            self.put(address, size)

    def __del__(self) -> None:
        if installed() is not None:
            finalize_last(1, self._release)

    def _release(self) -> None:
        """Return the memory to the driver; blocks that have died together with the pool are in it by now."""
        api = installed()
        if api is None or not self.bytes:
            return
        if self.stream.is_captured():
            finalize_last(0, self._release)
            return
        api.activate(self.stream.index)
        self.give_to_driver(api, self.stream.handle)
