"""Bessel functions, modified Bessel functions, and the Airy function Ai.

Small arguments use polynomials, large ones the expansions by modulus and phase (DLMF 10.17, 10.40, 9.7);
``series_fit`` defines the function that each polynomial approximates. ``cos(x - pi/4)`` is computed as ``(cos(x) +
sin(x)) / sqrt(2)``, as the difference would lose digits where ``x`` is large.
"""

from __future__ import annotations

import math
from typing import Any

from opdsl import primitives
from opdsl.aten._shared.entries import UNARY
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.special.series import AIRY_FROM, AIRY_LEFT_FROM, HANKEL_FROM, ROOTS, evaluate, is_double
from opdsl.declare import formula, op
from opdsl.runtime import Tensor
from opdsl.scalar.intrinsics import fma

SPECIAL: dict[str, Any] = {"python_module": "special", "variants": "function", "tags": "pointwise", "out": True}
"""Options of ``op`` for functions of ``torch.special``."""

REAL: dict[str, Any] = {"promote": "int_to_float", "dtypes": ("float32", "float64")}
"""Options of scalar functions for which PyTorch has no 16-bit kernels."""

# --------------------------------------------------------------------------------------------- Bessel functions J and Y


def beside_zero(x: Any, zero: tuple[float, float]) -> Any:
    """Return ``x * x`` minus the square of a zero, given as a number and its rounding error; accurate near the zero."""
    nearest, rest = zero
    square = x * x
    return (square - nearest) + (fma(x, x, -square) - rest)


def without_zero(name: str, x: Any) -> Any:
    """Return ``x * x`` minus the square of the first zero of a Bessel function J, by which J is divided near 0."""
    wide, narrow = ROOTS[name]
    return beside_zero(x, wide) if is_double(x) else beside_zero(x, narrow)


def hankel(x: Any, even: str, odd: str, first: Any, second: Any) -> Any:
    """Return ``(P(x) * first - Q(x) * second) / sqrt(pi * x)``: a Bessel function of a large argument (DLMF
    10.17.3).
    """
    ratio = HANKEL_FROM / x
    square = ratio * ratio
    whole = evaluate(even, square) * first - ratio * evaluate(odd, square) * second
    return whole / math.sqrt(math.pi * x)


def j0_near(x: Any) -> Any:
    return without_zero("J0", x) * evaluate("J0", x * x)


def j1_near(x: Any) -> Any:
    return x * without_zero("J1", x) * evaluate("J1", x * x)


def j0(x: Any) -> Any:
    x = abs(x)
    sine, cosine = math.sin(x), math.cos(x)
    return j0_near(x) if x <= HANKEL_FROM else hankel(x, "P0", "Q0", cosine + sine, sine - cosine)


def j1(x: Any) -> Any:
    size = abs(x)
    sine, cosine = math.sin(size), math.cos(size)
    magnitude = j1_near(size) if size <= HANKEL_FROM else hankel(size, "P1", "Q1", sine - cosine, -sine - cosine)
    return -magnitude if x < 0 else magnitude


def y0(x: Any) -> Any:
    sine, cosine = math.sin(x), math.cos(x)
    near = evaluate("Y0", x * x) + (2 / math.pi) * math.log(x) * j0_near(x)
    value = near if x <= HANKEL_FROM else hankel(x, "P0", "Q0", sine - cosine, -sine - cosine)
    return -math.inf if x == 0 else value


def y1(x: Any) -> Any:
    sine, cosine = math.sin(x), math.cos(x)
    near = x * evaluate("Y1", x * x) + (2 / math.pi) * (math.log(x) * j1_near(x) - 1.0 / x)
    value = near if x <= HANKEL_FROM else hankel(x, "P1", "Q1", -sine - cosine, cosine - sine)
    return -math.inf if x == 0 else value


# ------------------------------------------------------------------------------------ modified Bessel functions I and K

I_FAR = 8.0
K_FAR = 2.0


def i0e(x: Any) -> Any:
    size = abs(x)
    return evaluate("I0_NEAR", size) if size <= I_FAR else evaluate("I0_FAR", I_FAR / size) / math.sqrt(size)


def i1e(x: Any) -> Any:
    size = abs(x)
    far = I_FAR / size
    return math.copysign(
        size * evaluate("I1_NEAR", size) if size <= I_FAR else evaluate("I1_FAR", far) / math.sqrt(size), x
    )


def i0_scalar(x: Any) -> Any:
    return math.exp(abs(x)) * i0e(x)


def i1_scalar(x: Any) -> Any:
    return math.exp(abs(x)) * i1e(x)


