"""Builder of typed graphs from literals and typed values, which promotes them to common types."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple, TypeAlias

from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import Number
from opdsl.scalar.operations import OPERATIONS
from opdsl.scalar.types import BOOL, COMPLEX, FLOAT, ScalarType, literal_category, promote, with_category

__all__ = ["Kernel", "Literal", "Operand", "Refused", "TypedBuilder", "Value"]


class Literal(NamedTuple):
    """Python number that has no type yet."""

    value: Number


class Value(NamedTuple):
    """Node of the typed graph."""

    position: int
    type: ScalarType


Operand: TypeAlias = Literal | Value


class Refused(Exception):
    """Raised when an operation does not exist for the operand types; converted to a ScalarFunctionError with the
    position.
    """

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(problem)
        self.advice = advice


class Kernel(NamedTuple):
    """Context on which types in a function depend besides its operands.

    type: the promoted type of all parameters; None if there are none.
    default_float: the type of floating-point values if no parameter is one.
    storage: the 16-bit type in which the operands of a float32 computation are stored; else None.
    signature: names and types of the parameters, for messages.
    """

    type: ScalarType | None
    default_float: ScalarType
    storage: str | None
    signature: str


class TypedBuilder:
    """Builder of a typed graph.

    kernel: context of the function.
    floating: the kernel's floating-point type.
    storage: the narrow dtype in which the operands of a float32 computation are stored; else None.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.builder = GraphBuilder()
        self.kernel = kernel
        self.storage = kernel.storage
        self.floating = with_category(kernel.type, FLOAT, kernel.default_float)

    def node(self, op: str, operands: Sequence[Value], kind: ScalarType) -> Value:
        """Add an operation on typed operands, and return its value."""
        if any(operand.type.category == COMPLEX for operand in operands):
            _check_complex(op)
        return Value(self.builder.node(op, tuple(operand.position for operand in operands), kind), kind)

    def common(self, operands: Sequence[Operand]) -> ScalarType:
        """Return the type to which operands are promoted."""
        strong = [operand.type for operand in operands if isinstance(operand, Value)]
        weak = [literal_category(operand.value) for operand in operands if isinstance(operand, Literal)]
        if strong:
            kind, category = reduce(promote, strong), max(weak, default=BOOL)
            return kind if kind.category >= category else self.lifted(category)
        return self.lifted(max(weak))

    def lifted(self, category: int) -> ScalarType:
        """Return the kernel's type raised to a category."""
        if category == BOOL:
            return ScalarType.BOOL
        return with_category(self.kernel.type, category, self.kernel.default_float)

    def cast(self, operand: Operand, kind: ScalarType) -> Value:
        """Convert an operand to a type."""
        if isinstance(operand, Literal):
            return Value(self.builder.constant(operand.value, kind), kind)
        return Value(self.builder.cast(operand.position, kind), kind)

    def together(self, operands: Sequence[Operand], least: int = BOOL) -> tuple[list[Value], ScalarType]:
        """Convert operands to their common type, which is raised to at least the category ``least``."""
        kind = self.common(operands)
        if kind.category < least:
            kind = self.lifted(least)
        return [self.cast(operand, kind) for operand in operands], kind

    def settle(self, operand: Operand) -> Value:
        """Return an operand as a typed value; a literal takes the kernel's type."""
        return operand if isinstance(operand, Value) else self.cast(operand, self.common([operand]))


def _check_complex(op: str) -> None:
    """Raise an error if an operation does not exist for complex numbers."""
    from opdsl.scalar.mathematics.formulas import COMPLEX as KNOWN

    if op not in KNOWN:
        known = ", ".join(OPERATIONS[text].symbol for text in KNOWN)
        raise Refused(f"`{OPERATIONS[op].symbol}` of complex numbers does not exist", f"There are {known}.")
