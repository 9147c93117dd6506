"""Checks of functions that implement an operator: their parameters, and the number of returned values.

The decorators check functions when they attach them, and the mypy plugin when it reads them. The checks return a
description of the fault; an empty text means no fault.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import takewhile
from opcode import opmap
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from opdsl.schema.model import Argument, FunctionSchema, SchemaKind
from opdsl.schema.parameters import NUMBERS, Parameter, Role, parameters_of
from opdsl.schema.types import BaseType, ListType, OptionalType, Type

OUTPUT_MASK = "output_mask"
"""Parameter of a derivative: the tuple of bools that selects which of several gradients are computed."""

OUT = "out"
"""Parameter of a body or kernel that serves the ``out=`` variant, too."""

GRADIENTS = ("grad", "grads")
"""Parameters of a derivative: the gradient of the first result, and the gradients of all results."""


class Fault(NamedTuple):
    """Fault of an implementation, with its remedy."""

    problem: str
    remedy: str


def annotations_of(function: FunctionType) -> dict[str, Any]:
    """Return the annotations of a function that can be evaluated at run time; the rest are for type checkers only."""
    evaluated: dict[str, Any] = {}
    for name, annotation in function.__annotations__.items():
        try:
            evaluated[name] = eval(annotation, function.__globals__) if isinstance(annotation, str) else annotation
        except Exception:  # a name that is only imported for type checkers, or that is local to an enclosing function
            continue
    return evaluated


# ------------------------------------------------------------------------------------------------------------- kernels


def names_fault(texts: Sequence[str], expected: Sequence[str], *, first: int = 0, last: int = 0) -> str:
    """Return why a function's parameters do not fit the operator's, which are passed by name; empty if they fit.

    Args:
        texts: the parameter names of the function.
        expected: the names that are passed.
        first, last: how many names at the beginning and at the end are passed by position: all of them, in this order.

    >>> names_fault(("self", "m"), ("self", "n"))
    "'m' is no parameter of the operator"
    >>> names_fault(("n",), ("self", "n"))
    ''
    >>> names_fault(("out", "n"), ("n", "out"), last=1)
    'the parameters are in another order'
    """
    behind = len(expected) - last
    needed = [*expected[:first], *expected[behind:]]
    missing = [text for text in needed if text not in texts]
    extra = [text for text in texts if text not in expected]
    if missing:
        return f"'{missing[0]}' is missing"
    if extra:
        return f"'{extra[0]}' is no parameter of the operator"
    stands = [*texts[:first], *texts[len(texts) - last :]]
    return "" if stands == needed else "the parameters are in another order"


def meta_parameters(schema: FunctionSchema, texts: Sequence[str]) -> list[str]:
    """Return the parameters of a shape function: a context, under any name, and all arguments except outputs.

    Args:
        schema: the operator's schema.
        texts: the parameter names of the function.
    """
    names = [argument.python_name for argument in (*schema.positional, *schema.keyword_only)]
    return [texts[0] if texts and texts[0] not in names else "ctx", *names]


def keyword_only_fault(keyword_only: Iterable[str]) -> str:
    """Return a fault if there are keyword-only parameters that are passed by position; else an empty text.

    Args:
        keyword_only: the names of such parameters.
    """
    wrong = next(iter(keyword_only), None)
    return "" if wrong is None else f"'{wrong}' is keyword-only, but is passed by position"


def returned_fault(schema: FunctionSchema, returned: Iterable[int]) -> str:
    """Return a fault if a kernel returns a tuple whose length is not the number of results; else an empty text.

    Args:
        schema: the operator's schema.
        returned: the lengths of tuples in its return statements.
    """
    count = len(schema.returns)
    if count == 1 and isinstance(schema.returns[0].type, ListType):
        return ""
    for length in returned:
        if length != count or count == 1:
            return f"it returns a tuple of {length}, but the schema has {_counted(count, 'result')}"
    return ""


_BUILD, _LOAD, _RETURN = opmap["BUILD_TUPLE"], opmap["LOAD_CONST"], opmap["RETURN_VALUE"]
_RETURN_CONSTANT = opmap.get("RETURN_CONST")  # CPython 3.12 and 3.13


def returned_lengths(code: CodeType) -> Iterator[int]:
    """Yield the lengths of tuples that a function builds in its return statements; other returns are not seen.

    >>> list(returned_lengths((lambda x: (x, x + 1)).__code__))
    [2]
    """
    text = code.co_code
    for index in range(0, len(text), 2):
        operation, value = text[index], text[index + 1]
        returns = text[index + 2 : index + 3] == bytes((_RETURN,))
        if operation == _BUILD and returns:
            yield value
        elif operation == _RETURN_CONSTANT or (operation == _LOAD and returns):
            constant = code.co_consts[value] if value < len(code.co_consts) else None
            if isinstance(constant, tuple):
                yield len(constant)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count or 'no'} {what}s"


# ---------------------------------------------------------------------------------------------------- scalar functions


def scalar_parameters(schema: FunctionSchema, condition: Collection[str]) -> list[Parameter]:
    """Return the parameters of a pointwise function: all arguments except those that ``when=`` selects functions by."""
    return [parameter for parameter in parameters_of(schema) if parameter.name not in condition]


def text_names(schema: FunctionSchema) -> frozenset[str]:
    """Return the names of string arguments, which a scalar function compares at compile time."""
    return frozenset(argument.python_name for argument in schema.arguments if _of(argument) is BaseType.str)


def optional_names(schema: FunctionSchema) -> frozenset[str]:
    """Return the names of arguments that may be None."""
    return frozenset(argument.python_name for argument in schema.arguments if isinstance(argument.type, OptionalType))


def _of(argument: Argument) -> Type:
    return argument.type.element if isinstance(argument.type, OptionalType) else argument.type


def unnumbered_fault(
    schema: FunctionSchema, condition: Collection[str], names: Sequence[str], *, is_derived: bool = False
) -> Fault | None:
    """Return a fault if an argument of a scalar function is no number, no compared string, and not in ``when=``."""
    parameters = scalar_parameters(schema, condition)
    texts = text_names(schema) if is_derived or len(names) == len(parameters) else ()
    for parameter in parameters:
        if parameter.role is not Role.TENSOR and parameter.role not in NUMBERS and parameter.name not in texts:
            remedy = f"Choose functions by its value: when={{{parameter.name!r}: ...}}"
            return Fault(f"{parameter.name!r} is no number", remedy)
    return None


def scalar_fault(
    schema: FunctionSchema, names: Sequence[str], condition: Collection[str] = (), *, is_derived: bool = False
) -> Fault | None:
    """Return the fault in the parameters of a pointwise function, whose names may differ from the schema's, or None.

    Args:
        schema: the operator's schema.
        names: the function's parameters.
        condition: the arguments whose values select the function.
        is_derived: whether the function was generated, so that its parameters' names have no meaning.
    """
    unnumbered = unnumbered_fault(schema, condition, names, is_derived=is_derived)
    if unnumbered is not None:
        return unnumbered
    left_out = text_names(schema) if is_derived else ()
    expected = [
        scalar_parameter.name
        for scalar_parameter in scalar_parameters(schema, condition)
        if scalar_parameter.name not in left_out
    ]
    if len(names) != len(expected):
        problem = f"it takes ({', '.join(names)}) for ({', '.join(expected)})"
        return Fault(problem, "Give it one parameter for each argument")
    for name, index in zip(names, expected, strict=True):
        if name != index and name in expected and not is_derived:
            return Fault(f"{name!r} is at the position of {index!r}", f"Write ({', '.join(expected)})")
    return None


def row_fault(schema: FunctionSchema, names: Sequence[str]) -> Fault | None:
    """Return the fault in the parameters of a row function, which takes tensors, numbers and strings, or None."""
    roles = {parameter.name: parameter.role for parameter in parameters_of(schema)}
    for name in (name for name in names if name not in text_names(schema)):
        if roles.get(name) is not Role.TENSOR and roles.get(name) not in NUMBERS:
            fault = "is no tensor or number" if name in roles else "is no argument"
            return Fault(f"{name!r} {fault} of {schema}", "Take tensors and numbers, by name")
    return None


def indexed_fault(
    schema: FunctionSchema, names: Sequence[str], indices: Sequence[str], *, has_meta: bool
) -> Fault | None:
    """Return the fault in the parameters of an indexed function, which takes indices, tensors and numbers, or None."""
    known = {parameter.name for parameter in parameters_of(schema)}
    own = [index for index in indices if index != "..."]
    for place, name in enumerate(own):
        if not name.isidentifier() or name in known or name in own[:place]:
            return Fault(f"{name!r} is no name for an index", "Indices have names of their own")
        if name not in names:
            return Fault(f"the index {name!r} is no parameter", "Take all indices, by name")
    for name in names:
        if name not in known and name not in own and not has_meta:
            return Fault(f"{name!r} is no argument of {schema}, and no index", "Name indices in at= and over=")
    return None


def draws_of(schema: FunctionSchema, names: Sequence[str]) -> tuple[str, ...]:
    """Return the leading parameters of a random function that are no arguments: its random numbers."""
    known = {argument.python_name for argument in schema.arguments}
    return tuple(takewhile(lambda text: text not in known, names))


def random_fault(schema: FunctionSchema, names: Sequence[str]) -> Fault | None:
    """Return the fault in the schema or the parameters of a function that draws random elements, or None."""
    first = next(iter(schema.arguments), None)
    if schema.kind is not SchemaKind.inplace or first is None or first.type is not BaseType.Tensor:
        return Fault(
            f"{schema} does not fill a tensor", "Declare it in place: name_(self: Tensor[Alias('a', write=True)])"
        )
    if not any(str(argument.type) == "Generator?" and argument.name == "generator" for argument in schema.arguments):
        return Fault(f"{schema} has no generator", "Let it take generator: Generator | None = None")
    draws = draws_of(schema, names)
    if not 0 < len(draws) < 3:
        problem = f"it takes {len(draws) or 'no'} random numbers"
        return Fault(problem, "Take one or two first, of names that no argument has; then arguments by name")
    roles = {parameter.name: parameter.role for parameter in parameters_of(schema)}
    readable = (*NUMBERS, Role.TENSOR)
    wrong = next((name for name in names if name == first.name or roles.get(name, Role.TENSOR) not in readable), None)
    return None if wrong is None else Fault(f"{wrong!r} is no number or tensor that it reads", "Take others, by name")


# ---------------------------------------------------------------------------------------------------------- derivatives


def is_differentiable(argument: Argument) -> bool:
    """Return whether an argument's type is a tensor, or an optional or list of tensors."""
    kind = argument.type
    while isinstance(kind, OptionalType | ListType):
        kind = kind.element
    return kind is BaseType.Tensor


