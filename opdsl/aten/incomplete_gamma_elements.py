"""The incomplete gamma functions, element by element: how many terms one needs is its own matter, and compiled loops
stop there.

The methods, and which operands have which, are those of ``incomplete_gamma``.
"""

from __future__ import annotations

import math

from opdsl.declare import Library
from opdsl.kernels import check
from opdsl.runtime import Tensor, float64

lib = Library("opdsl")

TINY = 2.0**-1000
# From here on the series have thousands of terms, and two of the expansion are enough.
HUGE = 1e6
ROOT_OF_TWO_PI = math.sqrt(2 * math.pi)

# The first term of the expansion in powers of eta, DLMF 8.12.11, the highest power first.
EXPANSION = (-571 / 261273600, 1 / 25515, -139 / 777600, 1 / 2835, 1 / 864, -2 / 135, 1 / 12, -1 / 3)


@lib.op(variants="function", out=True)
def incomplete_gamma(order: Tensor, argument: Tensor, upper: bool, precision: float) -> Tensor:
    """The lower or the upper incomplete gamma function over the gamma function.

    order, argument: float64 (elements). precision: what a term may be of its sum, when no more are added.
    """
    ...


@incomplete_gamma.meta
def incomplete_gamma_meta(ctx, order, argument, upper, precision):
    check(order.shape == argument.shape and order.ndim == 1, "elements in one dimension")
    check(order.dtype is float64 and argument.dtype is float64, "elements are float64")
    ctx.set_output(0, order.shape, like=order)


@incomplete_gamma.out_kernel("CPU")
def incomplete_gamma_cpu(order, argument, upper, precision, out):
    for i in range(len(out)):
        out[i] = ratio_of(order[i], argument[i], upper, precision)


def ratio_of(a: float, x: float, upper: bool, precision: float) -> float:
    """One element, at the edges what PyTorch gives."""
    none, every = (0.0, 1.0) if upper else (1.0, 0.0)
    if not (a >= 0 and x >= 0) or (a == 0 and x == 0) or (math.isinf(a) and math.isinf(x)):
        return math.nan
    if a == 0 or math.isinf(x):
        return none
    if x == 0 or math.isinf(a):
        return every
    if a > HUGE:
        return uniform(a, x, upper)
    if x <= 1.1 and (-0.4 / math.log(x) >= a if x <= 0.5 else x * 1.1 >= a):
        found = above_series(a, x)
        return found if upper else 1 - found
    scale = powers_over_gamma(a, x)
    if x > 1 and x > a:
        found = scale * a * above_fraction(a, x, precision)
        return found if upper else 1 - found
    found = scale * below_series(a, x, precision)
    return 1 - found if upper else found


def powers_over_gamma(a: float, x: float) -> float:
    """``x**a * exp(-x) / gamma(a + 1)``; of large ``a`` with Stirling's series, whose large terms cancel beforehand."""
    if a < 16:
        return math.exp(a * math.log(x) - x - math.lgamma(a + 1))
    distance, inverse = (x - a) / a, 1 / a
    square = inverse * inverse
    stirling = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))))
    if abs(distance) <= 0.5:
        exponent = -a * (distance - math.log1p(distance))
    else:
        exponent = a * math.log(x / a) + (a - x)
    return math.exp(exponent - stirling) / (ROOT_OF_TWO_PI * math.sqrt(a))


def below_series(a: float, x: float, precision: float) -> float:
    """The sum of ``x**n / ((a + 1) ... (a + n))``."""
    total, term, place = 1.0, 1.0, a
    while term > total * precision:
        place += 1
        term *= x / place
        total += term
    return total


def above_fraction(a: float, x: float, precision: float) -> float:
    """The continued fraction of ``gamma(a, x) * exp(x) / x**a``, by Lentz' method (DLMF 8.9.2, 3.10)."""
    bottom, numerator = x + 1 - a, 1 / TINY
    denominator = 1 / bottom
    found, change, step = denominator, 0.0, 0.0
    while abs(change - 1) > 2 * precision:
        step += 1
        factor = (a - step) * step
        bottom += 2
        inverse = factor * denominator + bottom
        denominator = 1 / (TINY if abs(inverse) < TINY else inverse)
        numerator = bottom + factor / numerator
        numerator = TINY if abs(numerator) < TINY else numerator
        change = numerator * denominator
        found *= change
    return found


def above_series(a: float, x: float) -> float:
    """The upper function for small arguments, whose complement would cancel (DLMF 8.7.3)."""
    total, power = 0.0, 1.0
    for n in range(1, 32):
        power *= -x / n
        total += power / (a + n)
    logarithm = a * math.log(x)
    return -math.expm1(logarithm - math.lgamma(a + 1)) - math.exp(logarithm - math.lgamma(a)) * total


def uniform(a: float, x: float, upper: bool) -> float:
    """A function of huge ``a``: that of a normal variable, and a correction."""
    distance = (x - a) / a
    half = distance - math.log1p(distance)
    eta = math.copysign(math.sqrt(2 * half), distance)
    if abs(eta) < 0.1:
        rest = 0.0
        for coefficient in EXPANSION:
            rest = rest * eta + coefficient
    else:
        rest = 1 / distance - 1 / eta
    rest *= math.exp(-a * half) / (ROOT_OF_TWO_PI * math.sqrt(a))
    bend = eta * math.sqrt(a / 2)
    return math.erfc(bend) / 2 + rest if upper else math.erfc(-bend) / 2 - rest
