"""Addition, subtraction, multiplication, division and negation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from opdsl.aten.checks import check_alpha, is_boolean
from opdsl.aten.entries import CORE_BINARY, CORE_UNARY, UNARY, number_entry
from opdsl.declare import Inplace, Out, op
from opdsl.kernels import check
from opdsl.runtime import Tensor
from opdsl.scalar.intrinsics import fma, rounded, trunc_divide
from opdsl.schema.vocabulary import Scalar

# ---------------------------------------------------------------------------------------------------------------- add


@op(
    "aten::add.Tensor",
    variants="function, method",
    tags=("core", "pointwise"),
    accepts_numbers=True,
    inplace=Inplace(variants="method"),
    out=Out(
        "add.out",
        ufunc_inner_loop={"Generic": "add (AllAndComplex, BFloat16, Half, ComplexHalf)", "ScalarOnly": "add (Bool)"},
    ),
)
def add(self: Tensor, other: Tensor, *, alpha: Scalar = 1) -> Tensor:
    """``self + alpha * other``"""
    ...


@add.meta(reads_numbers=False)
def add_meta(ctx, self, other, alpha):
    check_alpha(self, other, alpha)


# PyTorch generates these two from the ufunc entry, whose loops take numbers as elements.
@add.pointwise(rounded=("self", "other", "alpha"))
def add_scalar_function(self, other, alpha):
    return fma(alpha, other, self)


@add.overload(
    "Scalar",
    variants="function, method",
    tags=("core", "pointwise"),
    is_bound=False,
    device_check="NoCheck",
    inplace=Inplace(variants="method", autogen="add.Scalar_out"),
)
def add_number(self: Tensor, other: Scalar, alpha: Scalar = 1) -> Tensor:
    """``self + alpha * other`` for a number; a Python call reaches ``add.Tensor`` instead."""
    ...


@add_number.kernel("CompositeExplicitAutograd")
def add_number_kernel(self, other, alpha):
    return add(self, other, alpha=alpha)


@add_number.derivative("self")
def add_number_derivative(grad):
    return grad


# ---------------------------------------------------------------------------------------------------------------- sub


@op(
    "aten::sub.Tensor",
    variants="function, method",
    tags=("core", "pointwise"),
    accepts_numbers=True,
    inplace=Inplace(variants="method"),
    out=Out("sub.out"),
)
def sub(self: Tensor, other: Tensor, *, alpha: Scalar = 1) -> Tensor:
    """``self - alpha * other``"""
    ...


@sub.meta(reads_numbers=False)
def sub_meta(ctx, self, other, alpha):
    check(
        not (is_boolean(self) and is_boolean(other)),
        "Subtraction, the `-` operator, with two bool tensors is not supported. "
        "Use the `^` or `logical_xor()` operator instead.",
    )
    check(
        not (is_boolean(self) or is_boolean(other)),
        "Subtraction, the `-` operator, with a bool tensor is not supported. "
        "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.",
    )
    check_alpha(self, other, alpha)


@sub.pointwise(rounded=("self", "other", "alpha"))
def sub_scalar_function(self, other, alpha):
    return fma(-alpha, other, self)


@sub.overload(
    "Scalar",
    variants="function, method",
    tags=("core", "pointwise"),
    is_bound=False,
    device_check="NoCheck",
    inplace=Inplace(variants="method", autogen="sub.Scalar_out"),
)
def sub_number(self: Tensor, other: Scalar, alpha: Scalar = 1) -> Tensor:
    """``self - alpha * other`` for a number; a Python call reaches ``sub.Tensor`` instead."""
    ...


@sub_number.kernel("CompositeExplicitAutograd")
def sub_number_kernel(self, other, alpha):
    return sub(self, other, alpha=alpha)


@sub_number.derivative("self")
def sub_number_derivative(grad):
    return grad


@op(
    "aten::rsub.Tensor",
    device_check="NoCheck",
    dispatch={"CPU, CUDA": "rsub"},
    autogen="rsub.Tensor_out",
)
def rsub(self: Tensor, other: Tensor, *, alpha: Scalar = 1) -> Tensor:
    """``other - alpha * self``"""
    ...


@rsub.kernel("CompositeExplicitAutograd")
def rsub_kernel(self, other, alpha):
    return sub(other, self, alpha=alpha)


@rsub.derivative("self")
def rsub_derivative(grad, alpha):
    return -grad * (alpha.conjugate() if isinstance(alpha, complex) else alpha)


@rsub.derivative("other")
def rsub_other_derivative(grad):
    return grad


# A kernel of its own, since ``2 - x`` is written often.
@rsub.overload(
    "Scalar",
    variants="function",
    device_check="NoCheck",
    tags="pointwise",
    structured=False,
    dispatch={"CompositeExplicitAutograd": "rsub"},
    autogen="rsub.Scalar_out",
)
def rsub_number(self: Tensor, other: Scalar, alpha: Scalar = 1) -> Tensor:
    """``other - alpha * self`` for a number."""
    ...


@rsub_number.meta(reads_numbers=False)
def rsub_number_meta(ctx, self, other, alpha):
    sub_meta(ctx, other, self, alpha)


@rsub_number.pointwise(wrapped="other", rounded=("other", "alpha"))
def rsub_number_scalar_function(self, other, alpha):
    return fma(-alpha, self, other)


# ---------------------------------------------------------------------------------------------------------------- mul


@op(
    "aten::mul.Tensor",
    variants="function, method",
    tags=("core", "pointwise"),
    accepts_numbers=True,
    inplace=Inplace(variants="method"),
    out=Out("mul.out"),
)
def mul(self: Tensor, other: Tensor) -> Tensor:
    """``self * other``"""
    ...


@mul.pointwise
def mul_scalar_function(self, other):
    return self * other


@mul.overload(
    "Scalar",
    variants="function, method",
    tags=("core", "pointwise"),
    is_bound=False,
    device_check="NoCheck",
    inplace=Inplace(variants="method", autogen="mul.Scalar_out"),
)
def mul_number(self: Tensor, other: Scalar) -> Tensor:
    """``self * other`` for a number; a Python call reaches ``mul.Tensor`` instead."""
    ...


@mul_number.kernel("CompositeExplicitAutograd")
def mul_number_kernel(self, other):
    return mul(self, other)


@mul_number.derivative("self")
def mul_number_derivative(grad, other):
    return grad * other.conjugate()


# ---------------------------------------------------------------------------------------------------------------- div


@op(
    "aten::div.Tensor",
    variants="function, method",
    tags=("core", "pointwise"),
    accepts_numbers=True,
    inplace=Inplace(variants="method"),
    out=Out("div.out"),
)
def div(self: Tensor, other: Tensor) -> Tensor:
    """``self / other``; integers are divided as floating-point numbers."""
    ...


@div.pointwise(promote="int_to_float")
def div_scalar_function(self, other):
    return self / other


@div.overload(
    "Tensor_mode",
    variants="function, method",
    tags=("core", "pointwise"),
    accepts_numbers=True,
    inplace=Inplace(variants="method"),
    out=Out("div.out_mode"),
)
def div_mode(self: Tensor, other: Tensor, *, rounding_mode: str | None) -> Tensor:
    """``self / other``, rounded towards zero (``"trunc"``), down (``"floor"``) or not at all (None)."""
    ...


@div_mode.meta
def div_mode_meta(ctx, self, other, rounding_mode):
    check(
        rounding_mode in (None, "trunc", "floor"),
        f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'",
    )


div_mode.pointwise(promote="int_to_float", when={"rounding_mode": None})(div_scalar_function)


NARROW = ("float16", "bfloat16")


@div_mode.pointwise(when={"rounding_mode": "floor"}, dtypes=NARROW)
def div_floor_narrow_scalar_function(self: Any, other: Any) -> Any:
    """PyTorch rounds every step to 16 bits (``c10::div_floor_floating``)."""
    modulus = math.fmod(self, other)
    quotient = rounded(rounded(self - modulus) / other)
    quotient = rounded(quotient - 1) if modulus != 0 and (other < 0) != (modulus < 0) else quotient
    floor: float = math.floor(quotient)
    floor = floor + 1 if quotient - floor > 0.5 else floor
    floor = floor if quotient != 0 else math.copysign(0.0, self / other)
    return self / other if other == 0 else floor


@div_mode.pointwise(when={"rounding_mode": "floor"}, nonzero="other")
def div_floor_scalar_function(self, other):
    return self // other


@div_mode.pointwise(when={"rounding_mode": "trunc"}, nonzero="other")
def div_trunc_scalar_function(self, other):
    return trunc_divide(self, other)


@div.overload(
    "Scalar",
    variants="function, method",
    tags=("core", "pointwise"),
    is_bound=False,
    device_check="NoCheck",
    inplace=Inplace(variants="method", autogen="div.Scalar_out"),
)
def div_number(self: Tensor, other: Scalar) -> Tensor:
    """``self / other`` for a number; a Python call reaches ``div.Tensor`` instead."""
    ...


@div_number.kernel("CompositeExplicitAutograd")
def div_number_kernel(self, other):
    return div(self, other)


@div_number.derivative("self")
def div_number_derivative(grad, other):
    return grad / other.conjugate()


@div.overload(
    "Scalar_mode",
    variants="function, method",
    tags=("core", "pointwise"),
    is_bound=False,
    inplace=Inplace(variants="method", autogen="div.Scalar_mode_out"),
)
def div_number_mode(self: Tensor, other: Scalar, *, rounding_mode: str | None) -> Tensor:
    """``self / other`` for a number, rounded; a Python call reaches ``div.Tensor_mode`` instead."""
    ...


@div_number_mode.kernel("CompositeExplicitAutograd")
def div_number_mode_kernel(self, other, rounding_mode):
    return div_mode(self, other, rounding_mode=rounding_mode)


@div_number_mode.derivative("self")
def div_number_mode_derivative(grad, other, rounding_mode):
    return grad / other.conjugate() if rounding_mode is None else grad.new_zeros(grad.shape)


# -------------------------------------------------------------------------------------------------------- floor_divide

REAL = ("integer", "floating")


# PyTorch's floor_divide is no structured operator, so ours is exported as a plain one.
@op(
    "aten::floor_divide",
    variants="function, method",
    tags=(),
    accepts_numbers=True,
    structured=False,
    inplace=Inplace("floor_divide_.Tensor", variants="method"),
    out=Out(explicit=True),
)
def floor_divide(self: Tensor, other: Tensor) -> Tensor:
    """``self / other``, rounded down."""
    ...


floor_divide.pointwise(dtypes=NARROW)(div_floor_narrow_scalar_function)
floor_divide.pointwise(nonzero="other", dtypes=REAL)(div_floor_scalar_function)


@floor_divide.overload(
    "Scalar",
    variants="function, method",
    is_bound=False,
    device_check="NoCheck",
    inplace=Inplace(variants="method", autogen="floor_divide.Scalar_out"),
)
def floor_divide_number(self: Tensor, other: Scalar) -> Tensor:
    """``self / other`` for a number, rounded down; a Python call reaches ``floor_divide`` instead."""
    ...


@floor_divide_number.kernel("CompositeExplicitAutograd")
def floor_divide_number_kernel(self, other):
    return floor_divide(self, other)


# ----------------------------------------------------------------------------------------------------- fmod, remainder


@op("aten::fmod.Tensor", **{**CORE_BINARY, "out": Out("fmod.Tensor_out")})
def fmod(self: Tensor, other: Tensor) -> Tensor:
    """What dividing towards zero leaves; it has the sign of ``self``."""
    ...


@fmod.pointwise(nonzero="other", dtypes=REAL)
def fmod_scalar_function(self, other):
    return math.fmod(self, other)


@fmod.overload("Scalar", **number_entry("fmod"))
def fmod_number(self: Tensor, other: Scalar) -> Tensor:
    """What dividing by a number towards zero leaves."""
    ...


fmod_number.pointwise(nonzero="other", wrapped="other", dtypes=REAL)(fmod_scalar_function)


@op("aten::remainder.Tensor", **{**CORE_BINARY, "out": Out("remainder.Tensor_out")})
def remainder(self: Tensor, other: Tensor) -> Tensor:
    """What dividing down leaves; it has the sign of ``other``."""
    ...


@remainder.pointwise(nonzero="other", dtypes=REAL)
def remainder_scalar_function(self, other):
    return self % other


@remainder.overload("Scalar", **number_entry("remainder", device_check="ExactSame"))
def remainder_number(self: Tensor, other: Scalar) -> Tensor:
    """What dividing by a number leaves."""
    ...


remainder_number.pointwise(nonzero="other", wrapped="other", dtypes=REAL)(remainder_scalar_function)


@remainder.overload("Scalar_Tensor", variants="function", tags="pointwise", structured=False, out=True)
def number_remainder(self: Scalar, other: Tensor) -> Tensor:
    """What dividing a number leaves."""
    ...


number_remainder.pointwise(nonzero="other", wrapped="self", dtypes=REAL)(remainder_scalar_function)


# ----------------------------------------------------------------------------------------------------- neg, reciprocal


@op("aten::neg", **CORE_UNARY)
def neg(self: Tensor) -> Tensor:
    """``-self``"""
    ...


@neg.meta
def neg_meta(ctx, self):
    check(
        not is_boolean(self),
        "Negation, the `-` operator, on a bool tensor is not supported. "
        "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.",
    )


@neg.pointwise
def neg_scalar_function(self):
    return -self


@op("aten::reciprocal", **CORE_UNARY)
def reciprocal(self: Tensor) -> Tensor:
    """``1 / self``"""
    ...


@reciprocal.pointwise(promote="int_to_float")
def reciprocal_scalar_function(self):
    return 1.0 / self


# ------------------------------------------------------------------------------------------------------------ gcd, lcm

COMMON: dict[str, Any] = {**UNARY, "device_check": "ExactSame", "inplace": Inplace(tags=())}

# How often Euclid's algorithm divides at most: neighbours among Fibonacci's numbers take longest.
TURNS = {"uint8": 13, "int8": 11, "int16": 23, "int32": 47, "int64": 92}


def common_divisor(turns: int) -> Callable[[Any, Any], Any]:
    """Euclid's algorithm in a number of turns."""

    def gcd_scalar_function(self: Any, other: Any) -> Any:
        one, two = abs(self), abs(other)
        for _ in range(turns):
            rest = math.fmod(one, two) if two != 0 else two
            one, two = (two if two != 0 else one), rest
        return one

    return gcd_scalar_function


def common_multiple(turns: int, is_wide: bool) -> Callable[[Any, Any], Any]:
    """The product without the common divisor; where it overflows, as C computes it: 8 and 16 bits in 32."""
    divisor = common_divisor(turns)

    def lcm_scalar_function(self: Any, other: Any) -> Any:
        product = abs(trunc_divide(self, divisor(self, other))) * abs(other)
        return abs(product) if is_wide else product

    return lcm_scalar_function


@op("aten::gcd", **COMMON)
def gcd(self: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor."""
    ...


@op("aten::lcm", **COMMON)
def lcm(self: Tensor, other: Tensor) -> Tensor:
    """The least common multiple; 0 where an element is 0."""
    ...


for dtype, turns in TURNS.items():
    gcd.pointwise(dtypes=dtype)(common_divisor(turns))
    lcm.pointwise(dtypes=dtype)(common_multiple(turns, dtype in ("int32", "int64")))
