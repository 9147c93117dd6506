"""Formulas for sinh and cosh, by the addition theorem for x = n*log(2) + r with powers of two for n*log(2), and for
their inverses, by log1p.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, nan
from typing import Final, NamedTuple

from opdsl.scalar.mathematics.exponential import layout, reduce, shifted_power, table
from opdsl.scalar.mathematics.expression import Expression, fma, polynomial, select
from opdsl.scalar.mathematics.logarithm import log1p

__all__ = ["FLOATING"]


class Parts(NamedTuple):
    """Hyperbolic functions of the parts of a = n*log(2) + r.

    sinh_n, cosh_n: half of sinh and cosh of n*log(2), so that they are finite wherever the result is.
    sinh_r, cosh_r: sinh(r), and cosh(r) - 1.
    """

    sinh_n: Expression
    cosh_n: Expression
    sinh_r: Expression
    cosh_r: Expression


def _parts(x: Expression) -> Parts:
    form = layout(x)
    end, most = (710.6, 900.0) if x.is_double else (89.5, 100.0)
    a = abs(x)
    bounded = select(a > end, end, a)
    t, n = reduce(bounded)
    r = fma(n, -form.log2_high, bounded)
    r = fma(n, -form.log2_low, r)
    growing = shifted_power(t + (form.bias - 2.0))
    falling = shifted_power((form.magic + form.bias - 2.0) - select(n > most, most, n))
    u = r * r
    return Parts(
        sinh_n=growing - falling,
        cosh_n=growing + falling,
        sinh_r=fma(polynomial(u, table("sinh_reduced", x)), u * r, r),
        cosh_r=polynomial(u, table("cosh_reduced", x)) * u,
    )


def sinh(x: Expression) -> Expression:
    """Return the hyperbolic sine: an odd polynomial up to 1, the addition theorem above."""
    parts = _parts(x)
    half = parts.sinh_n + fma(parts.sinh_n, parts.cosh_r, parts.cosh_n * parts.sinh_r)
    u = x * x
    small = fma(polynomial(u, table("sinh", x)), u * x, x)
    return select(abs(x) >= 1.0, half + half, small).copysign(x)


def cosh(x: Expression) -> Expression:
    """Return the hyperbolic cosine, by the addition theorem."""
    parts = _parts(x)
    half = parts.cosh_n + fma(parts.cosh_n, parts.cosh_r, parts.sinh_n * parts.sinh_r)
    return half + half


def _far(x: Expression) -> Expression:
    """Return whether x is so large that adding 1 does not change it, while its square may still be finite."""
    return x > (2.0**400 if x.is_double else 2.0**50)


def _logarithm(small: Expression, large: Expression) -> Expression:
    """Return ``log(1 + small)``, or ``log(2 * large)`` if ``large`` is so large that adding 1 does not change it."""
    far = _far(large)
    expression = log1p(select(far, large, small))
    return select(far, expression + log(2), expression)


def asinh(x: Expression) -> Expression:
    """Return the inverse hyperbolic sine ``log(a + sqrt(a*a + 1))``, as ``log1p(a + a*a / (1 + sqrt(a*a + 1)))``."""
    a = abs(x)
    square = a * a
    small = a + square / ((square + 1.0).apply("sqrt") + 1.0)
    return _logarithm(small, a).copysign(x)


def acosh(x: Expression) -> Expression:
    """Return the inverse hyperbolic cosine ``log(x + sqrt(x*x - 1))``, as ``log1p(t + sqrt(2*t + t*t))`` for t = x - 1;
    NaN below 1.
    """
    t = x - 1.0
    return select(x < 1.0, nan, _logarithm(t + fma(t, t, t + t).apply("sqrt"), x))


def atanh(x: Expression) -> Expression:
    """Return the inverse hyperbolic tangent ``log((1 + a) / (1 - a)) / 2``, as ``log1p(2*a / (1 - a)) / 2``; NaN
    outside [-1, 1].
    """
    a = abs(x)
    return (log1p((a + a) / (1.0 - a)) * 0.5).copysign(x)


FLOATING: Final[dict[str, Callable[..., Expression]]] = {
    "sinh": sinh,
    "cosh": cosh,
    "asinh": asinh,
    "acosh": acosh,
    "atanh": atanh,
}
