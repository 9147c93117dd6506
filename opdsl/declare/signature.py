"""Conversion of Python functions to schemas: parameters, defaults and evaluated annotations."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from functools import lru_cache
from types import CodeType, FunctionType

from opdsl.errors import AnnotationError, DeclarationError, SchemaError
from opdsl.schema import FunctionSchema, OperatorName
from opdsl.schema.signature import MISSING, ParameterSpec, from_signature

_VARIABLE = 0x04 | 0x08  # CO_VARARGS | CO_VARKEYWORDS


def _declaration() -> None: ...


def _documented() -> None:
    """Do nothing; ``is_declaration`` compares the bytecode of other functions with this one."""


# Index of the constant None that an empty body returns, by bytecode: a body that returns another constant has the same.
_EMPTY_BODIES = {
    function.__code__.co_code: function.__code__.co_consts.index(None) for function in (_declaration, _documented)
}


def is_declaration(function: FunctionType) -> bool:
    """Return whether the body is ``...``, a docstring, or both, so that there is nothing to run."""
    code = function.__code__
    place = _EMPTY_BODIES.get(code.co_code)
    return place is not None and code.co_consts[place] is None


def location(function: FunctionType) -> str:
    """Return ``file:line`` of a function."""
    code = function.__code__
    return f"{code.co_filename}:{code.co_firstlineno}"


def is_of_library(function: FunctionType) -> bool:
    """Return whether a function declares an operator of opdsl's own library (``opdsl.aten``).

    Formulas of the library are parsed at the first call and not when declared: tests parse them all, and importing a
        topic
    declares all of its operators at once.
    """
    return (getattr(function, "__module__", None) or "").startswith("opdsl.aten.")


def caller_names(depth: int) -> dict[str, object]:
    """Return the local names of the declaring frame, which string annotations may use."""
    frame = sys._getframe(depth + 1)
    return {} if frame.f_locals is frame.f_globals else dict(frame.f_locals)


def evaluated_annotations(function: FunctionType, names: Mapping[str, object]) -> dict[str, object]:
    """Return the annotations of a function as objects, evaluating strings (``from __future__ import annotations``).

    Args:
        function: the function.
        names: local names that its annotations may use.

    Raises:
        AnnotationError: an annotation cannot be evaluated.
    """
    evaluated: dict[str, object] = {}
    for name, annotation in function.__annotations__.items():
        if not isinstance(annotation, str):
            evaluated[name] = annotation
            continue
        try:
            evaluated[name] = eval(_expression(annotation), function.__globals__, dict(names))
        except Exception as error:
            raise AnnotationError(
                f"{location(function)}: {function.__name__}: the annotation of '{name}' cannot be evaluated: "
                f"{annotation} ({type(error).__name__}: {error}). Import the names it uses at the top of the module."
            ) from error
    return evaluated


@lru_cache(maxsize=256)  # declarations repeat few annotations very often
def _expression(annotation: str) -> CodeType:
    return compile(annotation, "<annotation>", "eval")


def parameters(function: FunctionType, names: Mapping[str, object]) -> tuple[list[ParameterSpec], object]:
    """Return the parameters and the return annotation of a declared function.

    Raises:
        DeclarationError: the function takes ``*args`` or ``**kwargs``, or an annotation is missing.
        AnnotationError: an annotation cannot be evaluated.
    """
    code = function.__code__
    if code.co_flags & _VARIABLE:
        raise DeclarationError(
            f"{location(function)}: {function.__name__} takes *args or **kwargs, but a schema lists every argument. "
            "Name them; a list of tensors is `tensors: list[Tensor]`."
        )
    evaluated = evaluated_annotations(function, names)
    parameter_specs: list[ParameterSpec] = []
    for name, keyword_only, default in _named_parameters(function, code):
        if name not in evaluated:
            raise DeclarationError(
                f"{location(function)}: {function.__name__}: the parameter '{name}' has no annotation. "
                f"Write its type: `{name}: Tensor`."
            )
        parameter_specs.append(
            ParameterSpec(name, evaluated[name], default, "keyword_only" if keyword_only else "positional")
        )
    if "return" not in evaluated:
        raise DeclarationError(
            f"{location(function)}: {function.__name__} has no return annotation. Write `-> Tensor`, or `-> None`."
        )
    return parameter_specs, evaluated["return"]


def _named_parameters(function: FunctionType, code: CodeType) -> list[tuple[str, bool, object]]:
    count = code.co_argcount
    names = code.co_varnames[: count + code.co_kwonlyargcount]
    defaults = function.__defaults__ or ()
    by_place = dict(zip(names[count - len(defaults) : count], defaults, strict=True))
    by_name = function.__kwdefaults__ or {}
    return [
        (name, index >= count, by_name.get(name, MISSING) if index >= count else by_place.get(name, MISSING))
        for index, name in enumerate(names)
    ]


def schema_of(
    function: FunctionType, name: OperatorName, names: Mapping[str, object], without: Collection[str] = ()
) -> FunctionSchema:
    """Return the schema that a function declares.

    Args:
        function: its parameters, annotations and defaults are read; its body is not.
        name: the operator's name.
        names: local names that annotations may use.
        without: parameters that are no arguments of the operator.

    Raises:
        DeclarationError: the signature is no schema; the message begins with file and line.
    """
    specs, returns = parameters(function, names)
    try:
        return from_signature(name, [spec for spec in specs if spec.name not in without], returns)
    except AnnotationError as error:
        raise AnnotationError(f"{location(function)}: {function.__name__}: {error}") from error
    except SchemaError as error:
        raise DeclarationError(f"{location(function)}: {function.__name__}: {error}") from error


__all__ = ["caller_names", "evaluated_annotations", "is_declaration", "is_of_library", "location", "schema_of"]
