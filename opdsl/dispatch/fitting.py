"""Whether callables take what calls hand them, whatever kind of callable they are."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from types import FunctionType
from typing import Any

__all__ = ["is_jitted", "takes"]

_VARIABLE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def takes(function: Any, by_place: int, by_name: Collection[str] = ()) -> bool:
    """Return whether a callable takes arguments; True of one that tells nothing of its parameters.

    Args:
        function: a callable; of one that numba has wrapped the function inside is asked.
        by_place: how many arguments it is given by place.
        by_name: the names of the others.
    """
    if isinstance(function, FunctionType) and not by_name:
        code = function.__code__
        if code.co_argcount == by_place and not code.co_kwonlyargcount and not code.co_flags & _VARIABLE:
            return True  # the most common one, without what inspect takes to find out
    try:
        signature = inspect.signature(getattr(function, "py_func", function), follow_wrapped=False)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*(None,) * by_place, **dict.fromkeys(by_name))
    except TypeError:
        return False
    return True


def is_jitted(function: object) -> bool:
    """Return whether numba compiles a function for its arguments: it takes arrays then, and no tensors."""
    # A callback of ``numba.cfunc`` has a Python function, which is what calls of it run.
    return type(function).__module__.startswith("numba") and not hasattr(function, "_pyfunc")
