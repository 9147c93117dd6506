"""Rewriting of control flow in formulas into calls of hooks, so that Python can run them on recording tensors.

Code that Python decides by truth value (``if``, ``and``, ``while``) becomes a call of ``opdsl.formulas.control``, which
checks whether a value is an element; everything else is run by Python itself. AutoGraph (Moldovan et al., 2018) does
the same.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from opdsl.errors import FormulaError
from opdsl.formulas.source import formula_source
from opdsl.generated import function_from_tree
from opdsl.scalar.source import FunctionSource

__all__ = ["CONTROL", "is_rewritten", "rewritten", "use_hooks"]

CONTROL = "\N{SECTION SIGN}control"
"""Name of the hooks in rewritten functions; it is no valid identifier, so the user's code cannot contain it."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LOOPS = (ast.For, ast.While)

# Statements whose meaning would change inside the functions that branches become.
_REFUSED: dict[type[ast.AST], str] = {
    ast.Global: "`global`: a formula keeps nothing",
    ast.Nonlocal: "`nonlocal`: a formula keeps nothing",
    ast.Delete: "`del`: a formula has no memory to free",
    ast.AsyncFunctionDef: "`async`",
    ast.Await: "`await`",
    ast.Yield: "`yield`",
    ast.YieldFrom: "`yield from`",
    ast.NamedExpr: "an assignment expression: assign on a separate line",
}

# No lock: entries are only added, and two threads compute equal values.
_functions: WeakKeyDictionary[FunctionType, FunctionType] = WeakKeyDictionary()
_codes: WeakSet[CodeType] = WeakSet()


def is_rewritten(code: CodeType) -> bool:
    """Return whether a code object belongs to a rewritten function, or to a function nested in one."""
    return code in _codes


def rewritten(function: FunctionType) -> FunctionType:
    """Return the function with its control flow rewritten, cached by function.

    Args:
        function: a Python function whose source is available.

    Raises:
        FormulaError: the source contains code that a formula cannot contain, or cannot be read.
    """
    if is_rewritten(function.__code__):
        return function
    known = _functions.get(function)
    return _functions.setdefault(function, _made(function)) if known is None else known


def use_hooks(hooks: object) -> None:
    """Set the object whose attributes are the hooks that rewritten functions call."""
    _hooks[:] = [hooks]


_hooks: list[object] = []


def _made(function: FunctionType) -> FunctionType:
    source = formula_source(function)
    tree = _Rewriter(source).function()
    name, tree.name = tree.name, f"\N{SECTION SIGN}{tree.name}"  # its name in its own body keeps the outer meaning
    new_function = function_from_tree(tree, function, {CONTROL: _hooks[0]})
    new_function.__code__ = new_function.__code__.replace(co_name=name, co_qualname=function.__code__.co_qualname)
    _codes.update(_codes_in(new_function.__code__))
    return new_function


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes_in(constant)


def _located(tree: ast.AST, source: FunctionSource) -> ast.AST:
    """Copy a syntax tree, with the lines and columns of the file that it is from."""
    located = copy.deepcopy(tree)
    for node in ast.walk(located):
        for attribute in ("lineno", "end_lineno"):
            if getattr(node, attribute, None) is not None:
                setattr(node, attribute, getattr(node, attribute) + source.first_line - 1)
        for attribute in ("col_offset", "end_col_offset"):
            if getattr(node, attribute, None) is not None:
                setattr(node, attribute, getattr(node, attribute) + source.indent)
    return located


def _within(nodes: Sequence[ast.AST], kinds: tuple[type[ast.AST], ...], stop: tuple[type[ast.AST], ...]) -> bool:
    """Return whether a node of some kinds is among nodes or their children, without descending into ``stop`` nodes."""
    for node in nodes:
        if isinstance(node, kinds):
            return True
        if not isinstance(node, stop) and _within(list(ast.iter_child_nodes(node)), kinds, stop):
            return True
    return False


def _assigned(nodes: Sequence[ast.AST]) -> list[str]:
    """Return the names that statements bind, in order, except those bound in nested functions."""
    names: dict[str, None] = {}

    def visit(node: ast.AST) -> None:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names[node.name] = None
            return
        if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            return
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names[node.id] = None
        if isinstance(node, ast.alias):
            names[node.asname or node.name.partition(".")[0]] = None
        for child in ast.iter_child_nodes(node):
            visit(child)

    for node in nodes:
        visit(node)
    return list(names)


