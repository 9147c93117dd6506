"""Exponentials, logarithms, roots and the error function."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

from opdsl.aten._shared.entries import CORE_UNARY, UNARY
from opdsl.aten.pointwise.comparison import where
from opdsl.declare import Inplace, Out, op
from opdsl.runtime import Tensor
from opdsl.scalar.intrinsics import largest


@op("aten::exp", **CORE_UNARY)
def exp(self: Tensor) -> Tensor:
    """The exponential of every element."""
    ...


@exp.pointwise(promote="int_to_float")
def exp_scalar_function(self):
    return math.exp(self)


@op("aten::exp2", device_check="ExactSame", **UNARY)
def exp2(self: Tensor) -> Tensor:
    """2 to the power of every element."""
    ...


@exp2.pointwise(promote="int_to_float")
def exp2_scalar_function(self):
    return math.exp2(self)


@op("aten::expm1", **CORE_UNARY)
def expm1(self: Tensor) -> Tensor:
    """``exp(self) - 1``, exact near 0."""
    ...


@expm1.pointwise(promote="int_to_float")
def expm1_scalar_function(self):
    return math.expm1(self)


# Of the result, as in PyTorch; exp(self) would be exact for large negative ones, too.
expm1.derivative(self=lambda grad, result: grad * (result + 1).conj())


@op("aten::log", **CORE_UNARY)
def log(self: Tensor) -> Tensor:
    """The natural logarithm of every element; NaN below 0."""
    ...


@log.pointwise(promote="int_to_float")
def log_scalar_function(self):
    return math.log(self)


@op("aten::log2", **CORE_UNARY)
def log2(self: Tensor) -> Tensor:
    """The logarithm to base 2 of every element; NaN below 0."""
    ...


@log2.pointwise(promote="int_to_float")
def log2_scalar_function(self):
    return math.log2(self)


@op("aten::log10", **CORE_UNARY)
def log10(self: Tensor) -> Tensor:
    """The logarithm to base 10 of every element; NaN below 0."""
    ...


@log10.pointwise(promote="int_to_float")
def log10_scalar_function(self):
    return math.log10(self)


@op("aten::log1p", **CORE_UNARY)
def log1p(self: Tensor) -> Tensor:
    """``log(1 + self)``, exact near 0."""
    ...


@log1p.pointwise(promote="int_to_float")
def log1p_scalar_function(self):
    return math.log1p(self)


@op("aten::sqrt", **CORE_UNARY)
def sqrt(self: Tensor) -> Tensor:
    """The square root of every element; NaN below 0."""
    ...


@sqrt.pointwise(promote="int_to_float")
def sqrt_scalar_function(self):
    return math.sqrt(self)


@op("aten::rsqrt", **CORE_UNARY)
def rsqrt(self: Tensor) -> Tensor:
    """``1 / sqrt(self)``"""
    ...


@rsqrt.pointwise(promote="int_to_float")
def rsqrt_scalar_function(self):
    return 1.0 / math.sqrt(self)


@op("aten::erf", **CORE_UNARY)
def erf(self: Tensor) -> Tensor:
    """The error function of every element."""
    ...


@erf.pointwise(promote="int_to_float")
def erf_scalar_function(self):
    return math.erf(self)


@op("aten::erfc", **UNARY)
def erfc(self: Tensor) -> Tensor:
    """``1 - erf(self)``, exact where that is small."""
    ...


@erfc.pointwise(promote="int_to_float")
def erfc_scalar_function(self):
    return math.erfc(self)


# Giles, "Approximating the erfinv function" (2012): polynomials of -log(1 - y*y), less 2.5, and of its root, less 3.
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


def polynomial(variable: float, coefficients: tuple[float, ...]) -> float:
    """A polynomial, the highest power's coefficient first."""
    value = 0.0
    for coefficient in coefficients:
        value = value * variable + coefficient
    return value


@op("aten::erfinv", **{**UNARY, "inplace": Inplace(variants="method")})
def erfinv(self: Tensor) -> Tensor:
    """The inverse of the error function; NaN outside of [-1, 1]."""
    ...


