"""Formulas for asin, acos, atan and atan2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from opdsl.scalar.mathematics.exponential import table
from opdsl.scalar.mathematics.expression import Expression, fma, polynomial, select

__all__ = ["FLOATING"]

# pi/2 rounded to float32 and float64, with the rounding error.
HALF_PI: Final = {32: (1.5707963705062866, -4.371138828673793e-08), 64: (1.5707963267948966, 6.123233995736766e-17)}


def _arc(z: Expression) -> Expression:
    """Return atan(z) for z in [0, 1]."""
    u = z * z
    return fma(polynomial(u, table("atan", z)), u * z, z)


def _complement(swap: Expression, arc: Expression) -> Expression:
    """Return ``pi/2 - arc`` where ``swap`` is true, else ``arc``."""
    high, low = HALF_PI[arc.type.bits]
    return select(swap, high - (arc - low), arc)


def atan(x: Expression) -> Expression:
    """Return the arc tangent; magnitudes above 1 are reduced by their reciprocal."""
    a = abs(x)
    swap = a > 1.0
    return _complement(swap, _arc(select(swap, 1.0 / a, a))).copysign(x)


def atan2(y: Expression, x: Expression) -> Expression:
    """Return the angle of the point (x, y), with C's results for zeros and infinities."""
    down, across = abs(y), abs(x)
    swap = down > across
    large, small = select(swap, down, across), select(swap, across, down)
    ratio = select(small.equals(large), select(large.equals(0.0), small, 1.0), small / large)
    arc = _complement(swap, _arc(ratio))
    high, low = HALF_PI[x.type.bits]
    left = x.bits() < 0  # by the bits, since -0.0 counts as negative
    arc = select(left, 2.0 * high - (arc - 2.0 * low), arc)
    return select((x.differs(x)) | (y.differs(y)), x + y, arc.copysign(y))


def _root(a: Expression) -> tuple[Expression, Expression]:
    """Return sqrt((1 - a)/2) and its rounding error."""
    square = fma(a, -0.5, 0.5)
    root = square.apply("sqrt")
    rest = fma(root, -root, square) / (root + root)
    return root, select(square > 0.0, rest, 0.0)


def _arcsine_tail(z: Expression, u: Expression) -> Expression:
    """Return asin(z) - z for z up to 1/2, given u = z*z."""
    return polynomial(u, table("asin", z)) * (u * z)


def asin(x: Expression) -> Expression:
    """Return the arc sine: an odd polynomial up to 1/2, ``pi/2 - 2*asin(sqrt((1 - a)/2))`` above; NaN outside
    [-1, 1].
    """
    a = abs(x)
    root, rest = _root(a)
    high, low = HALF_PI[x.type.bits]
    tail = _arcsine_tail(root, fma(a, -0.5, 0.5)) + rest
    large = high - (2.0 * root - (low - 2.0 * tail))
    small = x + _arcsine_tail(x, x * x)
    return select(a <= 0.5, abs(small), large).copysign(x)


def acos(x: Expression) -> Expression:
    """Return the arc cosine: ``pi/2 - asin(x)`` up to 1/2, twice the arc sine of a half-angle above; NaN outside [-1,
    1].
    """
    a = abs(x)
    root, rest = _root(a)
    high, low = HALF_PI[x.type.bits]
    tail = _arcsine_tail(root, fma(a, -0.5, 0.5)) + rest
    double = 2.0 * root + 2.0 * tail
    large = select(x < 0.0, 2.0 * high - (2.0 * root - (2.0 * low - 2.0 * tail)), double)
    small = high - (x - (low - _arcsine_tail(x, x * x)))
    return select(a <= 0.5, small, large)


FLOATING: Final[dict[str, Callable[..., Expression]]] = {"asin": asin, "acos": acos, "atan": atan, "atan2": atan2}