def differentiable_names(schema: FunctionSchema) -> tuple[str, ...]:
    """Return the names of the arguments that can have gradients, which excludes outputs."""
    arguments = (*schema.positional, *schema.keyword_only)
    return tuple(argument.python_name for argument in arguments if is_differentiable(argument))


def result_names(schema: FunctionSchema) -> tuple[str, ...]:
    """Return the names of results in derivative formulas: their own, or ``result``, or ``result0``, ``result1``, ..."""
    returns = schema.returns
    if len(returns) == 1:
        return (returns[0].name or "result",)
    return tuple(returned.name or f"result{index}" for index, returned in enumerate(returns))


def derivative_fault(schema: FunctionSchema, names: Sequence[str], parameters: Sequence[str]) -> Fault | None:
    """Return the fault in a derivative formula for the gradients of some arguments, or None.

    Args:
        schema: the operator's schema.
        names: the arguments.
        parameters: the parameters of the formula.
    """
    fault = differentiable_fault(schema, names)
    if fault is not None:
        return fault
    known = (*GRADIENTS, OUTPUT_MASK, *(argument.python_name for argument in schema.arguments), *result_names(schema))
    unknown = next((parameter for parameter in parameters if parameter not in known), None)
    if unknown is not None:
        return Fault(f"{unknown!r} is no argument and no result", f"There are {', '.join(known)}")
    if ("grad" in parameters) == ("grads" in parameters):
        problem = "it takes both grad and grads" if "grad" in parameters else "it takes neither grad nor grads"
        return Fault(problem, "Take grad, the first result's gradient, or grads, a tuple of all")
    if OUTPUT_MASK in parameters and len(names) == 1:
        return Fault(f"{OUTPUT_MASK} is for several arguments", "Remove it")
    return None


