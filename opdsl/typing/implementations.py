"""Implementations carry no annotations: this finds them in a parsed file and marks what is missing as places.

An implementation is a function below ``@f.meta``, ``@f.kernel("CPU")`` and the like, or handed over by name, as in
``f.pointwise(...)(function)`` and ``@f.reduction(finish=function)``. ``resolution`` then says what each place has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs
from mypy.nodes import (
    CallExpr,
    Decorator,
    Expression,
    ExpressionStmt,
    FuncDef,
    MemberExpr,
    NameExpr,
    Statement,
    StrExpr,
)
from mypy.traverser import has_return_statement
from mypy.types import UnboundType

from opdsl.typing.place import Place
from opdsl.typing.syntax import called, path_of, set_types, written_types

IMPLEMENTING = frozenset(
    ("pointwise", "reduction", "row", "scan", "meta", "out_kernel", "kernel", "view_kernel", "derivative")
)
"""The decorators that attach an implementation."""

HANDED_OVER = frozenset(("lift", "finish"))
"""The arguments of ``reduction`` and ``scan`` that are scalar functions."""

KEY_SETS = frozenset(("DispatchKeySet", "KeySet"))
"""How a kernel's first parameter is annotated when it asks for the key set of the call."""


def mark_implementations(block: Iterable[Statement]) -> bool:
    """Give the implementations of a block annotations that name their places; whether there were any."""
    statements = list(block)
    handed_over = {name: attaching for statement in statements for name, attaching in _handed_over(statement)}
    marked = False
    for statement in statements:
        if isinstance(statement, Decorator):
            attaching = next((each for each in statement.original_decorators if _is_attaching(each)), None)
            marked |= attaching is not None and _mark(statement.func, attaching)
        elif isinstance(statement, FuncDef) and statement.name in handed_over:
            marked |= _mark(statement, handed_over[statement.name])
    return marked


def _is_attaching(decorator: Expression) -> bool:
    callee = called(decorator)
    return isinstance(callee, MemberExpr) and callee.name in IMPLEMENTING


def _handed_over(statement: Statement) -> Iterator[tuple[str, Expression]]:
    """The functions that a statement hands over by name, each with what attaches it."""
    if isinstance(statement, Decorator):
        for decorator in statement.original_decorators:
            if _is_attaching(decorator):
                yield from _scalar_functions(decorator)
    elif isinstance(statement, ExpressionStmt) and isinstance(statement.expr, CallExpr):
        attaching = statement.expr.callee
        if _is_attaching(attaching):
            yield from _scalar_functions(attaching)
            for argument in statement.expr.args:
                if isinstance(argument, NameExpr):
                    yield argument.name, attaching


def _scalar_functions(attaching: Expression) -> Iterator[tuple[str, Expression]]:
    if isinstance(attaching, CallExpr):
        for name, argument in zip(attaching.arg_names, attaching.args, strict=True):
            if name in HANDED_OVER and isinstance(argument, NameExpr):
                yield argument.name, attaching


def _mark(function: FuncDef, attaching: Expression) -> bool:
    """Write a place wherever a function has no annotation; whether there was one."""
    place = _place(function, attaching)
    names = [*(each.variable.name for each in function.arguments), ""]
    types = written_types(function)
    missing = [name for name, written in zip(names, types, strict=True) if written is None]
    if not missing or not place.operator:
        return False
    filled = [
        attrs.evolve(place, parameter=name, reports=name == missing[-1]).annotation(function.line, function.column)
        if written is None
        else written
        for name, written in zip(names, types, strict=True)
    ]
    set_types(function, filled)
    return True


def _place(function: FuncDef, attaching: Expression) -> Place:
    """The place of a function's result."""
    callee = called(attaching)
    assert isinstance(callee, MemberExpr), "what attaches is an attribute of an operator"
    operator, is_whole = path_of(callee.expr)
    parameters = tuple(each.variable.name for each in function.arguments)
    return Place(
        operator=operator,
        is_whole=is_whole,
        decorator=callee.name,
        handed=_handed(attaching),
        function=function.name,
        parameters=parameters[1:] if _wants_key_set(function) else parameters,
        parameter="",
        returns_value=has_return_statement(function),
        reports=False,
    )


def _handed(attaching: Expression) -> str:
    """What an implementation gets for a tensor: arrays where numba compiles it, as it does for the CPU."""
    callee = called(attaching)
    assert isinstance(callee, MemberExpr), "what attaches is an attribute of an operator"
    if callee.name != "out_kernel" or not isinstance(attaching, CallExpr):
        return "Tensor"
    keys = [each.value for each in attaching.args if isinstance(each, StrExpr)]
    options = dict(zip(attaching.arg_names, attaching.args, strict=True))
    compiled = options.get("compiled")
    if isinstance(compiled, NameExpr):
        return {"False": "Tensor", "True": "Array"}.get(compiled.name, "Any")
    return "Array" if compiled is None and keys == ["CPU"] else "Any"


def _wants_key_set(function: FuncDef) -> bool:
    annotation = function.arguments[0].type_annotation if function.arguments else None
    return isinstance(annotation, UnboundType) and annotation.name.rpartition(".")[2] in KEY_SETS
