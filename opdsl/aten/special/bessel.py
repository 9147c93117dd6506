"""Bessel functions, modified ones, and Airy's function.

Near zero they are series of their own, beyond it those of modulus and phase (DLMF 10.17, 10.40, 9.7); ``series_fit``
says what each series stands for. ``cos(x - pi/4)`` is taken as ``(cos(x) + sin(x)) / sqrt(2)``: the difference would
be rounded where ``x`` is large.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from opdsl.aten._shared.entries import UNARY
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.special.series import AIRY_FROM, AIRY_LEFT_FROM, HANKEL_FROM, ROOTS, SERIES
from opdsl.aten.special.series_values import evaluate, in_both_precisions
from opdsl.declare import op
from opdsl.runtime import Tensor
from opdsl.scalar.intrinsics import fma

ScalarFunction = Callable[[Any], Any]

SPECIAL: dict[str, Any] = {
    "python_module": "special",
    "variants": "function",
    "tags": "pointwise",
    "device_check": "ExactSame",
    "out": True,
}
"""A function of ``torch.special``."""


# ---------------------------------------------------------------------------------------------- of the first kind: J


@op("aten::special_bessel_j0", **SPECIAL)
def special_bessel_j0(self: Tensor) -> Tensor:
    """The Bessel function of the first kind, of order 0."""
    ...


@op("aten::special_bessel_j1", **SPECIAL)
def special_bessel_j1(self: Tensor) -> Tensor:
    """The Bessel function of the first kind, of order 1."""
    ...


def beside_zero(x: Any, zero: tuple[float, float]) -> Any:
    """``x * x`` less the square of a zero, which has two parts: exact beside it."""
    nearest, rest = zero
    square = x * x
    return (square - nearest) + (fma(x, x, -square) - rest)


def hankel(x: Any, even: Any, odd: Any, first: Any, second: Any) -> Any:
    """``(P(x) * first - Q(x) * second) / sqrt(pi * x)``, DLMF 10.17.3."""
    ratio = HANKEL_FROM / x
    square = ratio * ratio
    whole = evaluate(even, square) * first - ratio * evaluate(odd, square) * second
    return whole / math.sqrt(math.pi * x)


def j0_near(kind: str) -> ScalarFunction:
    near, zero = SERIES["J0"][kind], ROOTS["J0"][kind]

    def j0_near_zero(x: Any) -> Any:
        return beside_zero(x, zero) * evaluate(near, x * x)

    return j0_near_zero


def j1_near(kind: str) -> ScalarFunction:
    near, zero = SERIES["J1"][kind], ROOTS["J1"][kind]

    def j1_near_zero(x: Any) -> Any:
        return x * beside_zero(x, zero) * evaluate(near, x * x)

    return j1_near_zero


@in_both_precisions(special_bessel_j0)
def j0_function(kind: str) -> ScalarFunction:
    near, even, odd = j0_near(kind), SERIES["P0"][kind], SERIES["Q0"][kind]

    def bessel_j0_scalar_function(self: Any) -> Any:
        x = abs(self)
        sine, cosine = math.sin(x), math.cos(x)
        return near(x) if x <= HANKEL_FROM else hankel(x, even, odd, cosine + sine, sine - cosine)

    return bessel_j0_scalar_function


@in_both_precisions(special_bessel_j1)
def j1_function(kind: str) -> ScalarFunction:
    near, even, odd = j1_near(kind), SERIES["P1"][kind], SERIES["Q1"][kind]

    def bessel_j1_scalar_function(self: Any) -> Any:
        x = abs(self)
        sine, cosine = math.sin(x), math.cos(x)
        found = near(x) if x <= HANKEL_FROM else hankel(x, even, odd, sine - cosine, -sine - cosine)
        return -found if self < 0 else found

    return bessel_j1_scalar_function


# --------------------------------------------------------------------------------------------- of the second kind: Y


@op("aten::special_bessel_y0", **SPECIAL)
def special_bessel_y0(self: Tensor) -> Tensor:
    """The Bessel function of the second kind, of order 0; NaN below 0."""
    ...


@op("aten::special_bessel_y1", **SPECIAL)
def special_bessel_y1(self: Tensor) -> Tensor:
    """The Bessel function of the second kind, of order 1; NaN below 0."""
    ...


@in_both_precisions(special_bessel_y0)
def y0_function(kind: str) -> ScalarFunction:
    near, first_kind, even, odd = SERIES["Y0"][kind], j0_near(kind), SERIES["P0"][kind], SERIES["Q0"][kind]

    def bessel_y0_scalar_function(self: Any) -> Any:
        sine, cosine = math.sin(self), math.cos(self)
        small = evaluate(near, self * self) + (2 / math.pi) * math.log(self) * first_kind(self)
        found = small if self <= HANKEL_FROM else hankel(self, even, odd, sine - cosine, -sine - cosine)
        return -math.inf if self == 0 else found

    return bessel_y0_scalar_function


@in_both_precisions(special_bessel_y1)
def y1_function(kind: str) -> ScalarFunction:
    near, first_kind, even, odd = SERIES["Y1"][kind], j1_near(kind), SERIES["P1"][kind], SERIES["Q1"][kind]

    def bessel_y1_scalar_function(self: Any) -> Any:
        sine, cosine = math.sin(self), math.cos(self)
        logarithm = math.log(self) * first_kind(self) - 1.0 / self
        small = self * evaluate(near, self * self) + (2 / math.pi) * logarithm
        found = small if self <= HANKEL_FROM else hankel(self, even, odd, -sine - cosine, cosine - sine)
        return -math.inf if self == 0 else found

    return bessel_y1_scalar_function


# --------------------------------------------------------------------------------------- modified, of the first kind: I

FUNCTION: dict[str, Any] = {**UNARY, "device_check": "ExactSame"}


@op("aten::i0", **FUNCTION)
def i0(self: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, of order 0."""
    ...


