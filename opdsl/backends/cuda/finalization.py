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

__all__ = ["Queue", "drain", "finalize", "finalize_last", "forget", "ordering", "settle"]


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
# Memory takes two, its stream three more; what is captured stays.
_MOST_TURNS = 8

_waiting: deque[tuple[Sequence[Queue], Callable[[], bool]]] = deque()
_last: deque[tuple[int, Callable[[], None]]] = deque()


def finalize(streams: Sequence[Queue], work: Callable[[], bool]) -> None:
    """Do what a finalizer has to, now or later.

    Args:
        streams: which it concerns; none of them is captured when it is done.
        work: returns whether it is done; it is called again otherwise.
    """
    _waiting.append((streams, work))
    drain(_FEW)


def finalize_last(turns: int, work: Callable[[], None]) -> None:
    """Do what ends something that other finalizers may still use: those of one cycle run in any order.

    Args:
        turns: how many times everything is drained before: 1 for memory, 2 for the streams that it is freed on.
        work: what is done then.
    """
    _last.append((turns, work))


def settle() -> None:
    """Drain everything, and what comes last: memory, then streams that only it has held."""
    drain()
    for _ in range(_MOST_TURNS):
        if not _last:
            break
        drain()


def drain(most: int | None = None) -> None:
    """Do what waits, unless another thread orders streams now.

    Args:
        most: how many are looked at; all for None.
    """
    api = installed()
    if not (_waiting or (_last and most is None)) or api is None or not ordering.acquire(blocking=False):
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
            for _ in range(len(_last) if most is None else 0):
                turns, end = _last.popleft()
                if turns:
                    _last.append((turns - 1, end))
                else:
                    end()
    finally:
        ordering.release()


def forget() -> None:
    """Do what can be done, and drop the rest: another driver takes over, in tests."""
    settle()
    _waiting.clear()
    _last.clear()
