"""Tracing of the statements of a scalar function: assignments, branches, returns, and loops.

A loop over values that are known while tracing is unrolled; others become loop nodes (see ``loops``).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from opdsl.errors import ScalarFunctionError
from opdsl.scalar.expressions import Evaluation, Unusable
from opdsl.scalar.loops import GOES_ON, UNBOUNDED, Counter, for_loop, own_exits, while_loop
from opdsl.scalar.source import FunctionSource
from opdsl.scalar.symbols import Graph, Symbol, describe, is_value
from opdsl.scalar.untyped import Place

__all__ = ["Frame", "run_function"]

_LONGEST_LOOP = 4096
# A loop over a range with `break` in it is unrolled up to this many iterations.
_MOST_UNROLLED = 8
_DEEPEST_CALL = 64


def run_function(graph: Graph, source: FunctionSource, values: Mapping[str, Any], depth: int) -> Any:
    """Trace a function's body on symbols, and return its result.

    graph: takes the nodes.
    source: the function.
    values: its parameters: symbols, or any Python values that are known.
    depth: the depth of nested calls.
    Returns: the function's result: a symbol, a number, or a tuple of those.
    """
    if depth > _DEEPEST_CALL:
        raise source.error(source.tree, "it calls itself endlessly", "A scalar function cannot be recursive.")
    try:
        return Frame(graph, source, dict(values), depth).run()
    except RecursionError as error:
        raise ScalarFunctionError(f"scalar function {source.name}: it is nested too deeply to be read") from error


class Frame:
    """Call of a function while it is traced.

    names: local names.
    returned: whether a path to here has returned: False, True, or a symbol for the condition.
    result: the value that was returned, if any path has.
    left: whether a path to here has left the iteration of a loop by break or continue, in the same form.
    names_left: the local names at that point.
    """

    def __init__(self, graph: Graph, source: FunctionSource, names: dict[str, Any], depth: int) -> None:
        self.graph = graph
        self.source = source
        self.names = names
        self.returned: Symbol | bool = False
        self.result: Any = None
        self.left: Symbol | bool = False
        self.names_left: dict[str, Any] = {}
        self.depth = depth
        self.evaluation = Evaluation(graph, source, names, self.inline)

    def run(self) -> Any:
        """Trace the whole body, and return the function's result."""
        self.execute(self.source.body)
        if self.returned is not True:
            last = self.source.body[-1]
            raise self.source.error(last, "not every path returns a value", "End with a return statement.")
        return self.result

    def execute(self, body: Sequence[ast.stmt]) -> None:
        """Trace statements until every path has returned, or has left the iteration of a loop."""
        for statement in body:
            if self.is_done:
                return
            run = _STATEMENTS.get(type(statement))
            if run is None:
                raise self.source.error(statement, f"it cannot contain {_name(statement)}")
            run(self, statement)

    @property
    def is_done(self) -> bool:
        """Return whether no path continues from here."""
        return self.returned is True or self.left is True

    def turn(self, body: Sequence[ast.stmt]) -> None:
        """Trace one iteration of a loop; paths that leave it early keep the names that they have at that point."""
        outer = self.left, self.names_left
        self.left, self.names_left = False, {}
        self.execute(body)
        if self.left is True:
            self.become(self.names_left)
        elif isinstance(self.left, Symbol):
            self.become(self.chosen(self.left, self.names_left, self.names, body[0]))
        self.left, self.names_left = outer

    def leave(self, node: ast.AST) -> None:
        """Leave the iteration of a loop here, as ``break`` and ``continue`` do."""
        names = dict(self.names)
        if isinstance(self.left, Symbol):
            names = self.chosen(self.left, self.names_left, names, node)
        self.left, self.names_left = True, names

    def become(self, names: Mapping[str, Any]) -> None:
        """Replace all local names by others."""
        names = dict(names)
        self.names.clear()
        self.names.update(names)

    def chosen(
        self, condition: Symbol, chosen: Mapping[str, Any], other: Mapping[str, Any], node: ast.AST
    ) -> dict[str, Any]:
        """Return the local names after two paths join, each selected by a condition."""
        missing = Unusable("it is assigned on some paths only")
        return {
            variable: self.choose(condition, chosen.get(variable, missing), other.get(variable, missing), node)
            for variable in {**chosen, **other}
        }

    def branch(self, names: dict[str, Any]) -> Frame:
        """Return a frame for tracing one side of a branch."""
        frame = Frame(self.graph, self.source, names, self.depth)
        frame.returned, frame.result = self.returned, self.result
        frame.left, frame.names_left = self.left, self.names_left
        return frame

    def within(self, graph: Graph) -> Frame:
        """Return a frame for tracing the body of a loop into a separate graph."""
        return Frame(graph, self.source, dict(self.names), self.depth)

    def inline(self, source: FunctionSource, values: Mapping[str, Any]) -> Any:
        """Trace a function that this one calls, and return its result."""
        return run_function(self.graph, source, values, self.depth + 1)

    def assign(self, target: ast.expr, value: Any) -> None:
        """Bind a name, or several names to the parts of a tuple."""
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, tuple) and len(value) == len(target.elts):
            for part, one in zip(target.elts, value, strict=True):
                self.assign(part, one)
        else:
            raise self.source.error(target, f"{describe(value)} cannot be assigned to this", "Assign to local names.")

    def choose(self, condition: Symbol, chosen: Any, other: Any, node: ast.AST) -> Any:
        """Return ``chosen if condition else other`` for values of any kind; values that cannot be selected give
        ``Unusable``.
        """
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
    except Exception:  # comparing objects of unknown classes may raise any exception
        return False


def _name(node: ast.AST) -> str:
    return _SPOKEN.get(type(node).__name__, f"a {type(node).__name__} statement")


