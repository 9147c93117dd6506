"""Tracing of loops that are not unrolled: the number of iterations is decided at run time, for each element.

A loop is one node; one iteration is a separate graph (see ``untyped.UntypedLoop``). Values that are known while
tracing become constants in it; names that are assigned in the loop are carried from iteration to iteration.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol

from opdsl.scalar.expressions import Evaluation, Unusable
from opdsl.scalar.source import FunctionSource
from opdsl.scalar.symbols import Graph, Symbol, is_value
from opdsl.scalar.untyped import Place, UntypedLoop

__all__ = ["GOES_ON", "UNBOUNDED", "Counter", "for_loop", "own_exits", "while_loop"]

# Hidden local names that no function can use: the current number of a range, and whether a loop continues.
COUNT: Final = "(count)"
GOES_ON: Final = "(goes on)"

UNBOUNDED: Final = (
    "Limit the number of iterations: `for _ in range(100):` with `if ...: break`, or `while k < 100 and ...:` with "
    "`k += 1`."
)


class Frame(Protocol):
    """Protocol of one call of a function while it is traced: see ``statements.Frame``."""

    graph: Graph
    source: FunctionSource
    names: dict[str, Any]
    returned: Symbol | bool
    evaluation: Evaluation

    def assign(self, target: ast.expr, value: Any) -> None:
        """Bind a name, or several names to the parts of a tuple."""

    def turn(self, body: Sequence[ast.stmt]) -> None:
        """Trace one iteration of a loop; paths that leave it early keep the names that they have at that point."""

    def branch(self, names: dict[str, Any]) -> Frame:
        """Return a frame for tracing one side of a branch."""

    def within(self, graph: Graph) -> Frame:
        """Return a frame for tracing the body of a loop into a separate graph."""


class Counter(NamedTuple):
    """Range that a ``for`` loop iterates over.

    start, stop, step: of the range; the step is known, the others may be symbols.
    target: the expression to which each number is assigned.
    """

    start: Any
    stop: Any
    step: int
    target: ast.expr


class Turns(NamedTuple):
    """Loop in the form in which it is traced.

    statement: its statement.
    body: the statements of one iteration.
    test: whether there is another iteration; None for a loop that is left only by ``break`` or its counter.
    ends: whether the loop ends when the test is true, instead of when it is false.
    counter: the range that it iterates over; None for a ``while``.
    most: the largest number of iterations; None if the counter or the test ends the loop.
    """

    statement: ast.For | ast.While
    body: Sequence[ast.stmt]
    test: ast.expr | None
    ends: bool
    counter: Counter | None
    most: int | None


def own_exits(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the ``break`` and ``continue`` statements that belong to a loop, not to one within it."""
    exits: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, (ast.Break, ast.Continue)):
            exits.append(statement)
        elif isinstance(statement, ast.If):
            exits += own_exits([*statement.body, *statement.orelse])
    return exits


def for_loop(frame: Frame, statement: ast.For, counter: Counter, most: int | None) -> None:
    """Trace a ``for`` over a range; ``if ...: break`` at its beginning becomes a condition like that of a ``while``.

    It does not if the loop variable exists before the loop, since its value after the loop would differ: the variable
        is
    assigned before that condition is evaluated.
    """
    first, *rest = statement.body
    test = None
    names = {node.id for node in ast.walk(statement.target) if isinstance(node, ast.Name)}
    if isinstance(first, ast.If) and not first.orelse and isinstance(first.body[0], ast.Break):
        test = None if names & frame.names.keys() else first.test
    body = statement.body if test is None else rest
    run_loop(frame, Turns(statement, body, test, True, counter, most))


def while_loop(frame: Frame, statement: ast.While) -> None:
    """Trace a ``while`` whose iterations are bounded by a counter in its condition."""
    most = limit(frame, statement)
    run_loop(frame, Turns(statement, statement.body, statement.test, False, None, most))


