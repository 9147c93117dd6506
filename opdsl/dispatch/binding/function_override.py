"""Protocol ``__opdsl_function__`` for objects that replace tensors in calls, like ``__torch_function__`` of PyTorch.

A call whose arguments fit no overload is passed to the first argument whose class has the method
``__opdsl_function__(function, args, kwargs)``. Calls whose arguments fit do not look for it, so they cost the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from types import FunctionType

    from opdsl.dispatch.binding.signature import Signature

HOOK = "__opdsl_function__"

NO_OVERRIDE = object()
"""Sentinel that ``overridden`` returns if no argument overrides the call."""


class OverriddenFunction(NamedTuple):
    """Function that was called, as ``__opdsl_function__`` receives it.

    name: the name in messages.
    signatures: the signatures that the call may bind to, in the order in which they are tried.
    function: the function that users call.
    """

    name: str
    signatures: Sequence[Signature]
    function: FunctionType

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self.function(*args, **kwargs)


# How deeply nested lists are searched; no operator takes deeper ones.
_MOST_LEVELS = 8


def is_override(value: object) -> bool:
    """Return whether a value replaces a tensor in calls: its class has ``__opdsl_function__``."""
    return hasattr(type(value), HOOK)


def overriding_argument(values: Iterable[object], levels: int = _MOST_LEVELS) -> object | None:
    """Return the first value, or element of a list, whose class has ``__opdsl_function__``, or None."""
    for value in values:
        if is_override(value):
            return value
        if isinstance(value, (tuple, list)) and levels:
            element = overriding_argument(value, levels - 1)
            if element is not None:
                return element
    return None


def overridden(function: OverriddenFunction, args: tuple[object, ...], kwargs: Mapping[str, object]) -> object:
    """Return the result of the first argument's ``__opdsl_function__`` for a call, or ``NO_OVERRIDE``."""
    overriding: Any = overriding_argument((*args, *kwargs.values()))
    return NO_OVERRIDE if overriding is None else overriding.__opdsl_function__(function, args, dict(kwargs))


__all__ = ["HOOK", "NO_OVERRIDE", "OverriddenFunction", "is_override", "overridden", "overriding_argument"]
