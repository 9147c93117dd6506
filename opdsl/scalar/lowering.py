"""Lowering of typed graphs to the operations that every printer has: arithmetic, comparison, selects, casts and bits.

An operation without a formula stays; it is printed as the C library's function of that name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from opdsl.scalar.branches import branched
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import Loop, TypedGraph
from opdsl.scalar.mathematics.expression import Expression
from opdsl.scalar.types import COMPLEX, INTEGER, ScalarType

__all__ = ["lower", "split_loops", "split_rare"]


def lower(graph: TypedGraph, *, coarse: bool = False) -> TypedGraph:
    """Replace every operation that has a formula by the formula, and split complex numbers into real ones.

    graph: a graph from ``specialise``.
    coarse: whether results are rounded to 16 bits, so that functions of float32 may be approximated (see
    ``mathematics.coarse``).
    Returns: a graph of the same parameters and results for a printer; complex ones are two real ones each (see
    ``separate``).
    """
    if _has_complex(graph):
        from opdsl.scalar.separation import separate

        graph = separate(graph)
    if any(isinstance(node.value, Loop) for node in graph.nodes):
        graph = branched(graph)
    exact: Collection[int] = range(len(graph.nodes))
    if coarse:
        from opdsl.scalar.mathematics.coarse import compared

        graph = _with_complements(graph)
        exact = compared(graph)
    builder = GraphBuilder()
    positions: list[int] = []
    for at, node in enumerate(graph.nodes):
        arguments = tuple(positions[operand] for operand in node.arguments)
        if isinstance(node.value, Loop):
            node = node._replace(value=node.value._replace(body=lower(node.value.body)))
        kind = graph.nodes[node.arguments[0]].type if arguments else None
        formula = _formula(node.op, kind, coarse=at not in exact) if kind is not None else None
        if formula is None:
            positions.append(builder.copy(node, arguments))
        else:
            positions.append(formula(*(Expression(builder, argument) for argument in arguments)).position)
    return builder.finish(graph.name, (positions[at] for at in graph.results))


def _has_complex(graph: TypedGraph) -> bool:
    return any(
        node.type.category == COMPLEX or (isinstance(node.value, Loop) and _has_complex(node.value.body))
        for node in graph.nodes
    )


def split_rare(graph: TypedGraph) -> tuple[TypedGraph, TypedGraph] | None:
    """Split a lowered graph into a fast version without rare cases, and the condition under which the fast version
    fails.

    graph: a graph from ``lower``.
    Returns: the graph named "fast", with the fast side of each ``rare`` node, and the graph named "rare", a bool:
    whether one of their conditions holds. None for a graph without such nodes.
    """
    if all(node.op != "rare" for node in graph.nodes):
        return None
    builder = GraphBuilder()
    positions: list[int] = []
    condition: int | None = None  # None rather than a constant node, since parameters come first in a graph
    for node in graph.nodes:
        arguments = tuple(positions[at] for at in node.arguments)
        if node.op == "rare":
            met = arguments[0]
            condition = met if condition is None else builder.node("bitwise_or", (condition, met), ScalarType.BOOL)
            positions.append(arguments[2])
        else:
            positions.append(builder.copy(node, arguments))
    fast = builder.finish("fast", (positions[at] for at in graph.results))
    assert condition is not None, "there is a node that is rare"
    return fast, builder.finish("rare", [condition])


def split_loops(graph: TypedGraph) -> tuple[TypedGraph, TypedGraph]:
    """Split a lowered graph into a version without loops, and the condition under which that version fails.

    graph: a graph from ``lower`` that has loops.
    Returns: the graph named "cheap", which runs no iteration of any loop, and the graph named "costly", a bool: whether
    one would be run.
    """
    builder = GraphBuilder()
    positions: list[int] = []
    going: int | None = None
    for node in graph.nodes:
        arguments = tuple(positions[at] for at in node.arguments)
        if isinstance(node.value, Loop):
            first = arguments[0]
            going = first if going is None else builder.node("bitwise_or", (going, first), ScalarType.BOOL)
            positions.append(first)
        elif node.op == "item":
            assert isinstance(node.value, int), "items have places"
            positions.append(positions[graph.nodes[node.arguments[0]].arguments[1 + node.value]])
        else:
            positions.append(builder.copy(node, arguments))
    cheap = builder.finish("cheap", (positions[at] for at in graph.results))
    assert going is not None, "there is a loop"
    return cheap, builder.finish("costly", [going])


def _with_complements(graph: TypedGraph) -> TypedGraph:
    """Replace ``1 + erf(x)`` by ``erfc(-x)``, which does not cancel, and takes one polynomial instead of two."""
    builder = GraphBuilder()
    positions: list[int] = []
    for node in graph.nodes:
        arguments = tuple(positions[at] for at in node.arguments)
        ones = [at for at in arguments if builder.constant_value(at) == 1.0]
        errors = [at for at in arguments if builder.nodes[at].op == "erf"]
        if node.op == "add" and ones and errors:
            (operand,) = builder.nodes[errors[0]].arguments
            positions.append(builder.node("erfc", (builder.node("negative", (operand,), node.type),), node.type))
        else:
            positions.append(builder.copy(node, arguments))
    return builder.finish(graph.name, (positions[at] for at in graph.results))


def _formula(op: str, kind: ScalarType, *, coarse: bool) -> Callable[..., Expression] | None:
    from opdsl.scalar.mathematics.formulas import FLOATING, INTEGERS

    if coarse and kind is ScalarType.FLOAT32:
        from opdsl.scalar.mathematics.coarse import COARSE

        if op in COARSE:
            return COARSE[op]
    return (INTEGERS if kind.category == INTEGER else FLOATING).get(op)
