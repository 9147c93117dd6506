"""List of a definition's scalar functions, which may be read on first use instead of at the declaration."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Generic, TypeVar

from opdsl.runtime.forking import held_across_fork

T = TypeVar("T")

_lock = held_across_fork(threading.Lock())


class LateList(Generic[T]):
    """List to which functions add elements, each of them when an element is first needed."""

    __slots__ = ("_added", "_later", "_values")

    def __init__(self) -> None:
        self._values: list[T] = []
        self._later: tuple[Callable[[], Sequence[T]], ...] = ()
        self._added = 0

    @property
    def values(self) -> list[T]:
        """Return all elements, in the order in which they were added."""
        while self._later:
            later = self._later
            read = [function() for function in later]  # without the lock, since reading may import
            with _lock:
                if self._later is later:
                    self._values, self._added = [*self._values, *chain(*read)], len(read[-1])
                    self._later = ()
        return self._values

    @values.setter
    def values(self, values: list[T]) -> None:
        self._values, self._added = values, len(values)

    @property
    def latest(self) -> list[T]:
        """Return the elements that were added last, by one function."""
        values = self.values
        return values[len(values) - self._added :]

    def add(self, values: Sequence[T]) -> None:
        """Add elements."""
        self._values, self._added = [*self.values, *values], len(values)

    def add_later(self, read: Callable[[], Sequence[T]]) -> None:
        """Add the elements that a function returns when they are first needed; its errors are raised then."""
        self._later = (*self._later, read)
