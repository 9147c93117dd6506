"""Formulas for exp, exp2, expm1 and tanh: reduction to a short interval, a polynomial, and a power of two made from
bits.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final, NamedTuple

from opdsl.scalar.mathematics.coefficients import TABLES
from opdsl.scalar.mathematics.expression import Expression, fma, polynomial, select

__all__ = ["FLOATING"]

LOG2_E: Final = 1.4426950408889634


class Layout(NamedTuple):
    """Bit layout of a floating-point type.

    mantissa: stored bits; bias: of the exponent.
    magic: 1.5 * 2**mantissa; adding it rounds to an integer, which is then in the lowest bits.
    log2_high, log2_low: log(2) in two parts, the first with trailing zeros, so that small multiples are exact.
    """

    mantissa: int
    bias: int
    magic: float
    log2_high: float
    log2_low: float


SINGLE: Final = Layout(23, 127, 12582912.0, 0.693145751953125, 1.4286068203094173e-06)
DOUBLE: Final = Layout(52, 1023, 6755399441055744.0, 0.6931471803691238, 1.9082149292705877e-10)


def layout(x: Expression) -> Layout:
    """Return the bit layout of an expression's type."""
    return DOUBLE if x.is_double else SINGLE


def table(name: str, x: Expression) -> tuple[float, ...]:
    """Return the polynomial coefficients of a function for an expression's type."""
    return TABLES[name]["float64" if x.is_double else "float32"]


def shifted_power(t: Expression) -> Expression:
    """Return 2**n, given the sum ``magic + bias + n``: its lowest bits are moved into the exponent."""
    return (t.bits() << layout(t).mantissa).from_bits()


def reduce(x: Expression, factor: float = LOG2_E) -> tuple[Expression, Expression]:
    """Return ``magic + n`` and ``n``, where n is the integer nearest to ``x * factor``."""
    magic = layout(x).magic
    t = fma(x, factor, magic)
    return t, t - magic


def _scale(value: Expression, t: Expression, logarithm: Expression, zero: float | None = None) -> Expression:
    """Return ``value * 2**n``; if it may be denormal, the value is first scaled up, so that the result is rounded only
    once.

    logarithm: logarithm of the result, roughly; to either base.
    zero: the result is 0 if the logarithm is not above this.
    """
    form = layout(value)
    small = logarithm < (-700.0 if value.is_double else -80.0)
    rise = 512 if value.is_double else 64
    lift = select(small, t.bits().constant(rise << form.mantissa), 0)
    lifted = (value.bits() + (t.bits() << form.mantissa) + lift).from_bits()
    fall = value.constant(2.0**-rise)
    if zero is not None:
        fall = select(logarithm > zero, fall, 0.0)  # processors are slow on results that underflow
    return lifted * select(small, fall, 1.0)


def exp(x: Expression) -> Expression:
    """Return e**x."""
    low, high = (-746.0, 709.782712893384) if x.is_double else (-104.0, 88.72283172607422)
    bounded = select(x > low, x, low)
    t, r = _reduced(bounded)
    return select(x <= high, _scale(_less_one(r) + 1.0, t, bounded, low), x + inf)


def exp_product(x: Expression, rest: Expression, factor: Expression, factor_rest: Expression) -> Expression:
    """Return ``(factor + factor_rest) * e**(x + rest)``, rounded once where it is denormal.

    x: bounded, so that the result is at least near the smallest number.
    rest, factor_rest: the rounding errors of x and of factor, which is of the order of 1.
    """
    t, r = _reduced(x, rest)
    return _scale(factor + fma(factor, _less_one(r), factor_rest), t, x)


def _reduced(x: Expression, rest: Expression | None = None) -> tuple[Expression, Expression]:
    """Return ``magic + n`` and r, such that x + rest = n*log(2) + r."""
    form = layout(x)
    t, n = reduce(x)
    r = fma(n, -form.log2_high, x)
    return t, fma(n, -form.log2_low, r if rest is None else r + rest)


def _less_one(r: Expression) -> Expression:
    """Return e**r - 1 for a reduced r, with an error that is small relative to 1."""
    return fma(polynomial(r, table("exp", r)), r * r, r)


def simple_exp2(x: Expression) -> tuple[Expression, Expression]:
    """Return two factors of 2**x, for x without denormal or infinite results; NaN is not handled."""
    form = layout(x)
    magic = form.magic + form.bias
    t = x + magic
    r = x - (t - magic)
    return fma(polynomial(r, table("exp2", x)), r, 1.0), shifted_power(t)


def exp2(x: Expression) -> Expression:
    """Return 2**x."""
    low, high = (-1076.0, 1024.0) if x.is_double else (-151.0, 128.0)
    bounded = select(x > low, x, low)
    t, n = reduce(bounded, 1.0)
    r = bounded - n
    p = fma(polynomial(r, table("exp2", x)), r, 1.0)
    return select(x < high, _scale(p, t, bounded, low), x + inf)


def _expm1_parts(x: Expression) -> tuple[Expression, Expression, Expression, Expression]:
    """Return (t, r, c, q) with x = n*log(2) + r + c and e**(r + c) - 1 = r + (c + q)."""
    form = layout(x)
    t, n = reduce(x)
    high = fma(n, -form.log2_high, x)
    r = fma(n, -form.log2_low, high)
    c = fma(n, -form.log2_low, high - r)
    q = polynomial(r, table("expm1", x)) * (r * r)
    return t, r, c, q


def expm1(x: Expression) -> Expression:
    """Return e**x - 1, accurate near 0."""
    form = layout(x)
    low, high = (-40.0, 709.782712893384) if x.is_double else (-20.0, 88.72283172607422)
    bounded = select(x > low, x, low)
    t, r, c, q = _expm1_parts(bounded)
    half = shifted_power(t + (form.bias - 1.0))  # half of 2**n, since 2**n may overflow
    y = fma(half, q + c, fma(half, r, half - 0.5))
    return select(x <= high, y + y, x + inf).copysign(x)


def tanh(x: Expression) -> Expression:
    """Return the hyperbolic tangent: an odd polynomial near 0, ``1 - 2 / (e**(2*a) + 1)`` elsewhere."""
    form = layout(x)
    a = abs(x)
    bounded = select(a < (22.0 if x.is_double else 9.25), a, 22.0 if x.is_double else 9.25)
    magic = form.magic + form.bias
    t = fma(bounded, 2 * LOG2_E, magic)
    n = t - magic
    r = fma(n, -form.log2_high / 2, bounded)
    r = fma(n, -form.log2_low / 2, r)
    p = fma(polynomial(r, table("exp_twice", x)), r * r, r + r) + 1.0
    large = 1.0 - 2.0 / fma(p, shifted_power(t), 1.0)
    u = x * x
    small = fma(x * u, polynomial(u, table("tanh", x)), x)
    return select(a >= 0.8, large, small).copysign(x)


FLOATING: Final[dict[str, Callable[..., Expression]]] = {"exp": exp, "exp2": exp2, "expm1": expm1, "tanh": tanh}
