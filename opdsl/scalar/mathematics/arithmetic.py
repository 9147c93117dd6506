"""Formulas for division, remainders, integer powers, shifts and predicates, from operations that every machine has."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import Final

from opdsl.scalar.formats import NARROW, FloatFormat
from opdsl.scalar.mathematics.expression import Expression, fma, rare, select
from opdsl.scalar.types import INTEGER, ScalarType

__all__ = ["FLOATING", "INTEGERS"]


def floor_divide(first: Expression, second: Expression) -> Expression:
    """Return the quotient rounded down. Integers divided by 0 give 0; floats follow PyTorch's
    ``div_floor_floating``.
    """
    if first.type.category == INTEGER:
        quotient, remainder = _divide_integers(first, second)
        return select(_signs_differ(remainder, second), quotient - 1, quotient)
    modulus = fmod(first, second)
    quotient = (first - modulus) / second
    quotient = select(_signs_differ(modulus, second), quotient - 1, quotient)
    floor = quotient.apply("floor")
    floor = select(quotient - floor > 0.5, floor + 1, floor)
    exact = first / second
    floor = select(quotient.differs(0), floor, first.constant(0.0).copysign(exact))
    return select(second.equals(0), exact, floor)


def remainder(first: Expression, second: Expression) -> Expression:
    """Return the remainder with the divisor's sign; integers divided by 0 give 0."""
    if first.type.category == INTEGER:
        _, rest = _divide_integers(first, second)
    else:
        rest = fmod(first, second)
    return select(_signs_differ(rest, second), rest + second, rest)


def fmod(first: Expression, second: Expression) -> Expression:
    """Return the exact remainder with the dividend's sign; integers divided by 0 give 0.

    Where a quotient of floats is below 2**mantissa, rounding it gives the right integer or the next one: the fused
    remainder is exact, and adding the divisor corrects it. Larger quotients are left to the C library, as are infinite
    divisors. Operands whose result is NaN do not need it, so that a NaN or a zero among the divisors of a block costs
    nothing.
    """
    if first.type.category == INTEGER:
        return _divide_integers(first, second)[1]
    dividend, divisor = abs(first), abs(second)
    quotient = (dividend / divisor).apply("trunc")
    rest = fma(quotient, -divisor, dividend)
    rest = select(rest < 0.0, rest + divisor, rest).copysign(first)
    far = (dividend >= divisor * 2.0 ** (52 if first.is_double else 23)) & (divisor > 0.0)
    return rare(far | divisor.equals(inf), first.apply("fmod", second), rest)


def _signs_differ(rest: Expression, divisor: Expression) -> Expression:
    """Return whether a nonzero remainder and the divisor have different signs."""
    return rest.differs(0) & ((divisor < 0) ^ (rest < 0))


def _divide_integers(first: Expression, second: Expression) -> tuple[Expression, Expression]:
    """Return the truncated quotient and the remainder, never trapping: by 0 both are 0, and dividing by -1 wraps."""
    zero = second.equals(0)
    unsafe = zero
    if first.type.is_signed:
        minus = second.equals(-1)
        unsafe = zero | minus
    divisor = select(unsafe, 1, second)
    quotient = first.apply("quotient", divisor)
    rest = first - quotient * divisor
    if first.type.is_signed:
        quotient = select(minus, -first, quotient)
    return select(zero, 0, quotient), rest


def power(base: Expression, exponent: Expression) -> Expression:
    """Return an integer power by squaring; a negative exponent gives 1/base truncated (0 for base 0)."""
    constant, square = base.constant(1), base
    for bit in range(base.type.bits - base.type.is_signed):
        taken = (exponent & (1 << bit)).differs(0)
        constant = select(taken, constant * square, constant)
        square = square * square
    if not constant.type.is_signed:
        return constant
    parity = select((exponent & 1).equals(0), constant.constant(1), -1)
    inverse = select(base.equals(1), constant.constant(1), select(base.equals(-1), parity, 0))
    return select(exponent < 0, inverse, constant)


def shift_left(value: Expression, amount: Expression) -> Expression:
    """Shift left; an amount that is negative or not below the width gives 0."""
    inside = _inside(value, amount)
    return select(inside, value << select(inside, amount, 0), 0)


def shift_right(value: Expression, amount: Expression) -> Expression:
    """Shift right; an amount that is negative or not below the width gives all sign bits."""
    inside = _inside(value, amount)
    if not value.type.is_signed:
        return select(inside, value >> select(inside, amount, 0), 0)
    return value >> select(inside, amount, value.type.bits - 1)


def _inside(value: Expression, amount: Expression) -> Expression:
    below = amount < value.type.bits
    return below & (amount >= 0) if amount.type.is_signed else below


