"""Symbols: the values that depend on parameters while a scalar function is read, and the graph that they stand in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opdsl.scalar.graph import Number, constant_key
from opdsl.scalar.untyped import Place, UntypedLoop, UntypedNode

__all__ = ["Choice", "Graph", "Indexable", "Optional", "Sizes", "Symbol", "describe", "is_value"]


class Symbol:
    """A value that depends on parameters: a position in a graph that is being read."""

    __slots__ = ("graph", "position")

    def __init__(self, graph: Graph, position: int) -> None:
        self.graph = graph
        self.position = position


class Choice:
    """A parameter whose value decides what is read: equal to nothing that it is compared with.

    name: of the parameter.
    excluded: what it is known not to be.
    met: what else it has been compared with.
    """

    __slots__ = ("excluded", "met", "name")

    def __init__(self, name: str, excluded: Sequence[object] = ()) -> None:
        self.name = name
        self.excluded = excluded
        self.met: list[object] = []

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Choice):
            return other is self
        if other not in self.excluded:
            self.met.append(other)
        return False

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"the value of {self.name!r}"


class Optional(Symbol):
    """A parameter that is a number or None.

    choice: asked whether it is None.
    """

    __slots__ = ("choice",)

    def __init__(self, number: Symbol, choice: Choice) -> None:
        super().__init__(number.graph, number.position)
        self.choice = choice


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
    has_rows: whether the function sees the rows of its elements.
    """

    def __init__(self, *, has_rows: bool = False) -> None:
        self.has_rows = has_rows
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
        position = self._positions.get(key)
        if position is None:
            position = self._positions[key] = len(self.nodes)
            self.nodes.append(node)
            self.places.append(place)
        return position


def is_value(value: object) -> bool:
    """Whether something is a symbol or a number."""
    return isinstance(value, (Symbol, bool, int, float, complex))


def describe(value: object) -> str:
    """Something for a message."""
    return "a value that depends on a parameter" if isinstance(value, Symbol) else f"{value!r}"
