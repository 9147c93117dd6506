"""Libraries of many operators, while they load."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from opdsl.runtime.forking import LOADING, held_across_fork

_deferring = False


@contextmanager
def deferred_sources() -> Iterator[None]:
    """While a library of hundreds of operators loads: functions are generated when they are first needed."""
    global _deferring
    with _library_loads:
        before, _deferring = _deferring, True
        try:
            yield
        finally:
            _deferring = before


_library_loads = held_across_fork(threading.RLock(), LOADING)


def wait_for_libraries() -> None:
    """Wait until no other thread loads a library: what it has declared may not have its kernels yet."""
    with _library_loads:
        pass


def sources_are_deferred() -> bool:
    """Whether a new declaration leaves generating its function to the first use."""
    return _deferring
