"""Symbols: the values that depend on parameters while a scalar function is read, and the graph that they stand in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opdsl.scalar.graph import Number, constant_key
from opdsl.scalar.untyped import Place, UntypedLoop, UntypedNode

__all__ = ["Graph", "Indexable", "Sizes", "Symbol", "describe", "is_value"]


class Symbol:
    """A value that depends on parameters: a position in a graph that is being read."""

    __slots__ = ("graph", "position")

    def __init__(self, graph: Graph, position: int) -> None:
        self.graph = graph
        self.position = position


class Sizes:
    """What a function of places indexes by numbers that are known: the sizes of a tensor."""

    def read(self, graph: Graph, index: Any, place: Place) -> Symbol:
        """What stands for one of them."""
        raise NotImplementedError


class Indexable(Sizes):
    """What a function of places indexes: a tensor.

    shape: its sizes.
    """

    shape: Sizes


class Graph:
    """An untyped graph while it grows; equal nodes are shared.

    captured: symbols of the graph around this one, that of a loop's body, which became parameters here, with these.
    """

    def __init__(self) -> None:
        self.nodes: list[UntypedNode] = []
        self.places: list[Place] = []
        self.captured: list[tuple[Symbol, str]] = []
        self._positions: dict[object, int] = {}

    def add(self, op: str, operands: Sequence[Any], place: Place, value: int | UntypedLoop | None = None) -> Symbol:
        """A node on symbols and numbers."""
        arguments = tuple(self.position(operand, place) for operand in operands)
        return Symbol(self, self._intern(UntypedNode(op, arguments, value), place))

    def parameter(self, name: str, place: Place) -> Symbol:
        """A parameter's node."""
        return Symbol(self, self._intern(UntypedNode("parameter", (), name), place))

    def position(self, value: Symbol | Number, place: Place) -> int:
        """Where a value stands; numbers are added as literals, what a graph around this one holds as parameters."""
        if not isinstance(value, Symbol):
            return self._intern(UntypedNode("constant", (), value), place)
        if value.graph is self:
            return value.position
        for symbol, name in self.captured:
            if symbol.graph is value.graph and symbol.position == value.position:
                return self.parameter(name, place).position
        self.captured.append((value, f"captured{len(self.captured)}"))
        return self.parameter(self.captured[-1][1], place).position

    def _intern(self, node: UntypedNode, place: Place) -> int:
        key = (node.op, node.arguments, type(node.value), constant_key(node.value))
        found = self._positions.get(key)
        if found is None:
            found = self._positions[key] = len(self.nodes)
            self.nodes.append(node)
            self.places.append(place)
        return found


def is_value(value: object) -> bool:
    """Whether something is a symbol or a number."""
    return isinstance(value, (Symbol, bool, int, float, complex))


def describe(value: object) -> str:
    """Something for a message."""
    return "a value that depends on a parameter" if isinstance(value, Symbol) else f"{value!r}"
