"""Fit of the polynomial approximations in ``series.json``: ``python -m opdsl.aten.special.series_fit`` writes it again.

Each is the polynomial that interpolates a function of ``TARGETS`` in Chebyshev points, truncated where the rest is less
than half a unit in the last place. Needs mpmath.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
from mpmath import mp, mpf, pi, sqrt

from opdsl.aten.special.series import AIRY_FROM, AIRY_LEFT_FROM, HANKEL_FROM, PATH

Function = Callable[[Any], Any]

mp.dps = 50
POINTS = 72


class Target(NamedTuple):
    """Function of one variable to approximate, and the interval."""

    function: Function
    low: Any
    high: Any


def of_square(function: Function) -> Function:
    """Return an even function as a function of the square of its argument."""
    return lambda z: function(sqrt(z))


def hankel(order: int, sine: bool) -> Function:
    """Return P or Q of DLMF 10.17.3 to 10.17.4 as a function of ``(5 / x)**2``; Q is divided by ``5 / x``."""

    def run(w: Any) -> Any:
        x = HANKEL_FROM / sqrt(w)
        turned = (mpmath.besselj(order, x) + 1j * mpmath.bessely(order, x)) * mpmath.expj(
            -(x - (2 * order + 1) * pi / 4)
        )
        scaled = sqrt(pi * x / 2) * turned
        return scaled.imag * x / HANKEL_FROM if sine else scaled.real

    return run


def zeta_of(x: Any) -> Any:
    """Return the argument of the asymptotic series of Airy functions (DLMF 9.7.1)."""
    return 2 * x ** mpf("1.5") / 3


def airy_right(w: Any) -> Any:
    """Return Ai without its exponential decay, as a function of ``zeta(1) / zeta``."""
    x = (zeta_of(mpf(AIRY_FROM)) / w * 3 / 2) ** (mpf(2) / 3)
    return mpmath.airyai(x) * x ** mpf("0.25") * mpmath.exp(zeta_of(x))


def airy_left(sine: bool) -> Function:
    """Return the function that multiplies the sine or cosine in DLMF 9.7.9, of ``(zeta(4.5) / zeta)**2``.

    For the cosine it is divided by ``zeta(4.5) / zeta``.
    """

    def run(w: Any) -> Any:
        root = sqrt(w)
        x = (zeta_of(AIRY_LEFT_FROM) / root * 3 / 2) ** (mpf(2) / 3)
        angle, first, second = zeta_of(x) + pi / 4, mpmath.airyai(-x), mpmath.airybi(-x)
        factor = mpmath.sin(angle) * first + mpmath.cos(angle) * second
        if not sine:
            factor = (mpmath.sin(angle) * second - mpmath.cos(angle) * first) / root
        return factor * x ** mpf("0.25")

    return run


def scaled_erfc(t: Any) -> Any:
    """Return ``e**(x*x) * erfc(x) * (x + 1/2)`` as a function of ``(x - 4) / (x + 4)``."""
    x = 4 * (1 + t) / (1 - t)
    if x > 200:  # DLMF 7.12.1
        total = sum((-1) ** k * mpmath.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(12))
        return total / (x * sqrt(pi)) * (x + mpf(1) / 2)
    return mpmath.erfc(x) * mpmath.exp(x * x) * (x + mpf(1) / 2)


def quantile(s: Any) -> Any:
    """Return the normal quantile of the probability ``e**(-s*s/2)``: by how many deviations it is below the mean."""
    wanted = -s * s / 2
    guess = s - (mpmath.log(s) + mpmath.log(2 * pi) / 2) / s
    return mpmath.findroot(lambda x: mpmath.log(mpmath.erfc(x / sqrt(2)) / 2) - wanted, guess)


def quantile_tail(v: Any) -> Any:
    """Return the rest of the normal quantile after its leading terms, as a function of ``1 / s``."""
    s = 1 / v
    return (s - quantile(s)) * s - mpmath.log(s)


def quantile_center(square: Any) -> Any:
    """Return the normal quantile of ``1/2 + y`` divided by y, as a function of ``y*y``."""
    y = sqrt(square)
    return sqrt(2) * mpmath.erfinv(2 * y) / y


def scaled(function: Callable[..., Any], order: int, sign: int, start: int) -> Function:
    """Return ``sqrt(x) * e**(sign * x)`` times a modified Bessel function, as a function of ``start / x``."""

    def run(w: Any) -> Any:
        x = start / w
        return sqrt(x) * mpmath.exp(sign * x) * function(order, x)

    return run


def k_near_zero(order: int) -> Function:
    """Return the function that computes K0, or ``x * K1``, without its logarithmic term."""

    def run(x: Any) -> Any:
        logarithm = mpmath.log(x / 2) * mpmath.besseli(order, x)
        return mpmath.besselk(0, x) + logarithm if order == 0 else x * (mpmath.besselk(1, x) - logarithm)

    return run


def root_of(order: int) -> Any:
    """Return the square of the first zero of a Bessel function J."""
    return mpmath.besseljzero(order, 1) ** 2


def y_near_zero(order: int) -> Function:
    """Return Y0 without its logarithmic term, or ``Y1 / x`` without its logarithmic term and its pole."""

    def run(x: Any) -> Any:
        smooth = mpmath.bessely(order, x) - 2 / pi * mpmath.log(x) * mpmath.besselj(order, x)
        return smooth if order == 0 else (smooth + 2 / (pi * x)) / x

    return run


SQUARE = HANKEL_FROM**2
TARGETS: dict[str, Target] = {
    "J0": Target(of_square(lambda x: mpmath.besselj(0, x) / (x * x - root_of(0))), 0, SQUARE),
    "J1": Target(of_square(lambda x: mpmath.besselj(1, x) / x / (x * x - root_of(1))), 0, SQUARE),
    "Y0": Target(of_square(y_near_zero(0)), 0, SQUARE),
    "Y1": Target(of_square(y_near_zero(1)), 0, SQUARE),
    "P0": Target(hankel(0, False), 0, 1),
    "Q0": Target(hankel(0, True), 0, 1),
    "P1": Target(hankel(1, False), 0, 1),
    "Q1": Target(hankel(1, True), 0, 1),
    "I0_NEAR": Target(lambda x: mpmath.exp(-x) * mpmath.besseli(0, x), 0, 8),
    "I0_FAR": Target(scaled(mpmath.besseli, 0, -1, 8), 0, 1),
    "I1_NEAR": Target(lambda x: mpmath.exp(-x) * mpmath.besseli(1, x) / x, 0, 8),
    "I1_FAR": Target(scaled(mpmath.besseli, 1, -1, 8), 0, 1),
    "I0_SMALL": Target(of_square(lambda x: mpmath.besseli(0, x)), 0, 4),
    "I1_SMALL": Target(of_square(lambda x: mpmath.besseli(1, x) / x), 0, 4),
    "K0_NEAR": Target(of_square(k_near_zero(0)), 0, 4),
    "K1_NEAR": Target(of_square(k_near_zero(1)), 0, 4),
    "K0_FAR": Target(scaled(mpmath.besselk, 0, 1, 2), 0, 1),
    "K1_FAR": Target(scaled(mpmath.besselk, 1, 1, 2), 0, 1),
    "AIRY_CENTER": Target(mpmath.airyai, mpf("-1.5"), AIRY_FROM),
    "AIRY_LEFT": Target(mpmath.airyai, -AIRY_LEFT_FROM, mpf("-1.5")),
    "AIRY_RIGHT": Target(airy_right, 0, 1),
    "AIRY_SINE": Target(airy_left(sine=True), 0, 1),
    "AIRY_COSINE": Target(airy_left(sine=False), 0, 1),
    "ERFCX": Target(scaled_erfc, -1, 1),
    "QUANTILE_CENTER": Target(quantile_center, 0, mpf("0.375") ** 2),
    "QUANTILE_NEAR": Target(quantile_tail, mpf(1) / 8, mpf(1) / 2),
    "QUANTILE_FAR": Target(quantile_tail, mpf(1) / 40, mpf(1) / 8),
    "GAMMA_ABOVE_ONE": Target(lambda x: mpmath.loggamma(1 + x) / x, 0, mpf("1.25")),
}
ROOTS: dict[str, Any] = {"J0": root_of(0), "J1": root_of(1)}


def chebyshev_coefficients(target: Target) -> list[Any]:
    """Return the Chebyshev coefficients of the polynomial that interpolates a function in Chebyshev points."""
    angles = [pi * (mpf(index) + mpf(1) / 2) / POINTS for index in range(POINTS)]
    middle, half = (mpf(target.low) + target.high) / 2, (mpf(target.high) - target.low) / 2
    values = [target.function(middle + half * mpmath.cos(angle)) for angle in angles]
    coefficients = [
        2 * sum(value * mpmath.cos(degree * angle) for value, angle in zip(values, angles, strict=True)) / POINTS
        for degree in range(POINTS)
    ]
    return [coefficients[0] / 2, *coefficients[1:]]


def powers(coefficients: list[Any], bits: int) -> list[Any]:
    """Convert Chebyshev coefficients to those of powers, the highest first, dropping terms below a precision of
    ``bits``.
    """
    scale = max(abs(coefficient) for coefficient in coefficients)
    count = (
        max(index for index, coefficient in enumerate(coefficients) if abs(coefficient) > scale * mpf(2) ** -bits) + 1
    )
    total = [mpf(0)] * count
    before, now = [mpf(1)], [mpf(0), mpf(1)]
    for coefficient in coefficients[:count]:
        for index, term in enumerate(before):
            total[index] += coefficient * term
        after = [mpf(0), *(2 * term for term in now)]
        for index, term in enumerate(before):
            after[index] -= term
        before, now = now, after
    return total[::-1]


def single(number: Any) -> float:
    """Return a number rounded to float32."""
    import numpy

    return float(numpy.float32(float(number)))


def tables() -> dict[str, Any]:
    """Return the content of ``series.json``."""
    precisions = (("float32", 28, single), ("float64", 57, float))
    series: dict[str, Any] = {}
    for name, target in TARGETS.items():
        coefficients = chebyshev_coefficients(target)
        width = mpf(target.high) - target.low
        factor, summand = 2 / width, -(mpf(target.high) + target.low) / width
        series[name] = {
            kind: {
                "factor": rounded(factor),
                "summand": rounded(summand),
                "coefficients": [rounded(power) for power in powers(coefficients, bits)],
            }
            for kind, bits, rounded in precisions
        }
    roots = {
        name: {kind: [rounded(root), rounded(root - mpf(rounded(root)))] for kind, _, rounded in precisions}
        for name, root in ROOTS.items()
    }
    return {"series": series, "roots": roots}


if __name__ == "__main__":
    PATH.write_text(json.dumps(tables(), indent=1) + "\n", encoding="utf-8")
