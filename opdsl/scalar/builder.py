"""Builds typed graphs: equal nodes are shared, constants folded, identities simplified as nodes are added."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from opdsl.scalar.graph import Loop, Node, Number, TypedGraph, constant_key
from opdsl.scalar.operations import OPERATIONS
from opdsl.scalar.simplify import simplify
from opdsl.scalar.types import BOOL, COMPLEX, FLOAT, INTEGER, ScalarType

__all__ = ["GraphBuilder", "normalise", "with_results"]


def normalise(value: Number, kind: ScalarType) -> Number:
    """The value of ``kind`` that a number becomes: integers wrap, floats round, complex numbers lose nothing."""
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
    """Adds nodes, giving back the position of an equal one where there is one."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._positions: dict[object, int] = {}

    def parameter(self, name: str, kind: ScalarType) -> int:
        """Add a parameter. Parameters come before everything else."""
        return self.add(Node("parameter", (), kind, name))

    def constant(self, value: Number, kind: ScalarType) -> int:
        """A number of the given type; one that does not fit wraps (integers) or rounds (floats)."""
        return self.add(Node("constant", (), kind, normalise(value, kind)))

    def cast(self, argument: int, kind: ScalarType) -> int:
        """Convert: to bool whether it differs from 0; from a float to an integer by truncation, saturating, NaN to 0.

        Complex numbers become real by way of their real part. 8 and 16 bit integers are reached through int32,
        wrapping, which is what PyTorch's kernels do.
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
        """Add an operation on operands that have the types it wants."""
        number = simplify(self, op, arguments, kind)
        return self.add(Node(op, arguments, kind)) if number is None else number

    def constant_value(self, position: int) -> Number | None:
        """The number at a position when it is a constant."""
        node = self.nodes[position]
        return node.value if node.op == "constant" and not isinstance(node.value, (str, Loop)) else None

    def inline(self, graph: TypedGraph, arguments: Sequence[int] | None = None) -> list[int]:
        """Add another graph's nodes; its parameters become ``arguments``, or parameters here.

        Returns: where each of its nodes is.
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
        """Add another graph's node, with arguments of this one."""
        if node.value is None:
            return self.node(node.op, arguments, node.type)
        return self.add(node._replace(arguments=arguments))

    def finish(self, name: str, results: Iterable[int]) -> TypedGraph:
        """The graph of the given results; what they do not need is left out, parameters stay."""
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
        """What results depend on, and these."""
        needed = set(results)
        for position in range(len(self.nodes) - 1, -1, -1):
            if position in needed:
                needed.update(self.nodes[position].arguments)
        return needed

    def add(self, node: Node) -> int:
        """Add a node as it is."""
        key = (node.op, node.arguments, node.type, constant_key(node.value))
        position = self._positions.get(key)
        if position is None:
            assert node.op in _STRUCTURAL or len(node.arguments) == OPERATIONS[node.op].arity, node
            position = self._positions[key] = len(self.nodes)
            self.nodes.append(node)
        return position


_STRUCTURAL = frozenset({"parameter", "constant", "cast", "loop", "item"})


def with_results(graph: TypedGraph, types: Sequence[str]) -> TypedGraph:
    """The same computation with its results cast.

    graph: what to compute.
    types: one scalar type for each result.
    """
    if tuple(types) == graph.result_types:
        return graph
    builder = GraphBuilder()
    positions = builder.inline(graph)
    pairs = zip(graph.results, types, strict=True)
    return builder.finish(graph.name, [builder.cast(positions[at], ScalarType(kind)) for at, kind in pairs])
