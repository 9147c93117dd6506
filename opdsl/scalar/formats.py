"""Formats of floating-point dtypes; those of 8 and 16 bits exist in memory only, and are computed in float32."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

__all__ = ["FORMATS", "NARROW", "FloatFormat"]

# Of float32, whose bits all conversions work on.
_FRACTION_BITS: Final = 23
_BIAS: Final = 127


class FloatFormat(NamedTuple):
    """Format of the elements of a floating-point dtype: sign, exponent, fraction.

    Exponents are biased so that the format has about as many numbers below 1 as above, as IEEE 754 has it.

    name: of the dtype.
    exponent_bits, fraction_bits: the widths of the fields.
    largest: the largest finite number.
    has_infinity: whether larger numbers become infinite; else they become ``largest``, and the only NaN has all bits
        set.

    >>> NARROW["float8_e4m3fn"].smallest_normal, NARROW["float8_e4m3fn"].quantum
    (0.015625, 0.001953125)
    """

    name: str
    exponent_bits: int
    fraction_bits: int
    largest: float
    has_infinity: bool = True

    @property
    def bits(self) -> int:
        """Return the width of an element in bits."""
        return 1 + self.exponent_bits + self.fraction_bits

    @property
    def bias(self) -> int:
        """Return the field of exponents of numbers from 1 to 2."""
        return (1 << self.exponent_bits - 1) - 1

    @property
    def smallest_normal(self) -> float:
        """Return the smallest positive number with all bits of precision."""
        return 2.0 ** (1 - self.bias)

    @property
    def quantum(self) -> float:
        """Return the smallest positive number, the distance between denormal numbers."""
        return self.smallest_normal * 2.0**-self.fraction_bits

    @property
    def dropped_bits(self) -> int:
        """Return how many bits more the fraction of float32 has."""
        return _FRACTION_BITS - self.fraction_bits

    @property
    def shift(self) -> float:
        """Return the power of two whose neighbors in float32 are ``quantum`` apart: adding it to a denormal number and
        subtracting it rounds the number.
        """
        return self.quantum * 2.0**_FRACTION_BITS

    @property
    def rebias(self) -> int:
        """Return the difference of the biases, as an exponent of float32 in its field."""
        return (_BIAS - self.bias) << _FRACTION_BITS

    @property
    def infinite(self) -> int:
        """Return the bits of positive infinity; of the largest number if there is no infinity."""
        exponents = ((1 << self.exponent_bits) - 1) << self.fraction_bits
        return exponents if self.has_infinity else self.nan - 1

    @property
    def nan(self) -> int:
        """Return the bits of the positive NaN that conversions produce."""
        return (1 << self.bits - 1) - 1


FORMATS: Final[Mapping[str, FloatFormat]] = MappingProxyType(
    {
        form.name: form
        for form in (
            FloatFormat("float64", 11, 52, sys.float_info.max),
            FloatFormat("float32", 8, _FRACTION_BITS, float.fromhex("0x1.fffffep127")),
            FloatFormat("float16", 5, 10, 65504.0),
            FloatFormat("bfloat16", 8, 7, float.fromhex("0x1.fep127")),
            FloatFormat("float8_e5m2", 5, 2, 57344.0),
            FloatFormat("float8_e4m3fn", 4, 3, 448.0, has_infinity=False),
        )
    }
)
"""Formats by the names of their dtypes."""

NARROW: Final[Mapping[str, FloatFormat]] = MappingProxyType(
    {name: form for name, form in FORMATS.items() if form.bits < 32}
)
"""Formats of the dtypes that are narrower than float32, and computed in it."""
