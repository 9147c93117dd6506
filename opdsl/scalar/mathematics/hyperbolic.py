"""sinh and cosh, by the addition theorem: x = n*log(2) + r, with powers of two for n*log(2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from opdsl.scalar.mathematics.exponential import layout, reduce, shifted_power, table
from opdsl.scalar.mathematics.expression import Expression, fma, polynomial, select

__all__ = ["FLOATING"]


class Parts(NamedTuple):
    """Of a = n*log(2) + r.

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
    """An odd polynomial up to 1, the addition theorem beyond."""
    parts = _parts(x)
    half = parts.sinh_n + fma(parts.sinh_n, parts.cosh_r, parts.cosh_n * parts.sinh_r)
    u = x * x
    small = fma(polynomial(u, table("sinh", x)), u * x, x)
    return select(abs(x) >= 1.0, half + half, small).copysign(x)


def cosh(x: Expression) -> Expression:
    """The addition theorem."""
    parts = _parts(x)
    half = parts.cosh_n + fma(parts.cosh_n, parts.cosh_r, parts.sinh_n * parts.sinh_r)
    return half + half


FLOATING: Final[dict[str, Callable[..., Expression]]] = {"sinh": sinh, "cosh": cosh}
