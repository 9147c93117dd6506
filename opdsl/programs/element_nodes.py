"""Nodes of a scalar function that is put together of what pointwise steps compute, each in dtypes of its own."""

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

# What depends on the dtype that operands are stored in.
_OF_STORAGE = frozenset({"rounded", "largest", "nextafter", "trunc_divide"})


class ElementNodes:
    """The nodes of several steps, one after another; subclasses say where operands come from.

    Args:
        place: where what is added next was written.

    divided: positions of integers that must not be 0.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self.nodes: list[UntypedNode] = []
        self.places: list[Place] = []
        self.divided: list[int] = []

    def add(self, op: str, *arguments: int, value: Any = None) -> int:
        """Add a node; return its position."""
        self.nodes.append(UntypedNode(op, arguments, value))
        self.places.append(self.place)
        return len(self.nodes) - 1

    def converted(self, position: int, dtype: DType, *, rounds: bool = False) -> int:
        """Add a conversion to a dtype; those of 16 bits are computed in float32, and rounded where that is said."""
        return self.add("convert", position, value=(dtype if rounds else precision_of(dtype)).name)

    def call(
        self, operands: Sequence[Any], arguments: Sequence[Any], definition: PointwiseDefinition, state: Any
    ) -> list[int]:
        """Add what a pointwise operator computes; its operands are promoted step by step, as eager calls do.

        Args:
            operands, arguments: of the call, as a program has them and as they were when it was traced.
            definition, state: what computes it, and what it has made of the arguments.

        Returns:
            The positions of its results.
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
        """Add an operand in the dtype that a step computes in.

        Args:
            operand, value: as a program has it, and as it was when it was traced.
            dtype: in which it is computed.
            wraps: whether a number stands for a tensor, so that nothing checks whether the dtype holds it.
        """
        raise NotImplementedError

    def is_constant(self, position: int) -> bool:
        """Return whether a node is a number other than 0."""
        node = self.nodes[position]
        if node.op == "convert":
            return self.is_constant(node.arguments[0])
        return node.op == "constant" and node.value != 0
