"""Scalar functions put together into one."""

from __future__ import annotations

from collections.abc import Sequence

from opdsl.scalar.function import ScalarFunction
from opdsl.scalar.graph import Number
from opdsl.scalar.source import FunctionSource
from opdsl.scalar.untyped import Place, UntypedLoop, UntypedNode

__all__ = ["Composer"]


class Composer:
    """Nodes of several functions, one after another.

    Args:
        source: what nodes of its own are said to be written in.
    """

    def __init__(self, source: FunctionSource) -> None:
        self.source = source
        self.nodes: list[UntypedNode] = []
        self.places: list[Place] = []

    def add(
        self, op: str, *arguments: int, value: Number | str | UntypedLoop | None = None, place: Place | None = None
    ) -> int:
        """Add a node; its position."""
        self.nodes.append(UntypedNode(op, arguments, value))
        self.places.append(place or Place(self.source, self.source.tree))
        return len(self.nodes) - 1

    def parameter(self, name: str) -> int:
        """Add a parameter of the function that is made."""
        return self.add("parameter", value=name)

    def call(self, function: ScalarFunction | None, numbers: Sequence[int]) -> list[int]:
        """Add the nodes of a function.

        Args:
            function: None for the one that returns what it is given.
            numbers: the positions of its arguments; what follows those that it takes is left out.

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
        """The function of some results."""
        nodes, places = tuple(self.nodes), tuple(self.places)
        return ScalarFunction(name, tuple(parameters), {}, nodes, places, tuple(results), self.source)
