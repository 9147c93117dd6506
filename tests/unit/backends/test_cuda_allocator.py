"""Tests of the CUDA memory allocator: splitting and merging of blocks, statistics, and memory returned to the
driver.
"""

from __future__ import annotations

import inspect
import itertools
import re
import threading
from collections.abc import Iterator

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import opdsl
from opdsl import Tensor
from opdsl.backends.cuda.heap import Heap
from opdsl.backends.cuda.pools import CapturePool, Pool
from tests.emulation.driver import EmulatedDriver

MEBIBYTE = 1 << 20


def bytes_of(size: int, **options: object) -> Tensor:
    block: Tensor = opdsl.empty(size, dtype=opdsl.uint8, device="cuda", **options)  # type: ignore[arg-type]
    return block


def overlapping(ranges: list[tuple[int, int]]) -> bool:
    """Return whether two of the ranges, given as begin and size, overlap."""
    return any(begin + size > following for (begin, size), (following, _) in itertools.pairwise(sorted(ranges)))


@pytest.fixture
def before(cuda: EmulatedDriver) -> int:
    """Return the number of bytes that other tests have left allocated on the device."""
    return cuda.in_use


# -------------------------------------------------------------------------------------------------------------- a heap

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("take"), st.integers(1, 40)),
        st.tuples(st.just("give"), st.integers(0, 100)),
        st.tuples(st.just("segments"), st.just(0)),
    ),
    max_size=60,
)


@given(STEPS)
@settings(max_examples=200, deadline=None)
def test_a_heap_hands_out_each_byte_once_and_merges_all(steps: list[tuple[str, int]]) -> None:
    heap, taken, reserved = Heap(), list[tuple[int, int]](), dict[int, int]()
    end = 1000
    for step, number in steps:
        if step == "take":
            address = heap.take(number)
            if not address:
                address, whole = end, max(number, 30)
                reserved[address], end = whole, end + whole  # the next segment is adjacent, and yet separate
                heap.add(address, whole, number)
            taken.append((address, number))
        elif step == "give" and taken:
            heap.give(*taken.pop(number % len(taken)))
        elif step == "segments":
            for address, size in heap.segments():
                assert reserved.pop(address) == size
        assert not overlapping(taken)
        assert heap.free_bytes + sum(size for _, size in taken) == sum(reserved.values())
        assert heap.split_bytes <= heap.free_bytes
    for address, size in taken:
        heap.give(address, size)
    assert dict(heap.segments()) == reserved
    assert heap.free_bytes == 0


def test_the_smallest_part_that_is_large_enough_is_taken() -> None:
    heap = Heap()
    heap.add(1000, 10, 10)
    heap.add(2000, 5, 5)
    heap.give(1000, 10)
    heap.give(2000, 5)
    assert [heap.take(4), heap.take(4), heap.take(6), heap.take(3)] == [2000, 1000, 1004, 0]


# ------------------------------------------------------------------------------------------------------------- tensors

SIZES = st.one_of(st.integers(1, 5000), st.integers(MEBIBYTE - 600, 4 * MEBIBYTE))
CALLS = st.lists(
    st.one_of(
        st.tuples(st.just("make"), SIZES),
        st.tuples(st.just("drop"), st.integers(0, 100)),
        st.tuples(st.just("switch"), st.integers(0, 1)),
        st.tuples(st.just("empty"), st.just(0)),
    ),
    max_size=30,
)