def log_of_half(x: Any) -> Any:
    """Return ``log(x / 2)``, accurately where ``x / 2`` underflows and where it is near 1."""
    is_small = x < 1.0
    return math.log(x if is_small else x / 2) - (math.log(2.0) if is_small else 0.0)


def k0_near(x: Any) -> Any:
    square = x * x
    regular = evaluate("K0_NEAR", square) - log_of_half(x) * evaluate("I0_SMALL", square)
    return math.inf if x == 0 else regular


def k1_near(x: Any) -> Any:
    square = x * x
    regular = evaluate("K1_NEAR", square) / x + log_of_half(x) * (x * evaluate("I1_SMALL", square))
    return math.inf if x == 0 else regular


def k_far(name: str, x: Any) -> Any:
    """Return ``exp(x) * K(x)`` for a modified Bessel function K and arguments from 2 on."""
    return evaluate(name, K_FAR / x) / math.sqrt(x)


# ----------------------------------------------------------------------------------------------------------------- Airy


def airy_ai(x: Any) -> Any:
    magnitude = abs(x)
    root = math.sqrt(magnitude)
    zeta = (2 / 3) * magnitude * root
    fourth = math.sqrt(root)
    decay = math.exp(-zeta) * evaluate("AIRY_RIGHT", (2 / 3) * AIRY_FROM**1.5 / zeta) / fourth
    ratio = (2 / 3) * AIRY_LEFT_FROM**1.5 / zeta
    sine, cosine = math.sin(zeta), math.cos(zeta)
    square = ratio * ratio
    # sin(zeta + pi/4) and cos(zeta + pi/4), DLMF 9.7.9
    even, odd = evaluate("AIRY_SINE", square), evaluate("AIRY_COSINE", square)
    wave = even * (sine + cosine) - ratio * odd * (cosine - sine)
    near = evaluate("AIRY_CENTER", x) if x >= -1.5 else evaluate("AIRY_LEFT", x)
    far = math.nan if x == math.inf else decay
    oscillating = wave * math.sqrt(0.5) / fourth
    return near if x >= -AIRY_LEFT_FROM and x <= AIRY_FROM else far if x > 0 else oscillating


special_bessel_j0_elements = primitives.elements(j0, **REAL)


@op("aten::special_bessel_j0", **SPECIAL)
@formula
def special_bessel_j0(self: Tensor) -> Tensor:
    """Return the Bessel function of the first kind, of order 0."""
    return special_bessel_j0_elements(self)


special_bessel_j0.non_differentiable("self")


special_bessel_j1_elements = primitives.elements(j1, **REAL)


@op("aten::special_bessel_j1", **SPECIAL)
@formula
def special_bessel_j1(self: Tensor) -> Tensor:
    """Return the Bessel function of the first kind, of order 1."""
    return special_bessel_j1_elements(self)


special_bessel_j1.non_differentiable("self")


special_bessel_y0_elements = primitives.elements(y0, **REAL)


@op("aten::special_bessel_y0", **SPECIAL)
@formula
def special_bessel_y0(self: Tensor) -> Tensor:
    """Return the Bessel function of the second kind, of order 0; NaN below 0."""
    return special_bessel_y0_elements(self)


special_bessel_y0.non_differentiable("self")


special_bessel_y1_elements = primitives.elements(y1, **REAL)


@op("aten::special_bessel_y1", **SPECIAL)
@formula
def special_bessel_y1(self: Tensor) -> Tensor:
    """Return the Bessel function of the second kind, of order 1; NaN below 0."""
    return special_bessel_y1_elements(self)


special_bessel_y1.non_differentiable("self")


special_modified_bessel_i0_elements = primitives.elements(i0_scalar, **REAL)


@op("aten::special_modified_bessel_i0", **SPECIAL)
@formula
def special_modified_bessel_i0(self: Tensor) -> Tensor:
    """Return the modified Bessel function of the first kind, of order 0."""
    return special_modified_bessel_i0_elements(self)


special_modified_bessel_i0.non_differentiable("self")


special_modified_bessel_i1_elements = primitives.elements(i1_scalar, **REAL)


@op("aten::special_modified_bessel_i1", **SPECIAL)
@formula
def special_modified_bessel_i1(self: Tensor) -> Tensor:
    """Return the modified Bessel function of the first kind, of order 1."""
    return special_modified_bessel_i1_elements(self)


special_modified_bessel_i1.non_differentiable("self")


special_modified_bessel_k0_elements = primitives.elements(
    lambda x: k0_near(x) if x <= K_FAR else math.exp(-x) * k_far("K0_FAR", x), **REAL
)


