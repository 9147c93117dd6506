"""Checks of the arguments that a callable accepts, whether a function, a wrapper or a numba dispatcher."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from types import FunctionType
from typing import Any

__all__ = ["is_jitted", "takes"]

_VARIABLE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def takes(function: Any, by_place: int, by_name: Collection[str] = ()) -> bool:
    """Return whether a callable accepts the given arguments; True if its parameters are unknown.

    Args:
        function: a callable; for a numba dispatcher, the wrapped Python function is inspected.
        by_place: the number of positional arguments.
        by_name: the names of the keyword arguments.
    """
    if isinstance(function, FunctionType) and not by_name:
        code = function.__code__
        if code.co_argcount == by_place and not code.co_kwonlyargcount and not code.co_flags & _VARIABLE:
            return True  # the most common case, without the slow inspect
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
    """Return whether a function is a numba dispatcher, which takes arrays instead of tensors."""
    # Calling a callback of ``numba.cfunc`` runs its Python function, so it takes tensors.
    return type(function).__module__.startswith("numba") and not hasattr(function, "_pyfunc")
