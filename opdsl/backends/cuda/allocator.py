"""Caching allocator of device memory: blocks come from the driver in stream order, and free blocks are kept for reuse.

A block belongs to the stream that it was allocated for. When its last array dies, the block joins that stream's list of
free blocks and can be reused at once by work queued there, which runs after everything that used the block before. If
other streams have used it too, its own stream first waits for them. ``order`` has to be called for each use by another
stream; it also makes that stream wait for the writes, or for all uses, that have to come before.

Captured work has separate memory, see ``pools``: a graph uses the same addresses in each run.
"""

from __future__ import annotations

import threading
import weakref
from functools import partial
from typing import Any

import numpy

from opdsl.backends.arrays import DeviceArray
from opdsl.backends.cuda import pools, reports
from opdsl.backends.cuda.draws import captured
from opdsl.backends.cuda.driver import driver
from opdsl.backends.cuda.finalization import drain, finalize, ordering, settle
from opdsl.backends.cuda.heap import segment_size
from opdsl.backends.cuda.machine.blocks import COUNTER_WORDS, LARGEST_SMALL, POOLS
from opdsl.backends.cuda.native import BlockFunctions, install
from opdsl.backends.cuda.pools import Pool, reserved_on
from opdsl.backends.cuda.streams import CURRENT, ENDED, NO_STREAMS, Event, Stream, defaults
from opdsl.errors import OutOfMemoryError
from opdsl.runtime.permanent import kept_forever

__all__ = ["Block", "block_functions", "cache_of", "order", "rounded"]

_SMALLEST_STEP = 512
_POOLS = ("all", "small_pool", "large_pool")


class Uses:
    """Streams that have used a block: the last one that wrote it, and those that have read it since."""

    __slots__ = ("readers", "writer")

    def __init__(self, writer: Stream) -> None:
        self.writer = writer
        self.readers: set[Stream] = set()


class Block:
    """Block of device memory.

    address: address of its first byte, 0 if it has no memory.
    size: size in bytes.
    owner: the stream that it was allocated for.
    stream: the only stream that has used it; None once there are several, which ``uses`` holds then.
    uses: the streams that have used it, None while there is only one.
    cache, pool: where its memory is returned to; None for memory that belongs to another library.
    keep: object that keeps another library's memory alive.
    """

    __slots__ = ("__weakref__", "address", "cache", "keep", "owner", "pool", "size", "stream", "uses")

    address: int
    size: int
    owner: Stream
    stream: Stream | None
    uses: Uses | None
    cache: Cache | None
    pool: Pool | None
    keep: object

    def __init__(
        self,
        address: int,
        size: int,
        owner: Stream,
        cache: Cache | None,
        pool: Pool | None,
        keep: object = None,
    ) -> None:
        self.address = address
        self.size = size
        self.owner = owner
        self.stream = owner
        self.uses = None
        self.cache = cache
        self.pool = pool
        self.keep = keep
        block_functions()  # the first call sets ``Block.__del__``


def finalize_block(block: Block) -> None:
    """Finish the destruction of a block that machine code does not handle: other streams or another library use its
    memory.
    """
    uses, cache = block.uses, block.cache
    if cache is not None and uses is None:
        assert block.pool is not None, "memory of a cache belongs to a pool"
        block.pool.put(block.address, block.size)
    elif cache is not None or block.keep is not None:
        users = (block.owner,) if uses is None else (block.owner, uses.writer, *uses.readers)
        finalize(users, partial(_put_back if cache is not None else _let_go, block, list(users)))


def _put_back(block: Block, users: list[Stream]) -> bool:
    """Return a block's memory to its pool after its owner stream waits for all streams that have used it;
    return True.
    """
    for stream in users:
        block.owner.wait_stream(stream)
    if not block_functions().put_back(block):
        assert block.pool is not None, "memory of a cache belongs to a pool"
        block.pool.put(block.address, block.size)
    return True


def _let_go(block: Block, users: list[Any]) -> bool:
    """Release another library's memory once all streams are done with it; return whether they are."""
    users[:] = [user if isinstance(user, Event) else user.record_event() for user in users]
    if not all(event.query() for event in users):
        return False
    block.keep = None
    return True


