"""Formulas for trigonometric and hyperbolic functions of complex numbers, and for their inverses.

``sinh`` and ``cosh`` are products of real functions, the inverses are Kahan's formulas ("Branch cuts for complex
elementary functions", 1987): they keep the sign of zero on the cuts, and lose no digits near them. Special values are
those of C's Annex G. The trigonometric functions are computed by the hyperbolic ones.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, log, nan, pi
from typing import Final

from opdsl.scalar.mathematics.complex_numbers import FORMULAS as ELEMENTARY
from opdsl.scalar.mathematics.complex_numbers import Pair, Part, number_range, sorted_magnitudes
from opdsl.scalar.mathematics.expression import Expression, select
from opdsl.scalar.types import ScalarType

__all__ = ["FORMULAS"]

_sqrt: Final[Callable[[Pair], Part]] = ELEMENTARY["sqrt"]


def _is_infinite(x: Expression) -> Expression:
    return x.apply("isinf", kind=ScalarType.BOOL)


def _is_finite(x: Expression) -> Expression:
    return x.apply("isfinite", kind=ScalarType.BOOL)


def _turned(function: Callable[[Pair], Pair]) -> Callable[[Pair], Pair]:
    """Return the function ``-i * f(i * z)``, which is the sine if ``f`` is the hyperbolic sine, and similarly for
    others.
    """

    def formula(z: Pair) -> Pair:
        pair = function(Pair(-z.imaginary, z.real))
        return Pair(pair.imaginary, -pair.real)

    return formula


def _halves(x: Expression) -> tuple[Expression, Expression, Expression]:
    """Return ``sinh(x)`` and ``cosh(x)`` divided by a factor, and the factor, which is above 1 where they would
    overflow.
    """
    most = number_range(x).overflow
    a = abs(x)
    beyond = a > most
    half = (a - most).apply("exp") * 0.5
    factor = select(beyond, x.constant(exp(most)), 1.0)
    return select(beyond, half.copysign(x), x.apply("sinh")), select(beyond, half, x.apply("cosh")), factor


def _sinh(z: Pair) -> Pair:
    """Return the hyperbolic sine ``sinh(x)cos(y) + i cosh(x)sin(y)``."""
    x, y = z.real, z.imaginary
    sinh, cosh, factor = _halves(x)
    turning = _is_finite(y)
    real = sinh * (y.apply("cos") * factor)
    real = select(~turning & (_is_infinite(x) | x.equals(0)), x, real)
    return Pair(real, select(y.equals(0), y, cosh * (y.apply("sin") * factor)))


def _cosh(z: Pair) -> Pair:
    """Return the hyperbolic cosine ``cosh(x)cos(y) + i sinh(x)sin(y)``."""
    x, y = z.real, z.imaginary
    sinh, cosh, factor = _halves(x)
    turning = _is_finite(y)
    real = cosh * (y.apply("cos") * factor)
    real = select(~turning & _is_infinite(x), inf, real)
    imaginary = sinh * (y.apply("sin") * factor)
    imaginary = select(y.equals(0), y * x.constant(1.0).copysign(x), imaginary)
    return Pair(real, select(~turning & x.equals(0), x, imaginary))


def _far(z: Pair) -> tuple[Expression, Expression]:
    """Return whether z is so large that adding 1 does not change it, and the logarithm of twice its magnitude."""
    large, _ = sorted_magnitudes(z)
    x, y = z.real * 0.5, z.imaginary * 0.5
    return large > 2.0 ** number_range(z.real).far, x.apply("hypot", y).apply("log") + 2 * log(2)


def _roots(plus: Pair, minus: Pair) -> tuple[Pair, Pair]:
    one, other = _sqrt(plus), _sqrt(minus)
    assert isinstance(one, Pair)
    assert isinstance(other, Pair)
    return one, other


def _acos(z: Pair) -> Pair:
    """Return the arc cosine, by the square roots of ``1 + z`` and ``1 - z``."""
    x, y = z.real, z.imaginary
    far, logarithm = _far(z)
    far = far | _is_infinite(x) | _is_infinite(y)
    plus, minus = _roots(Pair(x + 1.0, y), Pair(1.0 - x, -y))
    real = minus.real.apply("atan2", plus.real) * 2.0
    imaginary = (plus.real * minus.imaginary - plus.imaginary * minus.real).apply("asinh")
    real = select(x.equals(0) & y.differs(y), pi / 2, real)
    return Pair(select(far, abs(y).apply("atan2", x), real), select(far, logarithm.copysign(-y), imaginary))


def _acosh(z: Pair) -> Pair:
    """Return the inverse hyperbolic cosine, by the square roots of ``z + 1`` and ``z - 1``."""
    x, y = z.real, z.imaginary
    far, logarithm = _far(z)
    far = far | _is_infinite(x) | _is_infinite(y)
    plus, minus = _roots(Pair(x + 1.0, y), Pair(x - 1.0, y))
    real = (plus.real * minus.real + plus.imaginary * minus.imaginary).apply("asinh")
    imaginary = minus.imaginary.apply("atan2", plus.real) * 2.0
    imaginary = select(x.equals(0) & y.differs(y), pi / 2, imaginary)
    return Pair(select(far, logarithm, real), select(far, y.apply("atan2", x), imaginary))


def _asinh(z: Pair) -> Pair:
    """Return the inverse hyperbolic sine, by the square roots of ``1 + iz`` and ``1 - iz``."""
    x, y = z.real, z.imaginary
    far, logarithm = _far(z)
    far = far | _is_infinite(x) | _is_infinite(y)
    minus, plus = _roots(Pair(1.0 + y, -x), Pair(1.0 - y, x))
    real = (minus.real * plus.imaginary - plus.real * minus.imaginary).apply("asinh")
    imaginary = y.apply("atan2", minus.real * plus.real - minus.imaginary * plus.imaginary)
    real, imaginary = select(far, logarithm.copysign(x), real), select(far, y.apply("atan2", abs(x)), imaginary)
    return Pair(real, select(y.equals(0), y, imaginary))


def _atanh(z: Pair) -> Pair:
    """Return the inverse hyperbolic tangent, ``log1p(4x / ((1 - x)**2 + y**2)) / 4 + i atan2(2y, (1 - x)(1 + x) - y**2)
    / 2`` for positive x.
    """
    x, y = abs(z.real), z.imaginary
    a = abs(y)
    bounds = number_range(x)
    large, _ = sorted_magnitudes(z)
    infinite = _is_infinite(x) | _is_infinite(y)
    far = (large > 2.0**bounds.far) | infinite
    height = (x * 0.5).apply("hypot", y * 0.5)
    distant = x * 0.25 / height / height
    distant = select(infinite, 0.0, distant)
    # At x = 1 the denominator is y squared, which underflows for small y: use square roots instead.
    near = x.equals(1) & (a < 2.0 ** -(bounds.far // 2))
    pole = -((a.apply("sqrt") / a.apply("hypot", a.constant(2.0)).apply("sqrt")).apply("log"))
    real = (x * 4.0 / ((1.0 - x) * (1.0 - x) + y * y)).apply("log1p") * 0.25
    real = select(far, distant, select(near, pole, real))
    imaginary = (y * 2.0).apply("atan2", (1.0 - x) * (x + 1.0) - y * y) * 0.5
    steep = x.constant(pi / 2).copysign(y)
    known = y.equals(y) & (x.equals(x) | infinite)
    imaginary = select(far, select(known, steep, nan), imaginary)
    real = select(x.equals(0) & y.differs(y), 0.0, real)
    return Pair(real.copysign(z.real), select(near & a.equals(0), y, imaginary))


def _expm1(z: Pair) -> Pair:
    """Return ``exp(z) - 1`` as ``expm1(x)cos(y) + (cos(y) - 1) + i exp(x)sin(y)``, with cos(y) - 1 by the sine
    of y/2.
    """
    x, y = z.real, z.imaginary
    half = (y * 0.5).apply("sin")
    real = x.apply("expm1") * y.apply("cos") - half * half * 2.0
    whole = ELEMENTARY["exp"](z)
    assert isinstance(whole, Pair)
    # Far from 0 the result has the special values of the exponential.
    near = abs(x) < 1.0
    return Pair(select(near, real, whole.real - 1.0), whole.imaginary)


def _exp2(z: Pair) -> Pair:
    expression = ELEMENTARY["exp"](Pair(z.real * log(2), z.imaginary * log(2)))
    assert isinstance(expression, Pair)
    return expression


def _tanh(z: Pair) -> Pair:
    expression = ELEMENTARY["tanh"](z)
    assert isinstance(expression, Pair)
    return expression


FORMULAS: Final[dict[str, Callable[..., Part]]] = {
    "sinh": _sinh,
    "cosh": _cosh,
    "sin": _turned(_sinh),
    "cos": lambda z: _cosh(Pair(-z.imaginary, z.real)),
    "tan": _turned(_tanh),
    "acos": _acos,
    "acosh": _acosh,
    "asin": _turned(_asinh),
    "asinh": _asinh,
    "atan": _turned(_atanh),
    "atanh": _atanh,
    "expm1": _expm1,
    "exp2": _exp2,
}
