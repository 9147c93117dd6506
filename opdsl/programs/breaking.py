"""Graph breaks: splits a function that looks at elements into a traceable first part and the rest.

The split is before the statement that looks at elements, and within it after the calls that run first: of
``if (x * 2).sum() > 0:`` the condition belongs to the first part. The parts consist of the function's own statements,
so that errors show its lines.
"""

from __future__ import annotations

import ast
import copy
import dis
import inspect
import linecache
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType, MethodType, TracebackType
from typing import Any, NamedTuple

from opdsl.errors import ScalarFunctionError
from opdsl.generated import function_from_tree
from opdsl.scalar.source import FunctionSource, function_source

__all__ = ["Parts", "parts_of"]

_GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

# Statements whose meaning would change in a function that ends earlier or begins later.
_BOUND_TO_PLACE = (ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.Delete, ast.ClassDef)

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

# Fields of nodes in evaluation order; those after the first may not be evaluated at all.
_IN_ORDER: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Assign: ("value",),
    ast.AnnAssign: ("value",),
    ast.AugAssign: ("value",),
    ast.Expr: ("value",),
    ast.Return: ("value",),
    ast.If: ("test",),
    ast.Assert: ("test",),
    ast.IfExp: ("test",),
    ast.Compare: ("left", "comparators"),
    ast.BinOp: ("left", "right"),
    ast.UnaryOp: ("operand",),
    ast.BoolOp: ("values",),
    ast.Call: ("func", "args", "keywords"),
    ast.keyword: ("value",),
    ast.Attribute: ("value",),
    ast.Subscript: ("value", "slice"),
    ast.Tuple: ("elts",),
    ast.List: ("elts",),
}

_LOOKED_AT = "looked_at"
_KEPT = "kept_before"


class Parts(NamedTuple):
    """The two functions that a function with a graph break is split into.

    first: takes the function's arguments, and returns a tuple.
    rest: takes that tuple, then the function's arguments.
    place: file, line, source text and reason of the split.
    """

    first: Callable[..., tuple[Any, ...]]
    rest: Callable[..., Any]
    place: str


def parts_of(function: Callable[..., Any], error: BaseException) -> Parts | None:
    """Split a function at the graph break where an error was raised; return None if it cannot be split there.

    Args:
        function: a function or a method.
        error: the error that was raised there, with its traceback.
    """
    own = function.__func__ if isinstance(function, MethodType) else function
    if not isinstance(own, FunctionType) or own.__code__.co_flags & _GENERATORS:
        return None
    instruction = _instruction(own.__code__, error)
    try:
        source = function_source(own)
    except ScalarFunctionError:  # it was not defined in a file
        return None
    if instruction is None:
        return None
    parts = _Cut(own, source, instruction, str(error.__cause__ or error).partition(". ")[0]).parts()
    if parts is None or own is function:
        return parts
    holder = function.__self__  # type: ignore[attr-defined]
    rest = parts.rest

    def of_method(kept: tuple[Any, ...], *positional: Any, **named: Any) -> Any:
        return rest(kept, holder, *positional, **named)

    return parts._replace(first=MethodType(parts.first, holder), rest=of_method)


class _Instruction(NamedTuple):
    """Bytecode instruction at which a function was interrupted.

    name: of the operation.
    line, end_line, column, end_column: of its source text in the file.
    """

    name: str
    line: int
    end_line: int
    column: int
    end_column: int


