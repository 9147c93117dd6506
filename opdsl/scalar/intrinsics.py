"""Intrinsic functions that scalar functions may call besides those of ``math``; elsewhere they work on Python numbers.

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
    """Return ``x * y + z``, rounded once.

    x, y: factors.
    z: the summand.

    >>> fma(0.1, 10.0, -1.0)
    5.551115123125783e-17
    """
    from fractions import Fraction  # imported late: slow to import, and not needed while tracing

    try:
        return float(Fraction(x) * Fraction(y) + Fraction(z))
    except (OverflowError, ValueError):  # infinities and NaN
        return x * y + z


def conjugate(z: complex) -> complex:
    """Return the complex conjugate of a number; a real number is returned itself.

    Args:
        z: any number.

    >>> conjugate(1 + 2j)
    (1-2j)
    """
    return z.conjugate()


def double(x: float) -> float:
    """Convert ``x`` to float64, so that results computed from it are float64, too.

    Args:
        x: the number.

    >>> double(3)
    3.0
    """
    return float(x)


def rounded(x: float) -> float:
    """Round ``x`` to its dtype: numbers of 16-bit dtypes are computed in float32, and rounded to 16 bits by this
    function.

    Args:
        x: the number.

    >>> rounded(0.1)
    0.1
    """
    return x


def largest(x: float) -> float:
    """Return the largest finite number of the dtype of ``x``; for a Python float that of float64.

    Args:
        x: a number of the dtype.

    >>> largest(1.0)
    1.7976931348623157e+308
    """
    return 1.7976931348623157e308


def trunc_divide(x: float, y: float) -> float:
    """Return ``x / y``, rounded towards zero; integers are divided exactly.

    x: the numerator.
    y: the divisor.

    >>> trunc_divide(-7, 2), trunc_divide(-7.0, 2.0)
    (-3, -3.0)
    """
    if isinstance(x, int) and isinstance(y, int):
        return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return float(int(x / y))


def row_sum(x: float) -> float:
    """Return the sum of ``x`` over the elements of a row, in an order that depends on the row's length alone.

    Args:
        x: the value for each element.

    >>> from opdsl.scalar.intrinsics import row_max, row_mean, row_min, row_sum
    >>> row_sum(3.0)
    3.0
    """
    return x


def row_mean(x: float) -> float:
    """Return the mean of ``x`` over the elements of a row.

    Args:
        x: the value for each element.

    >>> from opdsl.scalar.intrinsics import row_max, row_mean, row_min, row_sum
    >>> row_mean(3.0)
    3.0
    """
    return x


def row_max(x: float) -> float:
    """Return the largest ``x`` of the elements of a row; NaN if one is NaN.

    Args:
        x: the value for each element.

    >>> from opdsl.scalar.intrinsics import row_max, row_mean, row_min, row_sum
    >>> row_max(3.0)
    3.0
    """
    return x


def row_min(x: float) -> float:
    """Return the smallest ``x`` of the elements of a row; NaN if one is NaN.

    Args:
        x: the value for each element.

    >>> from opdsl.scalar.intrinsics import row_max, row_mean, row_min, row_sum
    >>> row_min(3.0)
    3.0
    """
    return x


def row_count(x: float) -> float:
    """Return the number of elements of a row, as a floating-point number of the dtype of ``x``.

    Args:
        x: any value of an element; only its dtype matters.

    >>> from opdsl.scalar.intrinsics import row_count
    >>> row_count(3.0)
    1.0
    """
    return 1.0


def row_index(x: float) -> int:
    """Return the index of an element in its row, from 0 on.

    Args:
        x: any value of the element; it does not matter.

    >>> from opdsl.scalar.intrinsics import row_index
    >>> row_index(3.0)
    0
    """
    return 0
