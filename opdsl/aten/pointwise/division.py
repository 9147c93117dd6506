"""Division (``div``, ``floor_divide``, ``reciprocal``) and its remainders (``fmod``, ``remainder``)."""

from __future__ import annotations

import math
from typing import Any

from opdsl import primitives
from opdsl.aten._shared.entries import CORE_BINARY, CORE_UNARY, UNBOUND_NUMBER, number_entry
from opdsl.aten.pointwise.arithmetic import BETWEEN
from opdsl.declare import Inplace, Out, formula, forward, op
from opdsl.kernels import check
from opdsl.runtime import Tensor
from opdsl.scalar.intrinsics import rounded, trunc_divide
from opdsl.schema.vocabulary import Scalar


@op("aten::div.Tensor", accepts_numbers=True, out=Out("div.out"), **BETWEEN)
@formula
def div(self: Tensor, other: Tensor) -> Tensor:
    """``self / other``; integers are divided as floating-point numbers."""
    return primitives.div(self, other)


@op("aten::div.Tensor_mode", accepts_numbers=True, out=Out("div.out_mode"), **BETWEEN)
def div_mode(self: Tensor, other: Tensor, *, rounding_mode: str | None) -> Tensor:
    """``self / other``, rounded towards zero (``"trunc"``), down (``"floor"``) or not at all (None)."""
    ...


div_elements = primitives.elements(lambda self, other: self / other, promote="int_to_float")


@div_mode.formula(when={"rounding_mode": None})
def div_exactly(self, other):
    return div_elements(self, other)


@div_mode.meta
def div_mode_meta(ctx, rounding_mode):
    check(
        rounding_mode in (None, "trunc", "floor"),
        f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'",
    )


NARROW = ("float16", "bfloat16")


def div_floor_narrow_scalar_function(self: Any, other: Any) -> Any:
    """Return ``self // other`` in 16-bit floating point, rounded after every step as in PyTorch
    (``c10::div_floor_floating``).
    """
    modulus = math.fmod(self, other)
    quotient = rounded(rounded(self - modulus) / other)
    quotient = rounded(quotient - 1) if modulus != 0 and (other < 0) != (modulus < 0) else quotient
    floor: float = math.floor(quotient)
    floor = floor + 1 if quotient - floor > 0.5 else floor
    floor = floor if quotient != 0 else math.copysign(0.0, self / other)
    return self / other if other == 0 else floor


div_floor_narrow_elements = primitives.elements(div_floor_narrow_scalar_function)
div_floor_elements = primitives.elements(lambda self, other: self // other, nonzero="other")
div_trunc_elements = primitives.elements(lambda self, other: trunc_divide(self, other), nonzero="other")


@div_mode.formula(when={"rounding_mode": "floor"}, dtypes=NARROW)
def div_floor_narrow(self, other):
    return div_floor_narrow_elements(self, other)


@div_mode.formula(when={"rounding_mode": "floor"})
def div_floor(self, other):
    return div_floor_elements(self, other)


@div_mode.formula(when={"rounding_mode": "trunc"})
def div_trunc(self, other):
    return div_trunc_elements(self, other)


REAL = ("integer", "floating")


@op(
    "aten::floor_divide",
    variants="function, method",
    tags=(),
    accepts_numbers=True,
    inplace=Inplace("floor_divide_.Tensor", variants="method"),
    out=True,
)
def floor_divide(self: Tensor, other: Tensor) -> Tensor:
    """``self / other``, rounded down."""
    ...


@floor_divide.formula(dtypes=NARROW)
def floor_divide_narrow(self, other):
    return div_floor_narrow_elements(self, other)


@floor_divide.formula(dtypes=REAL)
def floor_divide_real(self, other):
    return div_floor_elements(self, other)


# -------------------------------------------------------------------------------------------------------------- numbers

POINTWISE: dict[str, Any] = {"tags": ("core", "pointwise")}


@op("aten::div.Scalar", **UNBOUND_NUMBER, **POINTWISE)
@forward(div)
def div_number(self: Tensor, other: Scalar) -> Tensor:
    """``self / other`` for a number ``other``; a Python call reaches ``div.Tensor`` instead."""


@op("aten::div.Scalar_mode", **UNBOUND_NUMBER, **POINTWISE)
@forward(div_mode)
def div_number_mode(self: Tensor, other: Scalar, *, rounding_mode: str | None) -> Tensor:
    """``self / other`` for a number ``other``, rounded by ``rounding_mode``; a Python call reaches ``div.Tensor_mode``
    instead.
    """


@op("aten::floor_divide.Scalar", **UNBOUND_NUMBER)
@forward(floor_divide)
def floor_divide_scalar(self: Tensor, other: Scalar) -> Tensor:
    """``self / other`` for a number ``other``, rounded down; a Python call reaches ``floor_divide`` instead."""


div_number.derivative(self=lambda grad, other: grad / other.conjugate())


@div_number_mode.derivative("self")
def div_number_mode_derivative(grad, other, rounding_mode):
    return grad / other.conjugate() if rounding_mode is None else grad.new_zeros(grad.shape)


# ------------------------------------------------------------------------------------------------------ fmod, remainder


@op("aten::fmod.Tensor", **{**CORE_BINARY, "out": Out("fmod.Tensor_out")})
@formula
def fmod(self: Tensor, other: Tensor) -> Tensor:
    """Return the remainder of the division rounded towards zero; it has the sign of ``self``."""
    return primitives.fmod(self, other)


@op("aten::remainder.Tensor", **{**CORE_BINARY, "out": Out("remainder.Tensor_out")})
@formula
def remainder(self: Tensor, other: Tensor) -> Tensor:
    """Return the remainder of the division rounded down; it has the sign of ``other``."""
    return primitives.remainder(self, other)


fmod.number_overload("other", **number_entry("fmod"))
remainder.number_overload("other", **number_entry("remainder"))
remainder.number_overload("self", "Scalar_Tensor", variants="function", tags="pointwise", out=True)


@op("aten::reciprocal", **CORE_UNARY)
@formula
def reciprocal(self: Tensor) -> Tensor:
    """``1 / self``"""
    return primitives.div(1.0, self)
