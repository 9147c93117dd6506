"""Complex numbers as pairs of real expressions, and formulas for operations on them.

Products are those of the definition and quotients are scaled by the larger part (Smith), as in PyTorch's kernels, so an
infinite operand can give NaN parts. ``exp``, ``log``, ``sqrt`` and ``tanh`` have the special values of C's Annex G.

Where PyTorch's results differ: quotients whose parts are denormal, and products whose terms overflow and cancel, depend
on which steps its compiler has fused; ``power`` is ``exp(exponent * log(base))`` with the product above, where C's
``cpow`` recovers infinities that came out as NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, log, nan
from typing import Final, NamedTuple, TypeAlias

from opdsl.scalar.mathematics.expression import Expression, select
from opdsl.scalar.types import COMPLEX, ScalarType

__all__ = ["FORMULAS", "Pair", "Part", "cast", "number_range", "sorted_magnitudes"]


class Pair:
    """Complex number: a real and an imaginary part, expressions of one real type."""

    __slots__ = ("imaginary", "real")

    def __init__(self, real: Expression, imaginary: Expression) -> None:
        self.real = real
        self.imaginary = imaginary

    def __add__(self, other: Pair) -> Pair:
        return Pair(self.real + other.real, self.imaginary + other.imaginary)

    def __sub__(self, other: Pair) -> Pair:
        return Pair(self.real - other.real, self.imaginary - other.imaginary)

    def __mul__(self, other: Pair) -> Pair:
        return Pair(
            self.real * other.real - self.imaginary * other.imaginary,
            self.real * other.imaginary + self.imaginary * other.real,
        )

    def __truediv__(self, other: Pair) -> Pair:
        return _divide(self, other)

    def __neg__(self) -> Pair:
        return Pair(-self.real, -self.imaginary)


Part: TypeAlias = Expression | Pair


def cast(value: Part, kind: ScalarType) -> Part:
    """Convert a value to or from a complex type: complex to real drops the imaginary part, real to complex adds a 0."""
    real, imaginary = (value.real, value.imaginary) if isinstance(value, Pair) else (value, None)
    part = real.cast(kind.real)
    if kind.category != COMPLEX:
        return part
    return Pair(part, part.constant(0) if imaginary is None else imaginary.cast(kind.real))


def _divide(dividend: Pair, divisor: Pair) -> Pair:
    """Return the quotient, scaled by the divisor's larger part; dividing by 0 divides each part by the magnitude 0."""
    a, b, c, d = dividend.real, dividend.imaginary, divisor.real, divisor.imaginary
    by_real = abs(c) >= abs(d)
    large, small = select(by_real, c, d), select(by_real, d, c)
    ratio = small / large
    scale = 1.0 / (large + small * ratio)
    real = select(by_real, a + b * ratio, a * ratio + b) * scale
    imaginary = select(by_real, b - a * ratio, b * ratio - a) * scale
    zero = c.equals(0) & d.equals(0)
    return Pair(select(zero, a / abs(c), real), select(zero, b / abs(c), imaginary))


def _absolute(z: Pair) -> Expression:
    """Return the magnitude; that of complex64 by way of float64, where squares are exact and do not overflow."""
    x, y = z.real, z.imaginary
    if x.is_double:
        return x.apply("hypot", y)
    wide_x, wide_y = x.cast(ScalarType.FLOAT64), y.cast(ScalarType.FLOAT64)
    magnitude = (wide_x * wide_x + wide_y * wide_y).apply("sqrt").cast(x.type)
    return select(_is_infinite(z), inf, magnitude)


def _is_infinite(z: Pair) -> Expression:
    return z.real.apply("isinf", kind=ScalarType.BOOL) | z.imaginary.apply("isinf", kind=ScalarType.BOOL)


def _is_nan(z: Pair) -> Expression:
    return z.real.differs(z.real) | z.imaginary.differs(z.imaginary)


def _is_finite(z: Pair) -> Expression:
    return z.real.apply("isfinite", kind=ScalarType.BOOL) & z.imaginary.apply("isfinite", kind=ScalarType.BOOL)


