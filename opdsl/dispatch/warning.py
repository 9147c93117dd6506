"""Warnings raised by operators, once per call, which point to the user's line."""

from __future__ import annotations

import os
import sys
import warnings

from opdsl.runtime.lowering import lowering
from opdsl.runtime.symbol import NotLoweredError

_PACKAGE = os.path.dirname(os.path.dirname(__file__))


def warn(message: str) -> None:
    """Issue a warning that points to the line of the user's call.

    Raises:
        NotLoweredError: the call is being lowered, and plans cannot warn.
    """
    if lowering.get() is not None:
        raise NotLoweredError("each call warns")
    warnings.warn(message, UserWarning, stacklevel=_outside())


def _outside() -> int:
    """Return the ``stacklevel`` at which a warning points to the user's line."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((_PACKAGE, "<opdsl ")):
        level, frame = level + 1, frame.f_back
    return level
