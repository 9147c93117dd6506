"""Overloads that share another overload's body, with some of its arguments fixed."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import Any, cast

from opdsl.declare.adapting import parameter_names
from opdsl.declare.implementations import defaults_of
from opdsl.declare.options import Out, Overload
from opdsl.declare.outputs import takes_out
from opdsl.declare.signature import evaluated_annotations, is_declaration, location
from opdsl.errors import DeclarationError
from opdsl.generated import function_from_source

__all__ = ["inherited", "overload_function", "require_table"]

# Options that overloads do not inherit: names of other operators, and which variants are derived.
_OWN = frozenset(("autogen", "inplace", "out", "foreach", "functional", "structured_delegate", "cpp_no_default_args"))


def require_table(function: FunctionType, table: object) -> Mapping[str, Overload]:
    """Check the option ``overloads`` of ``op``, and return it.

    Raises:
        DeclarationError: it is no table of overloads, or the function has no body.
    """
    where = f"{location(function)}: {function.__name__}"
    fits = isinstance(table, Mapping) and all(
        isinstance(name, str) and isinstance(value, Overload) for name, value in table.items()
    )
    if not fits:
        raise DeclarationError(
            f"{where}: overloads={table!r} is no dict of overloads by name. Write "
            'overloads={"name": Overload(fixed={"argument": value})}.'
        )
    if is_declaration(function):
        raise DeclarationError(
            f"{where}: overloads= needs a body, which computes them. Write one, or declare each overload: "
            f'@{function.__name__}.overload("name").'
        )
    return cast("Mapping[str, Overload]", table)


def inherited(options: Mapping[str, Any], function: FunctionType) -> dict[str, Any]:
    """Return the options that the overloads of a table inherit from their declaration."""
    out = options.get("out", False) if takes_out(function) else False
    unnamed = {"out": out.without_name() if isinstance(out, Out) else out} if out else {}
    return {**{option: value for option, value in options.items() if option not in _OWN}, **unnamed}


def overload_function(
    function: FunctionType, name: str, overload: Overload, names: Mapping[str, object]
) -> FunctionType:
    """Generate the function that declares an overload of the table; it calls the shared body with fixed arguments.

    Args:
        function: the function with the body.
        name: of the overload.
        overload: its options.
        names: local names that annotations may use.

    Raises:
        DeclarationError: the function has no such argument.
        AnnotationError: an annotation cannot be evaluated.
    """
    where = f"{location(function)}: {function.__name__}: Overload {name!r}"
    taken = parameter_names(function)
    unknown = [name for name in overload.fixed if name not in taken]
    if unknown:
        raise DeclarationError(
            f"{where}: fixed= names {unknown[0]!r}, which is no argument. Use one of {', '.join(taken)}."
        )
    code, defaults = function.__code__, defaults_of(function)
    positional, keyword_only = taken[: code.co_argcount], taken[code.co_argcount :]
    named = [keyword for keyword in keyword_only if keyword not in overload.fixed]
    parameters = [_with_default(argument, defaults) for argument in positional if argument not in overload.fixed]
    parameters += ["*", *(_with_default(text, defaults) for text in named)] if named else []
    values = {text: f"fixed_{text}" if text in overload.fixed else text for text in taken}
    passed = [
        *(values[argument] for argument in positional),
        *(f"{argument}={values[argument]}" for argument in keyword_only),
    ]
    own = f"{function.__name__}_{name or 'default'}"
    source = f"def {own}({', '.join(parameters)}):\n    return overload_body({', '.join(passed)})\n"
    namespace: dict[str, Any] = {f"fixed_{key}": value for key, value in overload.fixed.items()}
    namespace |= {f"default_{key}": value for key, value in defaults.items()}
    namespace |= {"overload_body": function, "__name__": function.__module__}
    declared = function_from_source(own, source, namespace, location=(code.co_filename, code.co_firstlineno))
    annotations = evaluated_annotations(function, names)
    declared.__annotations__ = {key: kind for key, kind in annotations.items() if key not in overload.fixed}
    declared.__qualname__ = f"{function.__qualname__}_{name or 'default'}"
    declared.__doc__ = overload.doc or function.__doc__
    declared.__dict__.update(function.__dict__)  # marks such as `traceable` hold as well
    return declared


def _with_default(name: str, defaults: Mapping[str, object]) -> str:
    return f"{name}=default_{name}" if name in defaults else name