def _instruction(code: CodeType, error: BaseException | None) -> _Instruction | None:
    """Return the instruction that a function was executing when an error was raised in it or below it."""
    while error is not None:
        for traceback in _tracebacks(error):
            if traceback.tb_frame.f_code is code:
                place = list(code.co_positions())[traceback.tb_lasti // 2]
                if None in place:
                    return None
                opcode = dis.opname[code.co_code[traceback.tb_lasti]]
                line, end_line, column, end_column = (int(part or 0) for part in place)
                return _Instruction(opcode, line, end_line, column, end_column)
        error = error.__cause__
    return None


def _tracebacks(error: BaseException) -> Iterator[TracebackType]:
    entry = error.__traceback__
    while entry is not None:
        yield entry
        entry = entry.tb_next


class _Cut:
    """Splitter of a function at a graph break.

    Args:
        function, source: the function.
        instruction: the function is split before it.
        reason: reason of the split.
    """

    def __init__(self, function: FunctionType, source: FunctionSource, instruction: _Instruction, reason: str) -> None:
        self.function = function
        self.reason = reason
        self.tree = copy.deepcopy(source.tree)
        self.indent = source.indent
        self.shift = source.first_line - 1
        self.instruction = instruction
        body = self.tree.body
        self.body = body if isinstance(body, list) else [ast.copy_location(ast.Return(body), body)]

    def parts(self) -> Parts | None:
        """Split the function into the statements before the graph break and the rest; return None if that is not
        possible.
        """
        line = self.instruction.line - self.shift
        place = next(
            (at for at, statement in enumerate(self.body) if statement.lineno <= line <= (statement.end_lineno or 0)),
            None,
        )
        if place is None or any(_is_mangled(node) or _is_ours(node) for node in ast.walk(self.tree)):
            return None
        before, rest = self.body[:place], self.body[place:]
        looked_at = self._taken_out(rest[0])
        if not (before or looked_at) or any(isinstance(node, _BOUND_TO_PLACE) for node in _within(before)):
            return None
        names = self._kept(before, rest)
        if names is None:
            return None
        values: list[ast.expr] = [ast.Name(name, ast.Load()) for name in names]
        targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
        if looked_at is not None:
            values.append(looked_at)
            targets.append(ast.Name(_LOOKED_AT, ast.Store()))
        end = ast.Return(ast.Tuple(values, ast.Load()))
        begin = ast.Assign([ast.Tuple(targets, ast.Store())], ast.Name(_KEPT, ast.Load()))
        arguments = copy.deepcopy(self.tree.args)
        (arguments.posonlyargs or arguments.args).insert(0, ast.arg(_KEPT))
        if looked_at is not None and any(isinstance(node, ast.NamedExpr) for node in ast.walk(looked_at)):
            return None
        first = self._function("before", self.tree.args, [*before, end])
        return Parts(first, self._function("after", arguments, [begin, *rest]), self._place())

    def _place(self) -> str:
        file, line = self.function.__code__.co_filename, self.instruction.line
        return f"{Path(file).name}:{line}: {linecache.getline(file, line).strip()}  # {self.reason}"

    def _taken_out(self, statement: ast.stmt) -> ast.expr | None:
        """Replace the expression whose elements a statement looks at by a variable, and return it; None if it is not
        found.
        """
        looking_node = next((node for node in _computed(statement) if self._is_looking(node)), None)
        if looking_node is None:
            return None
        node = looking_node
        if self.instruction.name.startswith(("CALL", "PRECALL")):
            if not isinstance(looking_node, ast.Call):
                return None
            if isinstance(looking_node.func, ast.Attribute):
                node = looking_node.func.value
            elif isinstance(looking_node.func, ast.Name) and len(looking_node.args) == 1 and not looking_node.keywords:
                node = looking_node.args[0]
            else:
                return None
        elif "JUMP" not in self.instruction.name and self.instruction.name not in ("UNARY_NOT", "TO_BOOL"):
            return None
        is_simple = isinstance(node, (ast.Call, ast.BinOp, ast.Subscript, ast.Attribute))
        is_simple = is_simple or (isinstance(node, ast.Compare) and len(node.ops) == 1)
        if not is_simple or not _is_first(statement, node):
            return None
        _put(statement, node, ast.copy_location(ast.Name(_LOOKED_AT, ast.Load()), node))
        assert isinstance(node, ast.expr), "something is computed"
        return node

    def _is_looking(self, node: ast.AST) -> bool:
        """Return whether a syntax node is the source of the instruction at which the function was interrupted."""
        if not isinstance(node, ast.expr):
            return False
        own = self.instruction
        place = node.lineno + self.shift, (node.end_lineno or 0) + self.shift
        columns = node.col_offset + self.indent, (node.end_col_offset or 0) + self.indent
        return place == (own.line, own.end_line) and columns == (own.column, own.end_column)

    def _kept(self, before: Sequence[ast.stmt], rest: Sequence[ast.stmt]) -> list[str] | None:
        """Return the names that the first part has to return to the rest; None if one of them may be unassigned."""
        read = {name_node.id for node in rest for name_node in ast.walk(node) if isinstance(name_node, ast.Name)}
        always = set(self.function.__code__.co_varnames[: _arguments(self.function.__code__)])
        always |= {name for statement in before if isinstance(statement, _SETTING) for name in _set_by([statement])}
        kept = sorted(read & set(_set_by(before)))
        return kept if always.issuperset(kept) else None

    def _function(self, which: str, arguments: ast.arguments, body: list[ast.stmt]) -> Any:
        """Build one of the parts, with the globals, the closure and the defaults of the function."""
        own = self.function
        function_def = ast.FunctionDef(f"{self._name}_{which}", arguments, body, [])
        located = ast.increment_lineno(
            ast.fix_missing_locations(ast.copy_location(function_def, self.tree)), self.shift
        )
        assert isinstance(located, ast.FunctionDef), "the same tree"
        return function_from_tree(copy.deepcopy(located), own)

    @property
    def _name(self) -> str:
        return self.function.__name__ if self.function.__name__.isidentifier() else "function"


_SETTING = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.With, ast.Import, ast.ImportFrom, ast.FunctionDef)


