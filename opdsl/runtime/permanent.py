"""Values that a process makes once and keeps for ever: those whose addresses machine code holds, or that have state."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Hashable
from typing import TypeVar

from opdsl.runtime.forking import held_across_fork

R = TypeVar("R")

_making = held_across_fork(threading.RLock())


def kept_forever(make: Callable[..., R]) -> Callable[..., R]:
    """Keep what a function returns for ever; threads that ask at once get the same object.

    ``functools.cache`` lets each thread that comes before the first result make one of its own, and frees all but the
    last, while machine code may hold addresses in them already. A value that is kept for ever is made once.

    A lock is held while the value is made. So the function may not be called while a lock is held that it takes itself
    (the compiler's, for one), and imports only modules whose bodies ask for no lock of ours.

    Args:
        make: called with positional arguments alone. What it raises is raised, and nothing is kept then.
    """
    kept: dict[tuple[Hashable, ...], R] = {}

    # The cache answers in C once there is a result. It may call this twice, and gets the same both times.
    @functools.cache
    @functools.wraps(make)
    def once(*key: Hashable) -> R:
        with _making:
            if key not in kept:
                value = kept[key] = make(*key)
                # Threads of machine code outlive the tables of modules, which the end of the interpreter empties.
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
            return kept[key]

    return once


__all__ = ["kept_forever"]