def _equal(first: Pair, second: Pair) -> Expression:
    return first.real.equals(second.real) & first.imaginary.equals(second.imaginary)


def _not_equal(first: Pair, second: Pair) -> Expression:
    return first.real.differs(second.real) | first.imaginary.differs(second.imaginary)


def _select(condition: Expression, chosen: Pair, other: Pair) -> Pair:
    return Pair(
        select(condition, chosen.real, other.real),
        select(condition, chosen.imaginary, other.imaginary),
    )


class Range(NamedTuple):
    """Limits of a real type that the formulas need.

    overflow: a number below the logarithm of the largest value; ``exp`` above it is computed in two steps.
    flat: from here on ``tanh`` is 1 to the last bit, and ``sinh`` still has a finite square.
    far, factor: exponents of 2: numbers beyond 2**far, or below 2**-far, are scaled by 2**factor before they are
        squared.
    """

    overflow: float
    flat: float
    far: int
    factor: int


_SINGLE: Final = Range(88.0, 11.0, 60, 100)
_DOUBLE: Final = Range(709.0, 22.0, 500, 600)


def number_range(x: Expression) -> Range:
    """Return the limits of an expression's type."""
    return _DOUBLE if x.is_double else _SINGLE


def _exp(z: Pair) -> Pair:
    """Return ``exp(x) * (cos(y) + i sin(y))``; in two steps if exp(x) alone would overflow."""
    x, y = z.real, z.imaginary
    most = number_range(x).overflow
    beyond = x > most
    magnitude = select(beyond, x - most, x).apply("exp")
    step = select(beyond, x.constant(exp(most)), 1.0)
    directionless = x.apply("isinf", kind=ScalarType.BOOL) & ~y.apply("isfinite", kind=ScalarType.BOOL)
    cosine = select(directionless, 1.0, y.apply("cos"))
    sine = select(directionless & (x < 0), 0.0, y.apply("sin"))
    return Pair(cosine * step * magnitude, select(y.equals(0), y, sine * step * magnitude))


def _log(z: Pair) -> Pair:
    """Return the logarithm: that of the magnitude, and the angle."""
    x, y = z.real, z.imaginary
    bounds = number_range(x)
    larger, smaller = sorted_magnitudes(z)
    grow, shrink = larger < 2.0**-bounds.far, larger > 2.0**bounds.far
    scale = select(grow, x.constant(2.0**bounds.factor), select(shrink, x.constant(2.0**-bounds.factor), 1.0))
    offset = bounds.factor * log(2)
    scaled_by = select(grow, x.constant(-offset), select(shrink, x.constant(offset), 0.0))
    a, b = larger * scale, smaller * scale
    whole = (a * a + b * b).apply("log") * 0.5 + scaled_by
    # Near 1 the sum of squares would lose the digits that determine its logarithm.
    near = ((larger - 1.0) * (larger + 1.0) + smaller * smaller).apply("log1p") * 0.5
    real = select((larger > 0.5) & (larger < 2.0), near, whole)
    return Pair(select(_is_infinite(z), inf, real), y.apply("atan2", x))


def _log1p(z: Pair) -> Pair:
    """Return ``log(1 + z)``; near 0 by ``|1 + z|**2 - 1 = x * (x + 2) + y**2``, which loses no digits."""
    x, y = z.real, z.imaginary
    near = (x * (x + 2.0) + y * y).apply("log1p") * 0.5
    far = _log(Pair(x + 1.0, y))
    small = (abs(x) < 0.5) & (abs(y) < 0.5)
    return Pair(select(small, near, far.real), far.imaginary)


def sorted_magnitudes(z: Pair) -> tuple[Expression, Expression]:
    """Return the larger and the smaller of the magnitudes of the two parts."""
    x, y = abs(z.real), abs(z.imaginary)
    first = x > y
    return select(first, x, y), select(first, y, x)