@op("aten::special_i0e", **SPECIAL)
def special_i0e(self: Tensor) -> Tensor:
    """``exp(-abs(self)) * i0(self)``"""
    ...


@op("aten::special_i1", **SPECIAL)
def special_i1(self: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, of order 1."""
    ...


@op("aten::special_i1e", **SPECIAL)
def special_i1e(self: Tensor) -> Tensor:
    """``exp(-abs(self)) * special_i1(self)``"""
    ...


@op("aten::special_modified_bessel_i0", **SPECIAL)
def special_modified_bessel_i0(self: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, of order 0."""
    ...


@op("aten::special_modified_bessel_i1", **SPECIAL)
def special_modified_bessel_i1(self: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, of order 1."""
    ...


I_FAR = 8.0


@in_both_precisions(special_i0e, narrow=True)
def i0e_function(kind: str) -> ScalarFunction:
    near, far = SERIES["I0_NEAR"][kind], SERIES["I0_FAR"][kind]

    def i0e_scalar_function(self: Any) -> Any:
        x = abs(self)
        return evaluate(near, x) if x <= I_FAR else evaluate(far, I_FAR / x) / math.sqrt(x)

    return i0e_scalar_function


@in_both_precisions(special_i1e, narrow=True)
def i1e_function(kind: str) -> ScalarFunction:
    near, far = SERIES["I1_NEAR"][kind], SERIES["I1_FAR"][kind]

    def i1e_scalar_function(self: Any) -> Any:
        x = abs(self)
        found = x * evaluate(near, x) if x <= I_FAR else evaluate(far, I_FAR / x) / math.sqrt(x)
        return math.copysign(found, self)

    return i1e_scalar_function


@in_both_precisions(special_modified_bessel_i0)
@in_both_precisions(i0, narrow=True)
def i0_function(kind: str) -> ScalarFunction:
    scaled = i0e_function(kind)

    def i0_scalar_function(self: Any) -> Any:
        return math.exp(abs(self)) * scaled(self)

    return i0_scalar_function


@in_both_precisions(special_modified_bessel_i1)
@in_both_precisions(special_i1, narrow=True)
def i1_function(kind: str) -> ScalarFunction:
    scaled = i1e_function(kind)

    def i1_scalar_function(self: Any) -> Any:
        return math.exp(abs(self)) * scaled(self)

    return i1_scalar_function


i0.derivative(self=lambda grad, self: grad * special_i1(self))
special_i0e.derivative(self=lambda grad, self, result: grad * (special_i1e(self) - self.sgn() * result))


def quotient_beside_zero(result: Tensor, self: Tensor) -> Tensor:
    """``result / self``; 1/2 at 0, which is the limit of I1 over its argument."""
    return where(self == 0, 0.5, result / where(self == 0, 1.0, self))


special_i1.derivative(self=lambda grad, self, result: grad * (i0(self) - quotient_beside_zero(result, self)))


@special_i1e.derivative("self")
def i1e_derivative(grad, self, result):
    return grad * (special_i0e(self) - self.sgn() * result - quotient_beside_zero(result, self))


# -------------------------------------------------------------------------------------- modified, of the second kind: K


@op("aten::special_modified_bessel_k0", **SPECIAL)
def special_modified_bessel_k0(self: Tensor) -> Tensor:
    """The modified Bessel function of the second kind, of order 0; NaN below 0."""
    ...


@op("aten::special_modified_bessel_k1", **SPECIAL)
def special_modified_bessel_k1(self: Tensor) -> Tensor:
    """The modified Bessel function of the second kind, of order 1; NaN below 0."""
    ...


@op("aten::special_scaled_modified_bessel_k0", **SPECIAL)
def special_scaled_modified_bessel_k0(x: Tensor) -> Tensor:
    """``exp(x) * special_modified_bessel_k0(x)``"""
    ...


@op("aten::special_scaled_modified_bessel_k1", **SPECIAL)
def special_scaled_modified_bessel_k1(x: Tensor) -> Tensor:
    """``exp(x) * special_modified_bessel_k1(x)``"""
    ...


K_FAR = 2.0


def k_parts(kind: str, order: int) -> tuple[ScalarFunction, ScalarFunction]:
    """K up to 2, and ``exp(x) * K(x)`` from there on."""
    first_kind, near, far = (
        (SERIES["I0_SMALL"][kind], SERIES["K0_NEAR"][kind], SERIES["K0_FAR"][kind]),
        (SERIES["I1_SMALL"][kind], SERIES["K1_NEAR"][kind], SERIES["K1_FAR"][kind]),
    )[order]

    def k0_near_zero(x: Any) -> Any:
        square = x * x
        found = evaluate(near, square) - math.log(x / 2) * evaluate(first_kind, square)
        return math.inf if x == 0 else found

    def k1_near_zero(x: Any) -> Any:
        square = x * x
        found = evaluate(near, square) / x + math.log(x / 2) * (x * evaluate(first_kind, square))
        return math.inf if x == 0 else found

    def scaled_far(x: Any) -> Any:
        return evaluate(far, K_FAR / x) / math.sqrt(x)

    return (k0_near_zero, k1_near_zero)[order], scaled_far


def k_function(order: int) -> Callable[[str], ScalarFunction]:
    def factory(kind: str) -> ScalarFunction:
        near, far = k_parts(kind, order)

        def modified_bessel_k_scalar_function(self: Any) -> Any:
            return near(self) if self <= K_FAR else math.exp(-self) * far(self)

        return modified_bessel_k_scalar_function

    return factory


def scaled_k_function(order: int) -> Callable[[str], ScalarFunction]:
    def factory(kind: str) -> ScalarFunction:
        near, far = k_parts(kind, order)

        def scaled_modified_bessel_k_scalar_function(x: Any) -> Any:
            return near(x) * math.exp(x) if x <= K_FAR else far(x)

        return scaled_modified_bessel_k_scalar_function

    return factory


in_both_precisions(special_modified_bessel_k0)(k_function(0))
in_both_precisions(special_modified_bessel_k1)(k_function(1))
in_both_precisions(special_scaled_modified_bessel_k0)(scaled_k_function(0))
in_both_precisions(special_scaled_modified_bessel_k1)(scaled_k_function(1))


# ----------------------------------------------------------------------------------------------- spherical, and Airy's


@op("aten::special_spherical_bessel_j0", **SPECIAL)
def special_spherical_bessel_j0(x: Tensor) -> Tensor:
    """``sin(x) / x``; 1 for 0."""
    ...


@special_spherical_bessel_j0.pointwise(promote="int_to_float", dtypes=("float32", "float64"))
def spherical_bessel_j0_scalar_function(x):
    return 1.0 if x == 0 else 0.0 if math.isinf(x) else math.sin(x) / x


@op("aten::special_airy_ai", **SPECIAL)
def special_airy_ai(x: Tensor) -> Tensor:
    """Airy's function Ai."""
    ...


@in_both_precisions(special_airy_ai)
def airy_function(kind: str) -> ScalarFunction:
    center, left, right = SERIES["AIRY_CENTER"][kind], SERIES["AIRY_LEFT"][kind], SERIES["AIRY_RIGHT"][kind]
    even, odd = SERIES["AIRY_SINE"][kind], SERIES["AIRY_COSINE"][kind]

    def airy_ai_scalar_function(x: Any) -> Any:
        magnitude = abs(x)
        root = math.sqrt(magnitude)
        zeta = (2 / 3) * magnitude * root
        fourth = math.sqrt(root)
        decay = math.exp(-zeta) * evaluate(right, (2 / 3) * AIRY_FROM**1.5 / zeta) / fourth
        ratio = (2 / 3) * AIRY_LEFT_FROM**1.5 / zeta
        sine, cosine = math.sin(zeta), math.cos(zeta)
        square = ratio * ratio
        # sin(zeta + pi/4) and cos(zeta + pi/4), DLMF 9.7.9
        wave = evaluate(even, square) * (sine + cosine) - ratio * evaluate(odd, square) * (cosine - sine)
        near = evaluate(center, x) if x >= -1.5 else evaluate(left, x)
        far = math.nan if x == math.inf else decay
        oscillating = wave * math.sqrt(0.5) / fourth
        return near if x >= -AIRY_LEFT_FROM and x <= AIRY_FROM else far if x > 0 else oscillating

    return airy_ai_scalar_function


for each in (
    special_bessel_j0,
    special_bessel_j1,
    special_bessel_y0,
    special_bessel_y1,
    special_modified_bessel_i0,
    special_modified_bessel_i1,
    special_modified_bessel_k0,
    special_modified_bessel_k1,
):
    each.non_differentiable("self")
for scaled in (
    special_scaled_modified_bessel_k0,
    special_scaled_modified_bessel_k1,
    special_spherical_bessel_j0,
    special_airy_ai,
):
    scaled.non_differentiable("x")
