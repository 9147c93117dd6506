"""Symbolic values of a scalar function while it is traced, and the untyped graph that records them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opdsl.scalar.graph import Number, constant_key
from opdsl.scalar.untyped import Place, UntypedLoop, UntypedNode

__all__ = ["Choice", "Graph", "Indexable", "Optional", "Sizes", "Symbol", "describe", "is_value"]


class Symbol:
    """Symbolic value that depends on parameters: a position in a graph that is being traced."""

    __slots__ = ("graph", "position")

    def __init__(self, graph: Graph, position: int) -> None:
        self.graph = graph
        self.position = position


class Choice:
    """Parameter whose value decides which code is traced: it compares unequal to everything, and records the
    comparisons.

    name: name of the parameter.
    excluded: values that the parameter is known not to have.
    met: other values that it has been compared with.
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
    """Parameter that is a number or None.

    choice: records that the parameter is compared with None.
    """

    __slots__ = ("choice",)

    def __init__(self, number: Symbol, choice: Choice) -> None:
        super().__init__(number.graph, number.position)
        self.choice = choice


class Sizes:
    """Sequence of symbolic numbers that an indexed function subscripts by known integers, such as the sizes of a
    tensor.
    """

    def read(self, graph: Graph, index: Any, place: Place) -> Symbol:
        """Return the symbol for one of the numbers."""
        raise NotImplementedError


class Indexable(Sizes):
    """Tensor that an indexed function subscripts.

    shape: its sizes.
    """

    shape: Sizes


class Graph:
    """Untyped graph under construction; equal nodes are shared.

    captured: for the graph of a loop's body, symbols of the enclosing graph, with the names of the parameters for them.
    has_rows: whether the function sees the rows of its elements.
    """

    def __init__(self, *, has_rows: bool = False) -> None:
        self.has_rows = has_rows
        self.nodes: list[UntypedNode] = []
        self.places: list[Place] = []
        self.captured: list[tuple[Symbol, str]] = []
        self._positions: dict[object, int] = {}

    def add(self, op: str, operands: Sequence[Any], place: Place, value: int | UntypedLoop | None = None) -> Symbol:
        """Add an operation on symbols and numbers, and return its symbol."""
        arguments = tuple(self.position(operand, place) for operand in operands)
        return Symbol(self, self._intern(UntypedNode(op, arguments, value), place))

    def parameter(self, name: str, place: Place) -> Symbol:
        """Add a parameter, and return its symbol."""
        return Symbol(self, self._intern(UntypedNode("parameter", (), name), place))

    def position(self, value: Symbol | Number, place: Place) -> int:
        """Return the position of a value: numbers are added as literals, symbols of an enclosing graph as
        parameters.
        """
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
    """Return whether a value is a symbol or a number."""
    return isinstance(value, (Symbol, bool, int, float, complex))


def describe(value: object) -> str:
    """Return a description of a value for error messages."""
    return "a value that depends on a parameter" if isinstance(value, Symbol) else f"{value!r}"