def differentiable_fault(schema: FunctionSchema, names: Sequence[str]) -> Fault | None:
    """Return a fault if the arguments of a derivative are missing, repeated, or cannot have gradients; else None."""
    known = differentiable_names(schema)
    if not names:
        return Fault("it names no argument", f"Name some of {', '.join(known)}")
    for name in names:
        if name not in known:
            return Fault(f"{name!r} is no tensor argument", f"Name some of: {', '.join(known) or 'none'}")
        if names.count(name) > 1:
            return Fault(f"{name!r} is named twice", "Remove one of them")
    return None


def gradients_fault(schema: FunctionSchema, names: Sequence[str], returned: Iterable[int]) -> Fault | None:
    """Return a fault if a derivative formula returns a wrong number of gradients; else None.

    Args:
        schema: the operator's schema.
        names: the arguments whose gradients it computes.
        returned: the lengths of tuples in its return statements.
    """
    count = len(names)
    lists = [argument.python_name for argument in schema.arguments if isinstance(argument.type, ListType)]
    if count == 1 and names[0] in lists:
        return None
    for length in returned:
        if length != count or count == 1:
            remedy = f"Return a tuple of {count}" if count > 1 else "Return a tensor"
            return Fault(f"it returns {length} gradients for {', '.join(names)}", remedy)
    return None
