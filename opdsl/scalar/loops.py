"""Loops that run until their condition fails: their turns are counted while they run, element by element.

A loop is one node; a turn is a graph of its own (see ``untyped.UntypedLoop``). What is known while reading becomes part
of it; names that are assigned in it are carried from turn to turn.
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

# Names that no function can have: the number that a range is at, and the answer to whether a loop goes on.
COUNT: Final = "(count)"
GOES_ON: Final = "(goes on)"

UNBOUNDED: Final = (
    "Count the turns: `for _ in range(100):` with `if ...: break`, or `while k < 100 and ...:` with `k += 1`."
)


class Frame(Protocol):
    """A call of a function while it is read: see ``statements.Frame``."""

    graph: Graph
    source: FunctionSource
    names: dict[str, Any]
    returned: Symbol | bool
    evaluation: Evaluation

    def assign(self, target: ast.expr, value: Any) -> None:
        """Bind a name, or several to the parts of a tuple."""

    def turn(self, body: Sequence[ast.stmt]) -> None:
        """Run a turn of a loop; names are what they are where it was left."""

    def branch(self, names: dict[str, Any]) -> Frame:
        """A frame for one side of a branch."""

    def within(self, graph: Graph) -> Frame:
        """A frame for the body of a loop, which is a graph of its own."""


class Counter(NamedTuple):
    """The numbers that a ``for`` goes through.

    start, stop, step: of its range; the step is known, the others may be symbols.
    target: what each is assigned to.
    """

    start: Any
    stop: Any
    step: int
    target: ast.expr


class Turns(NamedTuple):
    """A loop as it is run.

    statement: where it stands.
    body: the statements of a turn.
    test: whether there is another turn; None for a loop that only leaves from within.
    ends: whether it is the truth of the test that ends the loop.
    counter: the numbers that it goes through; None for a ``while``.
    most: turns after which it ends in any case; None where the counter, or the test, sees to that.
    """

    statement: ast.For | ast.While
    body: Sequence[ast.stmt]
    test: ast.expr | None
    ends: bool
    counter: Counter | None
    most: int | None


def own_exits(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The ``break`` and ``continue`` statements that belong to a loop, not to one within it."""
    exits: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, (ast.Break, ast.Continue)):
            exits.append(statement)
        elif isinstance(statement, ast.If):
            exits += own_exits([*statement.body, *statement.orelse])
    return exits


def for_loop(frame: Frame, statement: ast.For, counter: Counter, most: int | None) -> None:
    """Run a ``for`` over a range; ``if ...: break`` at its beginning is a condition like that of a ``while``.

    But for a number that is read behind the loop: it has been counted when that condition is looked at.
    """
    first, *rest = statement.body
    test = None
    names = {node.id for node in ast.walk(statement.target) if isinstance(node, ast.Name)}
    if isinstance(first, ast.If) and not first.orelse and isinstance(first.body[0], ast.Break):
        test = None if names & frame.names.keys() else first.test
    body = statement.body if test is None else rest
    run_loop(frame, Turns(statement, body, test, True, counter, most))


def while_loop(frame: Frame, statement: ast.While) -> None:
    """Run a ``while`` whose turns are bounded by a counter in its condition."""
    most = limit(frame, statement)
    run_loop(frame, Turns(statement, statement.body, statement.test, False, None, most))


def run_loop(frame: Frame, turns: Turns) -> None:
    """Add a loop, and set the names that it assigns to what they are behind it."""
    place = Place(frame.source, turns.statement)
    outer = frame.names.pop(COUNT, None)
    if turns.counter is not None:
        frame.names[COUNT] = turns.counter.start
    carried = _carried(frame, turns)
    first = _goes_on(frame, turns, dict(frame.names), True)
    inner = frame.within(Graph())
    names = [name for name, count in carried.items() for _ in range(count)]
    symbols = iter([inner.graph.parameter(f"carried{k}", place) for k in range(len(names))])
    for name in carried:
        inner.names[name] = _rebuilt(frame.names[name], symbols)
    results = _turn(inner, turns, carried)
    positions = tuple(inner.graph.position(result, place) for result in results)
    captured = inner.graph.captured
    parameters = (*(f"carried{k}" for k in range(len(names))), *(name for _, name in captured))
    body = UntypedLoop(tuple(inner.graph.nodes), tuple(inner.graph.places), positions, parameters, turns.most)
    begin = [leaf for name in carried for leaf in leaves(frame.names[name])]
    loop = frame.graph.add("loop", [first, *begin, *(symbol for symbol, _ in captured)], place, body)
    items = iter([frame.graph.add("item", [loop], place, k) for k in range(len(names))])
    for name in _assigned(turns):
        if name not in carried:
            frame.names[name] = Unusable("it is assigned in a loop that may take no turn")
    for name in carried:
        frame.names[name] = _rebuilt(frame.names[name], items)
    frame.names.pop(COUNT, None)
    if outer is not None:
        frame.names[COUNT] = outer


