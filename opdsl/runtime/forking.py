"""Locks that a fork acquires first, so that the child never inherits a lock held by a thread that it does not have.

Besides opdsl's locks these are Python's locks of modules during import: most of opdsl and of its dependencies is
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

# Packages that are imported lazily. The import of other modules, such as the main one, may never end.
_DEPENDENCIES = ("attr", "attrs", "cuda", "llvmlite", "numba", "numpy", "scipy", "threadpoolctl", "typeguard", "yaml")
_ROOTS = sys.stdlib_module_names.union(("opdsl", *_DEPENDENCIES))

# Locks are tried together instead of waited for one by one, so that the order in which threads hold them is irrelevant.
_PATIENCE_SECONDS = 0.01
_PAUSE_SECONDS = 0.002
_LONGEST_WAIT_SECONDS = 10.0  # another thread may be waiting for something else that the forking thread holds

# The locks that the current fork has acquired; others may be registered meanwhile.
_acquired: list[_Lock] = []


def held_across_fork(lock: L) -> L:
    """Register a lock so that forks of this process acquire it, and release it in parent and child; return the lock.

    Args:
        lock: a lock that lives as long as the process.
    """
    _locks.append(lock)
    return lock


def _acquire() -> None:
    """Acquire every registered lock, at a moment when no other thread is importing modules that opdsl needs."""
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
    """Return whether another thread is importing a module of opdsl or one that opdsl imports lazily."""
    nobody = (None, threading.get_ident())
    locks = [
        reference() for module_name, reference in list(_importing.items()) if module_name.partition(".")[0] in _ROOTS
    ]
    return any(lock is not None and lock.owner not in nobody for lock in locks)


# The locks of modules that are being imported, by name. Python has no public access to them.
_importing: dict[str, Any] = getattr(importlib._bootstrap, "_module_locks", {})


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_acquire, after_in_parent=_release, after_in_child=_release)

registering = held_across_fork(threading.RLock())
"""Lock that is held while operators, kernels, functions and plans change."""

__all__ = ["held_across_fork", "registering"]
