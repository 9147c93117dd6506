"""The statements of a scalar function: assignments, branches, returns, loops with constant bounds."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, Final

from opdsl.errors import ScalarFunctionError
from opdsl.scalar.expressions import Evaluation, Unusable
from opdsl.scalar.source import FunctionSource
from opdsl.scalar.symbols import Graph, Symbol, describe, is_value
from opdsl.scalar.untyped import Place

__all__ = ["Frame", "run_function"]

_LONGEST_LOOP = 4096
_DEEPEST_CALL = 64


def run_function(graph: Graph, source: FunctionSource, values: Mapping[str, Any], depth: int) -> Any:
    """Run a function's body on symbols.

    graph: takes the nodes.
    source: the function.
    values: its parameters: symbols, or whatever Python value is known.
    depth: how many calls deep.
    Returns: what it returns: a symbol, a number, or a tuple of those.
    """
    if depth > _DEEPEST_CALL:
        raise source.error(source.tree, "it calls itself without end", "A scalar function cannot be recursive.")
    try:
        return Frame(graph, source, dict(values), depth).run()
    except RecursionError as error:
        raise ScalarFunctionError(f"scalar function {source.name}: it is nested too deeply to be read") from error


class Frame:
    """One call of a function while it is read.

    names: local names.
    returned: whether a path to here has returned: False, True, or the symbol that says when.
    result: what was returned, where something was.
    """

    def __init__(self, graph: Graph, source: FunctionSource, names: dict[str, Any], depth: int) -> None:
        self.graph = graph
        self.source = source
        self.names = names
        self.returned: Symbol | bool = False
        self.result: Any = None
        self.depth = depth
        self.evaluation = Evaluation(graph, source, names, self.inline)

    def run(self) -> Any:
        """Run the whole body; the function's result."""
        self.execute(self.source.body)
        if self.returned is not True:
            last = self.source.body[-1]
            raise self.source.error(last, "not every path returns a value", "End with a return statement.")
        return self.result

    def execute(self, body: list[ast.stmt]) -> None:
        """Run statements up to one that returns on every path."""
        for statement in body:
            if self.returned is True:
                return
            run = _STATEMENTS.get(type(statement))
            if run is None:
                raise self.source.error(statement, f"it cannot hold {_name(statement)}")
            run(self, statement)

    def branch(self, names: dict[str, Any]) -> Frame:
        """A frame for one side of a branch."""
        frame = Frame(self.graph, self.source, names, self.depth)
        frame.returned, frame.result = self.returned, self.result
        return frame

    def inline(self, source: FunctionSource, values: Mapping[str, Any]) -> Any:
        """Run a function that this one calls."""
        return run_function(self.graph, source, values, self.depth + 1)

    def assign(self, target: ast.expr, value: Any) -> None:
        """Bind a name, or several to the parts of a tuple."""
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, tuple) and len(value) == len(target.elts):
            for part, one in zip(target.elts, value, strict=True):
                self.assign(part, one)
        else:
            raise self.source.error(target, f"{describe(value)} cannot be assigned to this", "Assign to local names.")

    def choose(self, condition: Symbol, chosen: Any, other: Any, node: ast.AST) -> Any:
        """``chosen if condition else other``, for whatever the two sides hold."""
        if chosen is other or (type(chosen) is type(other) and not isinstance(chosen, Symbol) and _same(chosen, other)):
            return chosen
        if is_value(chosen) and is_value(other):
            return self.graph.add("select", (condition, chosen, other), Place(self.source, node))
        if isinstance(chosen, tuple) and isinstance(other, tuple) and len(chosen) == len(other):
            return tuple(self.choose(condition, *pair, node) for pair in zip(chosen, other, strict=True))
        for side in (chosen, other):
            if isinstance(side, Unusable):
                return side
        return Unusable(f"it is {describe(chosen)} on one path and {describe(other)} on another")


def _same(first: Any, second: Any) -> bool:
    try:
        return bool(first == second) and repr(first) == repr(second)
    except Exception:  # comparing foreign objects may do anything
        return False


def _name(node: ast.AST) -> str:
    return _SPOKEN.get(type(node).__name__, f"a {type(node).__name__} statement")


