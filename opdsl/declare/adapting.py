"""Functions that take what they need, as functions of all that an operator hands over."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import FunctionType

from opdsl.generated import function_from_source

__all__ = ["adapted", "handed_all", "optional_names", "parameter_names", "without_optional"]


def parameter_names(function: FunctionType) -> tuple[str, ...]:
    """All named parameters of a function, positional ones first."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def handed_all(function: FunctionType, parameters: Sequence[str], *, by_place: bool = False) -> FunctionType:
    """A function of all that is handed over, in order; the function itself where it is one.

    Args:
        function: takes some of it, found by name.
        parameters: what is handed over.
        by_place: whether keyword-only parameters are, too, handed over by their places.

    >>> handed_all(lambda n: n + 1, ("self", "n"))("unused", 2)
    3
    """
    fits = parameter_names(function) == tuple(parameters) and not (by_place and function.__code__.co_kwonlyargcount)
    return function if fits else adapted(function, parameters)


def optional_names(function: FunctionType) -> tuple[str, ...]:
    """The parameters that an operator may lack: keyword-only ones with a default, which they are then.

    >>> optional_names(lambda self, n=1, *, dim=None: dim)
    ('dim',)
    """
    return tuple(function.__kwdefaults__ or ())


def without_optional(function: FunctionType, names: Collection[str], *, last: int = 0) -> FunctionType:
    """A function of several operators as one of an operator that has some of its optional parameters.

    Args:
        function: what is called.
        names: those that the operator has.
        last: how many parameters stay behind the optional ones, which are keyword-only no more.
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
    """A function with other parameters that calls another one.

    Args:
        function: what is called.
        parameters: of the function that calls it.
        expressions: what it gives for parameters that are none of these.
        namespace: what the expressions name beside the parameters.
        without: keyword-only parameters of the function that keep their defaults.
    """
    code, names = function.__code__, parameter_names(function)
    texts = {**{name: name for name in names}, **(expressions or {})}
    passed = [texts[name] for name in names[: code.co_argcount]]
    passed += [f"{name}={texts[name]}" for name in names[code.co_argcount :] if name not in without]
    source = f"def adapted({', '.join(parameters)}):\n    return adapted_function({', '.join(passed)})\n"
    known: dict[str, object] = {**(namespace or {}), "adapted_function": function}
    caller = function_from_source("adapted", source, known, location=(code.co_filename, code.co_firstlineno))
    caller.__name__, caller.__module__ = function.__name__, function.__module__
    caller.__dict__.update(function.__dict__)  # what was promised of the function holds for it
    kept = (*parameters, "return")
    caller.__annotations__ = {name: value for name, value in function.__annotations__.items() if name in kept}
    return caller
