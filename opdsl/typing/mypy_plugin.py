"""A mypy plugin for modules of declarations; ``plugins = opdsl.typing.mypy_plugin`` turns it on.

What it adds: ``Tensor[Alias("a", write=True)]`` is a Tensor wherever an annotation may stand, ``Ints[2]`` and its kin
are one element or a list of them, and a declaration whose body is ``...`` may promise a return.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from mypy.nodes import (
    CallExpr,
    ClassDef,
    Decorator,
    EllipsisExpr,
    Expression,
    ExpressionStmt,
    ForStmt,
    FuncDef,
    IfStmt,
    Import,
    ImportFrom,
    MemberExpr,
    MypyFile,
    NameExpr,
    OverloadedFuncDef,
    Statement,
    StrExpr,
    TryStmt,
    TypeInfo,
    WhileStmt,
    WithStmt,
)
from mypy.plugin import AnalyzeTypeContext, Plugin
from mypy.typeanal import TypeAnalyser
from mypy.types import RawExpressionType, Type, UnboundType, UnionType

TENSORS = tuple(f"opdsl.runtime.tensor.{name}" for name in ("Tensor", "CPUTensor", "CUDATensor", "Array"))
"""The classes that take an Alias."""

SIZED_LISTS = {
    "opdsl.schema.vocabulary.Ints": "builtins.int",
    "opdsl.schema.vocabulary.SymInts": "builtins.int",
    "opdsl.schema.vocabulary.Floats": "builtins.float",
    "opdsl.schema.vocabulary.Bools": "builtins.bool",
}
"""The classes that take a size, with the type of one element."""

DECLARING = frozenset(("op", "overload", "inplace_variant", "out_variant"))
"""The decorators below which a body of ``...`` declares: ``@op``, ``@lib.op(...)``, ``@f.overload("Scalar")``."""

TypeHook = Callable[[AnalyzeTypeContext], Type]


def plugin(version: str) -> type[Plugin]:
    """What mypy asks for when it loads the module."""
    return OpdslPlugin


class OpdslPlugin(Plugin):
    """The hooks, each handing on to a function of its own."""

    def get_type_analyze_hook(self, fullname: str) -> TypeHook | None:
        """How a class of ours is read where an annotation stands."""
        return TYPE_HOOKS.get(fullname)

    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        """No dependencies; but mypy shows every parsed file here, before it is analysed."""
        if _imports_opdsl(file):
            mark_declarations(file.defs)
        return []


# -------------------------------------------------------------------------------------------------------- annotations


def tensor(fullname: str, context: AnalyzeTypeContext) -> Type:
    """``Tensor[Alias(...)]`` is a Tensor; anything else in the brackets is reported."""
    arguments = context.type.args
    if len(arguments) > 1:
        context.api.fail('A Tensor takes one Alias: Tensor[Alias("a")]', context.context)
    elif arguments:
        message = _alias_fault(context, arguments[0])
        if message is not None:
            context.api.fail(message, context.context)
    return context.api.named_type(fullname, [])


def sized_list(element: str, context: AnalyzeTypeContext) -> Type:
    """``Ints[2]`` is ``int | Sequence[int]``."""
    name = context.type.name.rpartition(".")[2]
    arguments = context.type.args
    size = arguments[0] if len(arguments) == 1 else None
    value = size.literal_value if isinstance(size, RawExpressionType) else None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        context.api.fail(f"{name} takes a size of at least 1: {name}[2]", context.context)
    one = context.api.named_type(element, [])
    return UnionType.make_union([one, context.api.named_type("typing.Sequence", [one])])


def _alias_fault(context: AnalyzeTypeContext, argument: Type) -> str | None:
    """What is wrong with what stands in the brackets of a Tensor; the parts of a call are not to be seen here."""
    if isinstance(argument, RawExpressionType):
        return None if argument.literal_value is None else 'A Tensor takes an Alias: Tensor[Alias("a")]'
    if not isinstance(argument, UnboundType):
        return 'A Tensor takes an Alias: Tensor[Alias("a")]'
    if argument.original_str_expr is not None:
        return f'A Tensor takes an Alias, not text: Tensor[Alias("{argument.original_str_expr}")]'
    if not isinstance(context.api, TypeAnalyser):
        return None
    symbol = context.api.lookup_qualified(argument.name, argument)
    if symbol is not None and isinstance(symbol.node, TypeInfo):
        given = symbol.node.name
        what = "Alias takes the alias sets" if given == "Alias" else f"A Tensor takes an Alias, not {given}"
        return f'{what}: Tensor[Alias("a")]'
    return None


TYPE_HOOKS: dict[str, TypeHook] = {
    **{fullname: partial(tensor, fullname) for fullname in TENSORS},
    **{fullname: partial(sized_list, element) for fullname, element in SIZED_LISTS.items()},
}
"""How the classes that annotations subscript are read, by full name."""


# -------------------------------------------------------------------------------------------------------- empty bodies


def mark_declarations(statements: Iterable[Statement]) -> None:
    """Marks declarations without a body as such, so that mypy does not look for their return statement."""
    for statement in statements:
        if isinstance(statement, Decorator):
            if any(map(_is_declaring, statement.original_decorators)) and _has_empty_body(statement.func):
                # The mark of functions under ``if MYPY``: it lets a body be empty, and changes nothing about the type.
                statement.func.is_mypy_only = True
            mark_declarations(statement.func.body.body)
        else:
            mark_declarations(_inside(statement))


def _inside(statement: Statement) -> list[Statement]:
    """The statements inside a statement, of those kinds that declarations may stand in."""
    if isinstance(statement, OverloadedFuncDef):
        return list(statement.items)
    if isinstance(statement, FuncDef):
        return list(statement.body.body)
    if isinstance(statement, ClassDef):
        return list(statement.defs.body)
    if isinstance(statement, IfStmt):
        blocks = [*statement.body, statement.else_body]
    elif isinstance(statement, TryStmt):
        blocks = [statement.body, *statement.handlers, statement.else_body, statement.finally_body]
    elif isinstance(statement, (WithStmt, ForStmt, WhileStmt)):
        blocks = [statement.body]
    else:
        return []
    return [inner for block in blocks if block is not None for inner in block.body]


def _is_declaring(decorator: Expression) -> bool:
    """Whether a decorator is one of ours, by the end of its name: nothing is resolved yet."""
    callee = decorator.callee if isinstance(decorator, CallExpr) else decorator
    return isinstance(callee, (NameExpr, MemberExpr)) and callee.name in DECLARING


def _has_empty_body(function: FuncDef) -> bool:
    """Whether a body is a docstring, ``...``, or one after the other."""
    statements = function.body.body
    return 1 <= len(statements) <= 2 and all(
        isinstance(statement, ExpressionStmt) and isinstance(statement.expr, (StrExpr, EllipsisExpr))
        for statement in statements
    )


def _imports_opdsl(file: MypyFile) -> bool:
    """Whether a file imports anything of opdsl: no other one is touched."""
    for statement in file.imports:
        if isinstance(statement, ImportFrom) and _is_ours(statement.id):
            return True
        if isinstance(statement, Import) and any(_is_ours(name) for name, _ in statement.ids):
            return True
    return False


def _is_ours(module: str) -> bool:
    return module == "opdsl" or module.startswith("opdsl.")
