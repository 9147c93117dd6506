"""Plugin support for declarations: allows empty bodies, and widens parameter types to those that operators accept.

An operator converts any sequence to a tuple; so ``list[X]`` of a parameter becomes ``Sequence[X]``.
``options: TensorOptions`` becomes four parameters, and numbers are allowed for tensors where the operator accepts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeGuard

from mypy.checker import TypeChecker
from mypy.nodes import (
    ARG_NAMED,
    ARG_NAMED_OPT,
    Argument,
    AssignmentStmt,
    CallExpr,
    Decorator,
    EllipsisExpr,
    Expression,
    ExpressionStmt,
    FuncDef,
    MemberExpr,
    NameExpr,
    Statement,
    StrExpr,
    TypeInfo,
    Var,
)
from mypy.plugin import AnalyzeTypeContext, AttributeContext
from mypy.types import Instance, NoneType, RawExpressionType, Type, UnboundType, UnionType

from opdsl.typing.annotations import TypeHook, named
from opdsl.typing.syntax import is_declaring, local_name, set_types, written_types

NUMBERS = ("builtins.int", "builtins.float", "builtins.bool", "builtins.complex")
"""Full names of the number types that are accepted for a tensor; the same as for ``Scalar``."""

OPTIONS = {
    "dtype": "opdsl.runtime.dtype.DType",
    "layout": "opdsl.runtime.device.Layout",
    "device": "opdsl.runtime.device.Device",
    "pin_memory": "builtins.bool",
}
"""Arguments that ``options: TensorOptions`` denotes, with their types; each may be None."""


def mark_declarations(block: Iterable[Statement]) -> bool:
    """Change the declarations of a block as described in the module; return whether names of ``received`` were
    inserted.
    """
    written = False
    for statement in block:
        if not isinstance(statement, Decorator):
            continue
        declaring = next(filter(is_declaring, statement.original_decorators), None)
        if declaring is None:
            continue
        function = statement.func
        if _has_empty_body(function):
            # The flag of functions under ``if MYPY``: allows an empty body, and does not affect the type.
            function.is_mypy_only = True
        written |= _widen(function, accepts_numbers=_accepts_numbers(declaring))
    return written


def _has_empty_body(function: FuncDef) -> bool:
    """Return whether a body consists of a docstring, ``...``, or both."""
    statements = function.body.body
    return 1 <= len(statements) <= 2 and all(
        isinstance(statement, ExpressionStmt) and isinstance(statement.expr, (StrExpr, EllipsisExpr))
        for statement in statements
    )


def _accepts_numbers(declaring: Expression) -> bool:
    if not isinstance(declaring, CallExpr):
        return False
    value = dict(zip(declaring.arg_names, declaring.args, strict=True)).get("accepts_numbers")
    return isinstance(value, NameExpr) and value.name == "True"


def _widen(function: FuncDef, *, accepts_numbers: bool) -> bool:
    """Widen the parameter types of a function to those that callers may pass; return whether anything changed."""
    *written, result = written_types(function)
    parameters = [
        parameter
        for argument, annotation in zip(function.arguments, written, strict=True)
        for parameter in _as_called(argument, annotation, accepts_numbers)
    ]
    types = [annotation for _, annotation in parameters if annotation is not None]
    if result is None or len(types) < len(parameters) or types == written:
        return False
    together = [
        argument for argument, annotation in zip(function.arguments, written, strict=True) if _is_options(annotation)
    ]
    function.arguments = [argument for argument, _ in parameters]
    set_types(function, [*types, result])
    if together and not function.is_mypy_only:
        function.body.body.insert(0, _put_together(together[0]))
    return True


def _is_options(annotation: Type | None) -> TypeGuard[UnboundType]:
    return isinstance(annotation, UnboundType) and annotation.name.rpartition(".")[2] == "TensorOptions"


def _put_together(argument: Argument) -> Statement:
    """Return the statement ``options = TensorOptions(dtype=dtype, ...)``, for the beginning of a body that uses
    ``options``.
    """
    annotation = argument.type_annotation
    assert isinstance(annotation, UnboundType), "it is TensorOptions"
    first, *rest = annotation.name.split(".")
    called: Expression = NameExpr(first)
    for attribute in rest:
        called = MemberExpr(called, attribute)
    call = CallExpr(called, [NameExpr(text) for text in OPTIONS], [ARG_NAMED] * len(OPTIONS), list(OPTIONS))
    assignment = AssignmentStmt([NameExpr(argument.variable.name)], call)
    for node in (assignment, call, called, *call.args, *assignment.lvalues):
        node.set_line(argument.line)
    return assignment


def _as_called(
    argument: Argument, annotation: Type | None, accepts_numbers: bool
) -> list[tuple[Argument, Type | None]]:
    """Return a parameter with its widened type, or the four parameters of TensorOptions."""
    if not _is_options(annotation):
        return [(argument, annotation and _widened(annotation, accepts_numbers))]
    parameters: list[tuple[Argument, Type | None]] = []
    for name in OPTIONS:
        text = RawExpressionType(name, "builtins.str", annotation.line, annotation.column)
        parameters.append((Argument(Var(name), None, None, ARG_NAMED_OPT), _written("Option", text, annotation)))
    return parameters


def _widened(annotation: Type, accepts_numbers: bool) -> Type:
    if isinstance(annotation, UnionType):
        items = [_widened(item, accepts_numbers) for item in annotation.items]
        same = all(a is b for a, b in zip(items, annotation.items, strict=True))
        return annotation if same else UnionType(items, annotation.line, annotation.column, uses_pep604_syntax=True)
    if not isinstance(annotation, UnboundType):
        return annotation
    base_name = annotation.name.rpartition(".")[2]
    if base_name == "list" and len(annotation.args) == 1:
        return _written("SequenceOf", annotation.args[0], annotation)
    if base_name == "Annotated" and annotation.args:
        first, *rest = annotation.args
        return annotation.copy_modified(args=[_widened(first, accepts_numbers), *rest])
    return _written("OrNumber", annotation, annotation) if base_name == "Tensor" and accepts_numbers else annotation


def _written(name: str, inner: Type, annotation: Type) -> UnboundType:
    return UnboundType(local_name(name), [inner], line=annotation.line, column=annotation.column)


# ------------------------------------------------------------------------------------------- when names are resolved


def sequence(context: AnalyzeTypeContext) -> Type:
    """Return the type ``Sequence[X]`` for ``SequenceOf[X]``."""
    return context.api.named_type("typing.Sequence", [context.api.analyze_type(context.type.args[0])])


def or_number(context: AnalyzeTypeContext) -> Type:
    """Return the type ``X | int | float | bool | complex`` for ``OrNumber[X]``."""
    numbers = [context.api.named_type(number, []) for number in NUMBERS]
    return UnionType.make_union([context.api.analyze_type(context.type.args[0]), *numbers])


def option(context: AnalyzeTypeContext) -> Type:
    """Return the type ``DType | None`` for ``Option["dtype"]``, and so on."""
    (name,) = context.type.args
    assert isinstance(name, RawExpressionType) and isinstance(name.literal_value, str), "written by this module"
    return UnionType.make_union([named(context.api, OPTIONS[name.literal_value]), NoneType()])


def option_attribute(name: str, context: AttributeContext) -> Type:
    """Return the type ``DType | None`` for ``options.dtype``, and so on, which ``TensorOptions`` itself cannot
    declare.
    """
    module, _, own = OPTIONS[name].rpartition(".")
    modules = context.api.modules if isinstance(context.api, TypeChecker) else {}
    symbol = modules[module].names.get(own) if module in modules else None
    if context.is_lvalue or symbol is None or not isinstance(symbol.node, TypeInfo):
        return context.default_attr_type
    return UnionType.make_union([Instance(symbol.node, []), NoneType()])


ATTRIBUTES: dict[str, Callable[[AttributeContext], Type]] = {
    f"opdsl.schema.vocabulary.TensorOptions.{name}": partial(option_attribute, name) for name in OPTIONS
}
"""Hooks for the types of attributes, by full name."""

HOOKS: dict[str, TypeHook] = {
    "opdsl.typing.received.SequenceOf": sequence,
    "opdsl.typing.received.OrNumber": or_number,
    "opdsl.typing.received.Option": option,
}
"""Hooks that analyze the annotations that this module writes, by full name."""
