"""Work of finalizers, which run wherever the garbage collector does: with locks held, while a stream is captured.

``finalize`` takes what concerns streams. It is done at once where that is allowed, else by the next ``drain``: a stream
that is captured may not be waited for nor hold up another one, and a finalizer waits for no lock.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from opdsl.backends.cuda.driver import installed

__all__ = ["Queue", "drain", "finalize", "forget", "ordering"]


class Queue(Protocol):
    """A stream, which is made of what is here.

    index: of its device.
    handle: the driver's number of it.
    """

    index: int
    handle: int

    def is_captured(self) -> bool:
        """Whether what is queued on it becomes a part of a graph."""
        ...


ordering = threading.RLock()
"""Held while streams are made to wait for each other, and while it is noted which of them use a block.

Re-entrant: a finalizer may run while its thread orders something else.
"""

# As many are looked at where a finalizer comes by, so that it takes no longer the more of them wait.
_FEW = 8

_waiting: deque[tuple[Sequence[Queue], Callable[[], bool]]] = deque()


def finalize(streams: Sequence[Queue], work: Callable[[], bool]) -> None:
    """Do what a finalizer has to, now or later.

    Args:
        streams: which it concerns; none of them is captured when it is done.
        work: returns whether it is done; it is called again otherwise.
    """
    _waiting.append((streams, work))
    drain(_FEW)


def drain(most: int | None = None) -> None:
    """Do what waits, unless another thread orders streams now.

    Args:
        most: how many are looked at; all for None.
    """
    api = installed()
    if not _waiting or api is None or not ordering.acquire(blocking=False):
        return
    try:
        with api.relaxed():
            for _ in range(min(most or len(_waiting), len(_waiting))):
                try:
                    streams, work = _waiting.popleft()
                except IndexError:  # the garbage collector has run and come here
                    break
                if any(stream.is_captured() for stream in streams) or not work():
                    _waiting.append((streams, work))
    finally:
        ordering.release()


def forget() -> None:
    """Drop what waits: another driver takes over, in tests."""
    _waiting.clear()
