"""Reference count of an object that only one attribute refers to."""

from __future__ import annotations

import sys

__all__ = ["references_to_an_attribute"]


class _Holder:
    def __init__(self) -> None:
        self.value = object()


def references_to_an_attribute() -> int:
    """Return ``sys.getrefcount`` of a local name for an object to which only one attribute refers besides.

    Python releases differ in which names and calls hold their own reference.
    """
    holder = _Holder()
    value = holder.value
    return sys.getrefcount(value)
