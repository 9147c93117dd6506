"""What scalar functions of special functions are made of: series for both precisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opdsl.scalar.intrinsics import fma

Factory = Callable[[str], Callable[..., Any]]


def evaluate(series: tuple[float, float, tuple[float, ...]], variable: float) -> float:
    """A series of ``opdsl.aten.special.series``, by Horner's rule in fused steps."""
    factor, summand, coefficients = series
    t = fma(variable, factor, summand)
    value = coefficients[0]
    for coefficient in coefficients[1:]:
        value = fma(value, t, coefficient)
    return value


def in_both_precisions(operator: Any, *, narrow: bool = False) -> Callable[[Factory], Factory]:
    """Attaches the scalar functions that a factory makes for float64 and for float32.

    Args:
        operator: takes floating-point numbers, and integers as such.
        narrow: whether there are 16-bit numbers too, which are computed in float32.
    """

    def attach(factory: Factory) -> Factory:
        operator.pointwise(promote="int_to_float", dtypes="float64")(factory("float64"))
        operator.pointwise(promote="int_to_float", dtypes="floating" if narrow else "float32")(factory("float32"))
        return factory

    return attach
