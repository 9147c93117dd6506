"""Python interface of the worker pool (``machine/pool.py``): the number of threads, and running a loop on them.

The pool's threads have no Python thread state: they never need the GIL, are invisible to ``threading``, and neither
delay nor survive the interpreter's exit. A forked child starts its own when it first needs them. When two callers run
loops at once, the second runs its loop alone. So does a caller soon after the threads have cost more time than they
saved.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

from opdsl.backends.cpu import native
from opdsl.backends.cpu.machine.pool import LARGEST_POOL
from opdsl.errors import ArgumentError, OptionError
from opdsl.runtime.permanent import kept_forever


def set_num_threads(count: int) -> None:
    """Set the number of threads that a large CPU kernel uses, including the calling one; also for BLAS, LAPACK and
    transforms.

    Args:
        count: how many.

    Raises:
        ArgumentError: no integer.
        OptionError: an integer that is not positive.

    >>> import opdsl
    >>> before = opdsl.get_num_threads()
    >>> opdsl.set_num_threads(1)
    >>> opdsl.get_num_threads()
    1
    >>> opdsl.set_num_threads(before)
    """
    if isinstance(count, bool) or not isinstance(count, int):
        raise ArgumentError(f"set_num_threads: expected a positive integer, got {count!r}.")
    if count < 1:
        raise OptionError(f"set_num_threads: expected a positive integer, got {count}.")
    _sharing.change(count=min(count, LARGEST_POOL))


def get_num_threads() -> int:
    """Return the number of threads that a large CPU kernel uses.

    At first it is that of the environment's ``OPDSL_NUM_THREADS``, or one for each processor that the process may use.

    >>> import opdsl
    >>> opdsl.get_num_threads() > 0
    True
    """
    if _sharing.count is not None:
        return _sharing.count
    count: int = _function("pool_get_threads", ctypes.c_int64)()
    return count


def run(loop: int, frame: int, size: int, piece: int) -> None:
    """Run native code over ``[0, size)`` on the pool, without the GIL.

    Args:
        loop: address of a ``void (frame, begin, end)``.
        frame: address that is passed on.
        size: the number of elements.
        piece: elements of each piece but the last; if several threads are set, where pieces begin depends on it alone.
    """
    kinds = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
    alone = ctypes.c_int64(0)
    _function("pool_run", None, *kinds)(loop, frame, size, piece, 1, ctypes.addressof(alone))


def share(function: Callable[[int, int], object], size: int, piece: int) -> None:
    """Run ``function(begin, end)`` over ``[0, size)`` on the pool, which pays if the function works without the GIL.

    Args:
        function: called for pieces as ``run`` makes them; the first exception that it raises is raised here.
        size: of the range that is divided.
        piece: see ``run``.
    """
    failed: list[BaseException] = []

    def part(_: object, begin: int, end: int) -> None:
        try:
            function(begin, end)
        except BaseException as error:  # only the caller's thread can raise it
            failed.append(error)

    loop = _LOOP(part)
    run(native.address_of(loop), 0, size, piece)
    if failed:
        raise failed[0]


_LOOP = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class _Sharing:
    """State of the thread count, which is divided among threads of the program that run kernels concurrently.

    count: the total number of threads; None before the first change.
    callers: how many threads of the program run kernels concurrently.
    """

    def __init__(self) -> None:
        self.count: int | None = None
        self.callers = 0
        self.lock = threading.Lock()

    def change(self, callers: int = 0, count: int | None = None) -> None:
        """Change the number of concurrent callers by ``callers``, and the total number of threads if ``count`` is
        given.
        """
        with self.lock:
            self.callers += callers
            self.count = count or self.count or get_num_threads()
            _function("pool_set_threads", None, ctypes.c_int64)(max(1, self.count // max(1, self.callers)))

    def forked(self) -> None:
        """Reset the lock and the number of callers in a forked child, which has one thread."""
        self.lock = threading.Lock()
        if self.callers:
            self.change(-self.callers)


_sharing = _Sharing()
os.register_at_fork(after_in_child=_sharing.forked)


@contextlib.contextmanager
def side_by_side() -> Iterator[None]:
    """Return a context manager in which the calling thread shares the pool's threads with others that run kernels
    concurrently.

    An engine that has its own threads enters it with each task: kernels that each use all processors would slow down
    those of other tasks.
    """
    _sharing.change(1)
    try:
        yield
    finally:
        _sharing.change(-1)


@kept_forever
def _function(symbol: str, returned: type | None, *arguments: type) -> Callable[..., Any]:
    return native.function(symbol, returned, *arguments)
