"""Memory of the devices: blocks that come from the driver in the order of streams, and are kept when they are free.

A block belongs to the stream that it was taken for. When its last array dies it waits in that stream's list of free
blocks, and what is queued there later may have it at once: it comes after everything that used the block before. Where
other streams have used it too, its own stream waits for them first. ``order`` is told of each use by another stream; it
also makes that stream wait for what it reads, or overwrites.
"""

from __future__ import annotations

import threading
import weakref
from contextlib import suppress
from typing import NamedTuple

from opdsl.backends.cuda.driver import driver
from opdsl.backends.cuda.streams import ENDED, Stream, default_stream
from opdsl.errors import OutOfMemoryError

__all__ = ["Block", "MemoryStatistics", "cache_of", "order", "rounded"]

_SMALLEST_STEP = 512


class Uses:
    """Which streams have used a block: the last one that wrote it, and those that have read it since."""

    __slots__ = ("readers", "writer")

    def __init__(self, writer: Stream) -> None:
        self.writer = writer
        self.readers: set[Stream] = set()


class Block:
    """Memory of a device.

    address: of its first byte, 0 where there is none.
    size: bytes.
    owner: the stream that it was taken for.
    stream: the only one that has used it; None once there are several, which ``uses`` tells then.
    cache: where it goes when it dies; None for memory that belongs to another library.
    keep: what holds that memory.
    """

    __slots__ = ("__weakref__", "address", "cache", "keep", "owner", "size", "stream", "uses")

    address: int
    size: int
    owner: Stream
    stream: Stream | None
    uses: Uses | None
    cache: Cache | None
    keep: object

    def __init__(self, address: int, size: int, owner: Stream, cache: Cache | None, keep: object = None) -> None:
        self.address = address
        self.size = size
        self.owner = owner
        self.stream = owner
        self.uses = None
        self.cache = cache
        self.keep = keep

    def __del__(self, ended: list[bool] = ENDED) -> None:
        if ended:
            return
        if self.uses is not None:
            for stream in (self.uses.writer, *self.uses.readers):
                self.owner.wait_stream(stream)
        if self.cache is not None:
            self.cache.put_back(self)


def order(block: Block, stream: Stream, writes: bool) -> None:
    """Queue what has to come before a stream uses a block; called where the block's only stream is another one.

    Args:
        block: of an array that is read or written next.
        stream: where that is queued.
        writes: whether it is written.
    """
    if not block.size:
        return
    if stream.held is not None:
        # A graph runs later, and again: it keeps what it uses, and waits for it each time that it is started.
        stream.held[block.address] = block
        return
    uses = block.uses
    if uses is None:
        assert block.stream is not None, "a block without a list of its uses has been used by one stream"
        uses = block.uses = Uses(block.stream)
        block.stream = None
    if writes:
        for other in (uses.writer, *uses.readers):
            stream.wait_stream(other)
        uses.writer = stream
        uses.readers.clear()
    elif uses.writer is not stream and stream not in uses.readers:
        stream.wait_stream(uses.writer)
        uses.readers.add(stream)


def rounded(size: int) -> int:
    """The size of the block for so many bytes: eight to each power of two, so that at most an eighth is wasted.

    >>> rounded(1), rounded(513), rounded(1 << 20), rounded((1 << 20) + 1)
    (512, 1024, 1048576, 1179648)
    """
    step = max(_SMALLEST_STEP, 1 << max(size.bit_length() - 4, 0))
    return -(-size // step) * step


class MemoryStatistics(NamedTuple):
    """What a device's memory is used for.

    in_use: bytes of blocks that arrays hold; peak: the most that there has been of it.
    cached: bytes of blocks that wait for the next array.
    allocations: blocks handed out; hits: those of them that had been waiting.
    """

    in_use: int
    peak: int
    cached: int
    allocations: int
    hits: int


class Cache:
    """The memory of one device.

    Args:
        index: of the device.
    """

    def __init__(self, index: int) -> None:
        self.index = index
        # A block may die wherever the garbage collector runs: the same thread enters again.
        self._lock = threading.RLock()
        self._streams: weakref.WeakSet[Stream] = weakref.WeakSet()
        self._in_use = 0
        self._peak = 0
        self._allocations = 0
        self._hits = 0

    def take(self, size: int, stream: Stream) -> Block:
        """A block of a rounded size, which may be used on a stream at once.

        Raises:
            OutOfMemoryError: the device has not so much.
        """
        # No lock: what is done to a list, or to a dict, is done at once. Counters may miss one where threads meet.
        try:
            address = stream.free[size].pop()
            self._hits += 1
        except (KeyError, IndexError):
            address = self._new(size, stream)
        self._allocations += 1
        in_use = self._in_use = self._in_use + size
        if in_use > self._peak:
            self._peak = in_use
        return Block(address, size, stream, self)

    def put_back(self, block: Block) -> None:
        """Keep the memory of a block that dies."""
        free, size = block.owner.free, block.size
        waiting = free.get(size)
        if waiting is None:
            waiting = free.setdefault(size, [])
        waiting.append(block.address)
        self._in_use -= size

    def empty(self) -> None:
        """Give everything that waits back to the driver."""
        api = driver()
        with self._lock:
            api.activate(self.index)
            for stream in tuple(self._streams):
                if stream.held is None:
                    for waiting in tuple(stream.free.values()):
                        for _ in range(len(waiting)):
                            with suppress(IndexError):  # another thread takes from the same list
                                api.free(waiting.pop(), stream.handle)

    def statistics(self) -> MemoryStatistics:
        """What the memory is used for."""
        with self._lock:
            cached = sum(size * len(each) for stream in self._streams for size, each in stream.free.items())
            return MemoryStatistics(self._in_use, self._peak, cached, self._allocations, self._hits)

    def reset_peak(self) -> None:
        """Count the peak from here on."""
        with self._lock:
            self._peak = self._in_use

    def _new(self, size: int, stream: Stream) -> int:
        api = driver()
        api.activate(self.index)
        self._streams.add(stream)
        # To allocate on a stream that is captured would become a part of the graph.
        place = stream if stream.held is None else default_stream(self.index)
        try:
            return api.allocate(size, place.handle)
        except OutOfMemoryError:
            self.empty()
            api.synchronize_stream(place.handle)
        try:
            return api.allocate(size, place.handle)
        except OutOfMemoryError as error:
            free, total = api.memory_info()
            raise OutOfMemoryError(
                f"CUDA out of memory on cuda:{self.index}: {_size(size)} were asked for, {_size(free)} of "
                f"{_size(total)} are free, {_size(self._in_use)} are held by tensors of opdsl. Drop tensors, or "
                "compute in smaller parts."
            ) from error


def _size(count: int) -> str:
    return f"{count / (1 << 20):.1f} MiB"


_caches: dict[int, Cache] = {}


def cache_of(index: int) -> Cache:
    """The memory of the device of an index, which is there."""
    found = _caches.get(index)
    return found if found is not None else _caches.setdefault(index, Cache(index))


def forget() -> None:
    """Drop all caches: another driver takes over, in tests."""
    _caches.clear()
