"""What the mypy plugin reads in a parsed file, before any name in it is resolved."""

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
"""The decorators that declare: ``@op``, ``@lib.op(...)``, ``@f.overload("Scalar")``."""


def imports_opdsl(file: MypyFile) -> bool:
    """Whether a file imports anything of opdsl: the plugin touches no other one."""
    for statement in file.imports:
        if isinstance(statement, ImportFrom) and is_ours(statement.id):
            return True
        if isinstance(statement, Import) and any(is_ours(name) for name, _ in statement.ids):
            return True
    return False


def declares(file: MypyFile) -> bool:
    """Whether a file declares anything, by the names of its decorators."""
    return any(
        isinstance(statement, Decorator) and any(map(is_declaring, statement.original_decorators))
        for block in blocks(file.defs)
        for statement in block
    )


RECEIVED = "opdsl.typing.received"
"""The module of what the plugin writes into annotations."""


def local_name(name: str) -> str:
    """What a class of ``received`` is called in the files that it is imported into."""
    return f"_opdsl_{name}"


def import_received(file: MypyFile, symbols: Iterable[str]) -> None:
    """Make the classes of ``received`` known in a file, and give it symbols that only the plugin reads."""
    names = [(name, local_name(name)) for name in ("Received", "SequenceOf", "OrNumber", "Option")]
    statement = ImportFrom(RECEIVED, 0, [*names, *(("Received", symbol) for symbol in symbols)])
    statement.set_line(1)
    statement.is_top_level = True
    file.defs.insert(0, statement)


def is_ours(module: str) -> bool:
    """Whether a module is of this package."""
    return module == "opdsl" or module.startswith("opdsl.")


def blocks(statements: Iterable[Statement], *, in_functions: bool = True) -> Iterator[list[Statement]]:
    """Every block in which declarations may stand: the statements themselves, and those inside them."""
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
    """The decorator itself, whether it is called or bare."""
    return decorator.callee if isinstance(decorator, CallExpr) else decorator


def options_of(decorator: Expression) -> dict[str | None, Expression]:
    """The keyword arguments of a decorator; under None one of those that have no name."""
    return dict(zip(decorator.arg_names, decorator.args, strict=True)) if isinstance(decorator, CallExpr) else {}


def texts_of(decorator: Expression) -> tuple[str, ...]:
    """The positional arguments of a decorator that are texts."""
    if not isinstance(decorator, CallExpr):
        return ()
    pairs = zip(decorator.arg_names, decorator.args, strict=True)
    return tuple(expression.value for name, expression in pairs if name is None and isinstance(expression, StrExpr))


def is_declaring(decorator: Expression) -> bool:
    """Whether a decorator is one that declares, by the end of its name."""
    callee = called(decorator)
    return isinstance(callee, (NameExpr, MemberExpr)) and callee.name in DECLARING


def path_of(expression: Expression) -> tuple[str, bool]:
    """The dotted name that an expression is or begins with, and whether it is all of it.

    ``f.variants["out"]`` begins with ``f.variants``; what begins with no name gives "".
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
    """The types of the parameters and of the result; None for each that is not written."""
    if not isinstance(function.type, CallableType):
        return [None] * (len(function.arguments) + 1)
    types = [*function.type.arg_types, function.type.ret_type]
    return [
        None if isinstance(type_, AnyType) and type_.type_of_any == TypeOfAny.unannotated else type_ for type_ in types
    ]


def set_types(function: FuncDef, types: Sequence[Type]) -> None:
    """Give a function other types of its parameters and of its result, as if they were written."""
    *parameters, result = types
    function.arg_kinds = [argument.kind for argument in function.arguments]
    function.arg_names = [None if argument.pos_only else argument.variable.name for argument in function.arguments]
    function.type = CallableType(
        parameters,
        function.arg_kinds,
        function.arg_names,
        result,
        Instance(MISSING_FALLBACK, []),
        line=function.line,
        column=function.column,
    )
    # mypy analyses types in place, and begins anew from this one.
    function.unanalyzed_type = function.type.copy_modified()
    for argument, annotation in zip(function.arguments, parameters, strict=True):
        argument.type_annotation = annotation