@op("aten::special_modified_bessel_k0", **SPECIAL)
@formula
def special_modified_bessel_k0(self: Tensor) -> Tensor:
    """Return the modified Bessel function of the second kind, of order 0; NaN below 0."""
    return special_modified_bessel_k0_elements(self)


special_modified_bessel_k0.non_differentiable("self")


special_modified_bessel_k1_elements = primitives.elements(
    lambda x: k1_near(x) if x <= K_FAR else math.exp(-x) * k_far("K1_FAR", x), **REAL
)


@op("aten::special_modified_bessel_k1", **SPECIAL)
@formula
def special_modified_bessel_k1(self: Tensor) -> Tensor:
    """Return the modified Bessel function of the second kind, of order 1; NaN below 0."""
    return special_modified_bessel_k1_elements(self)


special_modified_bessel_k1.non_differentiable("self")


special_scaled_modified_bessel_k0_elements = primitives.elements(
    lambda x: k0_near(x) * math.exp(x) if x <= K_FAR else k_far("K0_FAR", x), **REAL
)


@op("aten::special_scaled_modified_bessel_k0", **SPECIAL)
@formula
def special_scaled_modified_bessel_k0(x: Tensor) -> Tensor:
    """``exp(x) * special_modified_bessel_k0(x)``"""
    return special_scaled_modified_bessel_k0_elements(x)


special_scaled_modified_bessel_k0.non_differentiable("x")


special_scaled_modified_bessel_k1_elements = primitives.elements(
    lambda x: k1_near(x) * math.exp(x) if x <= K_FAR else k_far("K1_FAR", x), **REAL
)


@op("aten::special_scaled_modified_bessel_k1", **SPECIAL)
@formula
def special_scaled_modified_bessel_k1(x: Tensor) -> Tensor:
    """``exp(x) * special_modified_bessel_k1(x)``"""
    return special_scaled_modified_bessel_k1_elements(x)


special_scaled_modified_bessel_k1.non_differentiable("x")


special_spherical_bessel_j0_elements = primitives.elements(
    lambda x: 1.0 if x == 0 else 0.0 if math.isinf(x) else math.sin(x) / x, **REAL
)


@op("aten::special_spherical_bessel_j0", **SPECIAL)
@formula
def special_spherical_bessel_j0(x: Tensor) -> Tensor:
    """``sin(x) / x``; 1 for 0."""
    return special_spherical_bessel_j0_elements(x)


special_spherical_bessel_j0.non_differentiable("x")


special_airy_ai_elements = primitives.elements(airy_ai, **REAL)


@op("aten::special_airy_ai", **SPECIAL)
@formula
def special_airy_ai(x: Tensor) -> Tensor:
    """Return the Airy function Ai."""
    return special_airy_ai_elements(x)


special_airy_ai.non_differentiable("x")
FLOATING: dict[str, Any] = {"promote": "int_to_float", "dtypes": "floating"}


i0_elements = primitives.elements(i0_scalar, **FLOATING)


@op("aten::i0", **UNARY)
@formula
def i0(self: Tensor) -> Tensor:
    """Return the modified Bessel function of the first kind, of order 0."""
    return i0_elements(self)


special_i0e_elements = primitives.elements(i0e, **FLOATING)


@op("aten::special_i0e", **SPECIAL)
@formula
def special_i0e(self: Tensor) -> Tensor:
    """``exp(-abs(self)) * i0(self)``"""
    return special_i0e_elements(self)


special_i1_elements = primitives.elements(i1_scalar, **FLOATING)


@op("aten::special_i1", **SPECIAL)
@formula
def special_i1(self: Tensor) -> Tensor:
    """Return the modified Bessel function of the first kind, of order 1."""
    return special_i1_elements(self)


special_i1e_elements = primitives.elements(i1e, **FLOATING)


@op("aten::special_i1e", **SPECIAL)
@formula
def special_i1e(self: Tensor) -> Tensor:
    """``exp(-abs(self)) * special_i1(self)``"""
    return special_i1e_elements(self)


def quotient_beside_zero(result: Tensor, self: Tensor) -> Tensor:
    """Return ``result / self``, and 1/2 at 0: the limit of I1(x) / x."""
    return where(self == 0, 0.5, result / where(self == 0, 1.0, self))


i0.derivative(self=lambda grad, self: grad * special_i1(self))
special_i0e.derivative(self=lambda grad, self, result: grad * (special_i1e(self) - self.sgn() * result))
special_i1.derivative(self=lambda grad, self, result: grad * (i0(self) - quotient_beside_zero(result, self)))


@special_i1e.derivative("self")
def i1e_derivative(grad, self, result):
    return grad * (special_i0e(self) - self.sgn() * result - quotient_beside_zero(result, self))
