"""Composition of several scalar functions into one."""

from __future__ import annotations

from collections.abc import Sequence

from opdsl.scalar.function import ScalarFunction
from opdsl.scalar.graph import Number
from opdsl.scalar.source import FunctionSource
from opdsl.scalar.untyped import Place, UntypedLoop, UntypedNode

__all__ = ["Composer"]


class Composer:
    """Builder of a scalar function from the nodes of other functions.

    Args:
        source: the source of nodes that come from no other function, for errors.
    """

    def __init__(self, source: FunctionSource) -> None:
        self.source = source
        self.nodes: list[UntypedNode] = []
        self.places: list[Place] = []

    def add(
        self, op: str, *arguments: int, value: Number | str | UntypedLoop | None = None, place: Place | None = None
    ) -> int:
        """Add a node, and return its position."""
        self.nodes.append(UntypedNode(op, arguments, value))
        self.places.append(place or Place(self.source, self.source.tree))
        return len(self.nodes) - 1

    def parameter(self, name: str) -> int:
        """Add a parameter of the composed function, and return its position."""
        return self.add("parameter", value=name)

    def call(self, function: ScalarFunction | None, numbers: Sequence[int]) -> list[int]:
        """Add the nodes of a function, applied to arguments.

        Args:
            function: None for the identity, which returns its arguments.
            numbers: the positions of its arguments; superfluous ones are ignored.

        Returns:
            The positions of its results.
        """
        if function is None:
            return list(numbers)
        by_name = dict(zip(function.parameters, numbers, strict=False))
        moved: list[int] = []
        for node, place in zip(function.nodes, function.places, strict=True):
            if node.op == "parameter":
                moved.append(by_name[str(node.value)])
            else:
                moved.append(self.add(node.op, *(moved[at] for at in node.arguments), value=node.value, place=place))
        return [moved[at] for at in function.results]

    def finish(self, name: str, parameters: Sequence[str], results: Sequence[int]) -> ScalarFunction:
        """Return the composed function with the given results."""
        nodes, places = tuple(self.nodes), tuple(self.places)
        return ScalarFunction(name, tuple(parameters), {}, nodes, places, tuple(results), self.source)
