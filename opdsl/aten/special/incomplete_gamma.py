"""Regularized incomplete gamma functions: ``igamma``, ``igammac``.

They are computed in double precision by a series, a continued fraction, and for huge ``self`` the uniform expansion
(DLMF 8.7.1, 8.9.2, 8.12), with as many terms as each element needs.
"""

from __future__ import annotations

import math
from typing import Any

from opdsl import primitives
from opdsl.aten._shared.entries import UNARY
from opdsl.aten.special.series import evaluate, is_double
from opdsl.declare import Inplace, formula, op
from opdsl.runtime import Tensor
from opdsl.scalar.intrinsics import double

INCOMPLETE: dict[str, Any] = {
    **UNARY,
    "variants": "method, function",
    "inplace": Inplace(variants="method"),
    "structured_inherits": "TensorIteratorBase",
}

TINY = 2.0**-1000

# Above this order the series need thousands of terms, and two terms of the expansion suffice.
HUGE = 1e6
# More terms than any series needs for orders up to HUGE.
MOST_TERMS = 100_000
# Stirling's series is accurate from here on.
STIRLING_FROM = 16
ROOT_OF_TWO_PI = math.sqrt(2 * math.pi)

# The first term of the expansion in powers of eta, DLMF 8.12.11, the highest power first.
EXPANSION = (-571 / 261273600, 1 / 25515, -139 / 777600, 1 / 2835, 1 / 864, -2 / 135, 1 / 12, -1 / 3)


def stirling(a: Any) -> Any:
    """Return ``lgamma(a)`` minus ``(a - 1/2) * log(a) - a + log(2 * pi) / 2`` for large ``a``."""
    inverse = 1 / a
    square = inverse * inverse
    return inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))))


def powers_over_gamma(a: Any, x: Any) -> Any:
    """Return ``x**a * exp(-x) / gamma(a + 1)`` by Stirling's series, without cancellation for large ``a``."""
    distance = (x - a) / a
    near = -a * (distance - math.log1p(distance))
    exponent = near if abs(distance) <= 0.5 else a * math.log(x / a) + (a - x)
    large = math.exp(exponent - stirling(a)) / (ROOT_OF_TWO_PI * math.sqrt(a))
    product: Any = 1.0
    for k in range(1, STIRLING_FROM + 1):
        product = product * (a + k)
    above = a + (STIRLING_FROM + 1)
    gamma = (above - 0.5) * math.log(above) - above + stirling(above)
    small = math.exp(a * math.log(x) - x - gamma) * (product / ROOT_OF_TWO_PI)
    return small if a < STIRLING_FROM else large


def below_series(a: Any, x: Any, precision: float) -> Any:
    """Return the sum of ``x**n / ((a + 1) ... (a + n))`` over n = 0, 1, 2, ..."""
    total, term, place = 1.0, 1.0, a
    for _ in range(MOST_TERMS):
        if term <= total * precision:
            break
        place += 1
        term *= x / place
        total += term
    return total


def above_fraction(a: Any, x: Any, precision: float) -> Any:
    """Return ``gamma(a, x) * exp(x) / x**a`` by a continued fraction, computed by Lentz' method (DLMF 8.9.2, 3.10)."""
    bottom, numerator = x + 1 - a, 1 / TINY
    denominator = 1 / bottom
    fraction, change, step = denominator, 0.0, 0.0
    for _ in range(MOST_TERMS):
        if abs(change - 1) <= 2 * precision:
            break
        step += 1
        factor = (a - step) * step
        bottom += 2
        inverse = factor * denominator + bottom
        denominator = 1 / (TINY if abs(inverse) < TINY else inverse)
        numerator = bottom + factor / numerator
        numerator = TINY if abs(numerator) < TINY else numerator
        change = numerator * denominator
        fraction *= change
    return fraction


def above_series(a: Any, x: Any) -> Any:
    """Return the upper function for small arguments, for which 1 minus the lower one would cancel (DLMF 8.7.3)."""
    total, power, n = 0.0, 1.0, 0.0
    for _ in range(31):
        if abs(power) < 2.0**-60:
            break
        n += 1
        power *= -x / n
        total += power / (a + n)
    logarithm, gamma = a * math.log(x), a * evaluate("GAMMA_ABOVE_ONE", a)
    return -math.expm1(logarithm - gamma) - math.exp(logarithm - gamma) * a * total


def uniform(a: Any, x: Any, upper: bool) -> Any:
    """Return the lower or upper function for huge ``a``: the normal distribution function plus a correction."""
    distance = (x - a) / a
    half = distance - math.log1p(distance)
    eta = math.copysign(math.sqrt(2 * half), distance)
    near: Any = 0.0
    for coefficient in EXPANSION:
        near = near * eta + coefficient
    rest = near if abs(eta) < 0.1 else 1 / distance - 1 / eta
    rest *= math.exp(-a * half) / (ROOT_OF_TWO_PI * math.sqrt(a))
    bend = eta * math.sqrt(a / 2)
    return math.erfc(bend) / 2 + rest if upper else math.erfc(-bend) / 2 - rest


def regular(a: Any, x: Any, upper: bool, precision: float) -> Any:
    """Return the lower or upper function for positive arguments, if ``a`` is not huge."""
    is_small = x <= 1.1 and (-0.4 / math.log(x) >= a if x <= 0.5 else x * 1.1 >= a)
    small = above_series(a, x)
    scale = powers_over_gamma(a, x)
    is_above = x > 1 and x > a
    sum_ = scale * (a * above_fraction(a, x, precision) if is_above else below_series(a, x, precision))
    integral = small if is_small else sum_
    return integral if (is_small or is_above) == upper else 1 - integral


def incomplete(self: Any, other: Any, upper: bool) -> Any:
    """Return the lower or the upper function, for 0 and infinity with PyTorch's values."""
    none, every = (0.0, 1.0) if upper else (1.0, 0.0)
    a, x = double(self), double(other)
    # The relative size of a term at which a sum ends; dtypes other than float64 are rounded to at most 24 bits.
    precision = 2.0**-53 if is_double(self) else 2.0**-32
    inside = uniform(a, x, upper) if a > HUGE else regular(a, x, upper, precision)
    is_defined = a >= 0 and x >= 0 and not (a == 0 and x == 0) and not (math.isinf(a) and math.isinf(x))
    is_edge = a == 0 or x == 0 or math.isinf(a) or math.isinf(x)
    edge = none if a == 0 or math.isinf(x) else every
    return (edge if is_edge else inside) if is_defined else math.nan


def density(self: Tensor, other: Tensor) -> Tensor:
    """Return the derivative of the lower function by its argument."""
    return ((self - 1) * other.log() - other - self.lgamma()).exp()


igamma_elements = primitives.elements(lambda self, other: incomplete(self, other, upper=False), dtypes="floating")


@op("aten::igamma", **INCOMPLETE)
@formula
def igamma(self: Tensor, other: Tensor) -> Tensor:
    """Return the lower incomplete gamma function of order ``self``, divided by the gamma function."""
    return igamma_elements(self, other)


igamma.derivative(other=lambda grad, self, other: grad * density(self, other))


igammac_elements = primitives.elements(lambda self, other: incomplete(self, other, upper=True), dtypes="floating")


@op("aten::igammac", **INCOMPLETE)
@formula
def igammac(self: Tensor, other: Tensor) -> Tensor:
    """Return the upper incomplete gamma function of order ``self``, divided by the gamma function."""
    return igammac_elements(self, other)


igammac.derivative(other=lambda grad, self, other: -grad * density(self, other))