def _sqrt(z: Pair) -> Pair:
    """Return the square root: parts ``t = sqrt((|x| + |z|) / 2)`` and ``y / 2t``, swapped for negative x; scaled."""
    x, y = z.real, z.imaginary
    bounds = number_range(x)
    larger, _ = sorted_magnitudes(z)
    grow, shrink = larger < 2.0**-bounds.far, larger > 2.0**bounds.far
    scale = select(grow, x.constant(2.0**bounds.factor), select(shrink, x.constant(2.0**-bounds.factor), 1.0))
    half = bounds.factor // 2
    back = select(grow, x.constant(2.0**-half), select(shrink, x.constant(2.0**half), 1.0))
    a, b = abs(x) * scale, abs(y) * scale
    root = ((a + (a * a + b * b).apply("sqrt")) * 0.5).apply("sqrt")
    other = select(root.equals(0), 0.0, b / (root * 2.0)) * back
    root = root * back
    positive = x >= 0
    pair = Pair(select(positive, root, other), select(positive, other, root).copysign(y))
    return _special_sqrt(z, pair)


def _special_sqrt(z: Pair, pair: Pair) -> Pair:
    x, y = z.real, z.imaginary
    up, left, right = abs(y).equals(inf), x.equals(-inf), x.equals(inf)
    known = y.equals(y)
    real = select(left, select(known, x.constant(0.0), nan), select(right, x, pair.real))
    imaginary = select(left, x.constant(inf).copysign(y), pair.imaginary)
    imaginary = select(right, select(known, x.constant(0.0).copysign(y), nan), imaginary)
    return Pair(select(up, inf, real), select(up, y, imaginary))


def _tanh(z: Pair) -> Pair:
    """Return ``(sinh(x)cosh(x) + i sin(y)cos(y)) / (sinh(x)**2 + cos(y)**2)``, or its limit for large ``|x|``."""
    x, y = z.real, z.imaginary
    sine, cosine = y.apply("sin"), y.apply("cos")
    sinh, cosh = x.apply("sinh"), x.apply("cosh")
    below = sinh * sinh + cosine * cosine
    infinite, turning = x.apply("isinf", kind=ScalarType.BOOL), y.apply("isfinite", kind=ScalarType.BOOL)
    flat = (abs(x) > number_range(x).flat) & (infinite | turning)
    rest = select(infinite & ~turning, 0.0, sine * cosine * 4.0 * (abs(x) * -2.0).apply("exp"))
    real = select(flat, x.constant(1.0).copysign(x), sinh * cosh / below)
    imaginary = select(flat, rest, sine * cosine / below)
    return Pair(select(x.equals(0), x, real), select(y.equals(0), y, imaginary))


def _power(base: Pair, exponent: Pair) -> Pair:
    """Return the power, by the logarithm, complex64 in complex128; 0 to the power of 0 is NaN, as it is in PyTorch."""
    kind = base.real.type
    pair = _exp(_widened(exponent) * _log(_widened(base)))
    return Pair(pair.real.cast(kind), pair.imaginary.cast(kind))


def _widened(z: Pair) -> Pair:
    return Pair(z.real.cast(ScalarType.FLOAT64), z.imaginary.cast(ScalarType.FLOAT64))


def _scaled_log(divisor: float) -> Callable[[Pair], Pair]:
    def formula(z: Pair) -> Pair:
        pair = _log(z)
        return Pair(pair.real * (1.0 / divisor), pair.imaginary * (1.0 / divisor))

    return formula


# The operations of complex numbers in this module, besides parameters, constants and casts.
FORMULAS: Final[dict[str, Callable[..., Part]]] = {
    "add": Pair.__add__,
    "subtract": Pair.__sub__,
    "multiply": Pair.__mul__,
    "divide": Pair.__truediv__,
    "negative": Pair.__neg__,
    "absolute": _absolute,
    "conjugate": lambda z: Pair(z.real, -z.imaginary),
    "equal": _equal,
    "not_equal": _not_equal,
    "select": _select,
    "complex": Pair,
    "isnan": _is_nan,
    "isinf": _is_infinite,
    "isfinite": _is_finite,
    "sqrt": _sqrt,
    "exp": _exp,
    "log": _log,
    "log1p": _log1p,
    "real": lambda z: z.real,
    "imag": lambda z: z.imaginary,
    "log2": _scaled_log(log(2)),
    "log10": _scaled_log(log(10)),
    "tanh": _tanh,
    "power": _power,
}
