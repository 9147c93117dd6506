"""Tests of gradients derived from scalar functions, against mpmath: large, tiny, zero, tied, NaN and complex
arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import pytest
from mpmath import mp

import opdsl

SIZES = (0.0, 1e-300, 1e-160, 1e-8, 0.3, 0.9, 1.0, 1.5, 6.0, 30.0, 700.0, 1e10, 1e160, 1e300)
POINTS = tuple(sign * size for size in SIZES for sign in (1.0, -1.0))
COMPLEX = (0.3 + 0.5j, -1.5 + 0.2j, -0.4 - 2.5j, 3.0 - 0.1j, 20 + 20j, 1e-8 - 1e-9j, -1e-8 + 3j)

Real = Callable[[Any], Any]
Domain = Callable[[float], bool]


def everywhere(x: float) -> bool:
    return True


def positive(x: float) -> bool:
    return x > 0


def inside(x: float) -> bool:
    return abs(x) < 1


def nonzero(x: float) -> bool:
    return x != 0


def logistic(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def sinc_slope(x: Any) -> Any:
    return mp.mpf(0) if x == 0 else (mp.cos(mp.pi * x) - mp.sin(mp.pi * x) / (mp.pi * x)) / x


def normal(x: Any) -> Any:
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def mish_slope(x: Any) -> Any:
    smooth = mp.log1p(mp.exp(x)) if x < 100 else x + mp.exp(-x)
    return mp.tanh(smooth) + x * logistic(x) / mp.cosh(smooth) ** 2


# The derivative of each operator of one real argument, and its domain.
SLOPES: dict[str, tuple[Real, Domain]] = {
    "neg": (lambda x: mp.mpf(-1), everywhere),
    "reciprocal": (lambda x: -1 / x**2, nonzero),
    "exp": (mp.exp, everywhere),
    "exp2": (lambda x: mp.power(2, x) * mp.log(2), everywhere),
    "expm1": (mp.exp, everywhere),
    "log": (lambda x: 1 / x, positive),
    "log2": (lambda x: 1 / (x * mp.log(2)), positive),
    "log10": (lambda x: 1 / (x * mp.log(10)), positive),
    "log1p": (lambda x: 1 / (1 + x), lambda x: x > -1),
    "sqrt": (lambda x: 1 / (2 * mp.sqrt(x)), positive),
    "rsqrt": (lambda x: -1 / (2 * x * mp.sqrt(x)), positive),
    "erf": (lambda x: 2 / mp.sqrt(mp.pi) * mp.exp(-x * x), everywhere),
    "erfc": (lambda x: -2 / mp.sqrt(mp.pi) * mp.exp(-x * x), everywhere),
    "logit": (lambda x: 1 / (x * (1 - x)), lambda x: 0 < x < 1),
    "sinc": (sinc_slope, lambda x: x == 0 or 0.01 < abs(x) < 1e3),  # near 0, terms close to 1 cancel
    "sin": (mp.cos, everywhere),
    "cos": (lambda x: -mp.sin(x), everywhere),
    "tan": (lambda x: 1 / mp.cos(x) ** 2, lambda x: abs(x) < 1e12),
    "asin": (lambda x: 1 / mp.sqrt(1 - x * x), inside),
    "acos": (lambda x: -1 / mp.sqrt(1 - x * x), inside),
    "atan": (lambda x: 1 / (1 + x * x), everywhere),
    "sinh": (mp.cosh, everywhere),
    "cosh": (mp.sinh, everywhere),
    "tanh": (lambda x: 1 / mp.cosh(x) ** 2, everywhere),
    "asinh": (lambda x: 1 / mp.sqrt(1 + x * x), everywhere),
    "acosh": (lambda x: 1 / mp.sqrt(x * x - 1), lambda x: x > 1),
    "atanh": (lambda x: 1 / (1 - x * x), inside),
    "deg2rad": (lambda x: mp.pi / 180, everywhere),
    "rad2deg": (lambda x: 180 / mp.pi, everywhere),
    "abs": (mp.sign, everywhere),
    "sigmoid": (lambda x: logistic(x) * logistic(-x), everywhere),
    "silu": (lambda x: logistic(x) * (1 + x * logistic(-x)), everywhere),
    "softplus": (lambda x: logistic(x) if x <= 20 else mp.mpf(1), everywhere),
    "log_sigmoid": (lambda x: logistic(-x), everywhere),
    "gelu": (lambda x: mp.ncdf(x) + x * normal(x), lambda x: abs(x) < 1e12),
    "elu": (lambda x: mp.exp(x) if x < 0 else mp.mpf(1), everywhere),
    "celu": (lambda x: mp.exp(x) if x < 0 else mp.mpf(1), everywhere),
    "mish": (mish_slope, everywhere),
    "relu": (lambda x: mp.mpf(x > 0), everywhere),
    "hardtanh": (lambda x: mp.mpf(abs(x) < 1), lambda x: abs(x) != 1),
    "ceil": (lambda x: mp.mpf(0), everywhere),
    "floor": (lambda x: mp.mpf(0), everywhere),
    "round": (lambda x: mp.mpf(0), everywhere),
    "trunc": (lambda x: mp.mpf(0), everywhere),
    "sign": (lambda x: mp.mpf(0), everywhere),
    "frac": (lambda x: mp.mpf(1), everywhere),
}

# The holomorphic operators among them, with complex derivatives.
HOLOMORPHIC: dict[str, Real] = {
    name: SLOPES[name][0]
    for name in (
        "neg", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos",
        "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh", "sigmoid", "silu",
    )
} | {"acosh": lambda z: 1 / (mp.sqrt(z - 1) * mp.sqrt(z + 1))}  # fmt: skip


# The partial derivatives of operators of two real arguments, valid at points that have them.
PARTIAL: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "mul": (lambda x, y: y, lambda x, y: x),
    "div": (lambda x, y: 1 / y, lambda x, y: -x / y**2),
    "atan2": (lambda y, x: x / (x * x + y * y), lambda y, x: -y / (x * x + y * y)),
    "hypot": (lambda x, y: x / mp.hypot(x, y), lambda x, y: y / mp.hypot(x, y)),
    "logaddexp": (lambda x, y: logistic(x - y), lambda x, y: logistic(y - x)),
    "copysign": (lambda x, y: mp.sign(x) * mp.sign(y), lambda x, y: mp.mpf(0)),
    "maximum": (lambda x, y: mp.mpf(x > y), lambda x, y: mp.mpf(y > x)),
    "minimum": (lambda x, y: mp.mpf(x < y), lambda x, y: mp.mpf(y < x)),
}
PAIRS = tuple((x, y) for x in (1e-300, -1e-8, 0.3, -1.5, 40.0, 1e150) for y in (-1e-300, 1e-8, -0.7, 2.0, -35.0, 1e140))

# Piecewise linear operators: their slope does not depend on the argument, and at NaN is that of one piece.
PIECES = {
    "celu", "elu",
    "neg", "deg2rad", "rad2deg", "abs", "sign", "frac", "ceil", "floor", "round", "trunc", "relu", "hardtanh",
    "log_sigmoid",
}  # fmt: skip

# The gradients of two equal operands, shared as in PyTorch.
TIES = {
    "maximum": (0.5, 0.5), "minimum": (0.5, 0.5), "fmax": (1.0, 0.0), "fmin": (1.0, 0.0), "clamp_min": (1.0, 0.0),
    "clamp_max": (1.0, 0.0),
}  # fmt: skip


def function(name: str) -> Callable[..., opdsl.Tensor]:
    result: Callable[..., opdsl.Tensor] = getattr(opdsl if hasattr(opdsl, name) else opdsl.nn, name)
    return result


def slopes(name: str, *points: Any, dtype: Any = opdsl.float64) -> list[Any]:
    """Return the gradients of an operator at a point."""
    leaves = [opdsl.tensor([point], dtype=dtype, requires_grad=True) for point in points]
    result = function(name)(*leaves)
    grad = opdsl.autograd.grad(result, leaves, opdsl.ones_like(result.detach()), materialize_grads=True)
    return [gradient.tolist()[0] for gradient in grad]


def rounded(value: Any) -> float:
    """Return an mpmath number as a float, infinite if it is too large."""
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def digits(*points: float) -> int:
    """Return the number of digits for computing an exact slope: more if the magnitudes of the arguments may differ
    much.
    """
    return 60 if all(1e-50 < abs(point) < 1e50 or point == 0 for point in points) else 700


def is_close(result: Any, expected: Any) -> bool:
    """Return whether a slope is within a few units in the last place, relative to itself or to 1."""
    return bool(result == expected or abs(result - expected) <= 4e-15 * abs(expected) + 1e-15)


@pytest.mark.parametrize("name", SLOPES)
def test_slopes(name: str) -> None:
    exact, is_defined = SLOPES[name]
    wrong = []
    for point in filter(is_defined, POINTS):
        with mpmath.workdps(digits(point)):
            expected = rounded(exact(mp.mpf(point)))
        (actual,) = slopes(name, point)
        if not is_close(actual, expected):
            wrong.append((point, actual, expected))
    assert wrong == []


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_complex_slopes_are_conjugated(name: str) -> None:
    wrong = []
    for point in COMPLEX:
        with mpmath.workdps(60):
            expected = complex(mp.conj(HOLOMORPHIC[name](mp.mpc(point))))
        (actual,) = slopes(name, point, dtype=opdsl.complex128)
        if not is_close(actual, expected):
            wrong.append((point, actual, expected))
    assert wrong == []


@pytest.mark.parametrize("name", PARTIAL)
def test_partial_slopes(name: str) -> None:
    wrong = []
    for pair in PAIRS:
        with mpmath.workdps(digits(*pair)):
            expected = [rounded(derivative(*map(mp.mpf, pair))) for derivative in PARTIAL[name]]
        actual = slopes(name, *pair)
        if not all(map(is_close, actual, expected)):
            wrong.append((pair, actual, expected))
    assert wrong == []


@pytest.mark.parametrize("point", [-2.0, 0.0, 3.5])
@pytest.mark.parametrize("name", TIES)
def test_ties(name: str, point: float) -> None:
    assert slopes(name, point, point) == list(TIES[name])


@pytest.mark.parametrize("name", sorted(SLOPES.keys() - PIECES))
def test_slopes_at_nan(name: str) -> None:
    (result,) = slopes(name, math.nan)
    assert math.isnan(result)