def _assigned(turns: Turns) -> list[str]:
    """The names that a turn assigns, in the order of their first assignment."""
    nodes = [node for statement in turns.body for node in ast.walk(statement)]
    if turns.counter is not None:
        nodes += ast.walk(turns.counter.target)
    names = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return list(dict.fromkeys(names))


def _carried(frame: Frame, turns: Turns) -> dict[str, int]:
    """The names that are carried from turn to turn, and how many numbers each holds."""
    carried: dict[str, int] = {}
    for name in [*([] if turns.counter is None else [COUNT]), *_assigned(turns)]:
        if name in frame.names:
            values = leaves(frame.names[name])
            if all(map(is_value, values)):
                carried[name] = len(values)
    return carried


def leaves(value: Any) -> list[Any]:
    """The numbers of a value: of a tuple those of its parts."""
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


def _rebuilt(like: Any, values: Iterator[Symbol]) -> Any:
    """The next values, in the form of another one."""
    return tuple(_rebuilt(part, values) for part in like) if isinstance(like, tuple) else next(values)


def _turn(frame: Frame, turns: Turns, carried: dict[str, int]) -> list[Any]:
    """Run a turn: whether there is another, then what is carried."""
    counter = turns.counter
    frame.names[GOES_ON] = True
    if counter is not None:
        frame.assign(counter.target, frame.names[COUNT])
    before = {name: frame.names[name] for name in carried}
    frame.turn(turns.body)
    if frame.returned is not False:
        place = next(node for node in ast.walk(turns.statement) if isinstance(node, ast.Return))
        raise frame.source.error(
            place, "a loop whose turns are counted while it runs cannot return", "Leave it with `break`, then return."
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
                f"{name!r} is another kind of thing after a turn of this loop than before it",
                "What a loop assigns stays a number, or a tuple of as many.",
            )
        turn_values += values
    return turn_values


def _shape(value: Any) -> Any:
    return tuple(map(_shape, value)) if isinstance(value, tuple) else None


def _goes_on(frame: Frame, turns: Turns, names: dict[str, Any], so_far: Any) -> Any:
    """Whether there is another turn, as names are before it."""
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
    """``first and second``"""
    if first is True:
        return second
    if second is True or first is False:
        return first
    return frame.graph.add("logical_and", (first, second), place)


# ----------------------------------------------------------------------------------------------- the turns of a while


def limit(frame: Frame, statement: ast.While) -> int | None:
    """How many turns a ``while`` takes at most: a number of it is compared, and counted in each turn.

    Returns:
        The number; None where it depends on a parameter.

    Raises:
        ScalarFunctionError: there is no such number.
    """
    test = statement.test
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    for part in parts:
        terms = [part.left, *part.comparators] if isinstance(part, ast.Compare) else []
        for op, left, right in zip(getattr(part, "ops", ()), terms, terms[1:], strict=False):
            turns = _turns_of(frame, statement, op, left, right)
            if turns is not False:
                return turns
    raise frame.source.error(test, "nothing bounds the turns of this loop", UNBOUNDED)


_UPWARDS: Final = {ast.Lt: 0, ast.LtE: 1}
_DOWNWARDS: Final = {ast.Gt: 0, ast.GtE: 1}


def _turns_of(frame: Frame, statement: ast.While, op: ast.cmpop, left: ast.expr, right: ast.expr) -> int | bool | None:
    """How often a comparison can hold; False where it is not one of a counter."""
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
    """What is added to a name in each turn, by the one statement that assigns it."""
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
    """Whether statements assign a name that an expression reads."""
    read = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
    return any(
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in read
        for statement in body
        for node in ast.walk(statement)
    )
