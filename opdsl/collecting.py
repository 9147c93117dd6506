"""Suspension of garbage collection while many long-lived objects are created, since collections would scan them all."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# Whether the process has been seen to have frozen objects. Counting them takes time for each of them, so they are
# counted no more then.
_has_frozen = False


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
        _age_all()
        gc.enable()


def _age_all() -> None:
    """Make all objects old ones without a scan, by freezing and unfreezing them.

    What a user has frozen stays frozen: in such a process nothing is done.
    """
    global _has_frozen
    _has_frozen = _has_frozen or bool(gc.get_freeze_count())
    if not _has_frozen:
        gc.freeze()
        gc.unfreeze()
