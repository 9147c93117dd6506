"""The worker pool (``pool.ll``) as Python sees it: how many threads, and running a loop on them.

Helpers are threads without a Python thread state: they never need the GIL, are not there for ``threading``, and neither
delay nor survive the interpreter's exit. A forked child starts its own when it first needs them. When two callers meet,
the second runs its loop alone.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from opdsl.backends.cpu import native
from opdsl.errors import ArgumentError


def set_num_threads(count: int) -> None:
    """Set how many threads a large CPU kernel uses, the calling one included; the BLAS, LAPACK and transforms too.

    Args:
        count: how many.

    Raises:
        ArgumentError: not a positive integer.

    >>> import opdsl
    >>> before = opdsl.get_num_threads()
    >>> opdsl.set_num_threads(1)
    >>> opdsl.get_num_threads()
    1
    >>> opdsl.set_num_threads(before)
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ArgumentError(f"set_num_threads: expected a positive integer, got {count!r}.")
    _set(min(count, native.LARGEST_POOL))


def get_num_threads() -> int:
    """How many threads a large CPU kernel uses: at first what the environment's ``OPDSL_NUM_THREADS`` says, or one for
    each processor that the process may run on.

    >>> import opdsl
    >>> opdsl.get_num_threads() > 0
    True
    """
    count: int = _function("pool_get_threads", ctypes.c_int64)()
    return count


def run(loop: int, frame: int, size: int, piece: int) -> None:
    """Run native code over ``[0, size)`` on the pool, without the GIL.

    Args:
        loop: address of a ``void (frame, begin, end)``.
        frame: address that is passed on.
        piece: elements of each piece but the last; where pieces begin depends on nothing else, unless the loop runs
            alone, in one piece.
    """
    _function("pool_run", None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(
        loop, frame, size, piece
    )


@functools.cache
def _function(symbol: str, result: type | None, *arguments: type) -> Callable[..., Any]:
    return native.function(symbol, result, *arguments)


def _set(count: int) -> None:
    _function("pool_set_threads", None, ctypes.c_int64)(count)
