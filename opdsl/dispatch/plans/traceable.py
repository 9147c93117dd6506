"""Decorator for Python functions that only call operators, which can be lowered with the call that runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])

_TRACEABLE = "__opdsl_traceable__"


def traceable(function: F) -> F:
    """Promise that a body or a Python kernel only calls operators, the same ones for the same geometries.

    The operator's plan then consists of the plans of those operators, and costs as much. All other effects of the
    function must depend only on the geometries of its tensors, on its options and on the default dtype: not on
    elements, on variables outside of it or on random numbers.

    Args:
        function: the function that ``@op`` decorates, or a kernel.

    Returns:
        The same function.

    >>> import opdsl
    >>> with opdsl.Library("example") as lib:
    ...     @lib.op
    ...     @opdsl.traceable
    ...     def columns(self: opdsl.Tensor) -> opdsl.Tensor:
    ...         return self.t().reshape(-1)
    ...     columns(opdsl.tensor([[1, 2], [3, 4]]))
    tensor([1, 3, 2, 4])
    """
    function.__dict__[_TRACEABLE] = True
    return function


def is_traceable(function: object) -> bool:
    """Return whether a function is ``traceable``: marked by its author, or defined in opdsl."""
    module = getattr(getattr(function, "__wrapped__", function), "__module__", None) or ""
    return is_promised(function) or module.startswith("opdsl.")


def is_promised(function: object) -> bool:
    """Return whether the author of a function has marked it as ``traceable``."""
    return _TRACEABLE in getattr(getattr(function, "__wrapped__", function), "__dict__", ())


__all__ = ["is_promised", "is_traceable", "traceable"]
