"""Tables of the formulas for all operations that have one, and of their accuracy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from opdsl.scalar.mathematics import (
    arithmetic,
    complex_functions,
    complex_numbers,
    error_function,
    exponential,
    gamma,
    hyperbolic,
    inverse,
    logarithm,
    powers,
    trigonometric,
)
from opdsl.scalar.mathematics.complex_numbers import Part
from opdsl.scalar.mathematics.expression import Expression

__all__ = ["ACCURACY", "COMPLEX", "FLOATING", "INTEGERS"]

INTEGERS: Final[dict[str, Callable[..., Expression]]] = arithmetic.INTEGERS

FLOATING: Final[dict[str, Callable[..., Expression]]] = {
    **arithmetic.FLOATING,
    **exponential.FLOATING,
    **logarithm.FLOATING,
    **error_function.FLOATING,
    **gamma.FLOATING,
    **hyperbolic.FLOATING,
    **inverse.FLOATING,
    **powers.FLOATING,
    **trigonometric.FLOATING,
}

# All operations of complex numbers, besides parameters, constants and casts.
COMPLEX: Final[dict[str, Callable[..., Part]]] = {**complex_numbers.FORMULAS, **complex_functions.FORMULAS}

# Largest error in units in the last place, over all arguments; tests check it against mpmath.
ACCURACY: Final[dict[str, dict[str, float]]] = {
    name: {"float32": single, "float64": double}
    for name, single, double in (
        ("exp", 1.05, 1.0),
        ("exp2", 0.9, 0.95),
        ("expm1", 1.35, 1.35),
        ("log", 0.95, 0.9),
        ("log2", 1.35, 0.95),
        ("log10", 1.4, 0.9),
        ("log1p", 1.5, 1.45),
        ("tanh", 1.1, 1.1),
        ("sinh", 1.5, 1.75),
        ("cosh", 1.8, 1.55),
        ("asinh", 1.9, 1.75),
        ("acosh", 2.2, 2.1),
        ("atanh", 2.1, 2.0),
        ("hypot", 0.501, 0.501),
        ("erf", 1.1, 1.0),
        ("erfc", 2.15, 1.5),
        ("lgamma", 3.2, 3.2),
        ("sin", 1.6, 0.9),
        ("cos", 1.6, 0.9),
        ("tan", 2.4, 2.4),
        ("asin", 1.2, 1.3),
        ("acos", 0.8, 0.85),
        ("atan", 1.35, 1.7),
        ("atan2", 1.5, 1.7),
        ("power", 0.6, 1.15),
    )
}