def run_loop(frame: Frame, turns: Turns) -> None:
    """Add a loop node, and set the names that the loop assigns to their values after it."""
    place = Place(frame.source, turns.statement)
    outer = frame.names.pop(COUNT, None)
    if turns.counter is not None:
        frame.names[COUNT] = turns.counter.start
    carried = _carried(frame, turns)
    first = _goes_on(frame, turns, dict(frame.names), True)
    inner = frame.within(Graph())
    names = [variable for variable, count in carried.items() for _ in range(count)]
    symbols = iter([inner.graph.parameter(f"carried{k}", place) for k in range(len(names))])
    for name in carried:
        inner.names[name] = _rebuilt(frame.names[name], symbols)
    results = _turn(inner, turns, carried)
    positions = tuple(inner.graph.position(result, place) for result in results)
    captured = inner.graph.captured
    parameters = (*(f"carried{k}" for k in range(len(names))), *(name for _, name in captured))
    body = UntypedLoop(tuple(inner.graph.nodes), tuple(inner.graph.places), positions, parameters, turns.most)
    begin = [leaf for variable in carried for leaf in leaves(frame.names[variable])]
    loop = frame.graph.add("loop", [first, *begin, *(symbol for symbol, _ in captured)], place, body)
    items = iter([frame.graph.add("item", [loop], place, k) for k in range(len(names))])
    for name in _assigned(turns):
        if name not in carried:
            frame.names[name] = Unusable("it is assigned in a loop that may have no iterations")
    for name in carried:
        frame.names[name] = _rebuilt(frame.names[name], items)
    frame.names.pop(COUNT, None)
    if outer is not None:
        frame.names[COUNT] = outer


def _assigned(turns: Turns) -> list[str]:
    """Return the names that an iteration assigns, in the order of their first assignment."""
    nodes = [node for statement in turns.body for node in ast.walk(statement)]
    if turns.counter is not None:
        nodes += ast.walk(turns.counter.target)
    names = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return list(dict.fromkeys(names))


def _carried(frame: Frame, turns: Turns) -> dict[str, int]:
    """Return the names that are carried from iteration to iteration, and how many numbers each holds."""
    carried: dict[str, int] = {}
    for variable in [*([] if turns.counter is None else [COUNT]), *_assigned(turns)]:
        if variable in frame.names:
            values = leaves(frame.names[variable])
            if all(map(is_value, values)):
                carried[variable] = len(values)
    return carried


def leaves(value: Any) -> list[Any]:
    """Return the numbers in a value: of a tuple those of its parts, recursively."""
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


def _rebuilt(like: Any, values: Iterator[Symbol]) -> Any:
    """Return the next values, in the nested tuple structure of ``like``."""
    return tuple(_rebuilt(part, values) for part in like) if isinstance(like, tuple) else next(values)


def _turn(frame: Frame, turns: Turns, carried: dict[str, int]) -> list[Any]:
    """Trace an iteration; return whether there is another one, then the carried values."""
    counter = turns.counter
    frame.names[GOES_ON] = True
    if counter is not None:
        frame.assign(counter.target, frame.names[COUNT])
    before = {variable: frame.names[variable] for variable in carried}
    frame.turn(turns.body)
    if frame.returned is not False:
        place = next(node for node in ast.walk(turns.statement) if isinstance(node, ast.Return))
        raise frame.source.error(
            place,
            "a loop whose number of iterations is known only while it runs cannot return",
            "Leave it with `break`, then return.",
        )
    more = frame.names.pop(GOES_ON)
    if counter is not None:
        frame.names[COUNT] = frame.graph.add(
            "add", (frame.names[COUNT], counter.step), Place(frame.source, turns.statement)
        )
    more = _goes_on(frame, turns, dict(frame.names), more)
    turn_values = [more]
    for name, count in carried.items():
        values = leaves(frame.names[name])
        same = len(values) == count and all(map(is_value, values))
        if not same or _shape(frame.names[name]) != _shape(before[name]):
            raise frame.source.error(
                turns.statement,
                f"{name!r} is another kind of value after an iteration of this loop than before it",
                "A name that a loop assigns has to remain a number, or a tuple of the same length.",
            )
        turn_values += values
    return turn_values


def _shape(value: Any) -> Any:
    return tuple(map(_shape, value)) if isinstance(value, tuple) else None


