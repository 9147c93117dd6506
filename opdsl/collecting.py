"""Suspension of garbage collection while many long-lived objects are created, since collections would scan them all."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collecting() -> Iterator[None]:
    """Return a context manager (and decorator) that suspends garbage collection; if it was off before, it stays off."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        # Freezing and unfreezing make all objects old ones, without a scan; those that a user has frozen stay frozen.
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        gc.enable()
