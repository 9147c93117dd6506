"""Tests of derivatives of scalar functions, against mpmath and against known values at kinks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from opdsl import Library, Tensor, formula, primitives
from opdsl.errors import ScalarFunctionError
from opdsl.scalar import evaluate, read
from opdsl.scalar.derivative import differentiate
from opdsl.scalar.derivative_rules import RULES, WITHOUT_GRADIENT
from opdsl.scalar.operations import OPERATIONS, WITHOUT_DERIVATIVE

POINTS = (-30.0, -2.5, -1.0, -0.75, -1e-8, 1e-8, 0.25, 0.75, 1.0, 2.5, 30.0, 700.0)

# Each function, mpmath's version, and its domain.
UNARY: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[[float], bool]]] = {
    "negative": (lambda x: -x, lambda x: -x, lambda x: True),
    "square": (lambda x: x * x, lambda x: x * x, lambda x: True),
    "cube": (lambda x: x**3, lambda x: x**3, lambda x: True),
    "power": (lambda x: x**2.5, lambda x: x ** mpmath.mpf(2.5), lambda x: x > 0),
    "inverse": (lambda x: 1.0 / x, lambda x: 1 / x, lambda x: True),
    "sqrt": (lambda x: math.sqrt(x), mpmath.sqrt, lambda x: x > 0),
    "cbrt": (lambda x: math.cbrt(x), mpmath.cbrt, lambda x: x > 0),
    "exp": (lambda x: math.exp(x), mpmath.exp, lambda x: True),
    "exp2": (lambda x: math.exp2(x), lambda x: mpmath.power(2, x), lambda x: True),
    "expm1": (lambda x: math.expm1(x), mpmath.expm1, lambda x: True),
    "log": (lambda x: math.log(x), mpmath.log, lambda x: x > 0),
    "log2": (lambda x: math.log2(x), lambda x: mpmath.log(x, 2), lambda x: x > 0),
    "log10": (lambda x: math.log10(x), mpmath.log10, lambda x: x > 0),
    "log1p": (lambda x: math.log1p(x), mpmath.log1p, lambda x: x > -1),
    "sin": (lambda x: math.sin(x), mpmath.sin, lambda x: True),
    "cos": (lambda x: math.cos(x), mpmath.cos, lambda x: True),
    "tan": (lambda x: math.tan(x), mpmath.tan, lambda x: True),
    "asin": (lambda x: math.asin(x), mpmath.asin, lambda x: abs(x) < 1),
    "acos": (lambda x: math.acos(x), mpmath.acos, lambda x: abs(x) < 1),
    "atan": (lambda x: math.atan(x), mpmath.atan, lambda x: True),
    "sinh": (lambda x: math.sinh(x), mpmath.sinh, lambda x: True),
    "cosh": (lambda x: math.cosh(x), mpmath.cosh, lambda x: True),
    "tanh": (lambda x: math.tanh(x), mpmath.tanh, lambda x: abs(x) < 5),
    "asinh": (lambda x: math.asinh(x), mpmath.asinh, lambda x: True),
    "acosh": (lambda x: math.acosh(x), mpmath.acosh, lambda x: x > 1),
    "atanh": (lambda x: math.atanh(x), mpmath.atanh, lambda x: abs(x) < 1),
    "erf": (lambda x: math.erf(x), mpmath.erf, lambda x: True),
    "erfc": (lambda x: math.erfc(x), mpmath.erfc, lambda x: True),
    "abs": (lambda x: abs(x), abs, lambda x: True),
}


def slope(function: Callable[..., Any], *, orders: int = 1, **values: float) -> float:
    """Return the derivative of a function with respect to its first parameter, in float64."""
    derived = read(function)
    wanted = derived.parameters[0]
    for _ in range(orders):
        derived = differentiate(derived, [wanted])
    gradients = {name: 1.0 for name in derived.parameters if name not in values}
    graph = derived.specialise(dict.fromkeys(derived.parameters, "float64"))
    return float(evaluate(graph, {**gradients, **values})[0])


@pytest.mark.parametrize("name", UNARY)
def test_derivatives_agree_with_mpmath(name: str) -> None:
    ours, exact, defined = UNARY[name]
    for point in filter(defined, POINTS):
        with mpmath.workdps(60):
            expected = float(mpmath.diff(exact, mpmath.mpf(point)))
        assert slope(ours, x=point) == pytest.approx(expected, rel=1e-12, abs=1e-300), point


@pytest.mark.parametrize("name", [name for name in UNARY if name not in ("abs",)])
def test_second_derivatives_agree_with_mpmath(name: str) -> None:
    ours, exact, defined = UNARY[name]
    for point in (x for x in POINTS if defined(x) and 1e-3 < abs(x) < 40):
        with mpmath.workdps(80):
            expected = float(mpmath.diff(exact, mpmath.mpf(point), 2))
        assert slope(ours, orders=2, x=point) == pytest.approx(expected, rel=1e-9, abs=1e-290), point


def softplus(x, beta):
    z = beta * x
    return (max(z, 0.0) + math.log1p(math.exp(-abs(z)))) / beta


@pytest.mark.parametrize("x", [-1e30, -800.0, -1.0, 0.0, 1.0, 800.0, 1e30])
def test_a_smooth_function_of_kinks_is_smooth(x: float) -> None:
    expected = float(1 / (1 + mpmath.exp(-mpmath.mpf(x))))
    assert slope(softplus, x=x, beta=1.0) == pytest.approx(expected, rel=1e-14, abs=0)


def piecewise(x):
    return x if x > 0.0 else math.exp(x) - 1.0


@pytest.mark.parametrize(("x", "expected"), [(1e4, 1.0), (-1e4, 0.0), (0.0, 1.0), (-1.0, math.exp(-1))])
def test_the_side_not_taken_adds_nothing(x: float, expected: float) -> None:
    assert slope(piecewise, x=x) == expected


def guarded_log(x):
    return math.log(x) if x > 0.0 else 0.0


def test_infinities_of_the_side_not_taken_are_no_nan() -> None:
    assert slope(guarded_log, x=0.0) == 0.0


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, y: max(x, y), (0.5, 0.5)),
        (lambda x, y: min(x, y), (0.5, 0.5)),
        (lambda x, y: x - y, (1.0, -1.0)),
        (lambda x, y: math.hypot(x, y), (math.sqrt(0.5), math.sqrt(0.5))),
        (lambda x, y: math.atan2(x, y), (0.25, -0.25)),
        (lambda x, y: math.copysign(x, -y), (-1.0, 0.0)),
        (lambda x, y: math.fmod(x, y + 0.5), (1.0, 0.0)),
        (lambda x, y: x // y, (0.0, 0.0)),
    ],
)
def test_two_operands_at_a_tie(function: Callable[..., Any], expected: tuple[float, float]) -> None:
    result = differentiate(read(function), ["x", "y"])
    graph = result.specialise(dict.fromkeys(result.parameters, "float64"))
    values = dict.fromkeys(result.parameters, 2.0) | {"grad": 1.0}
    assert tuple(float(partial) for partial in evaluate(graph, values)) == pytest.approx(expected)


def complex_product(x, y):
    return x * y


def test_complex_gradients_are_conjugated() -> None:
    result = differentiate(read(complex_product), ["x"], is_complex=True)
    graph = result.specialise(dict.fromkeys(result.parameters, "complex128"))
    assert evaluate(graph, {"grad": 1.0, "y": 2 + 3j})[0] == 2 - 3j


def gamma(x):
    return 2.0 * math.gamma(x)


def test_an_operation_without_derivative_is_underlined() -> None:
    with pytest.raises(ScalarFunctionError, match=r"`gamma` has no derivative.*\n.*math\.gamma\(x\)\n.*~+\^"):
        differentiate(read(gamma), ["x"])


def test_what_cannot_be_derived_is_known_without_deriving() -> None:
    ordinary = {name for name, operation in OPERATIONS.items() if operation.rule not in ("lowered", "row", "row_mean")}
    assert ordinary - RULES.keys() - WITHOUT_GRADIENT == WITHOUT_DERIVATIVE - {"loop"}


def stirling_scalar_function(self):
    return math.lgamma(self)


STIRLING = primitives.elements(stirling_scalar_function)


def test_what_cannot_be_derived_says_so_when_declared() -> None:
    with (
        Library("underived_functions") as library,
        pytest.warns(UserWarning, match=r"underived_functions::stirling: no gradient.*\n.*lgamma\(self\)\n.*~+\^"),
    ):

        @library.op
        @formula
        def stirling(self: Tensor) -> Tensor:
            return STIRLING(self)


def test_a_formula_that_is_declared_before_needs_no_derivation() -> None:
    with Library("underived_functions") as library, warnings.catch_warnings():
        warnings.simplefilter("error")

        @library.op
        def stirling(self: Tensor) -> Tensor: ...

        @stirling.derivative("self")
        def stirling_derivative(grad, self):
            return grad

        @stirling.formula
        def stirling_formula(self: Tensor) -> Tensor:
            return STIRLING(self)


def two_results(x, y):
    return x * y, x + y


def test_gradients_of_several_results_are_summed() -> None:
    result = differentiate(read(two_results), ["x"])
    graph = result.specialise(dict.fromkeys(result.parameters, "float64"))
    assert result.parameters == ("grad0", "grad1", "y")
    assert np.asarray(evaluate(graph, {"grad0": 2.0, "grad1": 5.0, "y": 3.0})[0]) == 11.0


def named_grad(grad):
    return grad * grad


def test_a_parameter_may_be_called_grad() -> None:
    assert differentiate(read(named_grad), ["grad"]).parameters == ("grad_", "grad")


def inverse_root(x):
    return 1.0 / math.sqrt(x)


def grown(x):
    return math.exp(2.0 * x) + 1.0


def test_gradients_are_made_of_the_result_as_far_as_it_goes() -> None:
    result = differentiate(read(inverse_root), ["x"], result="y")
    assert result.parameters == ("grad", "y")
    graph = result.specialise(dict.fromkeys(result.parameters, "float64"))
    for x in (1e-200, 0.3, 7.0, 1e200):
        assert evaluate(graph, {"grad": 1.0, "y": x**-0.5})[0] == pytest.approx(-0.5 * x**-1.5, rel=1e-14)
    # The addend of the result cannot be recovered from it.
    assert differentiate(read(grown), ["x"], result="y").parameters == ("grad", "x")
