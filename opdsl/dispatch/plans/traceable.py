"""Python functions that only call operators: what they call can be lowered with the call that they are made in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])

_TRACEABLE = "__opdsl_traceable__"


def traceable(function: F) -> F:
    """Promise that a body or a Python kernel only calls operators, the same ones for the same geometries.

    The operator's plan is then made of theirs, and calls cost what these cost. What the function does beside calling
    operators must depend on the geometries of its tensors, on its options and on the default dtype alone: not on
    elements, on variables outside of it or on chance.

    Args:
        function: the body, beneath ``@op``, or a kernel.

    Returns:
        The function as it is.

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
    """Whether a function is promised to be ``traceable``: its author says so, or it is one of ours."""
    module = getattr(getattr(function, "__wrapped__", function), "__module__", None) or ""
    return is_promised(function) or module.startswith("opdsl.")


def is_promised(function: object) -> bool:
    """Whether the author of a function says that it is ``traceable``."""
    return _TRACEABLE in getattr(getattr(function, "__wrapped__", function), "__dict__", ())


__all__ = ["is_promised", "is_traceable", "traceable"]
