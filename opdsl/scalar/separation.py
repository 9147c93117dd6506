"""Splitting of complex nodes into pairs of real ones, so that printers and loops handle only real values."""

from __future__ import annotations

from collections.abc import Sequence

from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import Loop, Node, TypedGraph
from opdsl.scalar.mathematics.complex_numbers import Pair, Part, cast
from opdsl.scalar.mathematics.expression import Expression
from opdsl.scalar.mathematics.formulas import COMPLEX as FORMULAS
from opdsl.scalar.types import COMPLEX as COMPLEX_CATEGORY

__all__ = ["separate"]


def separate(graph: TypedGraph) -> TypedGraph:
    """Replace every complex number in a graph by its real and its imaginary part.

    graph: a graph from ``specialise``.
    Returns: a graph of real nodes. A complex parameter ``z`` is two, ``z.real`` and ``z.imag``; a complex result is
    two, one after the other.
    """
    builder = GraphBuilder()
    parts: list[Part] = []
    for node in graph.nodes:
        arguments = [parts[at] for at in node.arguments]
        if isinstance(node.value, Loop):
            loop = node.value._replace(body=separate(node.value.body))
            parts.append(Expression(builder, builder.copy(node._replace(value=loop), _flat(arguments))))
        elif node.op == "item":
            parts.append(_item(builder, node, graph.nodes[node.arguments[0]].value, _flat(arguments)))
        else:
            parts.append(_separated(builder, node, arguments))
    return builder.finish(graph.name, _flat([parts[at] for at in graph.results]))


def _flat(values: Sequence[Part]) -> tuple[int, ...]:
    """Return the positions of values, two for a complex one."""
    pairs = [(value.real, value.imaginary) if isinstance(value, Pair) else (value,) for value in values]
    return tuple(part.position for pair in pairs for part in pair)


def _item(builder: GraphBuilder, node: Node, loop: object, arguments: tuple[int, ...]) -> Part:
    """Return the final value of something that a loop carries: one item of the split loop, or two for a
    complex value.
    """
    assert isinstance(loop, Loop) and isinstance(node.value, int), "an item of a loop"
    widths = [1 + (kind.category == COMPLEX_CATEGORY) for kind in loop.carried]
    first, kind = sum(widths[: node.value]), node.type.real
    parts = [
        Expression(builder, builder.add(Node("item", arguments, kind, first + part)))
        for part in range(widths[node.value])
    ]
    return Pair(*parts) if len(parts) == 2 else parts[0]


def _separated(builder: GraphBuilder, node: Node, arguments: list[Part]) -> Part:
    """Return the real expression, or the pair of them, that replaces a node."""
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
    """Add the two parts of a complex parameter or constant."""
    real = node.type.real
    if node.op == "parameter":
        parts = [builder.parameter(f"{node.value}.{part}", real) for part in ("real", "imag")]
    else:
        assert isinstance(node.value, (bool, int, float, complex)), "constants have numbers"
        number = complex(node.value)
        parts = [builder.constant(part, real) for part in (number.real, number.imag)]
    return Pair(*(Expression(builder, part) for part in parts))
