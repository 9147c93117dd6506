"""Script that fits the tables of ``coefficients``: ``python -m opdsl.scalar.mathematics.fit`` prints that module. Needs
mpmath.

Each table is the minimax polynomial (Remez' exchange, relative to a weight) of the function named in TARGETS, over the
given interval. For float32 the coefficients are rounded one after another, from the lowest power on, and the remaining
ones are fitted again to compensate for the rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from typing import Any, NamedTuple

import numpy as np
from mpmath import (
    asin,
    atan,
    cos,
    cosh,
    erf,
    erfc,
    exp,
    log,
    log1p,
    loggamma,
    lu_solve,
    matrix,
    mp,
    mpf,
    pi,
    psi,
    sin,
    sinh,
    sqrt,
    tanh,
)

Function = Callable[[Any], Any]


class Target(NamedTuple):
    """Function to fit by a polynomial.

    function: the function.
    weight: the error is multiplied by this; the reciprocal of the result gives relative errors.
    low, high: the interval.
    single, double: the numbers of coefficients for float32 and float64 (0: no such table).
    """

    function: Function
    weight: Function
    low: Any
    high: Any
    single: int
    double: int


def taylor_safe(function: Function, at_zero: Any, order: int = 1) -> Function:
    """Return ``function`` with its limit ``at_zero`` near 0, where it cannot be computed."""

    def run(x: Any) -> Any:
        return at_zero if abs(x) < mpf(10) ** (-18 // order) else function(x)

    return run


def one(x: Any) -> Any:
    """Return the weight 1 for any x, which leaves errors absolute."""
    return mpf(1)


def scaled_erfc(center: int) -> Function:
    """Return ``erfc(a) * e**(a*a) * (1 + 2*a) - 1`` as a function of ``(a - center) / (a + center)``."""

    def run(t: Any) -> Any:
        a = center * (1 + t) / (1 - t)
        return erfc(a) * exp(a * a) * (1 + 2 * a) - 1

    return run


def gamma_ratio(t: Any) -> Any:
    """Return ``lgamma(y) / ((y - 1) * (y - 2))`` as a function of ``(y - 2) / (y + 2)``."""
    y = 2 * (1 + t) / (1 - t)
    for root in (1, 2):
        if abs(y - root) < mpf("1e-30"):
            return psi(0, root) * (1 if root == 2 else -1)
    return loggamma(y) / ((y - 1) * (y - 2))


def stirling_rest(square: Any) -> Any:
    """Return x times the difference of ``lgamma(x)`` and ``(x - 1/2)*(log(x) - 1) + (log(2*pi) - 1)/2``, given
    ``1/x**2``.
    """
    x = 1 / sqrt(square)
    return (loggamma(x) - (x - mpf(1) / 2) * (log(x) - 1) - (log(2 * pi) - 1) / 2) * x


mp.dps = 60
HALF_LOG2 = log(2) / 2 * mpf("1.0005")
QUARTER_PI = pi / 4 * mpf("1.0005")
THIRD = mpf(1) / 3 * mpf("1.0001")

TARGETS: dict[str, Target] = {
    # e**r = 1 + r + r*r*P(r), after reduction by log(2)
    "exp": Target(taylor_safe(lambda r: (exp(r) - 1 - r) / r**2, mpf(1) / 2, 2), lambda r: r**2 + mpf("1e-9"),
                  -HALF_LOG2, HALF_LOG2, 5, 11),
    # 2**r = 1 + r*P(r)
    "exp2": Target(taylor_safe(lambda r: (mpf(2) ** r - 1) / r, log(2)), lambda r: abs(r) + mpf("1e-9"),
                   -mpf("0.5001"), mpf("0.5001"), 6, 12),
    # e**r - 1 = r + r*r*P(r), with a relative error
    "expm1": Target(taylor_safe(lambda r: (exp(r) - 1 - r) / r**2, mpf(1) / 2, 2), lambda r: abs(r) + mpf("1e-9"),
                    -HALF_LOG2, HALF_LOG2, 6, 12),
    # log(1 + f) = f + f*f*P(f), f from -1/3 to 1/3
    "log": Target(taylor_safe(lambda f: (log1p(f) - f) / f**2, -mpf(1) / 2, 2), lambda f: abs(f) + mpf("1e-9"),
                  -THIRD, THIRD, 9, 0),
    "log2": Target(taylor_safe(lambda f: (log1p(f) - f) / f**2 / log(2), -1 / log(4), 2),
                   lambda f: abs(f) + mpf("1e-9"), -THIRD, THIRD, 9, 0),
    "log10": Target(taylor_safe(lambda f: (log1p(f) - f) / f**2 / log(10), -1 / log(100), 2),
                    lambda f: abs(f) + mpf("1e-9"), -THIRD, THIRD, 9, 0),
    # log((1 + s)/(1 - s)) = 2*s + s**3*P(s*s)
    "log_ratio": Target(taylor_safe(lambda u: (log((1 + sqrt(u)) / (1 - sqrt(u))) / sqrt(u) - 2) / u, mpf(2) / 3, 2),
                        lambda u: u + mpf("1e-9"), mpf(0), mpf("0.0296"), 0, 7),
    # log((1 + s)/(1 - s)) = 2*s + s**3*(2/3 + s*s*P(s*s))
    "log_ratio_tail": Target(taylor_safe(
        lambda u: ((log((1 + sqrt(u)) / (1 - sqrt(u))) / sqrt(u) - 2) / u - mpf(2) / 3) / u, mpf(2) / 5, 3),
        lambda u: u**2 + mpf("1e-12"), mpf(0), mpf("0.0296"), 0, 8),
    # log2((1 + s)/(1 - s)) = s*P(s*s), and 2**r = P(r), for float32 computed in float64
    "log2_ratio": Target(taylor_safe(lambda u: log((1 + sqrt(u)) / (1 - sqrt(u))) / sqrt(u) / log(2), 2 / log(2), 1),
                         one, mpf(0), mpf("0.0296"), 0, 6),
    "exp2_short": Target(lambda r: mpf(2) ** r, one, -mpf("0.5001"), mpf("0.5001"), 0, 7),
    # tanh(x) = x + x**3*P(x*x)
    "tanh": Target(taylor_safe(lambda u: (tanh(sqrt(u)) / sqrt(u) - 1) / u, -mpf(1) / 3, 2),
                   lambda u: u / (tanh(sqrt(u)) / sqrt(u)) + mpf("1e-9") if u else mpf("1e-9"),
                   mpf(0), mpf("0.8") ** 2, 6, 13),
    # e**(2*r) = 1 + 2*r + r*r*P(r), after reduction by log(2)/2
    "exp_twice": Target(taylor_safe(lambda r: (exp(2 * r) - 1 - 2 * r) / r**2, mpf(2), 2),
                        lambda r: r**2 + mpf("1e-9"), -HALF_LOG2 / 2, HALF_LOG2 / 2, 5, 11),
    # erf(x) = x + x*P(x*x) near 0
    "erf": Target(taylor_safe(lambda u: erf(sqrt(u)) / sqrt(u) - 1, 2 / sqrt(pi) - 1, 2),
                  lambda u: 1 / (erf(sqrt(u)) / sqrt(u)) if u > mpf("1e-12") else mpf(1),
                  mpf(0), mpf("0.9301") ** 2, 6, 13),
    # log2(1 - erf(a)) = a*P(a) - a above
    "erf_tail": Target(lambda a: log(erfc(a)) / log(2) / a + 1, lambda a: a * log(2) * erfc(a) / erf(a),
                       mpf("0.9299"), mpf("3.95"), 6, 0),
    "erf_tail_double": Target(lambda a: log(erfc(a)) / log(2) / a + 1, lambda a: a * log(2) * erfc(a) / erf(a),
                              mpf("0.9299"), mpf("5.95"), 0, 19),
    # erfc(a) * e**(a*a) * (1 + 2*a) = 1 + P((a - c) / (a + c)), c is 2 or 4
    "erfc": Target(scaled_erfc(2), lambda t: 1 / (1 + scaled_erfc(2)(t)),
                   mpf("-1.66") / mpf("2.34"), mpf("8.1") / mpf("12.1"), 11, 0),
    "erfc_double": Target(scaled_erfc(4), lambda t: 1 / (1 + scaled_erfc(4)(t)),
                          mpf("-3.66") / mpf("4.34"), mpf("23.3") / mpf("31.3"), 0, 25),
    # erfc(a) = 2**(a*P(a)), for results of 16 bits; the highest coefficient is negative, so that it goes on to 0
    "erfc_coarse": Target(taylor_safe(lambda a: log(erfc(a)) / log(2) / a, -2 / sqrt(pi) / log(2)),
                          lambda a: a * log(2) + mpf("1e-9"), mpf(0), mpf("4.2"), 7, 0),
    # lgamma(y) = (y - 1)*(y - 2)*P((y - 2)/(y + 2)), y from 1/2 to 8
    "lgamma": Target(gamma_ratio, lambda t: 1 / gamma_ratio(t), mpf("-0.6001"), mpf("0.6001"), 15, 34),
    # lgamma(x) = (x - 1/2)*(log(x) - 1) + (log(2*pi) - 1)/2 + P(1/x**2)/x above
    "lgamma_tail": Target(taylor_safe(stirling_rest, mpf(1) / 12, 1), one, mpf(0), mpf(1) / 64, 3, 6),
    # sinh(x) = x + x**3*P(x*x): over a reduced argument, and up to 1
    "sinh_reduced": Target(taylor_safe(lambda u: (sinh(sqrt(u)) / sqrt(u) - 1) / u, mpf(1) / 6, 2),
                           lambda u: u + mpf("1e-9"), mpf(0), HALF_LOG2**2, 3, 6),
    "sinh": Target(taylor_safe(lambda u: (sinh(sqrt(u)) / sqrt(u) - 1) / u, mpf(1) / 6, 2),
                   lambda u: u + mpf("1e-9"), mpf(0), mpf("1.0001"), 4, 8),
    # cosh(r) = 1 + r*r*P(r*r)
    "cosh_reduced": Target(taylor_safe(lambda u: (cosh(sqrt(u)) - 1) / u, mpf(1) / 2, 2),
                           lambda u: u + mpf("1e-9"), mpf(0), HALF_LOG2**2, 3, 6),
    # sin(r) = r + r**3*P(r*r), cos(r) = 1 - r*r/2 + r**4*P(r*r)
    "sin": Target(taylor_safe(lambda u: (sin(sqrt(u)) / sqrt(u) - 1) / u, -mpf(1) / 6, 2),
                  lambda u: u + mpf("1e-9"), mpf(0), QUARTER_PI**2, 3, 7),
    "cos": Target(taylor_safe(lambda u: (cos(sqrt(u)) - 1 + u / 2) / u**2, mpf(1) / 24, 3),
                  lambda u: u**2 + mpf("1e-9"), mpf(0), QUARTER_PI**2, 3, 6),
    # atan(x) = x + x**3*P(x*x)
    "atan": Target(taylor_safe(lambda u: (atan(sqrt(u)) / sqrt(u) - 1) / u, -mpf(1) / 3, 2),
                   lambda u: u / (atan(sqrt(u)) / sqrt(u)) + mpf("1e-9") if u else mpf("1e-9"), mpf(0), mpf(1), 9, 21),
    # asin(x) = x + x**3*P(x*x)
    "asin": Target(taylor_safe(lambda u: (asin(sqrt(u)) / sqrt(u) - 1) / u, mpf(1) / 6, 2),
                   lambda u: u + mpf("1e-9"), mpf(0), mpf("0.2501"), 5, 12),
}  # fmt: skip


def remez(target: Target, count: int) -> list[Any]:
    """Fit the minimax polynomial of a target by Remez' exchange, and return its coefficients, lowest power first."""
    low, high = mpf(target.low), mpf(target.high)
    points = [(low + high) / 2 + (high - low) / 2 * cos(pi * (k + mpf("0.5")) / (count + 1)) for k in range(count + 1)]
    coefficients: list[Any] = []
    for _ in range(12):
        system, right = matrix(count + 1, count + 1), matrix(count + 1, 1)
        for row, x in enumerate(points):
            for column in range(count):
                system[row, column] = x**column
            system[row, count] = (-1) ** row / target.weight(x)
            right[row] = target.function(x)
        solution = lu_solve(system, right)
        coefficients = [solution[k] for k in range(count)]
        points, flat = _extrema(target, coefficients, count + 1)
        if flat:
            break
    return coefficients


