"""Division and what it leaves."""

from __future__ import annotations

import math
from typing import Any

from opdsl.aten._shared.entries import CORE_BINARY, CORE_UNARY, number_entry
from opdsl.declare import Inplace, Out, forward, op
from opdsl.kernels import check
from opdsl.runtime import Tensor
from opdsl.scalar.intrinsics import rounded, trunc_divide
from opdsl.schema.vocabulary import Scalar

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
def div_mode_meta(ctx, rounding_mode):
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
    kernel="CompositeExplicitAutograd",
    variants="function, method",
    tags=("core", "pointwise"),
    is_bound=False,
    device_check="NoCheck",
    inplace=Inplace(variants="method", autogen="div.Scalar_out"),
)
@forward(div)
def div_number(self: Tensor, other: Scalar) -> Tensor:
    """``self / other`` for a number; a Python call reaches ``div.Tensor`` instead."""


div_number.derivative(self=lambda grad, other: grad / other.conjugate())


@div.overload(
    "Scalar_mode",
    kernel="CompositeExplicitAutograd",
    variants="function, method",
    tags=("core", "pointwise"),
    is_bound=False,
    inplace=Inplace(variants="method", autogen="div.Scalar_mode_out"),
)
@forward(div_mode)
def div_number_mode(self: Tensor, other: Scalar, *, rounding_mode: str | None) -> Tensor:
    """``self / other`` for a number, rounded; a Python call reaches ``div.Tensor_mode`` instead."""


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
    kernel="CompositeExplicitAutograd",
    variants="function, method",
    is_bound=False,
    device_check="NoCheck",
    inplace=Inplace(variants="method", autogen="floor_divide.Scalar_out"),
)
@forward(floor_divide)
def floor_divide_number(self: Tensor, other: Scalar) -> Tensor:
    """``self / other`` for a number, rounded down; a Python call reaches ``floor_divide`` instead."""


# ----------------------------------------------------------------------------------------------------- fmod, remainder


@op("aten::fmod.Tensor", **{**CORE_BINARY, "out": Out("fmod.Tensor_out")})
def fmod(self: Tensor, other: Tensor) -> Tensor:
    """What dividing towards zero leaves; it has the sign of ``self``."""
    ...


@fmod.pointwise(nonzero="other", dtypes=REAL)
def fmod_scalar_function(self, other):
    return math.fmod(self, other)


fmod_number = fmod.number_overload("other", **number_entry("fmod"))


@op("aten::remainder.Tensor", **{**CORE_BINARY, "out": Out("remainder.Tensor_out")})
def remainder(self: Tensor, other: Tensor) -> Tensor:
    """What dividing down leaves; it has the sign of ``other``."""
    ...


@remainder.pointwise(nonzero="other", dtypes=REAL)
def remainder_scalar_function(self, other):
    return self % other


remainder_number = remainder.number_overload("other", **number_entry("remainder", device_check="ExactSame"))


number_remainder = remainder.number_overload(
    "self", "Scalar_Tensor", variants="function", tags="pointwise", structured=False, out=True
)


# --------------------------------------------------------------------------------------------------------- reciprocal


@op("aten::reciprocal", **CORE_UNARY)
def reciprocal(self: Tensor) -> Tensor:
    """``1 / self``"""
    ...


@reciprocal.pointwise(promote="int_to_float")
def reciprocal_scalar_function(self):
    return 1.0 / self
