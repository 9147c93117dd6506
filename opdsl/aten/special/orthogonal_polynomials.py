"""Orthogonal polynomials of a degree that is an operand, too.

Chebyshev's are trigonometric functions within [-1, 1] and hyperbolic ones beyond it (DLMF 18.5, with ``x = cos(t)`` and
``abs(x) = cosh(t)``); those of a low degree, and those of the other families, come from their recurrences (DLMF 18.9).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from opdsl.aten.special.entropy import UNCHECKED, number_overload
from opdsl.declare import op
from opdsl.runtime import Tensor
from opdsl.schema.vocabulary import Scalar

FLOATS = ("float32", "float64")
POLYNOMIAL: dict[str, Any] = {**UNCHECKED, "tags": "pointwise"}


class Family(NamedTuple):
    """The overloads of one family."""

    tensors: Any
    number_x: Any
    number_n: Any


def declared(name: str, **options: Any) -> Family:
    """Declare a family for tensors, and for a number as the argument or as the degree."""
    packet = f"special_{name}"

    @op(f"aten::{packet}", **POLYNOMIAL, **options)
    def polynomial(x: Tensor, n: Tensor) -> Tensor: ...

    @polynomial.overload("x_scalar", **number_overload(packet, "x_scalar"))
    def polynomial_of_number(x: Scalar, n: Tensor) -> Tensor: ...

    @polynomial.overload("n_scalar", **number_overload(packet, "n_scalar"))
    def polynomial_of_degree(x: Tensor, n: Scalar) -> Tensor: ...

    polynomial.non_differentiable("x", "n")
    polynomial_of_number.non_differentiable("n")
    polynomial_of_degree.non_differentiable("x")
    return Family(polynomial, polynomial_of_number, polynomial_of_degree)


# ------------------------------------------------------------------------------------------------------- Chebyshev's

# Up to this degree the recurrence is shorter than the functions, and exact for small whole numbers.
DIRECT = 16


class Chebyshev(NamedTuple):
    """A kind of Chebyshev's polynomials: how the first one depends on x, and the values at 1 and at -1 by the degree.

    first: the coefficients of x and of 1 in the polynomial of degree 1.
    shift: what is added to the degree in the angle.
    divides: whether the wave of that angle is divided by that of the first angle, ``shift * t``.
    odd: whether the waves are sines.
    """

    first: tuple[float, float]
    shift: float
    divides: bool
    odd: bool


KINDS = {
    "t": Chebyshev((1.0, 0.0), 0.0, divides=False, odd=False),
    "u": Chebyshev((2.0, 0.0), 1.0, divides=True, odd=True),
    "v": Chebyshev((2.0, -1.0), 0.5, divides=True, odd=False),
    "w": Chebyshev((2.0, 1.0), 0.5, divides=True, odd=True),
}
# What a kind becomes with the other sign of x, up to its sign.
MIRRORED = {"t": "t", "u": "u", "v": "w", "w": "v"}


def low_degree(kind: str) -> Callable[[Any, Any], Any]:
    factor, summand = KINDS[kind].first

    def low_degree_scalar_function(x: Any, degree: Any) -> Any:
        before, now, k = 1.0, factor * x + summand, 1.0
        for _ in range(DIRECT):
            if not k < degree:
                break
            before, now = now, 2.0 * x * now - before
            k += 1
        return 1.0 if degree == 0 else now

    return low_degree_scalar_function


def within(kind: str) -> Callable[[Any, Any], Any]:
    """Within [-1, 1]: ``cos(n*t)``, ``sin((n + 1)*t) / sin(t)`` and so on."""
    _, shift, divides, odd = KINDS[kind]

    def waves_scalar_function(x: Any, degree: Any) -> Any:
        t = math.acos(x)
        angle = (degree + shift) * t
        wave = math.sin(angle) if odd else math.cos(angle)
        first = (math.sin(shift * t) if odd else math.cos(shift * t)) if divides else 1.0
        return wave / first

    return waves_scalar_function


def beyond(kind: str) -> Callable[[Any, Any], Any]:
    """Beyond 1: hyperbolic functions for the circular ones."""
    _, shift, divides, odd = KINDS[kind]

    def hyperbolic_scalar_function(x: Any, degree: Any) -> Any:
        t = math.acosh(x)
        angle = (degree + shift) * t
        wave = math.sinh(angle) if odd else math.cosh(angle)
        first = (math.sinh(shift * t) if odd else math.cosh(shift * t)) if divides else 1.0
        return wave / first

    return hyperbolic_scalar_function


def at_one(kind: str) -> Callable[[Any], Any]:
    _, shift, divides, odd = KINDS[kind]
    grows = divides and odd

    def edge_scalar_function(degree: Any) -> Any:
        return (degree + shift) / shift if grows else 1.0

    return edge_scalar_function


def chebyshev(kind: str, shifted: bool) -> Callable[[Any, Any], Any]:
    """The scalar function of a kind; shifted ones live on [0, 1]."""
    small, inside, outside = low_degree(kind), within(kind), beyond(kind)
    mirrored = beyond(MIRRORED[kind])
    one, minus_one = at_one(kind), at_one(MIRRORED[kind])

    def chebyshev_scalar_function(x: Any, n: Any) -> Any:
        at = 2.0 * x - 1.0 if shifted else x
        degree = math.trunc(n)
        sign = 1.0 if degree % 2.0 == 0.0 else -1.0
        edge = one(degree) if at > 0 else sign * minus_one(degree)
        far = outside(at, degree) if at > 0 else sign * mirrored(-at, degree)
        high = edge if abs(at) == 1.0 else inside(at, degree) if abs(at) < 1.0 else far
        found = small(at, degree) if degree <= DIRECT else high
        return 0.0 if degree < 0 else found

    return chebyshev_scalar_function


for prefix, shifted in (("", False), ("shifted_", True)):
    for kind in KINDS:
        family = declared(f"{prefix}chebyshev_polynomial_{kind}", out=True)
        function = chebyshev(kind, shifted)
        family.tensors.pointwise(promote="int_to_float", dtypes=FLOATS)(function)
        family.number_x.pointwise(promote="int_to_float", dtypes=FLOATS, wrapped="x")(function)
        family.number_n.pointwise(promote="int_to_float", dtypes=FLOATS, wrapped="n")(function)

# ---------------------------------------------------------------------------------- Hermite's, Laguerre's, Legendre's


class Recurrence(NamedTuple):
    """A family whose degrees are reached one after another.

    first: the polynomial of degree 1.
    step: the polynomial of degree k + 1 from x, k, and those of the degrees k and k - 1.
    most: beyond these degrees, of float32 and float64, there is NaN, as in PyTorch; None for all.
    """

    first: Callable[[Any], Any]
    step: Callable[[Any, Any, Any, Any], Any]
    most: tuple[int, int] | None


def hermite_h(x: Any, k: Any, now: Any, before: Any) -> Any:
    return 2 * x * now - 2 * k * before


def hermite_he(x: Any, k: Any, now: Any, before: Any) -> Any:
    return x * now - k * before


def laguerre(x: Any, k: Any, now: Any, before: Any) -> Any:
    return ((2 * k + 1 - x) * now - k * before) / (k + 1)


def legendre(x: Any, k: Any, now: Any, before: Any) -> Any:
    return ((2 * k + 1) * x * now - k * before) / (k + 1)


HERMITE_MOST = (128, 512)
RECURRENCES = {
    "hermite_polynomial_h": Recurrence(lambda x: 2 * x, hermite_h, HERMITE_MOST),
    "hermite_polynomial_he": Recurrence(lambda x: x, hermite_he, HERMITE_MOST),
    "laguerre_polynomial_l": Recurrence(lambda x: 1 - x, laguerre, None),
    "legendre_polynomial_p": Recurrence(lambda x: x, legendre, None),
}
# Whole numbers are counted in the dtype itself, up to here.
COUNTED = (1 << 24, 1 << 53)


def climbing(recurrence: Recurrence, precision: int) -> Callable[[Any, Any], Any]:
    """The scalar function of a family, for float32 (0) or float64 (1)."""
    first, step, most = recurrence
    highest = COUNTED[precision] if most is None else most[precision]
    has_limit = most is not None

    def polynomial_scalar_function(x: Any, n: Any) -> Any:
        degree = math.trunc(n) if abs(n) < 2.0**63 else -1.0  # what is no int64 has no polynomial
        last = 0.0 if has_limit and degree > highest else degree
        before, now, k = 1.0, first(x), 1.0
        for _ in range(highest):
            if not k < last:
                break
            before, now = now, step(x, k, now, before)
            k += 1
        low = 1.0 if degree == 0 else 0.0
        found = low if degree < 1 else now
        return (math.nan if degree > highest else found) if has_limit else found

    return polynomial_scalar_function


for name, recurrence in RECURRENCES.items():
    family = declared(name, out=True)
    for precision, dtype in enumerate(FLOATS):
        function = climbing(recurrence, precision)
        family.tensors.pointwise(promote="int_to_float", dtypes=(dtype,))(function)
        family.number_x.pointwise(promote="int_to_float", dtypes=(dtype,), wrapped="x")(function)
        family.number_n.pointwise(promote="int_to_float", dtypes=(dtype,), wrapped="n")(function)