def _read(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names that nodes read, also in nested functions."""
    return {name_node.id for node in nodes for name_node in ast.walk(node) if isinstance(name_node, ast.Name)}


def _ends(statements: Sequence[ast.stmt], kinds: tuple[type[ast.AST], ...]) -> bool:
    """Return whether control never continues after statements, since every path ends in a statement of some kinds."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, (*kinds, ast.Raise)):
        return True
    return isinstance(last, ast.If) and _ends(last.body, kinds) and _ends(last.orelse, kinds)


class _Rewriter:
    """Rewriter of one function's statements.

    Args:
        source: the function and its syntax tree.
    """

    def __init__(self, source: FunctionSource) -> None:
        self.source = source
        self.count = 0
        self.expressions = _Expressions(source)

    def function(self) -> ast.FunctionDef:
        """Return the syntax tree of the rewritten function."""
        for node in ast.walk(self.source.tree):
            if type(node) in _REFUSED:
                raise self._refusal(node, _REFUSED[type(node)])
        tree = _located(self.source.tree, self.source)
        if isinstance(tree, ast.Lambda):
            statements: list[ast.stmt] = [ast.copy_location(ast.Return(tree.body), tree.body)]
            function = ast.FunctionDef(self.source.name, tree.args, statements, [], None)
            function = ast.copy_location(function, tree)
        else:
            assert isinstance(tree, ast.FunctionDef), "the tree of a function"
            function, statements = tree, tree.body
        function.decorator_list, function.returns = [], None
        function.type_params = []  # type: ignore[attr-defined,unused-ignore]  # Python 3.12 requires it
        self.parameters = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
        self.locals = {*self.parameters, *_assigned(statements)}
        function.body = self.block(statements)
        return function

    def _refusal(self, node: ast.AST, what: str) -> FormulaError:
        error = self.source.error(node, f"it holds {what}", _REMEDY)
        return FormulaError(str(error).replace("scalar function", "formula", 1))

    # ------------------------------------------------------------------------------------------------ statements

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Rewrite the statements of a function; statements after an ``if`` with a return are moved into its
        branches.
        """
        new_statements: list[ast.stmt] = []
        for index, statement in enumerate(statements):
            if isinstance(statement, ast.If) and _within([statement], (ast.Return,), (*_SCOPES, *_LOOPS)):
                return [*new_statements, *self._returning(statement, list(statements[index + 1 :]))]
            new_statements += self.statement(statement)
            if isinstance(statement, (ast.Return, ast.Raise)):
                break
        return new_statements

    def statement(self, statement: ast.stmt) -> list[ast.stmt]:
        """Rewrite one statement into the statements that replace it."""
        if isinstance(statement, ast.If):
            return self._choice(statement)
        if isinstance(statement, _LOOPS):
            returns = _within([statement], (ast.Return,), _SCOPES)
            if returns or statement.orelse:
                return [self._plain(statement)]
            return self._while(statement) if isinstance(statement, ast.While) else self._for(statement)
        if isinstance(statement, (ast.With, ast.Try)):
            return [self._plain(statement)]
        if isinstance(statement, ast.FunctionDef):
            visit = self.expressions.visit(statement.args)
            inner = _Rewriter(self.source)
            inner.locals = {node.arg for node in ast.walk(visit) if isinstance(node, ast.arg)}
            inner.locals |= {*self.locals, *_assigned(statement.body)}
            statement.body = inner.block(statement.body)
            return [statement]
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            operation = ast.BinOp(ast.Name(statement.target.id, ast.Load()), statement.op, statement.value)
            plain = ast.Assign([statement.target], _placed(operation, statement))
            return [self.expressions.visit(_placed(plain, statement))]
        return [self.expressions.visit(statement)]

    def _plain(self, statement: ast.stmt) -> ast.stmt:
        """Rewrite a statement that Python keeps executing itself, so that its tests must not be elements."""
        return _Plain(self.expressions).visit(statement)  # type: ignore[no-any-return]

    def _returning(self, statement: ast.If, rest: list[ast.stmt]) -> list[ast.stmt]:
        exits = (ast.Return,)
        then = [*statement.body, *([] if _ends(statement.body, exits) else copy.deepcopy(rest))]
        other = [*statement.orelse, *([] if _ends(statement.orelse, exits) else rest)]
        names = [variable for variable in _assigned([*then, *other]) if variable in self.locals]
        functions = [self._function(kind, names, self.block(body)) for kind, body in (("then", then), ("other", other))]
        test = self.expressions.visit(statement.test)
        call = _call("returned", test, *(_name(function.name) for function in functions), _gets(names), _texts(names))
        return [_placed(function, statement.test) for function in (*functions, ast.Return(call))]

    def _choice(self, statement: ast.If) -> list[ast.stmt]:
        names = [variable for variable in _assigned([*statement.body, *statement.orelse]) if variable in self.locals]
        functions = []
        for kind, body in (("then", statement.body), ("other", statement.orelse)):
            statements = [new_statement for nested in body for new_statement in self.statement(nested)]
            functions.append(self._function(kind, names, [*statements, ast.Return(_loads(names))]))
        test = self.expressions.visit(statement.test)
        call = _call("choose", test, *(_name(function.name) for function in functions), _gets(names), _texts(names))
        return [_placed(function, statement.test) for function in (*functions, self._store(names, call))]

    def _while(self, loop: ast.While) -> list[ast.stmt]:
        """Rewrite a ``while`` loop; if elements decide its condition, it becomes a loop in the kernel."""
        body, flag = self._turn(loop.body)
        test: ast.expr = loop.test
        if flag:
            going = ast.UnaryOp(ast.Not(), _name(flag))
            test = _placed(ast.BoolOp(ast.And(), [going, test]), loop)
        names = [variable for variable in _assigned(body) if variable in self.locals or variable == flag]
        read = sorted((_read([*loop.body, loop.test]) & self.locals) - set(names))
        statements = [new_statement for statement in body for new_statement in self.statement(statement)]
        parameters = [*names, *read]
        tests = self._function("test", parameters, [ast.Return(self.expressions.visit(test))])
        turn = self._function("turn", parameters, [*statements, ast.Return(_loads(names))])
        call = _call("loop", _name(tests.name), _name(turn.name), _gets(names), _gets(read), _texts(parameters))
        loop_statements = [*self._flagged(flag), tests, turn, self._store(names, call)]
        return [_placed(statement, loop.test) for statement in loop_statements]

    def _for(self, loop: ast.For) -> list[ast.stmt]:
        """Rewrite a ``for`` loop over an iterable; after a ``break`` by elements, further iterations are skipped for
        these.
        """
        body, flag = self._turn(loop.body)
        if flag:
            skipping = ast.If(ast.UnaryOp(ast.Not(), _name(flag)), body, [])
            ended = ast.If(_call("surely", _name(flag)), [ast.Break()], [])
            statements = [ended, *self.statement(_placed(skipping, loop))]
        else:
            statements = [new_statement for statement in body for new_statement in self.statement(statement)]
        counted = _placed(_call("counted", self.expressions.visit(loop.iter)), loop.iter)
        new_loop = ast.For(loop.target, counted, statements, [])
        return [_placed(statement, loop) for statement in (*self._flagged(flag), new_loop)]

    def _flagged(self, flag: str) -> list[ast.stmt]:
        return [ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(False))] if flag else []

    def _turn(self, body: list[ast.stmt]) -> tuple[list[ast.stmt], str]:
        """Return the statements of a loop body without ``break`` and ``continue``, and the name of the flag that ends
        the loop.
        """
        flag = ""
        if _within(body, (ast.Break,), (*_SCOPES, *_LOOPS)):
            self.count += 1
            flag = f"\N{SECTION SIGN}ended{self.count}"
            self.locals.add(flag)
        return self._straight(body, flag), flag

    def _straight(self, statements: list[ast.stmt], flag: str) -> list[ast.stmt]:
        exits = (ast.Break, ast.Continue)
        kept: list[ast.stmt] = []
        for index, statement in enumerate(statements):
            if isinstance(statement, ast.Continue):
                break
            if isinstance(statement, ast.Break):
                kept.append(_placed(ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(True)), statement))
                break
            if isinstance(statement, ast.If) and _within([statement], exits, (*_SCOPES, *_LOOPS)):
                rest = statements[index + 1 :]
                then = [*statement.body, *([] if _ends(statement.body, exits) else copy.deepcopy(rest))]
                other = [*statement.orelse, *([] if _ends(statement.orelse, exits) else rest)]
                branches = self._straight(then, flag) or [ast.Pass()], self._straight(other, flag)
                kept.append(_placed(ast.If(statement.test, *branches), statement))
                break
            kept.append(statement)
        return kept

    # ------------------------------------------------------------------------------------------------ parts

    def _function(self, kind: str, names: Sequence[str], body: list[ast.stmt]) -> ast.FunctionDef:
        self.count += 1
        arguments = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
        function = ast.FunctionDef(f"\N{SECTION SIGN}{kind}{self.count}", arguments, body or [ast.Pass()], [], None)
        function.type_params = []  # type: ignore[attr-defined,unused-ignore]
        return function

    @staticmethod
    def _store(names: Sequence[str], call: ast.expr) -> ast.stmt:
        if not names:
            return ast.Expr(call)
        return ast.Assign([ast.Tuple([ast.Name(name, ast.Store()) for name in names], ast.Store())], call)


_REMEDY = "Write the formula with assignments, `if`, `for`, `while` and calls; other code can be a body of @op."


class _Expressions(ast.NodeTransformer):
    """Rewriter of expressions that Python decides by truth value, and of calls."""

    def __init__(self, source: FunctionSource) -> None:
        self.source = source

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Remove ``print(a)``, since kernels print nothing; see ``opdsl.debug``."""
        return ast.copy_location(ast.Pass(), node) if self.source.is_print(node, ()) else self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """Rewrite ``a if test else b``."""
        self.generic_visit(node)
        return _placed(_call("choose_value", node.test, _thunk(node.body), _thunk(node.orelse)), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """Rewrite ``a and b`` and ``a or b``."""
        self.generic_visit(node)
        helper = "both" if isinstance(node.op, ast.And) else "either"
        return _placed(_call(helper, node.values[0], *map(_thunk, node.values[1:])), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """Rewrite ``not a``."""
        self.generic_visit(node)
        return _placed(_call("opposite", node.operand), node) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Rewrite ``a < b < c``."""
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        parameters = ast.arguments(
            [], [ast.arg("\N{SECTION SIGN}x"), ast.arg("\N{SECTION SIGN}y")], None, [], [], None, []
        )
        pairs: list[ast.expr] = []
        for operator, comparator in zip(node.ops, node.comparators, strict=True):
            compared = ast.Compare(_name("\N{SECTION SIGN}x"), [operator], [_name("\N{SECTION SIGN}y")])
            pairs.append(ast.Tuple([ast.Lambda(copy.deepcopy(parameters), compared), _thunk(comparator)], ast.Load()))
        return _placed(_call("chain", node.left, *pairs), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Rewrite ``x[i]``, so that indices are masked by the conditions of the branch around them."""
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            kept = (ast.Slice, ast.Starred, ast.Constant)
            placed = [part if isinstance(part, kept) else _placed(_call("position", part), part) for part in parts]
            if isinstance(node.slice, ast.Tuple):
                node.slice.elts = placed
            else:
                (node.slice,) = placed
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Rewrite ``f(x)``, so that helper functions are rewritten when called and ``range(a, b)`` may have elements as
        ends.
        """
        self.generic_visit(node)
        is_range = isinstance(node.func, ast.Name) and node.func.id == "range" and not node.keywords
        if is_range and any(isinstance(part, ast.Subscript) for end in node.args for part in ast.walk(end)):
            return _placed(_call("ranged", node.func, *map(_thunk, node.args)), node)
        node.func = _placed(_call("callee", node.func), node.func)
        return node


class _Plain(ast.NodeTransformer):
    """Rewriter of expressions in statements that Python keeps executing, whose tests must be Python values."""

    def __init__(self, expressions: _Expressions) -> None:
        self.expressions = expressions

    def visit(self, node: ast.AST) -> Any:
        """Rewrite a statement or expression; tests of kept statements are checked to be Python values."""
        if isinstance(node, ast.expr):
            return self.expressions.visit(node)
        if isinstance(node, (ast.If, ast.While, ast.Assert)):
            node.test = _placed(_call("host", node.test), node.test)
        return self.generic_visit(node)


N = TypeVar("N", bound=ast.AST)


def _placed(node: N, like: ast.AST) -> N:
    """Return a new node with the source location of another, also for all its parts that have none."""
    ast.copy_location(node, like)
    for part in ast.walk(node):
        if isinstance(part, (ast.expr, ast.stmt, ast.arg)) and not hasattr(part, "lineno"):
            ast.copy_location(part, like)
            if isinstance(part, ast.Attribute):  # CPython reports the end line of an attribute as that of a call
                part.end_lineno = part.lineno
    return node


def _name(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _thunk(value: ast.expr) -> ast.expr:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), value)


def _call(hook: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Attribute(_name(CONTROL), hook, ast.Load()), list(arguments), [])


def _loads(names: Sequence[str]) -> ast.expr:
    return ast.Tuple([_name(name) for name in names], ast.Load())


def _gets(names: Sequence[str]) -> ast.expr:
    """Build a tuple of the values of variables, some of which may be unassigned."""
    return ast.Tuple([_call("value", _thunk(_name(name)), ast.Constant(name)) for name in names], ast.Load())


def _texts(names: Sequence[str]) -> ast.expr:
    return ast.Tuple([ast.Constant(name) for name in names], ast.Load())
