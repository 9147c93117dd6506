"""Adapters that let a function with few parameters be called with all arguments that an operator passes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import FunctionType

from opdsl.generated import function_from_source

__all__ = ["adapted", "handed_all", "optional_names", "parameter_names", "without_optional"]


def parameter_names(function: FunctionType) -> tuple[str, ...]:
    """Return the names of all named parameters of a function, positional ones first."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def handed_all(function: FunctionType, parameters: Sequence[str], *, by_place: bool = False) -> FunctionType:
    """Return a wrapper that takes all of ``parameters`` and passes the function those that it has, matched by name.

    The function itself is returned if its parameters are exactly these.

    Args:
        function: takes some of the parameters, matched by name.
        parameters: names of all arguments that the caller passes, in order.
        by_place: whether the caller passes keyword-only parameters by position as well.

    >>> handed_all(lambda n: n + 1, ("self", "n"))("unused", 2)
    3
    """
    fits = parameter_names(function) == tuple(parameters) and not (by_place and function.__code__.co_kwonlyargcount)
    return function if fits else adapted(function, parameters)


def optional_names(function: FunctionType) -> tuple[str, ...]:
    """Return the optional parameters of a shared implementation: keyword-only ones with a default, for arguments that
    an operator may lack.

    >>> optional_names(lambda self, n=1, *, dim=None: dim)
    ('dim',)
    """
    return tuple(function.__kwdefaults__ or ())


def without_optional(function: FunctionType, names: Collection[str], *, last: int = 0) -> FunctionType:
    """Return a wrapper of a shared implementation that leaves out the optional parameters which an operator lacks.

    Args:
        function: called by the adapter.
        names: the optional parameters that the operator has; others keep their defaults.
        last: number of positional parameters that stay after the optional ones; the optional ones become positional.
    """
    absent = [optional_name for optional_name in optional_names(function) if optional_name not in names]
    present = [parameter_name for parameter_name in parameter_names(function) if parameter_name not in absent]
    positional = present[: function.__code__.co_argcount]
    behind = len(positional) - last
    taken = [*positional[:behind], *present[len(positional) :], *positional[behind:]]
    return adapted(function, taken, without=absent)


def adapted(
    function: FunctionType,
    parameters: Sequence[str],
    expressions: Mapping[str, str] | None = None,
    namespace: Mapping[str, object] | None = None,
    without: Collection[str] = (),
) -> FunctionType:
    """Generate a wrapper with other parameters that calls ``function``.

    Args:
        function: called by the generated function.
        parameters: names of the generated function's parameters.
        expressions: Python expressions, by parameter of ``function`` that is not among ``parameters``.
        namespace: values of names that the expressions use, besides the parameters.
        without: keyword-only parameters of ``function`` that keep their defaults.
    """
    code, names = function.__code__, parameter_names(function)
    texts = {**{name: name for name in names}, **(expressions or {})}
    passed = [texts[name] for name in names[: code.co_argcount]]
    passed += [f"{name}={texts[name]}" for name in names[code.co_argcount :] if name not in without]
    source = f"def adapted({', '.join(parameters)}):\n    return adapted_function({', '.join(passed)})\n"
    known: dict[str, object] = {**(namespace or {}), "adapted_function": function}
    caller = function_from_source("adapted", source, known, location=(code.co_filename, code.co_firstlineno))
    caller.__name__, caller.__module__ = function.__name__, function.__module__
    caller.__dict__.update(function.__dict__)  # marks such as `traceable` hold for the adapter as well
    kept = (*parameters, "return")
    caller.__annotations__ = {name: value for name, value in function.__annotations__.items() if name in kept}
    return caller
