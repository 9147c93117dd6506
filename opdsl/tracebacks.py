"""Shortening of tracebacks: hides the frames of opdsl between a user's frames.

A function that users call catches an error, removes opdsl's frames from its traceback and raises it again, so that
successful calls have no cost. ``OPDSL_TRACEBACK=full`` in the environment shows all frames. May import: errors.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

from opdsl.errors import OpdslError

_OWN = (str(Path(__file__).parent) + os.sep, "<opdsl ")


def shorten(error: BaseException) -> None:
    """Hide the frames of opdsl after the first one of an error's traceback.

    Frames of other code are kept, and after each the first frame of opdsl: the operator that it called. An error that
    is not an ``OpdslError``, and that was raised without user code in between, is a bug of opdsl and is not changed.

    Args:
        error: caught in the function that a user has called.
    """
    head = error.__traceback__
    if head is None or os.environ.get("OPDSL_TRACEBACK") == "full":
        return
    shown, is_from_outside, behind = [head], isinstance(error, OpdslError), True
    traceback_type: TracebackType | None = head.tb_next
    while traceback_type is not None:
        is_own = _is_own(traceback_type)
        if not (is_own and behind):
            shown.append(traceback_type)
        is_from_outside |= not is_own
        behind = is_own
        traceback_type = traceback_type.tb_next
    if is_from_outside:
        for one, following in zip(shown, [*shown[1:], None], strict=True):
            one.tb_next = following


class without_own_frames:
    """Context manager that hides opdsl's frames in errors: the frame that enters it is kept, and those of other code.

    The causes and contexts of an error lose all frames of opdsl.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        """Enter the context."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Shorten the traceback of an ``OpdslError``, which is not suppressed."""
        if not isinstance(error, OpdslError) or os.environ.get("OPDSL_TRACEBACK") == "full":
            return
        shorten(error)
        behind = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if behind is not None:
            behind.__traceback__ = _others(behind.__traceback__)


def _others(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of opdsl."""
    while traceback is not None and _is_own(traceback):
        traceback = traceback.tb_next
    if traceback is not None:
        traceback.tb_next = _others(traceback.tb_next)
    return traceback


def _is_own(traceback: TracebackType) -> bool:
    return traceback.tb_frame.f_code.co_filename.startswith(_OWN)


__all__ = ["shorten", "without_own_frames"]