def inverse_error_function(turns: int) -> Callable[[Any], Any]:
    """Giles' polynomials, which are good to 22 bits, and turns of Newton's method, each of which doubles that."""

    def erfinv_scalar_function(self: Any) -> Any:
        magnitude = abs(self)
        rest = -math.log1p(-magnitude * magnitude)
        center, tail = polynomial(rest - 2.5, ERFINV_CENTER), polynomial(math.sqrt(rest) - 3.0, ERFINV_TAIL)
        x = (center if rest < 5.0 else tail) * magnitude
        for _ in range(turns):
            # By the complement where the function is flat.
            error = math.erf(x) - magnitude if magnitude < 0.5 else (1.0 - magnitude) - math.erfc(x)
            x = x - error * math.exp(x * x) * (math.sqrt(math.pi) / 2)
        return math.copysign(math.inf if magnitude == 1 else x, self)

    return erfinv_scalar_function


erfinv.pointwise(promote="int_to_float", dtypes="float64")(inverse_error_function(2))
erfinv.pointwise(promote="int_to_float", dtypes="floating")(inverse_error_function(1))


@erfinv.derivative("self")
def erfinv_derivative(grad, self):
    found = erfinv(self)
    return grad * (found * found).exp() * (math.sqrt(math.pi) / 2)


# -------------------------------------------------------------------------------------------------------- logit, sinc

LOGIT: dict[str, Any] = {**UNARY, "structured": False, "device_check": "ExactSame", "out": Out(explicit=True)}


@op("aten::logit", **LOGIT)
def logit(self: Tensor, eps: float | None = None) -> Tensor:
    """``log(self / (1 - self))``, of ``self`` between ``eps`` and ``1 - eps``."""
    ...


@logit.pointwise(promote="int_to_float", dtypes="floating")
def logit_scalar_function(self, eps):
    if not (eps is None or eps < 0):
        self = eps if self < eps else 1.0 - eps if self > 1.0 - eps else self
    return math.log(self / (1.0 - self))


@logit.derivative("self")
def logit_derivative(grad, self, eps):
    """As PyTorch's: beyond the bounds 0, without bounds NaN where there is no logarithm."""
    low, beyond = (0.0, math.nan) if eps is None else (eps, 0.0)
    return where((self >= low) * (self <= 1.0 - low), grad / (self * (1 - self)), beyond)


@op("aten::sinc", device_check="ExactSame", **UNARY)
def sinc(self: Tensor) -> Tensor:
    """``sin(pi * self) / (pi * self)``; 1 for 0."""
    ...


@sinc.pointwise(promote="int_to_float")
def sinc_scalar_function(self):
    angle = math.pi * self
    return 1.0 if angle * angle == 0 else math.sin(angle) / angle


# --------------------------------------------------------------------------------------------------------- nan_to_num


@op(
    "aten::nan_to_num",
    structured=False,
    device_check="ExactSame",
    dispatch={"CompositeExplicitAutograd": "nan_to_num"},
    **{**UNARY, "inplace": Inplace(dispatch={"CompositeExplicitAutograd": "nan_to_num_"}), "out": Out(explicit=True)},
)
def nan_to_num(
    self: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """Other numbers for NaN and infinities: by default 0, and the largest and the smallest one."""
    ...


def nan_to_num_scalar_function(self: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    value = self
    value = (0.0 if nan is None else nan) if math.isnan(self) else value
    value = (largest(self) if posinf is None else posinf) if self == math.inf else value
    return (-largest(self) if neginf is None else neginf) if self == -math.inf else value


def nan_to_num_complex_scalar_function(self: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    real = nan_to_num_scalar_function(self.real, nan, posinf, neginf)
    return complex(real, nan_to_num_scalar_function(self.imag, nan, posinf, neginf))


def whole_scalar_function(self: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    return self


for absent in product((False, True), repeat=3):
    left_out = {name: None for name, is_absent in zip(("nan", "posinf", "neginf"), absent, strict=True) if is_absent}
    nan_to_num.pointwise(when=left_out, dtypes="floating")(nan_to_num_scalar_function)
    nan_to_num.pointwise(when=left_out, dtypes="complex")(nan_to_num_complex_scalar_function)
    nan_to_num.pointwise(when=left_out, dtypes=("bool", "integer"))(whole_scalar_function)
