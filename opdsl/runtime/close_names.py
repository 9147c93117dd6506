"""Suggestions for a name that is not there."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["suggestion"]

_MOST = 3


def suggestion(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return a sentence with the names that are spelled like one, or another sentence where none is.

    Names that begin with an underscore are suggested for such ones alone.

    Args:
        name: what was asked for.
        known: the names that there are.
        otherwise: what is said if none is close.

    >>> suggestion("softmx", ["softmax", "sum"], "There is nothing like it.")
    'Did you mean softmax?'
    """
    from difflib import get_close_matches  # only a wrong name needs it

    # Of much shorter and longer names none is close, and comparing with all of them takes milliseconds.
    most = max(2, len(name) // 4)
    is_private = name.startswith("_")
    near = [other for other in known if abs(len(other) - len(name)) <= most and other.startswith("_") <= is_private]
    close = get_close_matches(name, near, n=_MOST, cutoff=0.7)
    return f"Did you mean {' or '.join(close)}?" if close else otherwise
