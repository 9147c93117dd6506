"""Builder of one scalar function from several pointwise steps, each of which computes in its own dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opdsl.kernels.definitions.pointwise import PointwiseDefinition
from opdsl.kernels.iteration.dtypes import PRECISION, precision_of
from opdsl.runtime import DType
from opdsl.runtime.dtype import Category
from opdsl.scalar.untyped import Place, UntypedNode
from opdsl.schema.parameters import Role

__all__ = ["ElementNodes"]

# Operations whose result depends on the storage dtype of operands.
_OF_STORAGE = frozenset({"rounded", "largest", "nextafter", "trunc_divide"})


class ElementNodes:
    """Builder that adds the scalar functions of pointwise steps to one graph; subclasses define where operands come
    from.

    Args:
        place: source location of the nodes that are added next.

    divided: indices of integer nodes that must not be 0.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self.nodes: list[UntypedNode] = []
        self.places: list[Place] = []
        self.divided: list[int] = []

    def add(self, op: str, *arguments: int, value: Any = None) -> int:
        """Add a node and return its index."""
        self.nodes.append(UntypedNode(op, arguments, value))
        self.places.append(self.place)
        return len(self.nodes) - 1

    def converted(self, position: int, dtype: DType, *, rounds: bool = False) -> int:
        """Add a conversion to a dtype; 16-bit floats are computed in float32, and rounded only with ``rounds``."""
        return self.add("convert", position, value=(dtype if rounds else precision_of(dtype)).name)

    def call(
        self, operands: Sequence[Any], arguments: Sequence[Any], definition: PointwiseDefinition, state: Any
    ) -> list[int]:
        """Add the nodes of a pointwise call's scalar function, with operands converted as in an eager call.

        Args:
            operands, arguments: of the call: as expressions of the program, and as values of the trace.
            definition, state: definition of the operator, and the prepared state of the call.

        Returns:
            The indices of its results.
        """
        formula, iteration = state.formula, state.iteration
        function = formula.function
        numbers: dict[str, int] = {}
        pairs = zip(function.parameters, formula.places, iteration.parameters, strict=True)
        for name, at, dtype in pairs:
            wraps = definition.parameters[at].role is Role.TENSOR or at in formula.wrapped
            numbers[name] = self.operand(operands[at], arguments[at], dtype, wraps)
        if iteration.common.category is Category.INT:
            self.divided += [numbers[function.parameters[at]] for at in formula.divisors]
        storage = iteration.common.name if iteration.common in PRECISION else None
        moved: list[int] = []
        for node in function.nodes:
            if node.op == "parameter":
                moved.append(numbers[str(node.value)])
                continue
            value = storage if node.op in _OF_STORAGE and node.value is None else node.value
            moved.append(self.add(node.op, *[moved[at] for at in node.arguments], value=value))
        return [self.converted(moved[at], dtype) for at, dtype in zip(function.results, state.dtypes, strict=True)]

    def operand(self, operand: Any, value: Any, dtype: DType, wraps: bool) -> int:
        """Add an operand, converted to the dtype that a step computes in.

        Args:
            operand, value: as an expression of the program, and as a value of the trace.
            dtype: dtype in which it is computed.
            wraps: whether a number was passed for a tensor, so that no range check for the dtype is made.
        """
        raise NotImplementedError

    def is_constant(self, position: int) -> bool:
        """Return whether a node is a constant other than 0."""
        node = self.nodes[position]
        if node.op == "convert":
            return self.is_constant(node.arguments[0])
        return node.op == "constant" and node.value != 0
