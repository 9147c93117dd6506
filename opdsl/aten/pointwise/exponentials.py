"""Exponentials, logarithms, roots and the error function."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

from opdsl import primitives
from opdsl.aten._shared.entries import CORE_UNARY, UNARY
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.special.series import is_double
from opdsl.declare import Inplace, formula, op
from opdsl.runtime import Tensor
from opdsl.scalar.intrinsics import largest


@op("aten::exp", **CORE_UNARY)
@formula
def exp(self: Tensor) -> Tensor:
    """Return the exponential of every element."""
    return primitives.exp(self)


@op("aten::exp2", **UNARY)
@formula
def exp2(self: Tensor) -> Tensor:
    """``2 ** self``"""
    return primitives.exp2(self)


@op("aten::expm1", **CORE_UNARY)
@formula
def expm1(self: Tensor) -> Tensor:
    """``exp(self) - 1``; accurate near 0."""
    return primitives.expm1(self)


@op("aten::log", **CORE_UNARY)
@formula
def log(self: Tensor) -> Tensor:
    """Return the natural logarithm of every element; NaN below 0."""
    return primitives.log(self)


@op("aten::log2", **CORE_UNARY)
@formula
def log2(self: Tensor) -> Tensor:
    """Return the logarithm to base 2 of every element; NaN below 0."""
    return primitives.log2(self)


@op("aten::log10", **CORE_UNARY)
@formula
def log10(self: Tensor) -> Tensor:
    """Return the logarithm to base 10 of every element; NaN below 0."""
    return primitives.log10(self)


@op("aten::log1p", **CORE_UNARY)
@formula
def log1p(self: Tensor) -> Tensor:
    """``log(1 + self)``; accurate near 0."""
    return primitives.log1p(self)


@op("aten::sqrt", **CORE_UNARY)
@formula
def sqrt(self: Tensor) -> Tensor:
    """Return the square root of every element; NaN below 0."""
    return primitives.sqrt(self)


@op("aten::rsqrt", **CORE_UNARY)
@formula
def rsqrt(self: Tensor) -> Tensor:
    """``1 / sqrt(self)``"""
    return primitives.div(1.0, primitives.sqrt(self))


@op("aten::erf", **CORE_UNARY)
@formula
def erf(self: Tensor) -> Tensor:
    """Return the error function of every element."""
    return primitives.erf(self)


@op("aten::erfc", **UNARY)
@formula
def erfc(self: Tensor) -> Tensor:
    """``1 - erf(self)``; accurate where the result is small."""
    return primitives.erfc(self)


# Computed from the result, as in PyTorch; exp(self) would also be accurate for large negative numbers.
expm1.derivative(self=lambda grad, result: grad * (result + 1).conj())


# Giles, "Approximating the erfinv function" (2012): polynomials of -log(1 - y*y) - 2.5, and of its root minus 3.
ERFINV_CENTER = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
ERFINV_TAIL = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)

# For float64 only, fitted to 2.5e-7: a polynomial of the root minus 5, for roots between 4 and 6.1.
ERFINV_END = (-2.02442584e-05, 8.39595584e-05, -0.00021557327, -0.000142091101, 1.01030066, 4.84990661)


def polynomial(variable: float, coefficients: tuple[float, ...]) -> float:
    """Return the value of a polynomial, given its coefficients from the highest power down."""
    value = 0.0
    for coefficient in coefficients:
        value = value * variable + coefficient
    return value


def with_more_digits(x: Any, magnitude: Any) -> Any:
    """Return an inverse error function value ``x`` improved by a step of Newton's method, which doubles the number of
    digits.

    It uses ``erfc`` where ``erf`` is nearly 1.
    """
    error = math.erf(x) - magnitude if magnitude < 0.5 else (1.0 - magnitude) - math.erfc(x)
    return x - error * math.exp(x * x) * (math.sqrt(math.pi) / 2)


def erfinv_scalar(y: Any) -> Any:
    """Return the inverse error function of a number: Giles' polynomials to 22 bits, then steps of Newton's method."""
    magnitude = abs(y)
    rest = -math.log1p(-magnitude * magnitude)
    center, tail = polynomial(rest - 2.5, ERFINV_CENTER), polynomial(math.sqrt(rest) - 3.0, ERFINV_TAIL)
    near = center if rest < 5.0 else tail
    if is_double(y):
        near = polynomial(math.sqrt(rest) - 5.0, ERFINV_END) if rest > 16.0 else near
    x = with_more_digits(near * magnitude, magnitude)
    x = with_more_digits(x, magnitude) if is_double(y) else x
    return math.copysign(math.inf if magnitude == 1 else x, y)


erfinv_elements = primitives.elements(erfinv_scalar, promote="int_to_float", dtypes="floating")


@op("aten::erfinv", **{**UNARY, "inplace": Inplace(variants="method")})
@formula
def erfinv(self: Tensor) -> Tensor:
    """Return the inverse of the error function for every element; NaN outside of [-1, 1]."""
    return erfinv_elements(self)


@erfinv.derivative("self")
def erfinv_derivative(grad, self):
    inverse = erfinv(self)
    return grad * (inverse * inverse).exp() * (math.sqrt(math.pi) / 2)


LOGIT: dict[str, Any] = {**UNARY, "out": True}


@op("aten::logit", **LOGIT)
@formula(dtypes=("bool", "integer", "floating"))
def logit(self: Tensor, eps: float | None = None) -> Tensor:
    """``log(self / (1 - self))``; if ``eps`` is given, ``self`` is clamped to the range from ``eps`` to ``1 - eps``
    first.
    """
    if not (eps is None or eps < 0):
        self = where(self < eps, eps, where(self > 1.0 - eps, 1.0 - eps, self))
    return (self / (1.0 - self)).log()


@logit.derivative("self")
def logit_derivative(grad, self, eps):
    """Return the gradient as PyTorch does: 0 outside of the bounds, or without ``eps`` NaN where there is no
    logarithm.
    """
    low, beyond = (0.0, math.nan) if eps is None else (eps, 0.0)
    return where((self >= low) * (self <= 1.0 - low), grad / (self * (1 - self)), beyond)


def sinc_scalar(x: Any) -> Any:
    angle = math.pi * x
    return 1.0 if angle * angle == 0 else math.sin(angle) / angle


sinc_elements = primitives.elements(sinc_scalar, promote="int_to_float")


@op("aten::sinc", **UNARY)
@formula
def sinc(self: Tensor) -> Tensor:
    """``sin(pi * self) / (pi * self)``; 1 for 0."""
    return sinc_elements(self)


@op("aten::nan_to_num", **{**UNARY, "inplace": True, "out": True})
def nan_to_num(
    self: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """Replace NaN and infinities by numbers: by default 0, and the largest and the smallest number of the dtype."""
    ...


def nan_to_num_scalar_function(self: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    value = self
    value = (0.0 if nan is None else nan) if math.isnan(self) else value
    value = (largest(self) if posinf is None else posinf) if self == math.inf else value
    return (-largest(self) if neginf is None else neginf) if self == -math.inf else value


def nan_to_num_complex_scalar_function(self: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    nan = None if nan is None else nan.real
    posinf = None if posinf is None else posinf.real
    neginf = None if neginf is None else neginf.real
    real = nan_to_num_scalar_function(self.real, nan, posinf, neginf)
    return complex(real, nan_to_num_scalar_function(self.imag, nan, posinf, neginf))


nan_to_num_elements = primitives.elements(nan_to_num_scalar_function)
nan_to_num_complex_elements = primitives.elements(nan_to_num_complex_scalar_function)
nan_to_num_whole_elements = primitives.elements(lambda self, nan, posinf, neginf: self)


def attach_nan_to_num(absent: dict[str, None]) -> None:
    """Register the formulas of ``nan_to_num`` for one combination of arguments that are None."""

    @nan_to_num.formula(when=absent, dtypes="floating")
    def replaced(self: Tensor, nan: float | None, posinf: float | None, neginf: float | None) -> Tensor:
        return nan_to_num_elements(self, nan, posinf, neginf)

    @nan_to_num.formula(when=absent, dtypes="complex")
    def replaced_parts(self: Tensor, nan: float | None, posinf: float | None, neginf: float | None) -> Tensor:
        return nan_to_num_complex_elements(self, nan, posinf, neginf)

    @nan_to_num.formula(when=absent, dtypes=("bool", "integer"))
    def kept(self: Tensor, nan: float | None, posinf: float | None, neginf: float | None) -> Tensor:
        return nan_to_num_whole_elements(self, nan, posinf, neginf)


for _absent in product((False, True), repeat=3):
    attach_nan_to_num(
        {name: None for name, is_absent in zip(("nan", "posinf", "neginf"), _absent, strict=True) if is_absent}
    )