def _value(coefficients: list[Any], x: Any) -> Any:
    value = mpf(0)
    for coefficient in reversed(coefficients):
        value = value * x + coefficient
    return value


def _extrema(target: Target, coefficients: list[Any], count: int) -> tuple[list[Any], bool]:
    """Return the points of alternating extreme errors, and whether these errors are equal within 1 %."""
    runs: list[tuple[Any, Any]] = []
    for x in _grid(target, 40 * count):
        value = (target.function(x) - _value(coefficients, x)) * target.weight(x)
        if runs and (runs[-1][1] > 0) == (value > 0):
            if abs(value) > abs(runs[-1][1]):
                runs[-1] = (x, value)
        elif value:
            runs.append((x, value))
    while len(runs) > count:
        runs.pop(0 if abs(runs[0][1]) < abs(runs[-1][1]) else -1)
    if len(runs) < count:
        raise ValueError(f"only {len(runs)} extrema of {count}")
    sizes = [abs(value) for _, value in runs]
    return [x for x, _ in runs], max(sizes) < min(sizes) * mpf("1.01")


def _grid(target: Target, size: int) -> list[Any]:
    """Return the Chebyshev points of the interval."""
    low, high = mpf(target.low), mpf(target.high)
    return [(low + high) / 2 - (high - low) / 2 * cos(pi * k / size) for k in range(size + 1)]


