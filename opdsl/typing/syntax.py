"""Helpers of the mypy plugin that read a parsed file, before names are resolved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mypy.nodes import (
    MISSING_FALLBACK,
    CallExpr,
    ClassDef,
    Decorator,
    Expression,
    ForStmt,
    FuncDef,
    IfStmt,
    Import,
    ImportFrom,
    IndexExpr,
    MatchStmt,
    MemberExpr,
    MypyFile,
    NameExpr,
    OverloadedFuncDef,
    Statement,
    StrExpr,
    TryStmt,
    WhileStmt,
    WithStmt,
)
from mypy.types import AnyType, CallableType, Instance, Type, TypeOfAny

DECLARING = frozenset(("op", "overload", "inplace_variant", "out_variant"))
"""Names of the decorators that declare: ``@op``, ``@lib.op(...)``, ``@f.overload("Scalar")``."""


def imports_opdsl(file: MypyFile) -> bool:
    """Return whether a file imports anything of opdsl; the plugin ignores other files."""
    for statement in file.imports:
        if isinstance(statement, ImportFrom) and is_ours(statement.id):
            return True
        if isinstance(statement, Import) and any(is_ours(name) for name, _ in statement.ids):
            return True
    return False


def declares(file: MypyFile) -> bool:
    """Return whether a file declares operators, judging by the names of decorators."""
    return any(
        isinstance(statement, Decorator) and any(map(is_declaring, statement.original_decorators))
        for block in blocks(file.defs)
        for statement in block
    )


RECEIVED = "opdsl.typing.received"
"""Module of the classes that the plugin writes into annotations."""


def local_name(name: str) -> str:
    """Return the name under which a class of ``received`` is imported into files."""
    return f"_opdsl_{name}"


def import_received(file: MypyFile, symbols: Iterable[str]) -> None:
    """Import the classes of ``received`` into a file, and add symbols that only the plugin reads."""
    names = [(name, local_name(name)) for name in ("Received", "SequenceOf", "OrNumber", "Option")]
    statement = ImportFrom(RECEIVED, 0, [*names, *(("Received", symbol) for symbol in symbols)])
    statement.set_line(1)
    statement.is_top_level = True
    file.defs.insert(0, statement)


def is_ours(module: str) -> bool:
    """Return whether a module belongs to opdsl."""
    return module == "opdsl" or module.startswith("opdsl.")


def blocks(statements: Iterable[Statement], *, in_functions: bool = True) -> Iterator[list[Statement]]:
    """Yield every block that may contain declarations: the statements themselves, and nested blocks."""
    block = list(statements)
    yield block
    for statement in block:
        if in_functions or not isinstance(statement, (FuncDef, Decorator, OverloadedFuncDef)):
            for inner in _inside(statement):
                yield from blocks(inner, in_functions=in_functions)


def _inside(statement: Statement) -> list[list[Statement]]:
    if isinstance(statement, OverloadedFuncDef):
        return [list(statement.items)]
    if isinstance(statement, Decorator):
        return [statement.func.body.body]
    if isinstance(statement, FuncDef):
        return [statement.body.body]
    if isinstance(statement, ClassDef):
        return [statement.defs.body]
    if isinstance(statement, IfStmt):
        bodies = [*statement.body, statement.else_body]
    elif isinstance(statement, TryStmt):
        bodies = [statement.body, *statement.handlers, statement.else_body, statement.finally_body]
    elif isinstance(statement, (WithStmt, ForStmt, WhileStmt)):
        bodies = [statement.body, *([] if isinstance(statement, WithStmt) else [statement.else_body])]
    elif isinstance(statement, MatchStmt):
        bodies = [*statement.bodies]
    else:
        return []
    return [block.body for block in bodies if block is not None]


def called(decorator: Expression) -> Expression:
    """Return the function that a decorator calls, or the decorator itself if it is not a call."""
    return decorator.callee if isinstance(decorator, CallExpr) else decorator


def options_of(decorator: Expression) -> dict[str | None, Expression]:
    """Return the keyword arguments of a decorator; the key None holds the last positional argument."""
    return dict(zip(decorator.arg_names, decorator.args, strict=True)) if isinstance(decorator, CallExpr) else {}


def texts_of(decorator: Expression) -> tuple[str, ...]:
    """Return the positional arguments of a decorator that are text literals."""
    if not isinstance(decorator, CallExpr):
        return ()
    pairs = zip(decorator.arg_names, decorator.args, strict=True)
    return tuple(expression.value for name, expression in pairs if name is None and isinstance(expression, StrExpr))


def is_declaring(decorator: Expression) -> bool:
    """Return whether a decorator declares an operator, judging by the last part of its name."""
    callee = called(decorator)
    return isinstance(callee, (NameExpr, MemberExpr)) and callee.name in DECLARING


def path_of(expression: Expression) -> tuple[str, bool]:
    """Return the dotted name that an expression is or begins with, and whether it is the whole expression.

    ``f.variants["out"]`` begins with ``f.variants``; the name is "" if the expression does not begin with one.
    """
    if isinstance(expression, NameExpr):
        return expression.name, True
    if isinstance(expression, MemberExpr):
        path, is_all = path_of(expression.expr)
        return (f"{path}.{expression.name}", True) if is_all else (path, False)
    if isinstance(expression, IndexExpr):
        return path_of(expression.base)[0], False
    if isinstance(expression, CallExpr):
        return path_of(expression.callee)[0], False
    return "", False


def written_types(function: FuncDef) -> list[Type | None]:
    """Return the types of the parameters and of the result; None for each without annotation."""
    if not isinstance(function.type, CallableType):
        return [None] * (len(function.arguments) + 1)
    types = [*function.type.arg_types, function.type.ret_type]
    return [
        None if isinstance(type_, AnyType) and type_.type_of_any == TypeOfAny.unannotated else type_ for type_ in types
    ]


def set_types(function: FuncDef, types: Sequence[Type]) -> None:
    """Set the types of a function's parameters and of its result, as if they were written."""
    *parameters, result = types
    function.arg_kinds = [parameter.kind for parameter in function.arguments]
    function.arg_names = [None if parameter.pos_only else parameter.variable.name for parameter in function.arguments]
    function.type = CallableType(
        parameters,
        function.arg_kinds,
        function.arg_names,
        result,
        Instance(MISSING_FALLBACK, []),
        line=function.line,
        column=function.column,
    )
    # mypy analyzes types in place, and restarts from this copy.
    function.unanalyzed_type = function.type.copy_modified()
    for argument, annotation in zip(function.arguments, parameters, strict=True):
        argument.type_annotation = annotation
