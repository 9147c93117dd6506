"""Detection of implementations in a parsed file, and encoding of their parameters and results in annotations.

An implementation is a function decorated with ``@f.meta``, ``@f.kernel("CPU")`` and so on, or passed by name, as in
``f.kernel("CPU")(function)``. It needs no annotations: each one becomes an encoded ``Place``, from which
``resolution`` computes the type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import attrs
from mypy.nodes import (
    AssignmentStmt,
    CallExpr,
    ConditionalExpr,
    Decorator,
    Expression,
    ExpressionStmt,
    FuncDef,
    MemberExpr,
    NameExpr,
    StarExpr,
    Statement,
    TupleExpr,
)
from mypy.traverser import all_return_statements, has_return_statement
from mypy.types import Type, UnboundType

from opdsl.schema.kinds import DECORATORS, Function, Kind
from opdsl.typing.place import Place
from opdsl.typing.precomputed import Precomputed, precomputed_in
from opdsl.typing.syntax import called, options_of, path_of, set_types, texts_of, written_types

KEY_SETS = frozenset(("DispatchKeySet", "KeySet"))
"""Annotations of a kernel's first parameter with which it requests the key set of the call."""


class Known(NamedTuple):
    """Facts that the type checker plugin reads from a block of code about the operators in it, by the
    operators' names.

    precomputed: the precomputed values of operators that it declares.
    made_by: for operators that it assigns from a call, the dotted name of the called function.
    """

    precomputed: Mapping[str, Precomputed]
    made_by: Mapping[str, str]


def mark_implementations(block: Iterable[Statement]) -> bool:
    """Annotate the implementations of a block with encoded ``Place`` values; return whether there were any."""
    statements = list(block)
    known = Known(dict(precomputed_in(statements)), dict(_assigned(statements)))
    handed_over = {name: attaching for statement in statements for name, attaching in _handed_over(statement)}
    marked = False
    for statement in statements:
        if isinstance(statement, Decorator):
            attaching = next(
                (
                    original_decorator
                    for original_decorator in statement.original_decorators
                    if _is_attaching(original_decorator)
                ),
                None,
            )
            marked |= attaching is not None and _mark(statement.func, attaching, known)
        elif isinstance(statement, FuncDef) and statement.name in handed_over:
            marked |= _mark(statement, handed_over[statement.name], known)
    return marked


def _assigned(statements: Iterable[Statement]) -> Iterator[tuple[str, str]]:
    """Yield the names that are assigned from a call, each with the dotted name of the called function."""
    for statement in statements:
        made_by = _called_name(statement.rvalue) if isinstance(statement, AssignmentStmt) else ""
        if made_by and isinstance(statement, AssignmentStmt):
            yield from ((name, made_by) for name in _named(statement.lvalues))


def _called_name(expression: Expression) -> str:
    """Return the dotted name of the function that an expression calls; an empty string if it is not a call."""
    path, is_all = path_of(expression.callee) if isinstance(expression, CallExpr) else ("", False)
    return path if is_all else ""


def _named(targets: Iterable[Expression]) -> Iterator[str]:
    """Yield the names among targets of an assignment, also within tuples."""
    for target in targets:
        if isinstance(target, NameExpr):
            yield target.name
        elif isinstance(target, TupleExpr):
            yield from _named(target.items)


def _is_attaching(decorator: Expression) -> bool:
    callee = called(decorator)
    return isinstance(callee, MemberExpr) and callee.name in DECORATORS and not _launches(decorator)


def _kind(attaching: Expression) -> Kind:
    callee = called(attaching)
    assert isinstance(callee, MemberExpr), "what attaches is an attribute of an operator"
    return DECORATORS[callee.name]


def _launches(decorator: Expression) -> bool:
    """Return whether a function launches a kernel from given source, so that it does not receive the operator's
    arguments.
    """
    return isinstance(decorator, CallExpr) and "source" in decorator.arg_names


def _handed_over(statement: Statement) -> Iterator[tuple[str, Expression]]:
    """Yield the functions that a statement passes by name, each with the call that attaches it."""
    if not isinstance(statement, ExpressionStmt) or not isinstance(statement.expr, CallExpr):
        return
    attaching = statement.expr.callee
    if _is_attaching(attaching):
        for argument in statement.expr.args:
            if isinstance(argument, NameExpr):
                yield argument.name, attaching


def _mark(function: FuncDef, attaching: Expression, known: Known) -> bool:
    """Replace the annotations of a function by encoded ``Place`` values; return whether the function belongs to an
    operator.
    """
    place = _place(function, attaching, known)
    if not place.operator:
        return False
    names = [*(parameter.variable.name for parameter in function.arguments), ""]
    filled: list[Type] = []
    for name, written in zip(names, written_types(function), strict=True):
        if written is not None and name and name not in place.parameters:
            filled.append(written)  # the key set of the call
        else:
            own = attrs.evolve(place, parameter=name)
            filled.append(own.annotation(written, function.line, function.column))
    set_types(function, filled)
    return True


def _place(function: FuncDef, attaching: Expression, known: Known) -> Place:
    """Return the ``Place`` of a function's result."""
    callee = called(attaching)
    assert isinstance(callee, MemberExpr), "what attaches is an attribute of an operator"
    kind = DECORATORS[callee.name]
    operator, is_whole = path_of(callee.expr)
    arguments = function.arguments[1:] if _wants_key_set(function) else function.arguments
    options = options_of(attaching)
    texts = texts_of(attaching)
    return Place(
        operator=operator,
        is_whole=is_whole,
        decorator=kind.name,
        texts=texts,
        handed=_handed(kind, texts, options),
        function=function.name,
        parameters=tuple(parameter.variable.name for parameter in arguments),
        keyword_only=tuple(parameter.variable.name for parameter in arguments if parameter.kind.is_named()),
        defaulted=tuple(parameter.variable.name for parameter in arguments if parameter.kind.is_optional()),
        returned=_returned(function),
        returns_value=has_return_statement(function),
        precomputed=known.precomputed.get(operator),
        made_by=known.made_by.get(operator, ""),
    )


def _returned(function: FuncDef) -> tuple[int, ...]:
    """Return the lengths of the tuples in ``return`` statements."""
    numbers: list[int] = []
    waiting = [return_statement.expr for return_statement in all_return_statements(function)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, ConditionalExpr):
            waiting += [value.if_expr, value.else_expr]
        elif isinstance(value, TupleExpr) and not any(isinstance(item, StarExpr) for item in value.items):
            numbers.append(len(value.items))
    return tuple(numbers)


def _handed(kind: Kind, keys: Sequence[str], options: Mapping[str | None, Expression]) -> str:
    """Return the class that an implementation receives for a tensor: arrays if numba compiles it, as for the CPU."""
    refined = f"{keys[0]}Tensor" if len(set(keys)) == 1 and keys[0] in ("CPU", "CUDA") else "Tensor"
    if kind.function is not Function.OUTPUTS:
        return refined if kind.function is Function.TENSORS else "Tensor"
    compiled = options.get("compiled")
    if isinstance(compiled, NameExpr):
        return {"False": refined, "True": "Array"}.get(compiled.name, "Any")
    if not keys:
        return "Tensor"
    return "Array" if compiled is None and list(keys) == ["CPU"] else "Any"


def _wants_key_set(function: FuncDef) -> bool:
    annotation = function.arguments[0].type_annotation if function.arguments else None
    return isinstance(annotation, UnboundType) and annotation.name.rpartition(".")[2] in KEY_SETS