def hypot(x: Expression, y: Expression) -> Expression:
    """Return ``sqrt(x*x + y*y)`` without overflow: float32 in float64, float64 scaled by a power of two and
    corrected.
    """
    infinite = isinf(x) | isinf(y)
    if not x.is_double:
        wide_x, wide_y = x.cast(ScalarType.FLOAT64), y.cast(ScalarType.FLOAT64)
        expression = fma(wide_x, wide_x, wide_y * wide_y).apply("sqrt").cast(x.type)
        return select(infinite, inf, expression)
    a, b = abs(x), abs(y)
    larger = select(a > b, a, b)
    grows, falls = larger < 2.0**-450, larger > 2.0**500
    scale = select(grows, x.constant(2.0**600), select(falls, x.constant(2.0**-600), 1.0))
    back = select(grows, x.constant(2.0**-600), select(falls, x.constant(2.0**600), 1.0))
    a, b = a * scale, b * scale
    square_a, square_b = a * a, b * b
    whole = square_a + square_b
    root = whole.apply("sqrt")
    # The rounding errors of both squares, of their sum, and of the root.
    larger, smaller = select(a > b, square_a, square_b), select(a > b, square_b, square_a)
    rest = fma(a, a, -square_a) + fma(b, b, -square_b) + (smaller - (whole - larger)) - fma(root, root, -whole)
    corrected = root + select(root > 0.0, rest / (root + root), 0.0)
    return select(infinite, inf, corrected * back)


def nextafter(x: Expression, y: Expression, step: int = 1) -> Expression:
    """Return the next number after x in the direction of y, by adding or subtracting ``step`` in the bits."""
    bits = x.bits()
    outward = (y > x) ^ (bits < 0)
    moved = (bits + select(outward, bits.constant(step), -step)).from_bits()
    first = bits.constant(step).from_bits().copysign(y)
    return _after(x, y, select(x.equals(0.0), first, moved))


def _after(x: Expression, y: Expression, expression: Expression) -> Expression:
    return select(x.equals(y), y, select(isnan(x) | isnan(y), x + y, expression))


def nextafter_bfloat16(x: Expression, y: Expression) -> Expression:
    """Return the next bfloat16 after x in the direction of y; bfloat16 is the upper half of float32."""
    return nextafter(x, y, 1 << 16)


def nextafter_float16(x: Expression, y: Expression) -> Expression:
    """Return the next float16 after x in the direction of y, in float32: a step of 13 bits, or 2**-24 where float16 is
    denormal.
    """
    bounded = select(abs(x) > 65504.0, x.constant(65536.0).copysign(x), x)
    small = x.constant(2.0**-24)
    outward = (y > x) ^ (x < 0.0)
    edge = (abs(x) < 2.0**-14) | (abs(x).equals(2.0**-14) & ~outward)
    expression = select(edge, x + small.copysign(y - x), nextafter(bounded, y, 1 << 13))
    expression = select(expression.equals(0.0), expression.constant(0.0).copysign(x), expression)
    return _after(x, y, select(abs(expression) > 65504.0, expression.constant(inf).copysign(expression), expression))


def round_to(narrow: FloatFormat, x: Expression) -> Expression:
    """Round float32 to the nearest number of a narrower format, ties to even."""
    bits, dropped = x.bits(), narrow.dropped_bits
    rounded = (bits + ((bits >> dropped) & 1) + ((1 << dropped - 1) - 1)) & -(1 << dropped)
    expression = rounded.from_bits()
    if narrow.rebias:  # numbers become denormal or too large for it earlier than for float32
        a, above = abs(x), inf if narrow.has_infinity else narrow.largest
        expression = select(a < narrow.smallest_normal, ((a + narrow.shift) - narrow.shift).copysign(x), expression)
        is_above = abs(expression) > narrow.largest
        expression = select(is_above, expression.constant(above).copysign(x), expression)
    return select(isnan(x), x, expression)


def isnan(value: Expression) -> Expression:
    """Return whether a value is NaN: not equal to itself."""
    return value.differs(value)


def isinf(value: Expression) -> Expression:
    """Return whether a value is infinite, of either sign."""
    return abs(value).equals(float("inf"))


def isfinite(value: Expression) -> Expression:
    """Return whether a value is neither infinite nor NaN."""
    return abs(value) < float("inf")


_SHARED: Final[dict[str, Callable[..., Expression]]] = {"floor_divide": floor_divide, "remainder": remainder}
INTEGERS: Final = _SHARED | {"power": power, "fmod": fmod, "shift_left": shift_left, "shift_right": shift_right}
FLOATING: Final = _SHARED | {
    "fmod": fmod,
    "hypot": hypot,
    "nextafter": nextafter,
    "nextafter_float16": nextafter_float16,
    "nextafter_bfloat16": nextafter_bfloat16,
    **{f"round_{name}": partial(round_to, narrow) for name, narrow in NARROW.items()},
    "isnan": isnan,
    "isinf": isinf,
    "isfinite": isfinite,
}
