"""Functions that scalar functions may call beside ``math``; called outside of one, they work on Python numbers."""

from __future__ import annotations

__all__ = ["fma"]


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
