"""Formula for base**exponent of floats, with C's results for zeros, ones, infinities and NaN.

The logarithm has to be far more precise than the result: float32 computes in float64, float64 in pairs of numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Final, NamedTuple

from opdsl.scalar.mathematics.exponential import DOUBLE, reduce, shifted_power, table
from opdsl.scalar.mathematics.expression import Expression, fma, polynomial, select
from opdsl.scalar.mathematics.logarithm import split
from opdsl.scalar.types import ScalarType

__all__ = ["FLOATING"]

TWO_THIRDS: Final = (0.6666666666666666, 3.7007434154171886e-17)
LOG2: Final = (0.6931471805598903, 5.497923018708371e-14)  # the product of the first part and an exponent is exact


class Pair(NamedTuple):
    """Number in two parts that do not overlap, whose unrounded sum it is (double-double arithmetic)."""

    high: Expression
    low: Expression


def _sum(large: Expression, small: Expression) -> Pair:
    """Return ``large + small`` exactly; ``large`` has the larger magnitude, or is 0."""
    high = large + small
    return Pair(high, small - (high - large))


def _product(first: Pair, second: Pair) -> Pair:
    """Return the product to about twice the precision of float64."""
    high = first.high * second.high
    low = fma(first.high, second.high, -high)
    return Pair(high, fma(first.high, second.low, fma(first.low, second.high, low)))


def _logarithm(x: Expression) -> Pair:
    """Return log(x) to 65 bits or so, for positive finite float64."""
    e, f = split(x)
    below = f + 2.0
    inverse = 1.0 / below
    s = f * inverse
    rest = fma(s, -below, f) - s * (f - (below - 2.0))
    ratio = Pair(s, rest * inverse)  # log(x) = e*log(2) + log((1 + ratio) / (1 - ratio))
    square = _product(ratio, ratio)
    tail = polynomial(square.high, table("log_ratio_tail", x)) * square.high
    factor = _sum(x.constant(TWO_THIRDS[0]), tail)
    factor = Pair(factor.high, factor.low + TWO_THIRDS[1])
    cube = _product(_product(ratio, square), factor)
    first = _sum(e * LOG2[0], s + s)
    second = _sum(first.high, cube.high)
    low = fma(e, LOG2[1], first.low + second.low + (cube.low + 2.0 * ratio.low))
    return _sum(second.high, low)


def _magnitude_double(base: Expression, exponent: Expression) -> Expression:
    """Return ``base**exponent`` in float64 for positive finite bases."""
    logarithm = _logarithm(base)
    product = exponent * logarithm.high
    low = fma(exponent, logarithm.low, fma(exponent, logarithm.high, -product))
    bounded = select(product > -760.0, select(product < 720.0, product, 720.0), -760.0)
    low = select(bounded.equals(product), low, 0.0)
    _, n = reduce(bounded)
    r = fma(n, -DOUBLE.log2_high, bounded)
    r = fma(n, -DOUBLE.log2_low, r + low)
    p = fma(polynomial(r, table("exp", base)), r * r, r) + 1.0
    half = (n * 0.5).apply("floor")  # scale in two steps, as the result may be denormal or infinite
    rest = n - half
    magic = DOUBLE.magic + DOUBLE.bias
    return p * shifted_power(half + magic) * shifted_power(rest + magic)


def _magnitude_single(base: Expression, exponent: Expression) -> Expression:
    """Return ``base**exponent`` in float32 for positive finite bases, by way of float64."""
    x, y = base.cast(ScalarType.FLOAT64), exponent.cast(ScalarType.FLOAT64)
    bits = x.bits()
    binade = (bits - 0x3FE6A09E667F3BCD) & -(1 << DOUBLE.mantissa)
    f = (bits - binade).from_bits() - 1.0
    shifted = (binade >> DOUBLE.mantissa) + 0x4338000000000000
    e = shifted.from_bits() - DOUBLE.magic
    s = f / (f + 2.0)
    logarithm = fma(polynomial(s * s, table("log2_ratio", x)), s, e)
    product = y * logarithm
    bounded = select(product > -160.0, select(product < 140.0, product, 140.0), -160.0)
    t = bounded + (DOUBLE.magic + DOUBLE.bias)
    r = bounded - (t - (DOUBLE.magic + DOUBLE.bias))
    return (polynomial(r, table("exp2_short", x)) * shifted_power(t)).cast(ScalarType.FLOAT32)


def power(base: Expression, exponent: Expression) -> Expression:
    """Return C's ``pow(base, exponent)``."""
    a = abs(base)
    magnitude = (_magnitude_double if base.is_double else _magnitude_single)(a, exponent)
    falls = exponent < 0.0
    zero, infinite = a.equals(0.0), a.equals(inf)
    magnitude = select(zero, select(falls, a.constant(inf), 0.0), magnitude)
    magnitude = select(infinite, select(falls, a.constant(0.0), inf), magnitude)
    magnitude = select(a.equals(1.0), 1.0, magnitude)
    undefined = base.differs(base) | exponent.differs(exponent)
    magnitude = select(undefined, base + exponent, magnitude)
    magnitude = _signed(base, exponent, magnitude, (base < 0.0) & (a < inf))
    return select(exponent.equals(0.0) | base.equals(1.0), 1.0, magnitude)


def _signed(base: Expression, exponent: Expression, magnitude: Expression, negative: Expression) -> Expression:
    """Negate the power for a negative base and an odd exponent; return NaN if the exponent is not an integer."""
    half = exponent * 0.5
    whole = exponent.apply("round").equals(exponent)
    odd = whole & half.apply("round").differs(half)
    signed = select(odd & (base.bits() < 0), -magnitude, magnitude)
    return select(negative & ~whole & exponent.equals(exponent), signed.constant(nan), signed)


FLOATING: Final[dict[str, Callable[..., Expression]]] = {"power": power}
