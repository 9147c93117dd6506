"""Suggestions for unknown names, by similar spelling."""

from __future__ import annotations

import functools
from collections.abc import Iterable

__all__ = ["suggestion"]

_MOST = 3


def suggestion(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return a sentence with known names that are spelled like an unknown one, or another sentence if none is.

    Names that begin with an underscore are only suggested for names that do, too.

    Args:
        name: the unknown name.
        known: the known names.
        otherwise: the sentence that is returned if no name is close.

    >>> suggestion("softmx", ["softmax", "sum"], "There is nothing like it.")
    'Did you mean softmax?'
    """
    # Much shorter or longer names are never close, and comparing with all names takes milliseconds.
    most = max(2, len(name) // 4)
    is_private = name.startswith("_")
    near = [other for other in known if abs(len(other) - len(name)) <= most and other.startswith("_") <= is_private]
    close = _closest(name, tuple(near))
    return f"Did you mean {' or '.join(close)}?" if close else otherwise


# Programs that inspect objects look up the same missing names again and again, in a `hasattr` for each object.
@functools.lru_cache(maxsize=64)
def _closest(name: str, near: tuple[str, ...]) -> list[str]:
    from difflib import get_close_matches  # slow to import, and only needed for a wrong name

    return get_close_matches(name, near, n=_MOST, cutoff=0.7)
