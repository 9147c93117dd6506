"""Formulas for sin, cos and tan: reduction by multiples of pi/2, then polynomials; the C library takes huge
arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from opdsl.scalar.mathematics.exponential import reduce, table
from opdsl.scalar.mathematics.expression import Expression, fma, polynomial, rare, select

__all__ = ["FLOATING"]

TWO_OVER_PI: Final = 0.6366197723675814


class Reduction(NamedTuple):
    """Constants of the reduction: pi/2 in three parts of the type's precision, each rounded down, and the largest
    argument for which these suffice.
    """

    parts: tuple[float, float, float]
    limit: float


REDUCTIONS: Final = {
    32: Reduction((1.570796251296997, 7.549789415861596e-08, 5.390302529957765e-15), 1e5),
    64: Reduction((1.5707963267948966, 6.123233995736765e-17, 1.0828566739219139e-32), 1e9),
}


class Parts(NamedTuple):
    """Reduced argument of x = q*(pi/2) + r: q in the lowest two bits of ``quadrant``, sin(r) and cos(r)."""

    quadrant: Expression
    sin: Expression
    cos: Expression


def _parts(x: Expression, *, exact: bool) -> Parts:
    """Reduce an argument by multiples of pi/2, and compute the sine and cosine of the rest by polynomials.

    exact: whether to keep the rounding error of r; it costs a third more, and saves half a unit in the last place of
        sine and cosine.
    """
    t, n = reduce(x, TWO_OVER_PI)
    first, second, third = REDUCTIONS[x.type.bits].parts
    near = fma(n, -first, x)  # exact, as is x - n*first
    if not exact:
        r = fma(n, -third, fma(n, -second, near))
        u = r * r
        sine = fma(polynomial(u, table("sin", x)), u * r, r)
        return Parts(t.bits(), sine, fma(polynomial(u, table("cos", x)), u * u, fma(u, -0.5, 1.0)))
    product = n * second
    r = near - product
    rest = fma(n, -third, ((near - r) - product) - fma(n, second, -product))
    u = r * r
    half = u * -0.5
    whole = half + 1.0
    lost = (1.0 - whole) + half
    sine = r + fma(polynomial(u, table("sin", x)), u * r, rest)
    return Parts(t.bits(), sine, whole + fma(polynomial(u, table("cos", x)), u * u, fma(r, -rest, lost)))


def _odd(quadrant: Expression) -> Expression:
    return (quadrant & 1).differs(0)


def _signed(quadrant: Expression, value: Expression) -> Expression:
    """Negate a value in the third and fourth quadrant."""
    sign = (quadrant & 2) << (value.type.bits - 2)
    return (value.bits() ^ sign).from_bits()


def _guarded(name: str, x: Expression, fast: Expression) -> Expression:
    """Return the C library's result for arguments that are too large for the reduction, else the fast one, also for
    NaN.
    """
    return rare(abs(x) > REDUCTIONS[x.type.bits].limit, x.apply(name), fast)


def sin(x: Expression) -> Expression:
    """Return the sine of an angle in radians."""
    parts = _parts(x, exact=x.is_double)
    y = _signed(parts.quadrant, select(_odd(parts.quadrant), parts.cos, parts.sin))
    return _guarded("sin", x, select(x.equals(0.0), x, y))


def cos(x: Expression) -> Expression:
    """Return the cosine of an angle in radians."""
    parts = _parts(x, exact=x.is_double)
    next_quadrant = parts.quadrant + 1
    return _guarded("cos", x, _signed(next_quadrant, select(_odd(parts.quadrant), parts.sin, parts.cos)))


def tan(x: Expression) -> Expression:
    """Return the tangent of an angle in radians."""
    parts = _parts(x, exact=True)
    odd = _odd(parts.quadrant)
    y = select(odd, -parts.cos, parts.sin) / select(odd, parts.sin, parts.cos)
    return _guarded("tan", x, select(x.equals(0.0), x, y))


FLOATING: Final[dict[str, Callable[..., Expression]]] = {"sin": sin, "cos": cos, "tan": tan}
