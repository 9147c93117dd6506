"""Angles: trigonometric and hyperbolic functions, and their inverses."""

from __future__ import annotations

import cmath
import math
from typing import Any

from opdsl.aten._shared.entries import CORE_BINARY, CORE_UNARY, UNARY
from opdsl.declare import Inplace, Out, formula, op
from opdsl.runtime import Tensor

# A backend's kernel gets tensors of one device only.
ONE_DEVICE: dict[str, Any] = {"device_check": "ExactSame"}


@op("aten::sin", **CORE_UNARY)
def sin(self: Tensor) -> Tensor:
    """The sine of every element, an angle in radians."""
    ...


sin.pointwise(promote="int_to_float")(lambda x: math.sin(x))


@op("aten::cos", **CORE_UNARY)
def cos(self: Tensor) -> Tensor:
    """The cosine of every element, an angle in radians."""
    ...


cos.pointwise(promote="int_to_float")(lambda x: math.cos(x))


@op("aten::tan", **CORE_UNARY)
def tan(self: Tensor) -> Tensor:
    """The tangent of every element, an angle in radians."""
    ...


tan.pointwise(promote="int_to_float")(lambda x: math.tan(x))


@op("aten::asin", **CORE_UNARY)
def asin(self: Tensor) -> Tensor:
    """The arcsine of every element, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""
    ...


asin.pointwise(promote="int_to_float")(lambda x: math.asin(x))


@op("aten::acos", **CORE_UNARY)
def acos(self: Tensor) -> Tensor:
    """The arccosine of every element, in [0, pi]; NaN outside of [-1, 1]."""
    ...


acos.pointwise(promote="int_to_float")(lambda x: math.acos(x))


@op("aten::atan", **CORE_UNARY)
def atan(self: Tensor) -> Tensor:
    """The arctangent of every element, in [-pi/2, pi/2]."""
    ...


atan.pointwise(promote="int_to_float")(lambda x: math.atan(x))


@op("aten::atan2", **{**CORE_BINARY, "out": Out(tags=("core", "pointwise"))})
def atan2(self: Tensor, other: Tensor) -> Tensor:
    """The angle of the point (``other``, ``self``) in the plane, in [-pi, pi]."""
    ...


atan2.pointwise(promote="int_to_float")(lambda y, x: math.atan2(y, x))


@op("aten::sinh", **CORE_UNARY)
def sinh(self: Tensor) -> Tensor:
    """The hyperbolic sine of every element."""
    ...


sinh.pointwise(promote="int_to_float")(lambda x: math.sinh(x))


@op("aten::cosh", **CORE_UNARY)
def cosh(self: Tensor) -> Tensor:
    """The hyperbolic cosine of every element."""
    ...


cosh.pointwise(promote="int_to_float")(lambda x: math.cosh(x))


@op("aten::tanh", **CORE_UNARY)
def tanh(self: Tensor) -> Tensor:
    """The hyperbolic tangent of every element."""
    ...


tanh.pointwise(promote="int_to_float")(lambda x: math.tanh(x))


@op("aten::asinh", **CORE_UNARY, **ONE_DEVICE)
def asinh(self: Tensor) -> Tensor:
    """The inverse hyperbolic sine of every element."""
    ...


asinh.pointwise(promote="int_to_float")(lambda x: math.asinh(x))


@op("aten::acosh", **CORE_UNARY, **ONE_DEVICE)
def acosh(self: Tensor) -> Tensor:
    """The inverse hyperbolic cosine of every element; NaN below 1."""
    ...


acosh.pointwise(promote="int_to_float")(lambda x: math.acosh(x))


@op("aten::atanh", **CORE_UNARY, **ONE_DEVICE)
def atanh(self: Tensor) -> Tensor:
    """The inverse hyperbolic tangent of every element; NaN outside of [-1, 1]."""
    ...


atanh.pointwise(promote="int_to_float")(lambda x: math.atanh(x))


def conversion_entry(name: str) -> dict[str, Any]:
    """What the entry of a conversion between degrees and radians says."""
    return {
        "dispatch": {"CompositeExplicitAutograd": name},
        "inplace": Inplace(dispatch={"CompositeExplicitAutograd": f"{name}_"}),
        "out": Out(explicit=True, dispatch={"CompositeExplicitAutograd": f"{name}_out"}),
    }


FLOATING: dict[str, Any] = {"promote": "int_to_float", "dtypes": "floating"}

REAL = ("bool", "integer", "floating")


@op("aten::deg2rad", **{**UNARY, **ONE_DEVICE, "structured": False, **conversion_entry("deg2rad")})
@formula(dtypes=REAL)
def deg2rad(self: Tensor) -> Tensor:
    """Degrees as radians."""
    return self * (math.pi / 180.0)


@op("aten::rad2deg", **{**UNARY, **ONE_DEVICE, "structured": False, **conversion_entry("rad2deg")})
@formula(dtypes=REAL)
def rad2deg(self: Tensor) -> Tensor:
    """Radians as degrees."""
    return self * (180.0 / math.pi)


@op(
    "aten::angle",
    **{
        **UNARY,
        **ONE_DEVICE,
        "structured": False,
        "device_check": "NoCheck",
        "inplace": False,
        "out": Out(explicit=True),
    },
)
def angle(self: Tensor) -> Tensor:
    """The angle of every complex number; of real ones 0, or pi where they are negative."""
    ...


angle.pointwise(**FLOATING)(lambda x: math.nan if math.isnan(x) else math.pi if x < 0 else 0.0)
angle.pointwise(promote="complex_to_real", dtypes="complex")(lambda z: cmath.phase(z))
