"""Operands while an untyped graph is typed: literals, and values of the typed graph."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from opdsl.scalar.graph import Number
from opdsl.scalar.types import ScalarType

__all__ = ["Literal", "Operand", "Refused", "Value"]


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
