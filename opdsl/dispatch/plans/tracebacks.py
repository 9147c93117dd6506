"""Tracebacks of calls: what stands in them between the user's lines is of no use to users.

A function that calls an operator catches the error of the slow path, takes our frames from its traceback and raises it
again, so that nothing is paid where a call succeeds. ``OPDSL_TRACEBACK=full`` in the environment shows all of them.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

from opdsl.errors import OpdslError

_OWN = (str(Path(__file__).parents[2]) + os.sep, "<opdsl ")


def shorten(error: BaseException) -> None:
    """Hide our frames behind the first one of an error's traceback.

    Frames of others stay, and the first of ours behind each: the operator that it called. An error that is not for
    users, and that none of their functions has raised, is one of ours to look for, and stays as it is.

    Args:
        error: caught in the function that a user has called.
    """
    head = error.__traceback__
    if head is None or os.environ.get("OPDSL_TRACEBACK") == "full":
        return
    shown, is_from_outside, behind = [head], isinstance(error, OpdslError), True
    each: TracebackType | None = head.tb_next
    while each is not None:
        is_own = each.tb_frame.f_code.co_filename.startswith(_OWN)
        if not (is_own and behind):
            shown.append(each)
        is_from_outside |= not is_own
        behind = is_own
        each = each.tb_next
    if is_from_outside:
        for one, following in zip(shown, [*shown[1:], None], strict=True):
            one.tb_next = following


__all__ = ["shorten"]
