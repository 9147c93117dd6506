"""Attributes and bitwise operators of symbolic numbers, which specialize the plan to the number's value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

__all__ = ["UFUNCS", "bitwise", "pinned_attribute", "ufunc_method"]


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


UFUNCS = (
    "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos",
    "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "degrees", "radians", "rint", "fabs",
)  # fmt: skip
"""Methods that NumPy's functions call on objects that it does not know: ``numpy.sqrt(x)`` calls ``x.sqrt()``."""


def ufunc_method(name: str) -> Callable[[Any], Any]:
    """Return the method of symbols that NumPy's function of that name calls; it specializes the plan to the number."""
    return lambda symbol: getattr(numpy, name)(symbol.pin())
