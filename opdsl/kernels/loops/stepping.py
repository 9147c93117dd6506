"""Analysis of steps: by how much a value changes from one iteration of a loop to the next (affine indices)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from opdsl.kernels.loops.model import Argument, Bound, Compute, Fold, For, Scan, Statement, blocks_of, names_of
from opdsl.scalar.graph import TypedGraph

__all__ = ["STILL", "Step", "steps_along"]


class Step(NamedTuple):
    """Change of an integer from one iteration to the next.

    places: the constant part. factor: the name of a value that it is multiplied with; None for none.
    """

    places: int
    factor: str | None = None


STILL = Step(0)
"""Step of a value that is the same in all iterations."""


def steps_along(statements: Sequence[Statement], index: str) -> dict[str, Step | None]:
    """Return the step of each value that statements compute; None if it is unknown, not constant or depends on
    memory.

    Args:
        statements: of a loop.
        index: of the loop.
    """
    known: dict[str, Step | None] = {index: Step(1)}
    _walk(statements, known)
    return known


def _walk(statements: Sequence[Statement], known: dict[str, Step | None]) -> None:
    for statement in statements:
        if isinstance(statement, Compute):
            known.update(zip(statement.names, _results(statement.graph, statement.arguments, known), strict=True))
        elif isinstance(statement, Bound) and statement.how == "trusted":
            known[statement.name] = known.get(statement.place, STILL)
        elif isinstance(statement, Bound):
            known[statement.name] = STILL if known.get(statement.place, STILL) == STILL else None
        elif isinstance(statement, Scan):
            known |= dict.fromkeys((*statement.names, *statement.results))
        else:
            known |= dict.fromkeys(names_of(statement))
        for block in blocks_of(statement):
            _walk(block, known)
        if isinstance(statement, (Fold, Scan, For)):
            known |= dict.fromkeys(names_of(statement))


class _Value(NamedTuple):
    """Step of a graph node, and its value: a number, the name of a value, or None for neither."""

    step: Step | None
    is_: Argument | None


def _results(graph: TypedGraph, arguments: Sequence[Argument], known: Mapping[str, Step | None]) -> list[Step | None]:
    """Return the steps of a graph's results."""
    numbers = iter(arguments)
    values: list[_Value] = []
    for node in graph.nodes:
        if node.op == "parameter":
            number = next(numbers)
            step = known.get(number, STILL) if isinstance(number, str) else STILL
            values.append(_Value(step, number))
        elif node.op == "constant":
            values.append(_Value(STILL, node.value if type(node.value) is int else None))
        else:
            values.append(_Value(_combined(node.op, [values[at] for at in node.arguments]), None))
    return [values[at].step for at in graph.results]


def _combined(op: str, values: Sequence[_Value]) -> Step | None:
    """Return the step of an operation's result from those of its operands."""
    steps = [value.step for value in values if value.step is not None]
    if len(steps) < len(values):
        return None
    if all(step == STILL for step in steps):
        return STILL
    if op == "negative":
        return steps[0]._replace(places=-steps[0].places)
    if op in ("add", "subtract"):
        sign = 1 if op == "add" else -1
        first, second = steps
        if STILL in steps:
            return first if second == STILL else second._replace(places=sign * second.places)
        total = first.places + sign * second.places
        return Step(total, first.factor) if first.factor == second.factor and total else None
    if op == "multiply":
        for one, other in ((values[0], values[1]), (values[1], values[0])):
            if one.step is None or other.step != STILL:
                continue
            if isinstance(other.is_, int) and other.is_:
                return one.step._replace(places=one.step.places * other.is_)
            if isinstance(other.is_, str) and one.step.factor is None:
                return one.step._replace(factor=other.is_)
    return None
