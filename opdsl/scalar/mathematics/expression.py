"""Wrapper of graph nodes that builds formulas with Python's operators."""

from __future__ import annotations

from typing import TypeAlias

from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.types import ScalarType

__all__ = ["Expression", "Operand", "fma", "maximum", "minimum", "polynomial", "rare", "select"]

Operand: TypeAlias = "Expression | float | int"


class Expression:
    """Graph node wrapped for use in formulas, where Python's operators add nodes of its type.

    Numbers combined with an expression become constants of its type.
    """

    __slots__ = ("builder", "position", "type")

    def __init__(self, builder: GraphBuilder, position: int) -> None:
        self.builder = builder
        self.position = position
        self.type = builder.nodes[position].type

    def constant(self, value: float | int | bool) -> Expression:
        """Return a constant of this expression's type."""
        return Expression(self.builder, self.builder.constant(value, self.type))

    def apply(self, op: str, *others: Operand, kind: ScalarType | None = None) -> Expression:
        """Add an operation on this expression and others, and return its result.

        op: its name.
        kind: type of the result; this expression's by default.
        """
        operands = [other if isinstance(other, Expression) else self.constant(other) for other in others]
        positions = (self.position, *(operand.position for operand in operands))
        return Expression(self.builder, self.builder.node(op, positions, kind or self.type))

    def cast(self, kind: ScalarType) -> Expression:
        """Convert the value to another type."""
        return Expression(self.builder, self.builder.cast(self.position, kind))

    @property
    def is_double(self) -> bool:
        """Return whether the type is 64 bits wide: float64, or the int64 that holds its bits."""
        return self.type.bits == 64

    @property
    def integer(self) -> ScalarType:
        """Return the integer type that holds the bits."""
        return ScalarType.INT64 if self.is_double else ScalarType.INT32

    def bits(self) -> Expression:
        """Return the bits of a float as an integer."""
        return self.apply("bits", kind=self.integer)

    def from_bits(self) -> Expression:
        """Return the float that has these bits."""
        return self.apply("from_bits", kind=ScalarType.FLOAT64 if self.is_double else ScalarType.FLOAT32)

    def __add__(self, other: Operand) -> Expression:
        return self.apply("add", other)

    def __radd__(self, other: float) -> Expression:
        return self.constant(other).apply("add", self)

    def __sub__(self, other: Operand) -> Expression:
        return self.apply("subtract", other)

    def __rsub__(self, other: float) -> Expression:
        return self.constant(other).apply("subtract", self)

    def __mul__(self, other: Operand) -> Expression:
        return self.apply("multiply", other)

    def __rmul__(self, other: float) -> Expression:
        return self.constant(other).apply("multiply", self)

    def __truediv__(self, other: Operand) -> Expression:
        return self.apply("divide", other)

    def __rtruediv__(self, other: float) -> Expression:
        return self.constant(other).apply("divide", self)

    def __neg__(self) -> Expression:
        return self.apply("negative")

    def __abs__(self) -> Expression:
        return self.apply("absolute")

    def __and__(self, other: Operand) -> Expression:
        return self.apply("bitwise_and", other)

    def __or__(self, other: Operand) -> Expression:
        return self.apply("bitwise_or", other)

    def __xor__(self, other: Operand) -> Expression:
        return self.apply("bitwise_xor", other)

    def __invert__(self) -> Expression:
        return self.apply("invert")

    def __lshift__(self, other: Operand) -> Expression:
        return self.apply("bits_left", other)

    def __rshift__(self, other: Operand) -> Expression:
        return self.apply("bits_right", other)

    def __lt__(self, other: Operand) -> Expression:
        return self.apply("less", other, kind=ScalarType.BOOL)

    def __le__(self, other: Operand) -> Expression:
        return self.apply("less_equal", other, kind=ScalarType.BOOL)

    def __gt__(self, other: Operand) -> Expression:
        return self.apply("greater", other, kind=ScalarType.BOOL)

    def __ge__(self, other: Operand) -> Expression:
        return self.apply("greater_equal", other, kind=ScalarType.BOOL)

    def equals(self, other: Operand) -> Expression:
        """Return ``self == other`` as a node (Python's ``==`` is not overloaded)."""
        return self.apply("equal", other, kind=ScalarType.BOOL)

    def differs(self, other: Operand) -> Expression:
        """Return ``self != other`` as a node."""
        return self.apply("not_equal", other, kind=ScalarType.BOOL)

    def copysign(self, sign: Expression) -> Expression:
        """Return this magnitude with the sign of ``sign``."""
        return self.apply("copysign", sign)


def fma(first: Expression, second: Operand, third: Operand) -> Expression:
    """Return ``first * second + third``, rounded once."""
    return first.apply("fma", second, third)


def select(condition: Expression, chosen: Operand, other: Operand) -> Expression:
    """Return ``chosen if condition else other``; both are computed."""
    typed = chosen if isinstance(chosen, Expression) else other
    assert isinstance(typed, Expression)
    sides = [side if isinstance(side, Expression) else typed.constant(side) for side in (chosen, other)]
    return condition.apply("select", *sides, kind=typed.type)


def rare(condition: Expression, slow: Expression, fast: Expression) -> Expression:
    """Return ``slow if condition else fast`` for a condition that seldom holds: ``slow`` may call the C library.

    A loop may test a block of elements first, and skip the slow side if no element needs it.
    """
    return condition.apply("rare", slow, fast, kind=fast.type)


def maximum(first: Expression, second: Operand) -> Expression:
    """Return the larger operand; NaN if either is NaN."""
    return first.apply("maximum", second)


def minimum(first: Expression, second: Operand) -> Expression:
    """Return the smaller operand; NaN if either is NaN."""
    return first.apply("minimum", second)


def polynomial(variable: Expression, coefficients: tuple[float, ...]) -> Expression:
    """Return the value of a polynomial by Horner's rule with fused steps; the highest power's coefficient
    comes first.
    """
    constant = variable.constant(coefficients[0])
    for coefficient in coefficients[1:]:
        constant = fma(constant, variable, coefficient)
    return constant