def order(block: Block, stream: Stream, writes: bool) -> None:
    """Make a stream wait for earlier uses of a block by other streams; called when the block's only stream is another
    one.

    Args:
        block: memory of an array that is read or written next.
        stream: the stream on which the read or write is queued.
        writes: whether it is written.
    """
    if not block.size:
        return
    capture = stream.captured()
    if capture is not None:
        # A graph runs later, and repeatedly: it keeps the blocks that it uses, and waits for their users before each
        # run.
        capture.held[block.address] = block
        return
    with ordering:
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
    """Round a size in bytes up to a block size: eight sizes for each power of two, so that at most an eighth is wasted.

    >>> rounded(1), rounded(513), rounded(1 << 20), rounded((1 << 20) + 1)
    (512, 1024, 1048576, 1179648)
    """
    step = max(_SMALLEST_STEP, 1 << max(size.bit_length() - 4, 0))
    return -(-size // step) * step


class Cache:
    """Caching allocator of one device.

    Args:
        index: index of the device.

    counters: statistics that machine code counts; see ``machine.blocks.count``.
    """

    __slots__ = (
        "_aside",
        "_failures",
        "_lock",
        "_pools",
        "_reserved",
        "_retries",
        "_streams",
        "_take",
        "counters",
        "index",
    )

    def __init__(self, index: int) -> None:
        self.index = index
        self.counters = numpy.zeros(COUNTER_WORDS * POOLS * 2, numpy.int64)
        self._take = block_functions().take
        self._reserved = reserved_on(index)
        # Reentrant: a block may be destroyed wherever the garbage collector runs, also while this thread holds the
        # lock.
        self._lock = threading.RLock()
        self._streams: weakref.WeakSet[Stream] = weakref.WeakSet()
        self._pools: weakref.WeakValueDictionary[int, Pool] = weakref.WeakValueDictionary()
        # The stream on which memory for captures is allocated; made when first needed.
        self._aside: Stream | None = None
        self._retries = self._failures = 0

    def take(self, size: int, stream: Stream) -> Block:
        """Return a block of a rounded size that may be used on a stream at once.

        Raises:
            OutOfMemoryError: the device has not enough memory.
        """
        waiting: Block | None = self._take(self, size, stream)
        return self._missed(size, stream) if waiting is None else waiting

    def _missed(self, size: int, stream: Stream) -> Block:
        """Return a block if the stream's pool has none of that size, or if another library may be capturing
        the stream.
        """
        pool = self.track(stream.memory())
        drain()  # queued finalizers return memory
        address = pool.take(size)
        if not address:
            address, whole = self._new(size, stream)
            if whole > size:
                size = pool.split(address, whole, size)
        pool.setdefault(size, [])
        block: Block = block_functions().new(self, size, stream, pool, address)
        return block

    def track(self, pool: Pool) -> Pool:
        """Include a pool in the statistics of cached memory, and return the pool."""
        self._pools[id(pool)] = pool
        return pool

    def empty(self) -> list[Stream]:
        """Return all free memory that no graph uses to the driver; return the streams that had any."""
        settle()
        with self._lock:
            driver().activate(self.index)
            return [stream for stream in tuple(self._streams) if stream.give_back()]

    def give_up(self) -> None:
        """Return free memory as ``empty`` does, and have the driver release it for other processes once queued work is
        done.
        """
        api, streams = driver(), self.empty()
        for stream in streams:
            api.synchronize_stream(stream.handle)
        if streams:
            api.trim(self.index)

    def statistics(self) -> dict[str, int]:
        """Return statistics of the device's memory; see ``opdsl.cuda.memory_stats``."""
        reserved = self._reserved
        numbers: dict[str, int] = {
            "num_alloc_retries": self._retries,
            "num_ooms": self._failures,
            "num_device_alloc": reserved.segments.total,
            "num_device_free": reserved.segments.total - reserved.segments.current,
            "inactive_split_bytes.all.current": sum(pool.split_bytes for pool in tuple(self._pools.values())),
        }
        for kind, names in enumerate((("allocated_bytes", "active_bytes"), ("allocation", "active"))):
            for pool, text in enumerate(_POOLS):
                begin = COUNTER_WORDS * (POOLS * kind + pool)
                for name in names:
                    _tell(numbers, f"{name}.{text}", *map(int, self.counters[begin : begin + COUNTER_WORDS]))
        for name, counters in (
            ("reserved_bytes", (reserved.bytes, reserved.small_bytes, reserved.large_bytes)),
            ("segment", (reserved.segments, reserved.small, reserved.large)),
        ):
            for text, counter in zip(_POOLS, counters, strict=True):
                _tell(numbers, f"{name}.{text}", counter.current, counter.peak, counter.total)
        return dict(sorted(numbers.items()))

    def reset_peaks(self) -> None:
        """Reset the peaks of all counters to their current values."""
        self.counters[1::COUNTER_WORDS] = self.counters[::COUNTER_WORDS]
        for counter in self._reserved:
            counter.peak = counter.current

    def reset_totals(self) -> None:
        """Reset the totals of all counters, so that allocations and frees are counted from now on."""
        self.counters[2::COUNTER_WORDS] = self.counters[::COUNTER_WORDS]
        for counter in self._reserved:
            counter.total = counter.current
        self._retries = self._failures = 0

    def _new(self, size: int, stream: Stream) -> tuple[int, int]:
        """Allocate memory from the driver; return its address and its size, which may be larger than requested."""
        self._streams.add(stream)
        if not stream.is_captured():
            return self._allocated(size, stream)
        # An allocation on a stream that is being captured would become a part of the graph.
        with driver().relaxed():
            if self._aside is None:
                self._aside = Stream(self.index)
            allocated = self._allocated(size, self._aside)
            driver().synchronize_stream(self._aside.handle)
        return allocated

    def _allocated(self, size: int, stream: Stream) -> tuple[int, int]:
        api = driver()
        api.activate(self.index)
        whole = size if size <= LARGEST_SMALL else segment_size(size)
        for number in dict.fromkeys((whole, size)):  # if a whole segment does not fit, the block alone may
            address = self._asked(number, stream)
            if address:
                return address, number
        self._retries += 1
        for other in (*self.empty(), stream):
            api.synchronize_stream(other.handle)
        address = self._asked(size, stream)
        if address:
            return address, size
        self._failures += 1
        free, total = api.memory_info()
        held = _size(int(self.counters[0]))
        raise OutOfMemoryError(
            f"CUDA out of memory on cuda:{self.index}: tried to allocate {_size(size)}, {_size(free)} of "
            f"{_size(total)} are free, {held} are held by tensors of opdsl. Free tensors, or compute in smaller parts."
        )

    def _asked(self, size: int, stream: Stream) -> int:
        """Request memory from the driver; return its address, or 0 if the device does not have enough."""
        try:
            address = driver().allocate(size, stream.handle)
        except OutOfMemoryError:
            return 0
        self._reserved.move(size, 1)
        return address


def _tell(numbers: dict[str, int], name: str, current: int, peak: int, total: int) -> None:
    """Add a counter to a dict of statistics, under PyTorch's names."""
    numbers[f"{name}.current"] = current
    numbers[f"{name}.peak"] = peak
    numbers[f"{name}.allocated"] = total
    numbers[f"{name}.freed"] = total - current


def _size(count: int) -> str:
    return f"{count / (1 << 20):.1f} MiB"


caches: dict[int, Cache] = {}


@kept_forever
def block_functions() -> BlockFunctions:
    """Return the machine code functions for blocks; the first call installs them with the classes and objects they
    read.
    """
    return install(
        {"array": DeviceArray, "block": Block, "stream": Stream, "cache": Cache},
        current=CURRENT,
        without=NO_STREAMS,
        defaults=defaults,
        caches=caches,
        captured=captured,
        ended=ENDED,
        finalize=finalize_block,
    )


def cache_of(index: int) -> Cache:
    """Return the allocator of a device, given by the index of a device that exists."""
    cache = caches.get(index)
    return cache if cache is not None else caches.setdefault(index, Cache(index))


def forget() -> None:
    """Drop all caches, before tests replace the driver."""
    caches.clear()
    pools.forget()
    reports.forget()
