"""Free memory of streams, and of what is captured on them.

Small blocks stay what they are: of each size there is a list of those that are free. Lists of large blocks are what has
been freed last, since the same sizes come again; where none of a size waits, all of them go to a ``Heap``, where they
merge and are split.
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
    """Counter with its current value, its peak, and totals."""

    __slots__ = ("current", "peak", "total")

    def __init__(self) -> None:
        self.current = self.peak = self.total = 0

    def move(self, amount: int) -> None:
        """Count something that comes, or goes where the amount is negative."""
        self.current += amount
        self.total += max(amount, 0)
        self.peak = max(self.peak, self.current)


class Reserved(NamedTuple):
    """Memory that the driver has handed out: small and large segments, their bytes and numbers."""

    small_bytes: Counter
    large_bytes: Counter
    bytes: Counter
    small: Counter
    large: Counter
    segments: Counter

    def move(self, size: int, sign: int) -> None:
        """Count a segment that the driver hands out (1) or takes back (-1)."""
        is_small = size <= LARGEST_SMALL
        with _counting:
            for counter in (self.bytes, self.small_bytes if is_small else self.large_bytes):
                counter.move(sign * size)
            for counter in (self.segments, self.small if is_small else self.large):
                counter.move(sign)


_counting = threading.RLock()
_reserved: dict[int, Reserved] = {}


def reserved_on(index: int) -> Reserved:
    """Counters of memory that is reserved on a device."""
    known = _reserved.get(index)
    return known if known is not None else _reserved.setdefault(index, Reserved(*(Counter() for _ in range(6))))


def forget() -> None:
    """Drop all counters: another driver takes over, in tests."""
    _reserved.clear()


class Pool(dict[int, list[int]]):
    """Addresses of free memory by size, which what is queued on one stream may use at once.

    Args:
        index: of the device.
    """

    __slots__ = ("__weakref__", "_heap", "_is_busy", "_lock", "_reserved")

    def __init__(self, index: int) -> None:
        super().__init__()
        self._heap = Heap()
        # A finalizer, or a signal, may come here while the same thread is in the middle of something.
        self._lock = threading.RLock()
        self._is_busy = False
        self._reserved = reserved_on(index)

    @contextmanager
    def _merging(self) -> Iterator[Heap | None]:
        """The heap, with all that is free in it; None where this thread is changing it already."""
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
        """How much there is."""
        return sum(size * len(waiting) for size, waiting in tuple(self.items())) + self._heap.free_bytes

    @property
    def split_bytes(self) -> int:
        """Free bytes of segments that are not free as a whole."""
        with self._merging() as heap:
            return heap.split_bytes if heap is not None else 0

    def put(self, address: int, size: int) -> None:
        """Keep the memory of a block that has died."""
        self.setdefault(size, []).append(address)

    def take(self, size: int) -> int:
        """Return the address of free memory, 0 where there is none."""
        try:
            return self[size].pop()
        except (KeyError, IndexError):
            if size <= LARGEST_SMALL:
                return 0
        with self._merging() as heap:
            return heap.take(size) if heap is not None else 0

    def split(self, address: int, whole: int, size: int) -> int:
        """Take memory from the beginning of a new segment; returns how much has been taken, all of it if need be."""
        with self._merging() as heap:
            if heap is None:
                return whole
            heap.add(address, whole, size)
            return size

    def segments(self) -> list[tuple[int, int]]:
        """Remove what the driver can have back, and return addresses and sizes."""
        with self._merging() as heap:
            large = heap.segments() if heap is not None else []
        lists = [(size, waiting) for size, waiting in tuple(self.items()) if size <= LARGEST_SMALL]
        small = [(address, size) for size, waiting in lists for address in _popped(waiting)]
        return [*small, *large]

    def give_to_driver(self, api: Driver, stream: int) -> int:
        """Give all that is free back, in the order of a stream; returns how many segments."""
        segments = self.segments()
        for address, size in segments:
            api.free(address, stream)
            self._reserved.move(size, -1)
        return len(segments)


def _popped(waiting: list[int]) -> Iterator[int]:
    """Addresses as they are taken from a list, from which other threads take, too."""
    while True:
        try:
            address = waiting.pop()
        except IndexError:
            return
        yield address


class CapturePool(Pool):
    """Memory that a captured graph uses in each run: nobody else gets it while the graph, or a block of it, is there.

    Args:
        stream: which is captured.

    held: blocks from outside that are captured, by address.
    """

    __slots__ = ("held", "stream")

    def __init__(self, stream: Queue) -> None:
        super().__init__(stream.index)
        self.stream = stream
        self.held: dict[int, Any] = {}

    def take_over(self, other: Pool) -> None:
        """Take the free memory of another pool of the same stream, but for segments that are in use in part."""
        for address, size in other.segments():
            self.put(address, size)

    def __del__(self) -> None:
        if installed() is not None:
            finalize_last(1, self._release)

    def _release(self) -> None:
        """Give the memory back; blocks that have died together with the pool have put theirs here by now."""
        api = installed()
        if api is None or not self.bytes:
            return
        if self.stream.is_captured():
            finalize_last(0, self._release)
            return
        api.activate(self.stream.index)
        self.give_to_driver(api, self.stream.handle)
