"""Formulas for log, log2, log10 and log1p: the exponent is split off, and a polynomial takes the rest, a
number near 1.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Final, NamedTuple

from opdsl.scalar.mathematics.exponential import DOUBLE, layout, table
from opdsl.scalar.mathematics.expression import Expression, fma, polynomial, select
from opdsl.scalar.types import ScalarType

__all__ = ["FLOATING"]


class Base(NamedTuple):
    """Constants of a logarithm, each in two parts.

    one: log(e); two: log(2), the first part with trailing zeros so that multiples by an exponent are exact.
    """

    one: tuple[float, float]
    two: tuple[float, float]


# Bits of the number at which the exponent changes: float32 2/3, so that one polynomial fits both sides of 1; float64
# sqrt(1/2).
SPLIT: Final = {32: 0x3F2AAAAB, 64: 0x3FE6A09E667F3BCD}
BASES: Final = {
    "log2": {
        32: Base((1.4426950216293335, 1.9259629911783798e-08), (1.0, 0.0)),
        64: Base((1.4426950408889634, 2.0355273740931033e-17), (1.0, 0.0)),
    },
    "log10": {
        32: Base((0.4342944920063019, -1.0103049952192578e-08), (0.301025390625, 4.605039066518657e-06)),
        64: Base((0.4342944819032518, 1.098319650216765e-17), (0.30102999566395283, 2.8363394551044964e-14)),
    },
}


def _binade(bits: Expression) -> Expression:
    """Return the exponent bits of the power of two by which ``split`` divides a number, so that the quotient is
    near 1.
    """
    return (bits - SPLIT[bits.type.bits]) & -(1 << layout(bits).mantissa)


def _exponent(binade: Expression) -> Expression:
    """Convert the exponent field of ``_binade`` to a floating-point number."""
    if not binade.is_double:
        return binade.cast(ScalarType.FLOAT32) * 2.0**-23
    shifted = (binade >> DOUBLE.mantissa) + 0x4338000000000000  # the bits of 1.5 * 2**52: converts an integer by
    return shifted.from_bits() - DOUBLE.magic  # operations that every vector unit has


def split(x: Expression) -> tuple[Expression, Expression]:
    """Return ``e`` and ``f`` of x = 2**e * (1 + f) with a small f; x is positive and finite, denormals are
    scaled up.
    """
    form = layout(x)
    denormal = x < 2.0 ** (1 - form.bias)
    bits = select(denormal, x * 2.0**form.mantissa, x).bits()
    binade = _binade(bits)
    lift = select(denormal, x.constant(float(form.mantissa)), 0.0)
    return _exponent(binade) - lift, (bits - binade).from_bits() - 1.0


def _special(x: Expression, y: Expression) -> Expression:
    """Return y, or the logarithm of 0, infinity, a negative number or NaN if x is one."""
    y = select(x < inf, y, x)
    return select(x > 0.0, y, select(x.equals(0.0), x.constant(-inf), nan))


def _second_order(f: Expression) -> Expression:
    """Return ``f - log(1 + f)``, for float64."""
    s = f / (f + 2.0)
    u = s * s
    half = f * f * 0.5
    return half - s * fma(polynomial(u, table("log_ratio", f)), u, half)


def _natural(e: Expression, f: Expression) -> Expression:
    """Return ``e * log(2) + log(1 + f)``."""
    if not f.is_double:
        return fma(e, 0.6931471824645996, fma(polynomial(f, table("log", f)), f * f, f))
    c = _second_order(f)
    return fma(e, DOUBLE.log2_high, f - (c - e * DOUBLE.log2_low))


def log(x: Expression) -> Expression:
    """Return the natural logarithm."""
    e, f = split(x)
    return _special(x, _natural(e, f))


def _other(name: str) -> Callable[[Expression], Expression]:
    """Return the formula for a logarithm to another base, ``log2`` or ``log10``."""

    def run(x: Expression) -> Expression:
        base = BASES[name][x.type.bits]
        e, f = split(x)
        if x.is_double:
            c = _second_order(f)
            high = f - c
            low = (f - high) - c
            rest = fma(high, base.one[1], low * base.one[0])
        else:
            high = f
            rest = fma(polynomial(f, table(name, f)), f * f, f * base.one[1])
        if base.two[1]:
            rest = fma(e, base.two[1], rest)
        return _special(x, fma(e, base.two[0], fma(high, base.one[0], rest)))

    return run


def log1p(x: Expression) -> Expression:
    """Return log(1 + x), accurate near 0: the scaling that brings 1 + x near 1 is applied to x."""
    binade = _binade((x + 1.0).bits())
    four = x.constant(4.0).bits()
    inverse = (four - binade).from_bits()  # 4 * 2**-e: a normal number for every e, unlike 2**-e
    f = (x.bits() - binade).from_bits() + fma(inverse, 0.25, -1.0)
    y = _natural(_exponent(binade), f).copysign(x)
    y = select(x < inf, y, x)
    return select(x > -1.0, y, select(x.equals(-1.0), x.constant(-inf), nan))


FLOATING: Final[dict[str, Callable[..., Expression]]] = {
    "log": log,
    "log2": _other("log2"),
    "log10": _other("log10"),
    "log1p": log1p,
}
