"""Cache of values that live as long as the process, because machine code refers to them or because they have state."""

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
    """Decorate a function so that each result is computed once and kept for the life of the process.

    ``functools.cache`` lets concurrent first calls each compute a result, and frees all but the last, while machine
    code may already refer to them.

    A lock is held while the value is computed. So the function must not be called while a lock is held that it acquires
    itself (such as the compiler's), and may only import modules whose bodies acquire no lock of opdsl.

    Args:
        make: called with positional arguments only. If it raises, the error is raised and nothing is kept.
    """
    kept: dict[tuple[Hashable, ...], R] = {}

    # functools.cache returns known results without Python code. It may call this twice, and gets the same result.
    @functools.cache
    @functools.wraps(make)
    def once(*key: Hashable) -> R:
        with _making:
            if key not in kept:
                value = kept[key] = make(*key)
                # Threads that run machine code outlive module dictionaries, which are cleared at interpreter exit.
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
            return kept[key]

    return once


__all__ = ["kept_forever"]
