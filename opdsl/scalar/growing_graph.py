"""Graph of a derivative under construction: a function's own nodes, then those that differentiation rules add."""

from __future__ import annotations

from collections.abc import Collection

from opdsl.scalar.function import ScalarFunction
from opdsl.scalar.graph import Number, constant_key
from opdsl.scalar.operations import ROW_VALUES
from opdsl.scalar.untyped import Place, UntypedLoop, UntypedNode

__all__ = ["GrowingGraph", "varying"]


class GrowingGraph:
    """Untyped graph that begins with a function's nodes, grows, and shares equal nodes.

    Args:
        function: its nodes come first.
        is_complex: whether complex numbers occur; otherwise conjugates are left out.
        elements: of a row function, the parameters that differ from element to element; None for other functions.

    place: source position of the node that is being differentiated, for errors about nodes that its rule adds.
    varies: the function's nodes whose values differ from element to element.
    """

    def __init__(self, function: ScalarFunction, *, is_complex: bool, elements: Collection[str] | None) -> None:
        self.function = function
        self.is_complex = is_complex
        self.nodes: list[UntypedNode] = list(function.nodes)
        self.places: list[Place] = list(function.places)
        self.place = Place(function.source, function.source.tree)
        self.varies = varying(function, elements)
        self._positions = {_key(node): at for at, node in enumerate(self.nodes)}

    def add(self, op: str, *arguments: int, value: Number | str | None = None) -> int:
        """Add a node, or find an equal one; return its position."""
        node = UntypedNode(op, arguments, value)
        key = _key(node)
        position = self._positions.get(key)
        if position is None:
            position = self._positions[key] = len(self.nodes)
            self.nodes.append(node)
            self.places.append(self.place)
        return position

    def number(self, value: Number) -> int:
        """Add a literal, and return its position."""
        return self.add("constant", value=value)

    def value(self, position: int) -> Number | None:
        """Return the number at a position if it is a literal, else None."""
        node = self.nodes[position]
        return node.value if node.op == "constant" and not isinstance(node.value, (str, UntypedLoop)) else None

    def multiply(self, first: int, second: int) -> int:
        """Add a product; factors 1 and -1 are simplified."""
        for one, other in ((first, second), (second, first)):
            if self.value(one) == 1:
                return other
            if self.value(one) == -1:
                return self.add("negative", other)
        return self.add("multiply", first, second)

    def divide(self, first: int, second: int) -> int:
        """Add a quotient; a divisor 1 is left out."""
        return first if self.value(second) == 1 else self.add("divide", first, second)

    def square(self, value: int) -> int:
        """Add the node ``value * value``, and return its position."""
        return self.add("multiply", value, value)

    def negative(self, value: int) -> int:
        """Add ``-value``; a double negation is removed."""
        node = self.nodes[value]
        return node.arguments[0] if node.op == "negative" else self.add("negative", value)

    def complex(self, real: int, imaginary: int) -> int:
        """Add a complex number with two real parts; if complex numbers do not occur, return the real part."""
        # The gradients of real parts may be complex if other operands are.
        parts = [self.add("real", number) for number in (real, imaginary)]
        return self.add("complex", *parts) if self.is_complex else real

    def conjugate(self, value: int) -> int:
        """Add the conjugate; if complex numbers do not occur, return the value."""
        return self.add("conjugate", value) if self.is_complex and self.value(value) is None else value

    def select(self, condition: int, chosen: int, other: int) -> int:
        """Add the node ``chosen if condition else other``, and return its position."""
        return chosen if chosen == other else self.add("select", condition, chosen, other)

    def parameter(self, name: str) -> int | None:
        """Return the position of a parameter of the function; None if the function does not use it."""
        return self._positions.get(_key(UntypedNode("parameter", (), name)))


def varying(function: ScalarFunction, elements: Collection[str] | None) -> frozenset[int]:
    """Return the nodes of a function whose values differ from element to element of a row.

    Args:
        function: the function.
        elements: the parameters that differ from element to element; None if all nodes do.
    """
    if elements is None:
        return frozenset(range(len(function.nodes)))
    numbers: set[int] = set()
    for at, node in enumerate(function.nodes):
        differs = node.value in elements if node.op == "parameter" else not numbers.isdisjoint(node.arguments)
        differs |= node.op == "row_index"
        if differs and node.op not in ROW_VALUES:
            numbers.add(at)
    return frozenset(numbers)


def _key(node: UntypedNode) -> object:
    return node.op, node.arguments, type(node.value), constant_key(node.value)
