"""Symbols: the values that depend on parameters while a scalar function is read, and the graph that they stand in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opdsl.scalar.graph import Number, constant_key
from opdsl.scalar.untyped import Place, UntypedNode

__all__ = ["Graph", "Symbol", "describe", "is_value"]


class Symbol:
    """A value that depends on parameters: a position in the graph that is being read."""

    __slots__ = ("position",)

    def __init__(self, position: int) -> None:
        self.position = position


class Graph:
    """The untyped graph while it grows; equal nodes are shared."""

    def __init__(self) -> None:
        self.nodes: list[UntypedNode] = []
        self.places: list[Place] = []
        self._positions: dict[object, int] = {}

    def add(self, op: str, operands: Sequence[Any], place: Place) -> Symbol:
        """A node on symbols and numbers."""
        arguments = tuple(self.position(operand, place) for operand in operands)
        return Symbol(self._intern(UntypedNode(op, arguments, None), place))

    def parameter(self, name: str, place: Place) -> Symbol:
        """A parameter's node."""
        return Symbol(self._intern(UntypedNode("parameter", (), name), place))

    def position(self, value: Symbol | Number, place: Place) -> int:
        """Where a value stands; numbers are added as literals."""
        if isinstance(value, Symbol):
            return value.position
        return self._intern(UntypedNode("constant", (), value), place)

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
