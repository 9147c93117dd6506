"""Deprecation of names: they warn, and keep working until the release that removes them.

docs/deprecation.md has the policy. May import: errors.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import NamedTuple, ParamSpec, TypeVar

from opdsl.errors import DeprecatedWarning

P = ParamSpec("P")
R = TypeVar("R")

__all__ = ["DEPRECATED", "Deprecation", "deprecated"]


class Deprecation(NamedTuple):
    """Deprecated name.

    name: the qualified name.
    since: the release that deprecated it.
    removal: the release that removes it.
    instead: its replacement.
    """

    name: str
    since: str
    removal: str
    instead: str

    def __str__(self) -> str:
        return (
            f"{self.name} is deprecated since opdsl {self.since} and will be removed in {self.removal}. "
            f"Use {self.instead}."
        )


DEPRECATED: list[Deprecation] = []
"""Deprecated names in loaded modules."""


def deprecated(*, since: str, removal: str, instead: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that deprecates a function: each call warns, with the location of the caller.

    Args:
        since: the release that deprecates it.
        removal: the release that removes it.
        instead: the replacement.
    """

    def deprecating(function: Callable[P, R]) -> Callable[P, R]:
        deprecation = Deprecation(f"{function.__module__}.{function.__qualname__}", since, removal, instead)
        DEPRECATED.append(deprecation)

        @functools.wraps(function)
        def warning(*args: P.args, **kwargs: P.kwargs) -> R:
            warnings.warn(str(deprecation), DeprecatedWarning, stacklevel=2)
            return function(*args, **kwargs)

        warning.__dict__["__deprecated__"] = str(deprecation)  # attribute that tools read, by PEP 702
        return warning

    return deprecating