def _goes_on(frame: Frame, turns: Turns, names: dict[str, Any], so_far: Any) -> Any:
    """Return the condition for another iteration, given the names before it."""
    place = Place(frame.source, turns.statement)
    counter = turns.counter
    scratch = frame.branch(names)
    if counter is not None:
        scratch.assign(counter.target, names[COUNT])
        if isinstance(counter.stop, Symbol) or isinstance(counter.start, Symbol):
            op = "less" if counter.step > 0 else "greater"
            so_far = _both(frame, so_far, frame.graph.add(op, (names[COUNT], counter.stop), place), place)
    if turns.test is None:
        return so_far
    condition = scratch.evaluation.condition(turns.test)
    if turns.ends:
        condition = (
            frame.graph.add("logical_not", (condition,), place) if isinstance(condition, Symbol) else not condition
        )
    return _both(frame, so_far, condition, place)


def _both(frame: Frame, first: Any, second: Any, place: Place) -> Any:
    """Return ``first and second``, simplified if one is known."""
    if first is True:
        return second
    if second is True or first is False:
        return first
    return frame.graph.add("logical_and", (first, second), place)


# ------------------------------------------------------------------------------------------ iterations of while loops


def limit(frame: Frame, statement: ast.While) -> int | None:
    """Return the largest number of iterations of a ``while``, from a counter that its condition compares with a number.

    Returns:
        The number; None if it depends on a parameter.

    Raises:
        ScalarFunctionError: there is no such counter.
    """
    test = statement.test
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    for part in parts:
        terms = [part.left, *part.comparators] if isinstance(part, ast.Compare) else []
        for op, left, right in zip(getattr(part, "ops", ()), terms, terms[1:], strict=False):
            turns = _turns_of(frame, statement, op, left, right)
            if turns is not False:
                return turns
    raise frame.source.error(test, "the number of iterations of this loop is unbounded", UNBOUNDED)


_UPWARDS: Final = {ast.Lt: 0, ast.LtE: 1}
_DOWNWARDS: Final = {ast.Gt: 0, ast.GtE: 1}


def _turns_of(frame: Frame, statement: ast.While, op: ast.cmpop, left: ast.expr, right: ast.expr) -> int | bool | None:
    """Return how many iterations a ``while`` comparison of a counter allows, None if that depends on a parameter, False
    if it does not compare a counter.
    """
    for counted, bound, mirrored in ((left, right, False), (right, left, True)):
        if not isinstance(counted, ast.Name):
            continue
        start, step = frame.names.get(counted.id), _step(frame, statement, counted.id)
        if not isinstance(start, int) or isinstance(start, bool) or step is None or _assigns(statement.body, bound):
            continue
        directions = (_UPWARDS, _DOWNWARDS) if (step > 0) != mirrored else (_DOWNWARDS, _UPWARDS)
        reached = directions[0].get(type(op))
        if reached is None:
            continue
        end = frame.evaluation.evaluate(bound)
        if isinstance(end, Symbol):
            return None
        if isinstance(end, (int, float)) and abs(end) < 2**62:
            sign = 1 if step > 0 else -1
            return max(0, math.ceil((end - start) * sign / abs(step)) + reached)
    return False


def _step(frame: Frame, statement: ast.While, name: str) -> int | None:
    """Return the number that each iteration adds to a name by a single statement; None if the name changes in other
    ways.
    """
    number: int | None = None
    for index, child in enumerate(statement.body):
        if not _assigns([child], ast.Name(name, ast.Load())):
            continue
        if number is not None or any(isinstance(one, ast.Continue) for one in own_exits(statement.body[:index])):
            return None
        if not isinstance(child, ast.AugAssign) or not isinstance(child.op, (ast.Add, ast.Sub)):
            return None
        if _assigns(statement.body, child.value):
            return None
        step = frame.evaluation.evaluate(child.value)
        if not isinstance(step, int) or isinstance(step, bool) or step == 0:
            return None
        number = step if isinstance(child.op, ast.Add) else -step
    return number


def _assigns(body: Sequence[ast.stmt], expression: ast.expr) -> bool:
    """Return whether statements assign a name that an expression reads."""
    read = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
    return any(
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in read
        for statement in body
        for node in ast.walk(statement)
    )
