"""Complex nodes become pairs of real ones, so that printers and loops know real values only."""

from __future__ import annotations

from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import Node, TypedGraph
from opdsl.scalar.mathematics.complex_numbers import Pair, Part, cast
from opdsl.scalar.mathematics.expression import Expression
from opdsl.scalar.mathematics.formulas import COMPLEX as FORMULAS
from opdsl.scalar.types import COMPLEX as COMPLEX_CATEGORY

__all__ = ["separate"]


def separate(graph: TypedGraph) -> TypedGraph:
    """The graph with every complex number as its real and its imaginary part.

    graph: a graph as ``specialise`` gives it.
    Returns: a graph of real nodes. A complex parameter ``z`` is two, ``z.real`` and ``z.imag``; a complex result is
    two, one after the other.
    """
    builder = GraphBuilder()
    found: list[Part] = []
    for node in graph.nodes:
        found.append(_separated(builder, node, [found[at] for at in node.arguments]))
    results: list[int] = []
    for at in graph.results:
        value = found[at]
        parts = (value.real, value.imaginary) if isinstance(value, Pair) else (value,)
        results += [part.position for part in parts]
    return builder.finish(graph.name, results)


def _separated(builder: GraphBuilder, node: Node, arguments: list[Part]) -> Part:
    """What stands for one node."""
    is_complex = node.type.category == COMPLEX_CATEGORY
    if node.op in ("parameter", "constant"):
        return _leaf(builder, node) if is_complex else Expression(builder, builder.add(node))
    if not is_complex and all(isinstance(argument, Expression) for argument in arguments):
        positions = tuple(argument.position for argument in arguments if isinstance(argument, Expression))
        return Expression(builder, builder.node(node.op, positions, node.type))
    if node.op == "cast":
        return cast(arguments[0], node.type)
    return FORMULAS[node.op](*arguments)


def _leaf(builder: GraphBuilder, node: Node) -> Pair:
    """A complex parameter or constant."""
    real = node.type.real
    if node.op == "parameter":
        parts = [builder.parameter(f"{node.value}.{part}", real) for part in ("real", "imag")]
    else:
        number = complex(node.value or 0)
        parts = [builder.constant(part, real) for part in (number.real, number.imag)]
    return Pair(*(Expression(builder, part) for part in parts))
