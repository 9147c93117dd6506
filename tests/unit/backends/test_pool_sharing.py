"""Tests that threads of a program that run kernels concurrently share the threads of the pool."""

from __future__ import annotations

import ctypes
import threading

import opdsl
from opdsl.backends.cpu import pool


def used() -> int:
    """Return the number of threads that the next loop uses."""
    count: int = pool._function("pool_get_threads", ctypes.c_int64)()
    return count


def test_each_caller_has_its_part() -> None:
    before = opdsl.get_num_threads()
    opdsl.set_num_threads(6)
    try:
        meet = threading.Barrier(3)
        seen = []

        def task() -> None:
            with pool.side_by_side():
                meet.wait()
                seen.append(used())
                meet.wait()

        threads = [threading.Thread(target=task) for _ in range(2)]
        for thread in threads:
            thread.start()
        meet.wait()
        assert opdsl.get_num_threads() == 6
        meet.wait()
        for thread in threads:
            thread.join()
        assert seen == [3, 3] and used() == 6
        with pool.side_by_side():
            assert used() == 6
            opdsl.set_num_threads(4)
        assert used() == 4
    finally:
        opdsl.set_num_threads(before)
