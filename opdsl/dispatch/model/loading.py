"""Libraries of operators, while they load."""

from __future__ import annotations

import threading

from opdsl.runtime.forking import held_across_fork

library_loads = held_across_fork(threading.RLock())
"""Held while a library loads: what it has declared may not have its kernels yet."""


def wait_for_libraries() -> None:
    """Wait until no other thread loads a library."""
    with library_loads:
        pass
