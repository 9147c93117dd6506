"""How many references there are to an object that one attribute alone refers to."""

from __future__ import annotations

import sys

__all__ = ["references_to_an_attribute"]


class _Holder:
    def __init__(self) -> None:
        self.value = object()


def references_to_an_attribute() -> int:
    """Return what ``sys.getrefcount`` says of a name to which an attribute that nobody else has was bound.

    Releases of Python differ in which names and calls hold a reference of their own.
    """
    holder = _Holder()
    value = holder.value
    return sys.getrefcount(value)