@given(CALLS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_tensors_never_overlap_and_nothing_leaks(cuda: EmulatedDriver, calls: list[tuple[str, int]]) -> None:
    opdsl.cuda.empty_cache()
    opdsl.cuda.synchronize()
    begin = cuda.in_use - opdsl.cuda.memory_reserved()
    held: list[Tensor] = []
    streams = [opdsl.cuda.current_stream(), opdsl.cuda.Stream()]
    current = 0
    for call, number in calls:
        if call == "make":
            with streams[current]:
                held.append(bytes_of(number))
        elif call == "drop" and held:
            del held[number % len(held)]
        elif call == "switch":
            current = number
        elif call == "empty":
            opdsl.cuda.empty_cache()
        assert not overlapping([(block.data_ptr(), block.numel()) for block in held])
        assert opdsl.cuda.memory_reserved() == cuda.in_use - begin
        assert opdsl.cuda.memory_allocated() <= opdsl.cuda.memory_reserved()
    assert opdsl.cuda.memory_allocated() >= sum(block.numel() for block in held)
    held.clear()
    assert opdsl.cuda.memory_allocated() == 0
    opdsl.cuda.empty_cache()
    assert (cuda.in_use - begin, opdsl.cuda.memory_reserved()) == (0, 0)


def test_fragments_merge_for_a_larger_block(cuda: EmulatedDriver) -> None:
    parts = [bytes_of(4 * MEBIBYTE) for _ in range(4)]
    assert [size for size, _ in cuda.named("allocate")] == [20 * MEBIBYTE]
    assert opdsl.cuda.memory_stats()["inactive_split_bytes.all.current"] == 4 * MEBIBYTE
    first = parts[0].data_ptr()
    parts.clear()
    whole = bytes_of(18 * MEBIBYTE)
    assert (whole.data_ptr(), len(cuda.named("allocate"))) == (first, 1)


def test_a_segment_goes_back_only_as_a_whole(cuda: EmulatedDriver, before: int) -> None:
    kept, dropped = bytes_of(2 * MEBIBYTE), bytes_of(2 * MEBIBYTE)
    del dropped
    opdsl.cuda.empty_cache()
    assert cuda.in_use - before == opdsl.cuda.memory_reserved() == 20 * MEBIBYTE
    del kept
    opdsl.cuda.empty_cache()
    assert (cuda.in_use - before, opdsl.cuda.memory_reserved()) == (0, 0)


def test_a_block_fits_where_a_segment_does_not(cuda: EmulatedDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "memory", cuda.in_use + 6 * MEBIBYTE)
    block = bytes_of(4 * MEBIBYTE)
    assert block.numel() == opdsl.cuda.memory_reserved() == 4 * MEBIBYTE
    assert opdsl.cuda.memory_stats()["num_alloc_retries"] == 0


def test_threads_split_and_merge_the_same_pool(cuda: EmulatedDriver) -> None:
    held: dict[int, int] = {}
    lock = threading.Lock()
    wrong: list[str] = []

    def work(seed: int) -> None:
        try:
            for turn in range(60):
                sizes = [(seed * 37 + turn * 101 + k * 53) % 23 * 131_072 + 513 for k in range(3)]
                blocks = [bytes_of(size) for size in sizes]
                with lock:
                    held.update({block.data_ptr(): block.numel() for block in blocks})
                    if overlapping(list(held.items())):
                        wrong.append("two tensors have memory in common")
                    for tensor in blocks:
                        del held[tensor.data_ptr()]
                    blocks.clear()
                    del tensor
        except Exception as error:
            wrong.append(repr(error))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert opdsl.cuda.memory_allocated() == 0


def test_memory_is_taken_while_the_same_thread_merges(cuda: EmulatedDriver, before: int) -> None:
    """A thread can allocate while it merges blocks, as a finalizer or a signal handler may."""
    first = bytes_of(3 * MEBIBYTE)
    pool = opdsl.cuda.current_stream().pool
    with pool._merging() as heap:
        assert heap is not None
        second = bytes_of(3 * MEBIBYTE)
    assert not overlapping([(first.data_ptr(), first.numel()), (second.data_ptr(), second.numel())])
    del first, second
    opdsl.cuda.empty_cache()
    assert cuda.in_use == before


def test_a_capture_takes_over_what_is_free_as_a_whole(cuda: EmulatedDriver) -> None:
    stream = opdsl.cuda.Stream()
    mine, theirs = CapturePool(stream), Pool(0)
    theirs.put(512, 512)
    assert theirs.split(10 * MEBIBYTE, 20 * MEBIBYTE, 2 * MEBIBYTE) == 2 * MEBIBYTE
    assert theirs.split(40 * MEBIBYTE, 4 * MEBIBYTE, 4 * MEBIBYTE) == 4 * MEBIBYTE
    theirs.put(40 * MEBIBYTE, 4 * MEBIBYTE)
    mine.take_over(theirs)
    assert (theirs.bytes, mine.bytes) == (18 * MEBIBYTE, 4 * MEBIBYTE + 512)
    assert (mine.take(512), mine.take(2 * MEBIBYTE)) == (512, 40 * MEBIBYTE)
    mine.segments()


# ---------------------------------------------------------------------------------------------------------- statistics


def test_statistics_have_the_names_of_torch(cuda: EmulatedDriver) -> None:
    text = inspect.getsource(torch.cuda.memory)  # its source has the names of the statistics
    patterns = {name.split(".")[0] for name in re.findall(r'"([\w.{},]+)"', text)}
    for name in opdsl.cuda.memory_stats():
        quantity, *rest = name.split(".")
        assert quantity in patterns, name
        assert not rest or (
            rest[0] in ("all", "small_pool", "large_pool") and rest[1] in ("current", "peak", "allocated", "freed")
        )
    for name in ("memory_allocated", "max_memory_reserved", "reset_accumulated_memory_stats", "mem_get_info"):
        assert hasattr(opdsl.cuda, name) and hasattr(torch.cuda, name)


def test_statistics_tell_small_from_large(cuda: EmulatedDriver) -> None:
    small, large = bytes_of(100), bytes_of(3 * MEBIBYTE)
    del small
    stats = opdsl.cuda.memory_stats()
    assert {name: stats[name] for name in wanted()} == {
        "allocated_bytes.all.current": 3 * MEBIBYTE,
        "allocated_bytes.all.peak": 3 * MEBIBYTE + 512,
        "allocated_bytes.small_pool.current": 0,
        "allocated_bytes.small_pool.freed": 512,
        "allocation.all.allocated": 2,
        "allocation.large_pool.current": 1,
        "reserved_bytes.all.current": 20 * MEBIBYTE + 512,
        "segment.small_pool.current": 1,
        "num_device_alloc": 2,
    }
    opdsl.cuda.reset_peak_memory_stats()
    opdsl.cuda.reset_accumulated_memory_stats()
    stats = opdsl.cuda.memory_stats()
    assert stats["allocated_bytes.all.peak"] == large.numel()
    assert stats["allocation.small_pool.allocated"] == 0


def wanted() -> Iterator[str]:
    """Yield the names of statistics that the test requires."""
    yield from (
        "allocated_bytes.all.current",
        "allocated_bytes.all.peak",
        "allocated_bytes.small_pool.current",
        "allocated_bytes.small_pool.freed",
        "allocation.all.allocated",
        "allocation.large_pool.current",
        "reserved_bytes.all.current",
        "segment.small_pool.current",
        "num_device_alloc",
    )
