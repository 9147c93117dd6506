"""Polynomial approximations of special functions, and squares of their zeros, read from ``series.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, NamedTuple

from opdsl.scalar.intrinsics import fma, largest

# The arguments from which on the expansions for large arguments are used.
HANKEL_FROM: Final = 5.0
AIRY_FROM: Final = 1.0
AIRY_LEFT_FROM: Final = 4.5

PATH: Final = Path(__file__).with_name("series.json")
_TABLES = json.loads(PATH.read_text(encoding="utf-8"))


class Series(NamedTuple):
    """Polynomial approximation: a factor and a summand that map its interval to [-1, 1], and coefficients, highest
    power first.
    """

    factor: float
    summand: float
    coefficients: tuple[float, ...]


# For each function, in float64 and in float32.
SERIES: Final[dict[str, tuple[Series, Series]]] = {
    name: (Series(**kinds["float64"]), Series(**kinds["float32"])) for name, kinds in _TABLES["series"].items()
}
# Numbers with their rounding errors.
ROOTS: Final[dict[str, tuple[tuple[float, float], tuple[float, float]]]] = {
    name: (tuple(kinds["float64"]), tuple(kinds["float32"])) for name, kinds in _TABLES["roots"].items()
}


def is_double(x: float) -> bool:
    """Return whether a number is a float64; constant while a scalar function is compiled for a dtype."""
    return largest(x) > 1e300


def evaluate(name: str, x: float) -> float:
    """Return the value of the approximation ``name``, in the precision of its argument."""
    wide, narrow = SERIES[name]
    return horner(wide, x) if is_double(x) else horner(narrow, x)


def horner(series: Series, x: float) -> float:
    """Return the value of a polynomial approximation, by Horner's rule with fused multiply-add."""
    factor, summand, coefficients = series
    t = fma(x, factor, summand)
    value = coefficients[0]
    for coefficient in coefficients[1:]:
        value = fma(value, t, coefficient)
    return value
