"""Names that go away: they warn, and go on working until the release in which they go.

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
    """A name that goes away.

    name: which one.
    since: the release that deprecated it.
    removal: the release in which it goes.
    instead: what to write.
    """

    name: str
    since: str
    removal: str
    instead: str

    def __str__(self) -> str:
        return f"{self.name} is deprecated since opdsl {self.since} and goes in {self.removal}. Use {self.instead}."


DEPRECATED: list[Deprecation] = []
"""Everything that is deprecated in modules that are loaded."""


def deprecated(*, since: str, removal: str, instead: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Deprecate a function: each call warns, at the line that calls it.

    Args:
        since: the release that deprecates it.
        removal: the release in which it goes.
        instead: what to write instead.
    """

    def deprecating(function: Callable[P, R]) -> Callable[P, R]:
        deprecation = Deprecation(f"{function.__module__}.{function.__qualname__}", since, removal, instead)
        DEPRECATED.append(deprecation)

        @functools.wraps(function)
        def warning(*args: P.args, **kwargs: P.kwargs) -> R:
            warnings.warn(str(deprecation), DeprecatedWarning, stacklevel=2)
            return function(*args, **kwargs)

        warning.__dict__["__deprecated__"] = str(deprecation)  # what PEP 702 has tools look at
        return warning

    return deprecating
