"""Warnings of operators: once a call, at the user's line."""

from __future__ import annotations

import os
import sys
import warnings

from opdsl.runtime.lowering import lowering
from opdsl.runtime.symbol import NotLoweredError

_PACKAGE = os.path.dirname(os.path.dirname(__file__))


def warn(message: str) -> None:
    """Warns where the user calls.

    Raises:
        NotLoweredError: a call is lowered, and plans warn of nothing.
    """
    if lowering.get() is not None:
        raise NotLoweredError("each call warns")
    warnings.warn(message, UserWarning, stacklevel=_outside())


def _outside() -> int:
    """The ``stacklevel`` at which a warning of the caller shows the user's line."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((_PACKAGE, "<opdsl ")):
        level, frame = level + 1, frame.f_back
    return level
