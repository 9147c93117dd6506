"""Locks that a fork waits for, so that a child never finds one held by a thread that it does not have.

Besides ours these are the locks by which Python imports a module once: most of opdsl, and of what it stands on, is
imported by the first call that needs it, in whatever thread.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from _imp import acquire_lock, release_lock
from typing import Any, Protocol, TypeVar


class _Lock(Protocol):
    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...
    def release(self) -> None: ...


L = TypeVar("L", bound=_Lock)

_locks: list[_Lock] = []

# What is imported late. A program may never return from importing other modules, its main one for instance.
_DEPENDENCIES = ("attr", "attrs", "cuda", "llvmlite", "numba", "numpy", "scipy", "threadpoolctl", "typeguard", "yaml")
_ROOTS = sys.stdlib_module_names.union(("opdsl", *_DEPENDENCIES))

# Locks are not waited for in turn but tried together, so that it does not matter in which order threads hold them.
_PATIENCE_SECONDS = 0.01
_PAUSE_SECONDS = 0.002
_LONGEST_WAIT_SECONDS = 10.0  # another thread may wait for something else that the one that forks holds

# What the fork that is under way has acquired; locks may be added meanwhile.
_acquired: list[_Lock] = []


def held_across_fork(lock: L) -> L:
    """Let forks of this process wait for a lock, and leave it free in parent and child.

    Args:
        lock: which lives as long as the process.
    """
    _locks.append(lock)
    return lock


def _acquire() -> None:
    """Acquire every lock, at a moment at which no other thread imports what opdsl needs."""
    until = time.monotonic() + _LONGEST_WAIT_SECONDS
    while True:
        wanted = tuple(_locks)
        held = [lock for lock in wanted if lock.acquire(timeout=_PATIENCE_SECONDS)]
        acquire_lock()  # so that no import begins before the fork
        if (len(held) == len(wanted) and not _others_import()) or time.monotonic() > until:
            _acquired[:] = held
            return
        _release_all(held)
        time.sleep(_PAUSE_SECONDS)


def _release() -> None:
    held = _acquired[:]
    _acquired.clear()
    _release_all(held)


def _release_all(held: list[_Lock]) -> None:
    release_lock()
    for lock in reversed(held):
        lock.release()


def _others_import() -> bool:
    """Whether another thread is importing a module of opdsl, or of what opdsl imports late."""
    nobody = (None, threading.get_ident())
    locks = [reference() for name, reference in list(_importing.items()) if name.partition(".")[0] in _ROOTS]
    return any(lock is not None and lock.owner not in nobody for lock in locks)


# The locks of modules that are being imported, by name. Python has no public name for them.
_importing: dict[str, Any] = getattr(importlib._bootstrap, "_module_locks", {})


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_acquire, after_in_parent=_release, after_in_child=_release)

registering = held_across_fork(threading.RLock())
"""Held while operators, kernels, functions and plans change."""

__all__ = ["held_across_fork", "registering"]
