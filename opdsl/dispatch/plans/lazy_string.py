"""String type whose text is computed each time it is read."""

from __future__ import annotations

from collections import UserString
from collections.abc import Callable

__all__ = ["LazyString"]


class LazyString(UserString):
    """String whose text is computed each time it is read, such as a docstring that lists current declarations.

    Args:
        make: a function that returns the text; any other object represents its ``str``.
    """

    def __init__(self, make: Callable[[], str] | object) -> None:
        self._make = make if callable(make) else lambda: str(make)

    @property
    def data(self) -> str:  # type: ignore[override]
        """Return the current text."""
        return self._make()
