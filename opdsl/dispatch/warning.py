"""Warnings of operators: once a call, at the user's line."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from opdsl.runtime.lowering import NotLoweredError, lowering

_PACKAGE = os.path.dirname(os.path.dirname(__file__))


class _Silence(threading.local):
    is_kept = False


_silence = _Silence()


def warn(message: str) -> None:
    """Warns where the user calls, unless a call is only prepared once more.

    Raises:
        NotLoweredError: a call is lowered for its form, whose plan warns of nothing.
    """
    if lowering.get() is not None:
        raise NotLoweredError("each call warns")
    if not _silence.is_kept:
        warnings.warn(message, UserWarning, stacklevel=_outside())


@contextmanager
def unheard() -> Iterator[None]:
    """For planning a call that has been made and has warned."""
    before, _silence.is_kept = _silence.is_kept, True
    try:
        yield
    finally:
        _silence.is_kept = before


def _outside() -> int:
    """The ``stacklevel`` at which a warning of the caller shows the user's line."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((_PACKAGE, "<opdsl ")):
        level, frame = level + 1, frame.f_back
    return level
