"""Locks that a fork waits for, so that a child never finds one held by a thread that it does not have."""

from __future__ import annotations

import os
import threading
from typing import Protocol, TypeVar


class _Lock(Protocol):
    def acquire(self) -> bool: ...
    def release(self) -> None: ...


L = TypeVar("L", bound=_Lock)

# By depth: a thread that holds one of them may wait for a deeper one, never the other way round.
_locks: list[tuple[int, _Lock]] = []

LOADING, REGISTERING, STATES, GEOMETRIES = range(4)


def held_across_fork(lock: L, depth: int) -> L:
    """Let forks of this process wait for a lock, and leave it free in parent and child.

    Args:
        lock: which lives as long as the process.
        depth: its place among the locks that one thread may hold at once, the outermost first.
    """
    _locks.append((depth, lock))
    _locks.sort(key=lambda pair: pair[0])
    return lock


def _acquire() -> None:
    for _, lock in _locks:
        lock.acquire()


def _release() -> None:
    for _, lock in reversed(_locks):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_acquire, after_in_parent=_release, after_in_child=_release)

registering = held_across_fork(threading.RLock(), REGISTERING)
"""Held while operators, kernels, functions and plans change."""

__all__ = ["GEOMETRIES", "LOADING", "REGISTERING", "STATES", "held_across_fork", "registering"]
