"""Formula for lgamma: a polynomial from 1/2 to 8, Stirling's formula above, reflection below -1/2 (DLMF 5.5.1, 5.5.3,
5.11.1).
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, pi
from math import log as number_log
from typing import Final

from opdsl.scalar.mathematics.exponential import table
from opdsl.scalar.mathematics.expression import Expression, fma, polynomial, select
from opdsl.scalar.mathematics.logarithm import log

__all__ = ["FLOATING"]

STIRLING_FROM: Final = 8.0
LOG_PI: Final = number_log(pi)


def lgamma(x: Expression) -> Expression:
    """Return the logarithm of the gamma function's magnitude.

    Near its zeros at 1 and 2 it is as accurate as elsewhere; near those at negative numbers cancellation loses digits.
    """
    a = abs(x)
    near = a < 0.5
    logarithm = log(a)
    y = select(near, x + 1.0, a)
    ratio = polynomial((y - 2.0) / (y + 2.0), table("lgamma", x))
    moderate = fma(ratio, (y - 1.0) * (y - 2.0), 0.0)  # adding 0.0 turns -0.0 into 0.0
    expression = select(near, moderate - logarithm, select(a < STIRLING_FROM, moderate, _stirling(a, logarithm)))
    expression = select(x <= -0.5, _reflected(x, a, expression), expression)
    return select(a < inf, expression, a)


def _stirling(a: Expression, logarithm: Expression) -> Expression:
    inverse = 1.0 / a
    rest = fma(polynomial(inverse * inverse, table("lgamma_tail", a)), inverse, (number_log(2 * pi) - 1) / 2)
    return fma(a - 0.5, logarithm - 1.0, rest)


def _reflected(x: Expression, a: Expression, positive: Expression) -> Expression:
    """Return lgamma(-a), given lgamma(a) as ``positive``: ``log(pi / (a * |sin(pi*a)|)) - lgamma(a)``."""
    r = (x - x.apply("round")) * (pi / 2)  # half the angle whose sine is needed; its magnitude is at most pi/4
    u = r * r
    sine = fma(polynomial(u, table("sin", x)), u * r, r)
    cosine = fma(polynomial(u, table("cos", x)), u * u, fma(u, -0.5, 1.0))
    expression = LOG_PI - log(a * abs(2.0 * sine * cosine)) - positive
    return select(u.equals(0.0), inf, expression)


FLOATING: Final[dict[str, Callable[..., Expression]]] = {"lgamma": lgamma}