def fit_single(target: Target, count: int) -> tuple[list[float], float]:
    """Fit float32 coefficients, and return them, lowest power first, with the largest weighted error.

    Lawson's iteration (least squares, reweighted towards the largest errors); float64 is ample for it.
    """
    grid = _grid(target, 400)
    x = np.array([float(point) for point in grid])
    weight = np.array([float(target.weight(point)) for point in grid])
    rest = np.array([float(target.function(point)) for point in grid])
    fixed: list[float] = []
    for power in range(count):
        basis = np.stack([x**k for k in range(power, count)], axis=1)
        emphasis = np.ones_like(x)
        best: tuple[float, Any] = (np.inf, None)
        for _ in range(200):
            scale = np.sqrt(emphasis) * weight
            solution = np.linalg.lstsq(basis * scale[:, None], rest * scale, rcond=None)[0]
            error = np.abs(basis @ solution - rest) * weight
            best = min(best, (float(error.max()), solution), key=lambda pair: pair[0])
            emphasis = emphasis * (error + 1e-3 * error.max())
            emphasis /= emphasis.sum()
        fixed.append(float(np.float32(best[1][0])))
        rest = rest - fixed[-1] * x**power
    return fixed, float(np.max(np.abs(rest) * weight))


def fit_double(target: Target, count: int) -> tuple[list[float], float]:
    """Fit float64 coefficients, and return them, lowest power first, with the largest weighted error."""
    fixed = [float(value) for value in remez(target, count)]
    worst = max(abs((_value(fixed, x) - target.function(x)) * target.weight(x)) for x in _grid(target, 1000))
    return fixed, float(worst)


def module() -> str:
    """Return the text of the module ``coefficients``."""
    lines = [
        '"""Polynomial coefficients, the highest power first; printed by ``fit``, where each function is named."""',
        "",
        "from typing import Final",
        "",
        "# What is fitted, the interval, and the largest weighted error stand beside each table.",
        "TABLES: Final[dict[str, dict[str, tuple[float, ...]]]] = {",
    ]
    for name, target in TARGETS.items():
        lines.append(f'    "{name}": {{')
        for kind, count, run in (("float32", target.single, fit_single), ("float64", target.double, fit_double)):
            if count:
                numbers, error = run(target, count)
                interval = f"[{float(target.low):.4g}, {float(target.high):.4g}]"
                lines.append(f"        # {interval}, error 2**{log2(error):.1f}")
                lines.append(f'        "{kind}": (')
                lines += [f"            {value!r}," for value in reversed(numbers)]
                lines.append("        ),")
        lines.append("    },")
    return "\n".join([*lines, "}"])


if __name__ == "__main__":
    print(module())
