"""Builder of typed graphs that, as nodes are added, shares equal nodes, folds constants and simplifies identities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from opdsl.scalar.graph import Loop, Node, Number, TypedGraph, constant_key
from opdsl.scalar.operations import OPERATIONS
from opdsl.scalar.simplify import simplify
from opdsl.scalar.types import BOOL, COMPLEX, FLOAT, INTEGER, ScalarType

__all__ = ["GraphBuilder", "normalise", "with_results"]


def normalise(value: Number, kind: ScalarType) -> Number:
    """Convert a number to the values of a type: integers wrap, floats round, complex numbers keep both parts."""
    if kind.category == BOOL:
        return bool(value)
    if kind.category == INTEGER:
        low, high = kind.bounds
        return (int(value.real) - low) % (high - low + 1) + low
    if kind.category == COMPLEX:
        number = complex(value)
        return complex(_round(number.real, kind.real), _round(number.imag, kind.real))
    return _round(float(value.real), kind)


def _round(value: float, kind: ScalarType) -> float:
    if kind is ScalarType.FLOAT64:
        return value
    with np.errstate(over="ignore"):
        return float(np.float32(value))


class GraphBuilder:
    """Builder of a typed graph; adding a node returns the position of an equal existing node if there is one."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._positions: dict[object, int] = {}

    def parameter(self, name: str, kind: ScalarType) -> int:
        """Add a parameter, which has to come before all other nodes, and return its position."""
        return self.add(Node("parameter", (), kind, name))

    def constant(self, value: Number, kind: ScalarType) -> int:
        """Add a constant of the given type; a number that does not fit wraps (integers) or rounds (floats)."""
        return self.add(Node("constant", (), kind, normalise(value, kind)))

    def cast(self, argument: int, kind: ScalarType) -> int:
        """Add a conversion: to bool as ``x != 0``; from float to integer by truncation with saturation, where NaN
        becomes 0.

        Complex numbers become real by way of their real part. 8 and 16 bit integers are reached through int32,
        wrapping, as PyTorch's kernels do.
        """
        scalar_type = self.nodes[argument].type
        if scalar_type is kind:
            return argument
        if kind.category == BOOL:
            return self.node("not_equal", (argument, self.constant(0, scalar_type)), kind)
        if scalar_type.category == COMPLEX and kind.category in (INTEGER, FLOAT) and kind is not scalar_type.real:
            return self.cast(self.cast(argument, scalar_type.real), kind)
        if scalar_type.category == FLOAT and kind.category == INTEGER and kind.bits < 32:
            argument = self.cast(argument, ScalarType.INT32)
        return self.node("cast", (argument,), kind)

    def node(self, op: str, arguments: tuple[int, ...], kind: ScalarType) -> int:
        """Add an operation on operands of the right types, after simplification."""
        number = simplify(self, op, arguments, kind)
        return self.add(Node(op, arguments, kind)) if number is None else number

    def constant_value(self, position: int) -> Number | None:
        """Return the number at a position if it is a constant, else None."""
        node = self.nodes[position]
        return node.value if node.op == "constant" and not isinstance(node.value, (str, Loop)) else None

    def inline(self, graph: TypedGraph, arguments: Sequence[int] | None = None) -> list[int]:
        """Add another graph's nodes; its parameters are replaced by ``arguments``, or added as parameters.

        Returns: the position of each of its nodes in this graph.
        """
        positions: list[int] = []
        numbers = iter(arguments) if arguments is not None else None
        for node in graph.nodes:
            if node.op == "parameter":
                positions.append(next(numbers) if numbers else self.parameter(str(node.value), node.type))
            else:
                positions.append(self.copy(node, tuple(positions[at] for at in node.arguments)))
        return positions

    def copy(self, node: Node, arguments: tuple[int, ...]) -> int:
        """Add a node of another graph, with arguments in this one."""
        if node.value is None:
            return self.node(node.op, arguments, node.type)
        return self.add(node._replace(arguments=arguments))

    def finish(self, name: str, results: Iterable[int]) -> TypedGraph:
        """Return the graph of the given results, without nodes that they do not need, but with all parameters."""
        results = tuple(results)
        needed = self.needed(results)
        needed.update(at for at, node in enumerate(self.nodes) if node.op == "parameter")
        places: dict[int, int] = {}
        nodes: list[Node] = []
        for position, node in enumerate(self.nodes):
            if position in needed:
                places[position] = len(nodes)
                nodes.append(node._replace(arguments=tuple(places[at] for at in node.arguments)))
        return TypedGraph(name, tuple(nodes), tuple(places[at] for at in results))

    def needed(self, results: Iterable[int]) -> set[int]:
        """Return the nodes that results depend on, including the results."""
        needed = set(results)
        for position in range(len(self.nodes) - 1, -1, -1):
            if position in needed:
                needed.update(self.nodes[position].arguments)
        return needed

    def add(self, node: Node) -> int:
        """Add a node without simplification, or find an equal one; return its position."""
        key = (node.op, node.arguments, node.type, constant_key(node.value))
        position = self._positions.get(key)
        if position is None:
            assert node.op in _STRUCTURAL or len(node.arguments) == OPERATIONS[node.op].arity, node
            position = self._positions[key] = len(self.nodes)
            self.nodes.append(node)
        return position


_STRUCTURAL = frozenset({"parameter", "constant", "cast", "loop", "item"})


def with_results(graph: TypedGraph, types: Sequence[str]) -> TypedGraph:
    """Return a graph of the same computation with its results cast to other types.

    graph: the computation.
    types: one scalar type for each result.
    """
    if tuple(types) == graph.result_types:
        return graph
    builder = GraphBuilder()
    positions = builder.inline(graph)
    pairs = zip(graph.results, types, strict=True)
    return builder.finish(graph.name, [builder.cast(positions[at], ScalarType(kind)) for at, kind in pairs])