_SPOKEN: Final = {
    "With": "a with statement",
    "Try": "a try statement: nothing raises in a scalar function",
    "Raise": "a raise statement: nothing raises in a scalar function",
    "Assert": "an assert statement: nothing raises in a scalar function",
    "FunctionDef": "a function definition; define it next to this function and call it",
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
    # A docstring, or a call of print, which kernels ignore; see `opdsl.debug`.
    if not (isinstance(statement.value, ast.Constant) or frame.source.is_print(statement, frame.names)):
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


def _meet(frame: Frame, condition: Symbol, chosen: Frame, other: Frame, statement: ast.stmt) -> None:
    """Merge the frames of the two sides of a branch into the frame that they came from."""
    if chosen.is_done or other.is_done:
        frame.become((other if chosen.is_done else chosen).names)
    else:
        frame.become(frame.chosen(condition, chosen.names, other.names, statement))
    if chosen.left is not False and other.left is not False:
        frame.names_left = frame.chosen(condition, chosen.names_left, other.names_left, statement)
    else:
        frame.names_left = other.names_left if chosen.left is False else chosen.names_left
    frame.left = frame.choose(condition, chosen.left, other.left, statement)
    if chosen.returned is not False and other.returned is not False:
        frame.result = frame.choose(condition, chosen.result, other.result, statement)
        if isinstance(frame.result, Unusable):
            raise frame.source.error(statement, frame.result.problem, "Return as many numbers on every path.")
    else:
        frame.result = other.result if chosen.returned is False else chosen.result
    frame.returned = frame.choose(condition, chosen.returned, other.returned, statement)


def _for(frame: Frame, statement: ast.For) -> None:
    if statement.orelse:
        raise frame.source.error(statement.orelse[0], "it cannot contain an else branch of a loop")
    counter = _counter(frame, statement)
    if counter is not None:
        known = not isinstance(counter.start, Symbol) and not isinstance(counter.stop, Symbol)
        most = len(range(counter.start, counter.stop, counter.step)) if known else None
        if most is None or (most > _MOST_UNROLLED and _breaks(statement)):
            if most != 0:
                for_loop(frame, statement, counter, most)
            return
    turns = frame.evaluation.sequence(statement.iter)
    if len(turns) > _LONGEST_LOOP:
        advice = "A loop with `if ...: break` in it is not unrolled."
        raise frame.source.error(
            statement.iter, f"a loop of {len(turns)} iterations is too long to be unrolled", advice
        )
    outer = frame.names.get(GOES_ON)
    frame.names[GOES_ON] = True
    for value in turns:
        if frame.is_done or frame.names[GOES_ON] is False:
            break
        _unrolled(frame, statement, value)
    # Restore the flag of the enclosing loop.
    del frame.names[GOES_ON]
    if outer is not None:
        frame.names[GOES_ON] = outer


def _unrolled(frame: Frame, statement: ast.For, value: Any) -> None:
    """Trace one iteration of an unrolled loop, under a condition if an earlier iteration may have ended the loop."""
    going = frame.names[GOES_ON]
    if not isinstance(going, Symbol):
        frame.assign(statement.target, value)
        frame.turn(statement.body)
        return
    chosen, other = frame.branch(dict(frame.names)), frame.branch(dict(frame.names))
    chosen.assign(statement.target, value)
    chosen.turn(statement.body)
    _meet(frame, going, chosen, other, statement)


def _counter(frame: Frame, statement: ast.For) -> Counter | None:
    """Return the range of a loop over ``range(...)``; None for other loops, and for ranges without integer bounds."""
    call = statement.iter
    if not isinstance(call, ast.Call) or call.keywords or any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    if not 1 <= len(call.args) <= 3 or frame.evaluation.evaluate(call.func) is not range:
        return None
    values = [frame.evaluation.number(arg) for arg in call.args]
    start, stop, step = (0, values[0], 1) if len(values) == 1 else (*values, 1)[:3]
    if isinstance(step, Symbol):
        raise frame.source.error(call.args[-1], "the step of a range must be known when this is declared")
    if step == 0 or not all(isinstance(bound, (Symbol, int)) for bound in (start, stop, step)):
        return None
    place = Place(frame.source, call)
    start, stop = (
        frame.graph.add("to_integer", (bound,), place) if isinstance(bound, Symbol) else bound
        for bound in (start, stop)
    )
    return Counter(start, stop, step, statement.target)


def _breaks(statement: ast.For) -> bool:
    return any(isinstance(exit_statement, ast.Break) for exit_statement in own_exits(statement.body))


def _while(frame: Frame, statement: ast.While) -> None:
    if statement.orelse:
        raise frame.source.error(statement.orelse[0], "it cannot contain an else branch of a loop")
    if own_exits(statement.body):
        while_loop(frame, statement)
        return
    for _ in range(_LONGEST_LOOP):
        condition = frame.evaluation.condition(statement.test)
        if isinstance(condition, Symbol):
            while_loop(frame, statement)
            return
        if not condition or frame.is_done:
            return
        frame.turn(statement.body)
    raise frame.source.error(statement.test, f"this loop has more than {_LONGEST_LOOP} iterations", UNBOUNDED)


def _break(frame: Frame, statement: ast.Break) -> None:
    frame.names[GOES_ON] = False
    frame.leave(statement)


def _continue(frame: Frame, statement: ast.Continue) -> None:
    frame.leave(statement)


def _pass(frame: Frame, statement: ast.Pass) -> None:
    """Do nothing."""


_STATEMENTS: Final[dict[type[ast.stmt], Callable[[Frame, Any], None]]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Expr: _expression,
    ast.Return: _return,
    ast.If: _if,
    ast.For: _for,
    ast.While: _while,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Pass: _pass,
}
