"""Text that is made when somebody looks at it."""

from __future__ import annotations

from collections import UserString
from collections.abc import Callable

__all__ = ["LazyString"]


class LazyString(UserString):
    """A string that is made each time it is looked at, from what is declared at that moment.

    Args:
        make: makes the text.
    """

    def __init__(self, make: Callable[[], str]) -> None:
        self._make = make

    @property
    def data(self) -> str:  # type: ignore[override]
        """The text."""
        return self._make()