def _arguments(code: CodeType) -> int:
    flags = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_argcount + code.co_kwonlyargcount + flags


def _within(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield nodes and their children, without the bodies of functions and comprehensions."""
    for node in nodes:
        yield node
        if not isinstance(node, _SCOPES):
            yield from _within(ast.iter_child_nodes(node))


def _set_by(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that statements assign."""
    for node in _within(nodes):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ExceptHandler)) and node.name:
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)


def _is_mangled(node: ast.AST) -> bool:
    """Return whether a name is mangled inside of a class (``__name``), so that it cannot be moved out of the class."""
    identifier = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return identifier.startswith("__") and not identifier.endswith("__")


def _is_ours(node: ast.AST) -> bool:
    """Return whether a name or parameter collides with a variable that the splitter adds."""
    identifier = node.id if isinstance(node, ast.Name) else node.arg if isinstance(node, ast.arg) else ""
    return identifier in (_KEPT, _LOOKED_AT)


def _computed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the expressions that a statement evaluates, as far as their order is known, without nested statements."""
    for child in _children(node):
        yield child
        yield from _computed(child)


def _children(node: ast.AST) -> list[ast.AST]:
    children: list[ast.AST] = []
    for field in _IN_ORDER.get(type(node), ()):
        value = getattr(node, field)
        children += value if isinstance(value, list) else [] if value is None else [value]
    return children


def _is_first(node: ast.AST, wanted: ast.AST) -> bool:
    """Return whether only names and constants are evaluated before the node ``wanted`` in an expression."""
    for child in _children(node):
        if child is wanted:
            return True
        if any(inner is wanted for inner in _computed(child)):
            return _is_first(child, wanted)
        if isinstance(node, ast.BoolOp) or not _is_still(child):
            return False
    return False


def _is_still(node: ast.AST) -> bool:
    """Return whether evaluating a syntax node has no side effects."""
    return isinstance(node, (ast.Name, ast.Constant)) or (isinstance(node, ast.Attribute) and _is_still(node.value))


def _put(root: ast.AST, old: ast.AST, new: ast.AST) -> None:
    """Replace a node in a syntax tree by another one."""
    for node in ast.walk(root):
        for field, value in ast.iter_fields(node):
            if value is old:
                setattr(node, field, new)
            elif isinstance(value, list):
                value[:] = [new if child is old else child for child in value]