_SPOKEN: Final = {
    "While": "a while loop: the number of turns must be known (`for i in range(8)`)",
    "With": "a with statement",
    "Try": "a try statement: nothing raises in a scalar function",
    "Raise": "a raise statement: nothing raises in a scalar function",
    "Assert": "an assert statement: nothing raises in a scalar function",
    "FunctionDef": "a function definition; define it beside this function and call it",
    "Break": "break: every turn of a loop is taken; use a conditional expression",
    "Continue": "continue: every turn of a loop is taken; use a conditional expression",
    "Import": "an import statement",
    "ImportFrom": "an import statement",
}


def _assign(frame: Frame, statement: ast.Assign) -> None:
    value = frame.evaluation.evaluate(statement.value)
    for target in statement.targets:
        frame.assign(target, value)


def _annotated(frame: Frame, statement: ast.AnnAssign) -> None:
    if statement.value is not None:
        frame.assign(statement.target, frame.evaluation.evaluate(statement.value))


def _augmented(frame: Frame, statement: ast.AugAssign) -> None:
    if not isinstance(statement.target, ast.Name):
        raise frame.source.error(statement.target, "only local names can be assigned to")
    before = ast.copy_location(ast.Name(statement.target.id, ast.Load()), statement.target)
    value = ast.copy_location(ast.BinOp(before, statement.op, statement.value), statement)
    frame.assign(statement.target, frame.evaluation.evaluate(value))


def _expression(frame: Frame, statement: ast.Expr) -> None:
    if not isinstance(statement.value, ast.Constant):  # a docstring
        raise frame.source.error(statement, "an expression whose value is not used has no effect", "Remove it.")


def _return(frame: Frame, statement: ast.Return) -> None:
    if statement.value is None:
        raise frame.source.error(statement, "it returns nothing", "Return a number, or several.")
    value = frame.evaluation.evaluate(statement.value)
    if isinstance(frame.returned, Symbol):
        value = frame.choose(frame.returned, frame.result, value, statement)
        if isinstance(value, Unusable):
            raise frame.source.error(statement, value.problem, "Return as many numbers on every path.")
    frame.returned, frame.result = True, value


def _if(frame: Frame, statement: ast.If) -> None:
    condition = frame.evaluation.condition(statement.test)
    if not isinstance(condition, Symbol):
        frame.execute(statement.body if condition else statement.orelse)
        return
    chosen, other = frame.branch(dict(frame.names)), frame.branch(dict(frame.names))
    chosen.execute(statement.body)
    other.execute(statement.orelse)
    _meet(frame, condition, chosen, other, statement)


def _meet(frame: Frame, condition: Symbol, chosen: Frame, other: Frame, statement: ast.If) -> None:
    """Join the two sides of a branch."""
    if chosen.returned is True or other.returned is True:
        survivor = other if chosen.returned is True else chosen
        frame.names.clear()
        frame.names.update(survivor.names)
    else:
        for name in {*chosen.names, *other.names}:
            missing = Unusable("it is assigned on some paths only")
            pair = (chosen.names.get(name, missing), other.names.get(name, missing))
            frame.names[name] = frame.choose(condition, *pair, statement)
    if chosen.returned is not False and other.returned is not False:
        frame.result = frame.choose(condition, chosen.result, other.result, statement)
        if isinstance(frame.result, Unusable):
            raise frame.source.error(statement, frame.result.problem, "Return as many numbers on every path.")
    else:
        frame.result = other.result if chosen.returned is False else chosen.result
    both = frame.choose(condition, chosen.returned, other.returned, statement)
    frame.returned = both


def _for(frame: Frame, statement: ast.For) -> None:
    if statement.orelse:
        raise frame.source.error(statement.orelse[0], "it cannot hold an else branch of a loop")
    turns = frame.evaluation.sequence(statement.iter)
    if len(turns) > _LONGEST_LOOP:
        raise frame.source.error(statement.iter, f"a loop of {len(turns)} turns is too long to be unrolled")
    for value in turns:
        if frame.returned is True:
            return
        frame.assign(statement.target, value)
        frame.execute(statement.body)


def _pass(frame: Frame, statement: ast.Pass) -> None:
    """Nothing to do."""


_STATEMENTS: Final[dict[type[ast.stmt], Callable[[Frame, Any], None]]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Expr: _expression,
    ast.Return: _return,
    ast.If: _if,
    ast.For: _for,
    ast.Pass: _pass,
}
