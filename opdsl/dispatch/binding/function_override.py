"""``__opdsl_function__``: what stands for tensors in calls and is none, as ``__torch_function__`` does in PyTorch.

A call whose arguments fit no overload is handed to the first argument whose class has the method
``__opdsl_function__(function, args, kwargs)``. Nothing asks for it while arguments fit, so warm calls cost the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from types import FunctionType

    from opdsl.dispatch.binding.signature import Signature

HOOK = "__opdsl_function__"

NO_OVERRIDE = object()
"""What ``overridden`` returns for a call that no argument answers."""


class OverriddenFunction(NamedTuple):
    """The function of a call that an argument answers.

    name: as messages show it.
    signatures: those that the call may bind to, in the order in which they are tried.
    function: what users call.
    """

    name: str
    signatures: Sequence[Signature]
    function: FunctionType

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self.function(*args, **kwargs)


# Lists in lists that are searched; no operator takes as many.
_MOST_LEVELS = 8


def is_override(value: object) -> bool:
    """Whether a value stands for a tensor in calls, and is none."""
    return hasattr(type(value), HOOK)


def overriding_argument(values: Iterable[object], levels: int = _MOST_LEVELS) -> object | None:
    """Return the first value, or element of a list, whose class has the hook; None where there is none."""
    for value in values:
        if is_override(value):
            return value
        if isinstance(value, (tuple, list)) and levels:
            element = overriding_argument(value, levels - 1)
            if element is not None:
                return element
    return None


def overridden(function: OverriddenFunction, args: tuple[object, ...], kwargs: Mapping[str, object]) -> object:
    """Return what an argument with the hook answers to a call, or ``NO_OVERRIDE``."""
    argument: Any = overriding_argument((*args, *kwargs.values()))
    return NO_OVERRIDE if argument is None else argument.__opdsl_function__(function, args, dict(kwargs))


__all__ = ["HOOK", "NO_OVERRIDE", "OverriddenFunction", "is_override", "overridden", "overriding_argument"]
