"""Scalar types and their promotion: PyTorch's promotion lattice, and weak Python literals."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

__all__ = ["BOOL", "COMPLEX", "FLOAT", "INTEGER", "ScalarType", "literal_category", "promote"]

# Categories: in a promotion the higher one wins.
BOOL: Final = 0
INTEGER: Final = 1
FLOAT: Final = 2
COMPLEX: Final = 3


class ScalarType(StrEnum):
    """Type of one value in a scalar graph; equal to its name, so that plain strings can replace it.

    >>> ScalarType("float32").bits
    32
    """

    BOOL = "bool"
    UINT8 = "uint8"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    COMPLEX64 = "complex64"
    COMPLEX128 = "complex128"

    @property
    def category(self) -> int:
        """Return BOOL, INTEGER, FLOAT or COMPLEX."""
        return _CATEGORY[self]

    @property
    def bits(self) -> int:
        """Return the width of one value in bits; of a complex number both parts together."""
        return _BITS[self]

    @property
    def is_signed(self) -> bool:
        """Return whether the type has negative values."""
        return self is not ScalarType.BOOL and not self.startswith("u")

    @property
    def real(self) -> ScalarType:
        """Return the type of the parts of a complex number; for a real type the type itself."""
        return _REAL.get(self, self)

    @property
    def bounds(self) -> tuple[int, int]:
        """Return the smallest and largest value of an integer type (or bool)."""
        if self.category == BOOL:
            return 0, 1
        return (-(1 << self.bits - 1), (1 << self.bits - 1) - 1) if self.is_signed else (0, (1 << self.bits) - 1)


_CATEGORY: Final = {
    kind: BOOL if kind == "bool" else INTEGER if "int" in kind else FLOAT if kind.startswith("float") else COMPLEX
    for kind in ScalarType
}
_BITS: Final = {kind: 1 if kind == "bool" else int(kind.lstrip("abcdefghijklmnopqrstuvwxyz")) for kind in ScalarType}
_REAL: Final = {ScalarType.COMPLEX64: ScalarType.FLOAT32, ScalarType.COMPLEX128: ScalarType.FLOAT64}
_COMPLEX_OF: Final = {real: kind for kind, real in _REAL.items()}


def promote(first: ScalarType, second: ScalarType) -> ScalarType:
    """Return the type in which two types are computed together: ``torch.promote_types``.

    >>> promote(ScalarType.UINT8, ScalarType.INT8).value, promote(ScalarType.INT64, ScalarType.FLOAT32).value
    ('int16', 'float32')
    """
    if first.category != second.category:
        low, high = sorted((first, second), key=lambda kind: kind.category)
        return _COMPLEX_OF[_wider(low, high.real)] if high.category == COMPLEX and low.category == FLOAT else high
    if first.category == INTEGER and first.is_signed != second.is_signed:
        signed, unsigned = (first, second) if first.is_signed else (second, first)
        return ScalarType(f"int{max(signed.bits, min(2 * unsigned.bits, 64))}")
    return _wider(first, second)


def _wider(first: ScalarType, second: ScalarType) -> ScalarType:
    return first if first.bits >= second.bits else second


def with_category(kind: ScalarType | None, category: int, default_float: ScalarType) -> ScalarType:
    """Return ``kind`` raised to ``category``: the type that a weak literal of that category takes when combined with a
    value of ``kind``.

    kind: returned if its category is high enough; None if the literal is not combined with a typed value.
    default_float: the type that a float literal takes when combined with integers.
    """
    if category == BOOL:
        return kind or ScalarType.BOOL
    if kind is None or kind.category < category:
        if category == COMPLEX:
            return _COMPLEX_OF[kind if kind and kind.category == FLOAT else default_float]
        return default_float if category == FLOAT else ScalarType.INT64
    return kind


def literal_category(value: bool | int | float | complex) -> int:
    """Return the category of a Python number."""
    for category, python_type in enumerate((bool, int, float)):
        if isinstance(value, python_type):
            return category
    return COMPLEX
