"""What a number has that a plan knows for the number of one call alone: its bits, its ratio, its digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["bitwise", "pinned_attribute"]


def pinned_attribute(name: str) -> property:
    """Return a property of symbols that is an attribute of their numbers."""
    return property(lambda symbol: getattr(symbol.pin(), name))


def bitwise(function: Callable[[Any, Any], Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return a method of symbols for an operator of integers, and the reflected one."""

    def forward(self: Any, other: Any) -> Any:
        return function(self.pin(), other.pin() if type(other) is type(self) else other)

    def reflected(self: Any, other: Any) -> Any:
        return function(other, self.pin())

    return forward, reflected
