"""Orthogonal polynomials whose degree is an operand: Chebyshev, Hermite, Laguerre, Legendre.

Chebyshev polynomials are computed by trigonometric functions within [-1, 1] and by hyperbolic ones outside (DLMF 18.5,
with ``x = cos(t)`` and ``abs(x) = cosh(t)``); those of low degree, and the other families, by recurrences (DLMF 18.9).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from opdsl import primitives
from opdsl.aten._shared.entries import documented
from opdsl.aten.special.entropy import SPECIAL, number_overload
from opdsl.aten.special.series import is_double
from opdsl.declare import formula, op
from opdsl.runtime import Tensor


def declare(name: str, doc: str, function: Callable[[Any, Any], Any]) -> None:
    """Declare the operator of a family of polynomials, with overloads in which the argument or the degree is a
    number.
    """
    packet = f"special_{name}"

    elements = primitives.elements(function, promote="int_to_float", dtypes=("float32", "float64"))

    @op(f"aten::{packet}", tags="pointwise", out=True, **SPECIAL)
    @documented(doc)
    @formula
    def polynomial(x: Tensor, n: Tensor) -> Tensor:
        return elements(x, n)

    polynomial.non_differentiable("x", "n")
    polynomial.number_overload("x", "x_scalar", **number_overload(packet, "x_scalar"))
    polynomial.number_overload("n", "n_scalar", **number_overload(packet, "n_scalar"))


# Up to this degree the recurrence is faster than trigonometric functions, and exact for small integers.
DIRECT = 16


class Chebyshev(NamedTuple):
    """Kind of Chebyshev polynomials.

    doc: its description, for docstrings.
    first: the coefficients of x and of 1 in the polynomial of degree 1.
    shift: is added to the degree in the angle.
    divides: whether the wave of that angle is divided by the wave of ``shift * t``.
    odd: whether the waves are sines instead of cosines.
    """

    doc: str
    first: tuple[float, float]
    shift: float
    divides: bool
    odd: bool


KINDS = {
    "t": Chebyshev(
        "Return Chebyshev's polynomial of the first kind, of degree ``n``", (1.0, 0.0), 0.0, divides=False, odd=False
    ),
    "u": Chebyshev(
        "Return Chebyshev's polynomial of the second kind, of degree ``n``", (2.0, 0.0), 1.0, divides=True, odd=True
    ),
    "v": Chebyshev(
        "Return Chebyshev's polynomial of the third kind, of degree ``n``", (2.0, -1.0), 0.5, divides=True, odd=False
    ),
    "w": Chebyshev(
        "Return Chebyshev's polynomial of the fourth kind, of degree ``n``", (2.0, 1.0), 0.5, divides=True, odd=True
    ),
}
# The kind of the polynomial at -x, up to its sign.
MIRRORED = {"t": "t", "u": "u", "v": "w", "w": "v"}


def low_degree(kind: str, x: Any, degree: Any) -> Any:
    factor, summand = KINDS[kind].first
    before, now, k = 1.0, factor * x + summand, 1.0
    for _ in range(DIRECT):
        if not k < degree:
            break
        before, now = now, 2.0 * x * now - before
        k += 1
    return 1.0 if degree == 0 else now


def waves(kind: str, t: Any, degree: Any, is_circular: bool) -> Any:
    """Return the Chebyshev polynomial of ``cos(t)``: ``cos(n*t)``, ``sin((n + 1)*t) / sin(t)`` and so on; or of
    ``cosh(t)``.
    """
    _, _, shift, divides, odd = KINDS[kind]
    wave = wave_of((degree + shift) * t, odd, is_circular)
    return wave / wave_of(shift * t, odd, is_circular) if divides else wave


def wave_of(angle: Any, odd: bool, is_circular: bool) -> Any:
    if is_circular:
        return math.sin(angle) if odd else math.cos(angle)
    return math.sinh(angle) if odd else math.cosh(angle)


def beyond(kind: str, x: Any, degree: Any) -> Any:
    return waves(kind, math.acosh(x), degree, is_circular=False)


def at_one(kind: str, degree: Any) -> Any:
    _, _, shift, divides, odd = KINDS[kind]
    return (degree + shift) / shift if divides and odd else 1.0


def chebyshev(kind: str, shifted: bool) -> Callable[[Any, Any], Any]:
    """Return the scalar function of a kind of Chebyshev polynomials; shifted ones are orthogonal on [0, 1]."""

    def chebyshev_scalar_function(x: Any, n: Any) -> Any:
        at = 2.0 * x - 1.0 if shifted else x
        degree = math.trunc(n)
        sign = 1.0 if degree % 2.0 == 0.0 else -1.0
        edge = at_one(kind, degree) if at > 0 else sign * at_one(MIRRORED[kind], degree)
        far = beyond(kind, at, degree) if at > 0 else sign * beyond(MIRRORED[kind], -at, degree)
        high = edge if abs(at) == 1.0 else waves(kind, math.acos(at), degree, True) if abs(at) < 1.0 else far
        polynomial = low_degree(kind, at, degree) if degree <= DIRECT else high
        return 0.0 if degree < 0 else polynomial

    return chebyshev_scalar_function


for prefix, shifted in (("", False), ("shifted_", True)):
    for kind in KINDS:
        doc = f"{KINDS[kind].doc}, at {'``2 * x - 1``' if shifted else '``x``'}."
        declare(f"{prefix}chebyshev_polynomial_{kind}", doc, chebyshev(kind, shifted))

# ------------------------------------------------------------------------------------------ Hermite, Laguerre, Legendre


class Recurrence(NamedTuple):
    """Family of polynomials that is computed by a recurrence over the degrees.

    doc: its description, for docstrings.
    first: the polynomial of degree 1.
    step: the polynomial of degree k + 1 from x, k, and those of degrees k and k - 1.
    most: the largest degrees in float64 and float32, beyond which the result is NaN, as in PyTorch; None for no limit.
    """

    doc: str
    first: Callable[[Any], Any]
    step: Callable[[Any, Any, Any, Any], Any]
    most: tuple[int, int] | None


HERMITE_MOST = (512, 128)
RECURRENCES = {
    "hermite_polynomial_h": Recurrence(
        "Return the physicists' Hermite polynomial of degree ``n``, at ``x``.",
        lambda x: 2 * x,
        lambda x, k, now, before: 2 * x * now - 2 * k * before,
        HERMITE_MOST,
    ),
    "hermite_polynomial_he": Recurrence(
        "Return the probabilists' Hermite polynomial of degree ``n``, at ``x``.",
        lambda x: x,
        lambda x, k, now, before: x * now - k * before,
        HERMITE_MOST,
    ),
    "laguerre_polynomial_l": Recurrence(
        "Return Laguerre's polynomial of degree ``n``, at ``x``.",
        lambda x: 1 - x,
        lambda x, k, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1),
        None,
    ),
    "legendre_polynomial_p": Recurrence(
        "Return Legendre's polynomial of degree ``n``, at ``x``.",
        lambda x: x,
        lambda x, k, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1),
        None,
    ),
}


def climbing(recurrence: Recurrence) -> Callable[[Any, Any], Any]:
    """Return the scalar function of a family of polynomials, which applies its recurrence."""
    _, first, step, most = recurrence
    # Degrees are counted in the dtype itself, up to where it represents all integers.
    wide, narrow = most or (1 << 53, 1 << 24)

    def polynomial_scalar_function(x: Any, n: Any) -> Any:
        highest = wide if is_double(x) else narrow
        degree = math.trunc(n) if abs(n) < 2.0**63 else -1.0  # degrees outside of int64 are invalid
        is_beyond = degree > highest
        last = (highest if most is None else 0.0) if is_beyond else degree
        before, now, k = 1.0, first(x), 1.0
        for _ in range(wide):
            if not k < last:
                break
            before, now = now, step(x, k, now, before)
            k += 1
        low = 1.0 if degree == 0 else 0.0
        number = low if degree < 1 else now
        return number if most is None else math.nan if is_beyond else number

    return polynomial_scalar_function


for name, recurrence in RECURRENCES.items():
    declare(name, recurrence.doc, climbing(recurrence))
