"""Tests of CPU memory: large blocks are cached and reused, but never while they are in use."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy
import pytest

from opdsl.backends.cpu import memory
from opdsl.errors import KernelError
from opdsl.runtime.dtype import bfloat16, float32, float64

LARGE_SHAPE = (513, 1024)
BLOCK = 9 << 18  # 513 * 4096 bytes, rounded up to a multiple of an eighth of 2 MiB


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    memory.empty_cache()
    yield
    memory.empty_cache()


def test_small_array() -> None:
    array = memory.empty((2, 3), None, float64)
    assert (array.shape, array.dtype, array.flags.c_contiguous) == ((2, 3), numpy.dtype("f8"), True)


@pytest.mark.skipif(sys.platform != "linux", reason="the GNU C library's memory")
def test_small_arrays_take_no_new_pages() -> None:
    program = """
import resource, opdsl
x = opdsl.ones(200_000)
faults = []
for _ in range(20):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    x + x, x + x, (x + x) * (x + x)
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(min(faults))
"""
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert int(printed) < 10


def test_storage_dtype() -> None:
    assert memory.empty((2,), None, bfloat16).dtype == numpy.uint16


def test_strides_are_in_elements() -> None:
    assert memory.empty((2, 3), (1, 2), float32).strides == (4, 8)


def test_strides_with_gaps_have_memory_for_the_gaps() -> None:
    array = memory.empty((3, 2), (10, 1), float32)
    array[...] = 7
    assert array.sum() == 42


def test_no_elements() -> None:
    assert memory.empty((0, 3), (3, 1), float32).shape == (0, 3)


def test_large_block_is_aligned_and_writable() -> None:
    array = memory.empty(LARGE_SHAPE, None, float32)
    array[...] = 1
    assert array.ctypes.data % 64 == 0


def test_freed_block_is_handed_out_again() -> None:
    first = memory.empty(LARGE_SHAPE, None, float32)
    address = first.ctypes.data
    del first
    assert memory.empty(LARGE_SHAPE, None, float32).ctypes.data == address


def test_block_is_not_handed_out_while_a_view_lives() -> None:
    first = memory.empty(LARGE_SHAPE, None, float32)
    address = first.ctypes.data
    view = first[3:].T[5:]
    del first
    assert memory.empty(LARGE_SHAPE, None, float32).ctypes.data != address
    del view


def test_statistics() -> None:
    before = memory.memory_stats()
    array = memory.empty(LARGE_SHAPE, None, float32)
    assert memory.memory_stats()["in_use"] - before["in_use"] == BLOCK
    del array
    after = memory.memory_stats()
    assert (after["in_use"] - before["in_use"], after["cached"]) == (0, BLOCK)


def test_empty_cache_gives_blocks_back() -> None:
    memory.empty(LARGE_SHAPE, None, float32)
    memory.empty_cache()
    assert memory.memory_stats()["cached"] == 0


def test_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory._blocks, "limit", 2 * BLOCK)
    arrays = [memory.empty(LARGE_SHAPE, None, float32) for _ in range(4)]
    arrays.clear()
    assert memory.memory_stats()["cached"] == 2 * BLOCK


def test_many_threads() -> None:
    failures = []

    def work(mark: int) -> None:
        for _ in range(200):
            array = memory.empty((1 << 18,), None, float32)
            array[:: 1 << 12] = mark
            if not (array[:: 1 << 12] == mark).all():
                failures.append(mark)

    threads = [threading.Thread(target=work, args=(mark,)) for mark in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_view() -> None:
    array = numpy.arange(12, dtype="f4")
    assert memory.view(array, (2, 2), (3, 1), 4, float32).tolist() == [[4, 5], [7, 8]]


def test_view_that_leaves_the_memory() -> None:
    with pytest.raises(KernelError):
        memory.view(numpy.arange(12, dtype="f4"), (2, 8), (8, 1), 0, float32)


def test_a_tensor_freed_during_shutdown_reports_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tensor freed during interpreter shutdown, when globals of modules are gone, reports no error."""
    said: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    blocks = memory._Blocks()
    owner = blocks.take(1024)
    blocks.close()
    monkeypatch.setattr(memory, "_ALIGNMENT", None)
    del owner
    assert said == []
