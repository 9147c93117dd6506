"""Text that is made when somebody looks at it."""

from __future__ import annotations

from collections import UserString
from collections.abc import Callable

__all__ = ["LazyString"]


class LazyString(UserString):
    """A string that is made each time it is looked at, from what is declared at that moment.

    Args:
        make: makes the text; or a text, for what is cut out of one.
    """

    def __init__(self, make: Callable[[], str] | object) -> None:
        self._make = make if callable(make) else lambda: str(make)

    @property
    def data(self) -> str:  # type: ignore[override]
        """The text."""
        return self._make()
