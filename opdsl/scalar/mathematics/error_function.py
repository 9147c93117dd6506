"""Formulas for the error functions erf and erfc."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from opdsl.scalar.mathematics.coefficients import TABLES
from opdsl.scalar.mathematics.exponential import exp_product, simple_exp2, table
from opdsl.scalar.mathematics.expression import Expression, fma, polynomial, select

__all__ = ["FLOATING"]


def _near_zero(x: Expression) -> Expression:
    """Return erf(x) for magnitudes up to 0.93."""
    return fma(polynomial(x * x, table("erf", x)), x, x)


def erf(x: Expression) -> Expression:
    """Return the error function: an odd polynomial near 0, 1 minus two to the power of a polynomial elsewhere."""
    a = abs(x)
    end, name = (5.95, "erf_tail_double") if x.is_double else (3.95, "erf_tail")
    bounded = select(a < end, a, end)
    p = polynomial(bounded, next(iter(TABLES[name].values())))
    factor, power = simple_exp2(fma(p, bounded, -bounded))
    large = fma(-factor, power, 1.0)
    return select(a >= 0.93, large, _near_zero(x)).copysign(x)


def erfc(x: Expression) -> Expression:
    """Return the complementary error function: 1 - erf(x) near 0, elsewhere e**(-x*x) times a polynomial of (a - c)/(a
    + c), divided by 1 + 2*a.
    """
    a = abs(x)
    end, center, name = (27.3, 4.0, "erfc_double") if x.is_double else (10.1, 2.0, "erfc")
    bounded = select(a < end, a, end)
    p = polynomial(_quotient(bounded, center), next(iter(TABLES[name].values())))
    square = bounded * bounded
    rest = fma(bounded, -bounded, square)
    far = exp_product(-square, rest, *_divide_next(p, bounded))
    far = select(x < 0.0, 2.0 - far, far)
    return select(a >= 0.35, far, 1.0 - _near_zero(x))


def _quotient(a: Expression, center: float) -> Expression:
    """Return ``(a - center) / (a + center)``, with the rounding error of the division corrected."""
    inverse = 1.0 / (a + center)
    t = (a - center) * inverse
    error = fma(t, -a, fma(t + 1.0, -center, a))
    return fma(inverse, error, t)


def _divide_next(p: Expression, a: Expression) -> tuple[Expression, Expression]:
    """Return ``(1 + p) / (1 + 2*a)`` and its rounding error."""
    inverse = 0.5 / (a + 0.5)
    q = fma(p, inverse, inverse)
    error = (p - q) + fma(q + q, -a, 1.0)
    return q, error * inverse


FLOATING: Final[dict[str, Callable[..., Expression]]] = {"erf": erf, "erfc": erfc}
