"""Calls between scalar functions: finds the called function, and binds arguments to its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import FunctionType
from typing import Any

from opdsl.scalar.function import ScalarFunction
from opdsl.scalar.source import FunctionSource, function_source

__all__ = ["bind", "callee", "parameter_defaults", "parameter_names", "plain_function"]


def plain_function(value: object) -> Callable[..., Any] | None:
    """Return the Python function that is called by a callable that scalar functions can call, or None if they cannot
    call it.

    They can call a plain function, a ScalarFunction, or an object that offers one as ``__scalar_function__``.
    """
    if isinstance(value, ScalarFunction):
        return value.source.function
    inner = getattr(value, "__scalar_function__", None)
    if inner is not None:
        return plain_function(inner)
    return value if isinstance(value, FunctionType) else None


def parameter_names(source: FunctionSource) -> tuple[str, ...]:
    """Return the names of all parameters; star parameters are an error."""
    arguments = source.tree.args
    for star in (arguments.vararg, arguments.kwarg):
        if star is not None:
            raise source.error(star, "star parameters have no fixed number of operands", "Name each parameter.")
    return tuple(parameter.arg for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))


def parameter_defaults(function: Any) -> dict[str, object]:
    """Return the defaults of a function's parameters by name."""
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    defaults = function.__defaults__ or ()
    positional_defaults = dict(zip(positional[len(positional) - len(defaults) :], defaults, strict=True))
    return positional_defaults | (function.__kwdefaults__ or {})


def bind(source: FunctionSource, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a called function's parameters.

    Raises: TypeError with Python's wording when the arguments do not fit.
    """
    names = parameter_names(source)
    positional = names[: source.function.__code__.co_argcount]
    if len(arguments) > len(positional):
        raise TypeError(f"{source.name}() takes {len(positional)} positional arguments but {len(arguments)} were given")
    values = dict(zip(positional, arguments, strict=False))
    for name, value in keywords.items():
        if name not in names or name in values:
            raise TypeError(f"{source.name}() got an unexpected or repeated argument {name!r}")
        values[name] = value
    defaults = parameter_defaults(source.function)
    missing = [name for name in names if name not in values and name not in defaults]
    if missing:
        raise TypeError(f"{source.name}() is missing {', '.join(missing)}")
    return {name: values.get(name, defaults.get(name)) for name in names}


@cache
def callee(function: Callable[..., Any]) -> FunctionSource:
    """Return the source of a function that a scalar function calls."""
    return function_source(function)
