"""Functions generated from schemas, for operators that are declared by schema text and not by a ``def``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import FunctionType
from typing import Any

from opdsl.dispatch.binding.arguments import MISSING
from opdsl.dispatch.binding.signature import Parameter
from opdsl.dispatch.fitting import is_jitted, takes
from opdsl.errors import KernelSignatureError
from opdsl.generated import function_from_source
from opdsl.schema import FunctionSchema
from opdsl.schema.model import python_name

_VARIABLE = CO_VARARGS | CO_VARKEYWORDS


def function_of(
    schema: FunctionSchema,
    body: Callable[..., Any] | None,
    *,
    module: str,
    place: tuple[str, int],
) -> FunctionType:
    """Generate a function with the parameters of a schema, to be declared as ``@op`` declares a ``def``.

    Args:
        schema: names and defaults come from it.
        body: called with the arguments, keyword-only ones by name; None for a declaration without a body.
        module: name of the module that the function is reported to belong to.
        place: file and line, for messages.
    """
    parameters: list[str] = []
    passed: list[str] = []
    base, overload = schema.name.base, schema.name.overload
    name = python_name(f"{base}_{overload}" if overload else base)
    called = "body"
    while called == name or any(argument.python_name == called for argument in schema.arguments):
        called += "_"
    namespace: dict[str, Any] = {"__name__": module, called: body}
    for argument in (*schema.positional, *schema.keyword_only):
        by_name = argument in schema.keyword_only
        parameter = Parameter(argument, keyword_only=by_name)
        if by_name and "*" not in parameters:
            parameters.append("*")
        default = f"default_{parameter.name}"
        namespace[default] = parameter.default
        parameters.append(parameter.name if parameter.default is MISSING else f"{parameter.name}={default}")
        passed.append(f"{parameter.name}={parameter.name}" if by_name else parameter.name)
    for out in schema.out:
        parameters += [out.python_name] if "*" in parameters else ["*", out.python_name]
        passed.append(f"{out.python_name}={out.python_name}")
    if body is not None:
        names = [text.partition("=")[0] for text in passed if "=" in text]
        _require_callable(schema, body, len(passed) - len(names), names, place)
    statement = "..." if body is None else f"return {called}({', '.join(passed)})"
    source = f"def {name}({', '.join(parameters)}):\n    {statement}\n"
    function = function_from_source(name, source, namespace, location=place)
    function.__doc__ = f"``{schema}``"
    return function


def _require_callable(
    schema: FunctionSchema, body: object, by_place: int, by_name: Sequence[str], place: tuple[str, int]
) -> None:
    """Check that a body accepts the arguments that calls pass.

    Raises:
        KernelSignatureError: it is no function, takes something else, or takes no tensors.
    """
    where, name = f"{place[0]}:{place[1]}: {schema.name.qualified}", str(getattr(body, "__name__", repr(body)))
    if not callable(body):
        raise KernelSignatureError(f"{where}: the body is no function (got {body!r}). Pass a callable.")
    if is_jitted(body):
        raise KernelSignatureError(
            f"{where}: the body {name} is compiled by numba, which takes arrays and no tensors. Attach the function "
            'that numba wraps, as f.out_kernel("CPU")(function), or write a formula.'
        )
    if not takes(body, by_place, by_name):
        wanted = [argument.python_name for argument in (*schema.positional, *schema.keyword_only)][:by_place]
        wanted += ["*", *by_name] if by_name else []
        raise KernelSignatureError(
            f"{where}: the body {name} does not accept the arguments of {schema}. Write: def "
            f"{name}({', '.join(wanted)})."
        )
