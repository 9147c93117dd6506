"""Branches for selects with expensive sides: each side is computed only for elements that take it.

A side that nothing else needs becomes a loop of at most one iteration, so that every backend with loops has branches.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Final

from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import Loop, Node, TypedGraph
from opdsl.scalar.operations import LIBM
from opdsl.scalar.types import ScalarType

__all__ = ["branched"]

# A branch pays if a side contains a loop, or at least this many functions of the C math library.
_FEWEST_FUNCTIONS: Final = 2


def branched(graph: TypedGraph) -> TypedGraph:
    """Return a graph in which selects are replaced by branches if that pays.

    graph: a graph from ``specialise``.
    """
    users: list[set[int]] = [set() for _ in graph.nodes]
    for position, node in enumerate(graph.nodes):
        for at in node.arguments:
            users[at].add(position)
    for at in graph.results:
        users[at].add(len(graph.nodes))
    taken: set[int] = set()
    sides: dict[int, dict[int, set[int]]] = {}
    for position in range(len(graph.nodes) - 1, -1, -1):
        if graph.nodes[position].op == "select" and position not in taken:
            for side in (1, 2):
                needed_there = _needed_there(graph, users, position, graph.nodes[position].arguments[side])
                if _costs_much(graph, needed_there):
                    sides.setdefault(position, {})[side] = needed_there
                    taken |= needed_there
    return _rebuilt(graph, sides, taken) if sides else graph


def _needed_there(graph: TypedGraph, users: list[set[int]], choice: int, root: int) -> set[int]:
    """Return the nodes that are needed only by one side of a select, whose value is the node ``root``."""
    numbers: set[int] = set()
    for at in range(root, -1, -1):
        if graph.nodes[at].op not in ("parameter", "constant") and users[at]:
            needed = users[at] - numbers
            if not needed or (at == root and needed == {choice} and graph.nodes[choice].arguments.count(root) == 1):
                numbers.add(at)
    return numbers if root in numbers else set()


def _costs_much(graph: TypedGraph, positions: Set[int]) -> bool:
    ops = [graph.nodes[at].op for at in positions]
    return "loop" in ops or sum(op in LIBM for op in ops) >= _FEWEST_FUNCTIONS


def _rebuilt(graph: TypedGraph, sides: dict[int, dict[int, set[int]]], taken: Set[int]) -> TypedGraph:
    builder = GraphBuilder()
    places: dict[int, int] = {}
    for position, node in enumerate(graph.nodes):
        if position in taken:
            continue
        if position not in sides:
            places[position] = builder.copy(node, tuple(places[at] for at in node.arguments))
            continue
        condition, *roots = node.arguments
        met = places[condition]
        kept = [places[root] for side, root in enumerate(roots, 1) if side not in sides[position]]
        value = kept[0] if kept else builder.constant(0, node.type)
        for side, inner in sides[position].items():
            flag = met if side == 1 else builder.node("invert", (met,), ScalarType.BOOL)
            value = _branch(builder, graph, inner, roots[side - 1], (flag, value), places)
        places[position] = value
    return builder.finish(graph.name, [places[at] for at in graph.results])


def _branch(
    builder: GraphBuilder, graph: TypedGraph, inner: Set[int], root: int, begin: tuple[int, int], places: dict[int, int]
) -> int:
    """Add a loop of at most one iteration that computes a side of a select; ``begin`` holds its condition and the value
    that it replaces.
    """
    body = GraphBuilder()
    body.parameter("carried0", graph.nodes[root].type)
    outer = sorted({at for position in inner for at in graph.nodes[position].arguments} - inner)
    captured = [at for at in outer if graph.nodes[at].op != "constant"]
    within = {at: body.parameter(f"captured{k}", graph.nodes[at].type) for k, at in enumerate(captured)}
    within |= {at: body.add(graph.nodes[at]) for at in outer if at not in within}
    for position in sorted(inner):
        node = graph.nodes[position]
        within[position] = body.copy(node, tuple(within[at] for at in node.arguments))
    turn = body.finish("branch", [body.constant(False, ScalarType.BOOL), within[root]])
    arguments = (*begin, *(places[at] for at in captured))
    loop = builder.add(Node("loop", arguments, ScalarType.BOOL, Loop(branched(turn), 1)))
    return builder.add(Node("item", (loop,), graph.nodes[root].type, 0))
