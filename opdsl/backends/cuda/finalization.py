"""Deferred work of finalizers: the garbage collector may run them while locks are held or a stream is being captured.

``finalize`` takes work that concerns streams. It is done at once where that is allowed, else by the next ``drain``: a
stream that is being captured must neither be waited for nor delay another stream, and a finalizer waits for no lock.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from opdsl.backends.cuda.driver import installed

__all__ = ["Queue", "drain", "finalize", "finalize_last", "forget", "ordering", "settle"]


class Queue(Protocol):
    """Protocol of a stream, as far as finalizers need it.

    index: index of the stream's device.
    handle: the driver's number of the stream.
    """

    index: int
    handle: int

    def is_captured(self) -> bool:
        """Return whether work that is queued on the stream now becomes part of a graph."""
        ...


ordering = threading.RLock()
"""Lock that is held while streams are made to wait for each other, and while the streams that use a block are
recorded.

It is re-entrant, because a finalizer may run while its thread holds the lock.
"""

# How many queued items one finalizer tries, so that its time does not grow with the queue.
_FEW = 8
# Memory takes two drains, its stream three more; work on captured streams stays queued.
_MOST_TURNS = 8

_waiting: deque[tuple[Sequence[Queue], Callable[[], bool]]] = deque()
_last: deque[tuple[int, Callable[[], None]]] = deque()


def finalize(streams: Sequence[Queue], work: Callable[[], bool]) -> None:
    """Do the work of a finalizer now if that is allowed, else queue it for the next ``drain``.

    Args:
        streams: the streams that the work concerns; none of them is being captured when the work is done.
        work: returns whether it is done; it is called again otherwise.
    """
    _waiting.append((streams, work))
    drain(_FEW)


def finalize_last(turns: int, work: Callable[[], None]) -> None:
    """Queue a destruction that has to come after other finalizers, since those of one reference cycle run in any order.

    Args:
        turns: how many full drains come before it: 1 for memory, 2 for the streams that memory is freed on.
        work: the destruction.
    """
    _last.append((turns, work))


def settle() -> None:
    """Do all queued work of finalizers, including that of ``finalize_last``: memory, then streams that only memory
    held.
    """
    drain()
    for _ in range(_MOST_TURNS):
        if not _last:
            break
        drain()


def drain(most: int | None = None) -> None:
    """Do queued work of finalizers, unless another thread holds the lock ``ordering``.

    Args:
        most: how many queued items are tried; None for all, and then those of ``finalize_last`` too.
    """
    api = installed()
    if not (_waiting or (_last and most is None)) or api is None or not ordering.acquire(blocking=False):
        return
    try:
        with api.relaxed():
            for _ in range(min(most or len(_waiting), len(_waiting))):
                try:
                    streams, work = _waiting.popleft()
                except IndexError:  # the garbage collector ran in between, and its finalizers drained the queue
                    break
                if any(stream.is_captured() for stream in streams) or not work():
                    _waiting.append((streams, work))
            for _ in range(len(_last) if most is None else 0):
                turns, end = _last.popleft()
                if turns:
                    _last.append((turns - 1, end))
                else:
                    end()
    finally:
        ordering.release()


def forget() -> None:
    """Do the queued work that can be done and drop the rest, before tests replace the driver."""
    settle()
    _waiting.clear()
    _last.clear()
