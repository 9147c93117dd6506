"""Attributes and bitwise operators of symbolic numbers, which specialize the plan to the number's value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["bitwise", "pinned_attribute"]


def pinned_attribute(name: str) -> property:
    """Return a property of symbols that reads an attribute of the number, and specializes the plan to that number."""
    return property(lambda symbol: getattr(symbol.pin(), name))


def bitwise(function: Callable[[Any, Any], Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the methods of symbols for a bitwise operator and its reflected form; both specialize the plan."""

    def forward(self: Any, other: Any) -> Any:
        return function(self.pin(), other.pin() if type(other) is type(self) else other)

    def reflected(self: Any, other: Any) -> Any:
        return function(other, self.pin())

    return forward, reflected
