"""How far positions step from one turn of a loop to the next, read off their graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from opdsl.kernels.calls import IndexedLoop
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.indexed import SKIP
from opdsl.scalar.types import ScalarType


class Step(NamedTuple):
    """How far a position steps from lane to lane.

    places: how many. factor: the parameter that they are multiplied with; None for none.
    """

    places: int
    factor: int | None


NONE = Step(0, None)


def step_of(graph: TypedGraph, at: int, lane: int, first_read: int, known: dict[int, Step | None]) -> Step | None:
    """How far a position steps; None where that is not known, or where it depends on what is read."""
    if at in known:
        return known[at]
    node = graph.nodes[at]
    found: Step | None
    if node.op == "parameter":
        found = None if at >= first_read else Step(1, None) if at == lane else NONE
    elif node.op == "constant":
        found = NONE
    else:
        given = [step_of(graph, each, lane, first_read, known) for each in node.arguments]
        found = _combined(graph, node.op, node.arguments, given)
    known[at] = found
    return found


def _combined(graph: TypedGraph, op: str, arguments: Sequence[int], given: Sequence[Step | None]) -> Step | None:
    """How far a result steps whose operands step so far."""
    steps = [each for each in given if each is not None]
    if len(steps) < len(given):
        return None
    if all(each == NONE for each in steps):
        return NONE
    if op == "negative":
        return steps[0]._replace(places=-steps[0].places)
    if op in ("add", "subtract"):
        sign = 1 if op == "add" else -1
        first, second = steps
        if NONE in steps:
            return first if second == NONE else second._replace(places=sign * second.places)
        total = first.places + sign * second.places
        return Step(total, first.factor) if first.factor == second.factor and total else None
    if op == "multiply":
        for one, other in ((0, 1), (1, 0)):
            node = graph.nodes[arguments[other]]
            if steps[other] != NONE:
                continue
            if node.op == "constant" and isinstance(node.value, int) and node.value:
                return steps[one]._replace(places=steps[one].places * node.value)
            if node.op == "parameter" and steps[one].factor is None:
                return steps[one]._replace(factor=arguments[other])
    return None


def steps_of(loop: IndexedLoop, graph: TypedGraph, index: int) -> list[list[Step | None]]:
    """For each access how far its positions step along an index; None where one does not step evenly, or where it
    depends on what is read before.
    """
    first_read = loop.at + loop.over + loop.words + loop.numbers
    known: dict[int, Step | None] = {}
    return [
        [step_of(graph, at, index, first_read, known) for at in graph.results[each.first : each.first + each.dims]]
        for each in (*loop.reads, *loop.writes)
    ]


def factors_of(loop: IndexedLoop, graph: TypedGraph, index: int) -> list[int]:
    """The parameters that an index is multiplied with in positions."""
    steps = [each for access in steps_of(loop, graph, index) for each in access if each is not None]
    return sorted({each.factor for each in steps if each.factor is not None})


class Clipped(NamedTuple):
    """A graph whose positions are bounded from above apart from what they are.

    limits: by place among the positions, the node that a position stays below.
    """

    graph: TypedGraph
    limits: dict[int, int]


def clipped(loop: IndexedLoop, graph: TypedGraph) -> Clipped:
    """Take ``p if p < limit else -1`` for the position p with a limit, where what lies outside is skipped."""
    results, limits = list(graph.results), {}
    for each in (*loop.reads, *loop.writes):
        for place in range(each.first, each.first + each.dims) if each.margin == SKIP else ():
            node = graph.nodes[results[place]]
            if node.op != "select":
                continue
            condition, _, other = (graph.nodes[at] for at in node.arguments)
            is_outside = other.op == "constant" and isinstance(other.value, int) and other.value < 0
            if condition.op == "less" and condition.arguments[0] == node.arguments[1] and is_outside:
                results[place], limits[place] = node.arguments[1], condition.arguments[1]
    return Clipped(TypedGraph(graph.name, graph.nodes, tuple(results)), limits) if limits else Clipped(graph, limits)


def runs_along_turns(loop: IndexedLoop, graph: TypedGraph, lane: int, dense: Sequence[int | None]) -> bool:
    """Whether the innermost loop goes along what is folded last rather than along the lane.

    Args:
        loop, graph: the graph with numbers that are known.
        lane: the index along which it would run.
        dense: by array, the output last, along which of its own dimensions elements lie side by side.
    """
    if not loop.over or not (loop.fold or loop.writes):
        return False
    made, limits = clipped(loop, graph)
    last = loop.at + loop.over - 1
    inwards, across = steps_of(loop, made, last), steps_of(loop, made, lane)
    found = False
    for k, access in enumerate((*loop.reads, *loop.writes)):
        if access.margin is not None and (access.margin != SKIP or not is_even(loop, made, limits, k, last)):
            return False
        is_written = k >= len(loop.reads)
        side = dense[-1 if is_written else access.array]
        if side is not None and side < access.dims and is_written == bool(loop.writes):
            found |= inwards[k][side] == Step(1, None)
            if across[k][side] == Step(1, None):
                return False
    return found


def skips_unevenly(loop: IndexedLoop, graph: TypedGraph, lane: int) -> bool:
    """Whether each lane has turns of its own that are skipped: windows that share a dimension are not equally long."""
    made, limits = clipped(loop, graph)
    reads = [k for k, each in enumerate(loop.reads) if each.margin == SKIP]
    return bool(loop.fold) and any(not is_even(loop, made, limits, k, lane) for k in reads)


def is_even(loop: IndexedLoop, graph: TypedGraph, limits: dict[int, int], k: int, index: int) -> bool:
    """Whether positions of an access step evenly along an index, within limits that are the same."""
    access = (*loop.reads, *loop.writes)[k]
    first_read = loop.at + loop.over + loop.words + loop.numbers
    bounds = [limits[at] for at in range(access.first, access.first + access.dims) if at in limits]
    if any(step_of(graph, each, index, first_read, {}) != NONE for each in bounds):
        return False
    return None not in steps_of(loop, graph, index)[k]


def specialised(graph: TypedGraph, known: Sequence[tuple[int, int]]) -> TypedGraph:
    """A graph some of whose parameters are known numbers."""
    if not known:
        return graph
    builder = GraphBuilder()
    given = [builder.parameter(str(text), kind) for text, kind in graph.parameters]
    for at, value in known:
        given[at] = builder.constant(value, ScalarType.INT64)
    positions = builder.inline(graph, given)
    return builder.finish(graph.name, [positions[at] for at in graph.results])
