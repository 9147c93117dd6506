"""Functions that scalar functions may call beside ``math``; called outside of one, they work on Python numbers.

Those named ``row_`` are for row definitions: they fold all elements of a row. A Python number is a row of
one element.
"""

from __future__ import annotations

__all__ = [
    "conjugate",
    "double",
    "fma",
    "largest",
    "rounded",
    "row_count",
    "row_index",
    "row_max",
    "row_mean",
    "row_min",
    "row_sum",
    "trunc_divide",
]


def fma(x: float, y: float, z: float) -> float:
    """``x * y + z``, rounded once.

    x, y: factors.
    z: what is added.

    >>> fma(0.1, 10.0, -1.0)
    5.551115123125783e-17
    """
    from fractions import Fraction  # heavy, and not needed while reading

    try:
        return float(Fraction(x) * Fraction(y) + Fraction(z))
    except (OverflowError, ValueError):  # infinities and NaN
        return x * y + z


def conjugate(z: complex) -> complex:
    """The complex conjugate; a real number itself.

    Args:
        z: any number.

    >>> conjugate(1 + 2j)
    (1-2j)
    """
    return z.conjugate()


def double(x: float) -> float:
    """``x`` in float64, whatever its dtype is; what is computed with it is, too.

    Args:
        x: the number.

    >>> double(3)
    3.0
    """
    return float(x)


def rounded(x: float) -> float:
    """``x`` as its dtype holds it: numbers of 16 bits are computed in float32, and rounded here.

    Args:
        x: the number.

    >>> rounded(0.1)
    0.1
    """
    return x


def largest(x: float) -> float:
    """The largest finite number of the dtype of ``x``; of a Python float, that of float64.

    Args:
        x: of the dtype.

    >>> largest(1.0)
    1.7976931348623157e+308
    """
    return 1.7976931348623157e308


def trunc_divide(x: float, y: float) -> float:
    """``x / y``, rounded towards zero; integers are divided exactly.

    x: the numerator.
    y: the divisor.

    >>> trunc_divide(-7, 2), trunc_divide(-7.0, 2.0)
    (-3, -3.0)
    """
    if isinstance(x, int) and isinstance(y, int):
        return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return float(int(x / y))


def row_sum(x: float) -> float:
    """The sum of ``x`` over the elements of a row, in an order that depends on the row's length alone.

    Args:
        x: of each element.

    >>> from opdsl.scalar.intrinsics import row_max, row_mean, row_min, row_sum
    >>> row_sum(3.0)
    3.0
    """
    return x


def row_mean(x: float) -> float:
    """The mean of ``x`` over the elements of a row.

    Args:
        x: of each element.

    >>> from opdsl.scalar.intrinsics import row_max, row_mean, row_min, row_sum
    >>> row_mean(3.0)
    3.0
    """
    return x


def row_max(x: float) -> float:
    """The largest ``x`` of a row; NaN where there is one.

    Args:
        x: of each element.

    >>> from opdsl.scalar.intrinsics import row_max, row_mean, row_min, row_sum
    >>> row_max(3.0)
    3.0
    """
    return x


def row_min(x: float) -> float:
    """The smallest ``x`` of a row; NaN where there is one.

    Args:
        x: of each element.

    >>> from opdsl.scalar.intrinsics import row_max, row_mean, row_min, row_sum
    >>> row_min(3.0)
    3.0
    """
    return x


def row_count(x: float) -> float:
    """How many elements a row has, as a floating-point number of the dtype of ``x``.

    Args:
        x: of each element; its value does not matter.

    >>> from opdsl.scalar.intrinsics import row_count
    >>> row_count(3.0)
    1.0
    """
    return 1.0


def row_index(x: float) -> int:
    """The place of an element in its row, from 0 on.

    Args:
        x: of each element; its value does not matter.

    >>> from opdsl.scalar.intrinsics import row_index
    >>> row_index(3.0)
    0
    """
    return 0
