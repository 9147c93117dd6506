"""Angles: trigonometric and hyperbolic functions, and their inverses."""

from __future__ import annotations

import cmath
import math
from typing import Any

from opdsl.aten._shared.entries import CORE_BINARY, CORE_UNARY, UNARY
from opdsl.declare import Inplace, Out, op
from opdsl.runtime import Tensor

# ------------------------------------------------------------------------------------------------------- trigonometric


@op("aten::sin", **CORE_UNARY)
def sin(self: Tensor) -> Tensor:
    """The sine of every element, an angle in radians."""
    ...


@sin.pointwise(promote="int_to_float")
def sin_scalar_function(self):
    return math.sin(self)


@op("aten::cos", **CORE_UNARY)
def cos(self: Tensor) -> Tensor:
    """The cosine of every element, an angle in radians."""
    ...


@cos.pointwise(promote="int_to_float")
def cos_scalar_function(self):
    return math.cos(self)


@op("aten::tan", **CORE_UNARY)
def tan(self: Tensor) -> Tensor:
    """The tangent of every element, an angle in radians."""
    ...


@tan.pointwise(promote="int_to_float")
def tan_scalar_function(self):
    return math.tan(self)


@op("aten::asin", **CORE_UNARY)
def asin(self: Tensor) -> Tensor:
    """The arcsine of every element, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""
    ...


@asin.pointwise(promote="int_to_float")
def asin_scalar_function(self):
    return math.asin(self)


@op("aten::acos", **CORE_UNARY)
def acos(self: Tensor) -> Tensor:
    """The arccosine of every element, in [0, pi]; NaN outside of [-1, 1]."""
    ...


@acos.pointwise(promote="int_to_float")
def acos_scalar_function(self):
    return math.acos(self)


@op("aten::atan", **CORE_UNARY)
def atan(self: Tensor) -> Tensor:
    """The arctangent of every element, in [-pi/2, pi/2]."""
    ...


@atan.pointwise(promote="int_to_float")
def atan_scalar_function(self):
    return math.atan(self)


@op("aten::atan2", **{**CORE_BINARY, "out": Out(tags=("core", "pointwise"))})
def atan2(self: Tensor, other: Tensor) -> Tensor:
    """The angle of the point (``other``, ``self``) in the plane, in [-pi, pi]."""
    ...


@atan2.pointwise(promote="int_to_float")
def atan2_scalar_function(self, other):
    return math.atan2(self, other)


# ---------------------------------------------------------------------------------------------------------- hyperbolic


@op("aten::sinh", **CORE_UNARY)
def sinh(self: Tensor) -> Tensor:
    """The hyperbolic sine of every element."""
    ...


@sinh.pointwise(promote="int_to_float")
def sinh_scalar_function(self):
    return math.sinh(self)


@op("aten::cosh", **CORE_UNARY)
def cosh(self: Tensor) -> Tensor:
    """The hyperbolic cosine of every element."""
    ...


@cosh.pointwise(promote="int_to_float")
def cosh_scalar_function(self):
    return math.cosh(self)


@op("aten::tanh", **CORE_UNARY)
def tanh(self: Tensor) -> Tensor:
    """The hyperbolic tangent of every element."""
    ...


@tanh.pointwise(promote="int_to_float")
def tanh_scalar_function(self):
    return math.tanh(self)


@op("aten::asinh", device_check="ExactSame", **CORE_UNARY)
def asinh(self: Tensor) -> Tensor:
    """The inverse hyperbolic sine of every element."""
    ...


@asinh.pointwise(promote="int_to_float")
def asinh_scalar_function(self):
    return math.asinh(self)


@op("aten::acosh", device_check="ExactSame", **CORE_UNARY)
def acosh(self: Tensor) -> Tensor:
    """The inverse hyperbolic cosine of every element; NaN below 1."""
    ...


@acosh.pointwise(promote="int_to_float")
def acosh_scalar_function(self):
    return math.acosh(self)


@op("aten::atanh", device_check="ExactSame", **CORE_UNARY)
def atanh(self: Tensor) -> Tensor:
    """The inverse hyperbolic tangent of every element; NaN outside of [-1, 1]."""
    ...


@atanh.pointwise(promote="int_to_float")
def atanh_scalar_function(self):
    return math.atanh(self)


# ------------------------------------------------------------------------------------------------------------- degrees


def conversion_entry(name: str) -> dict[str, Any]:
    """What the entry of a conversion between degrees and radians says."""
    return {
        **UNARY,
        "structured": False,
        "device_check": "ExactSame",
        "dispatch": {"CompositeExplicitAutograd": name},
        "inplace": Inplace(dispatch={"CompositeExplicitAutograd": f"{name}_"}),
        "out": Out(explicit=True, dispatch={"CompositeExplicitAutograd": f"{name}_out"}),
    }


@op("aten::deg2rad", **conversion_entry("deg2rad"))
def deg2rad(self: Tensor) -> Tensor:
    """Degrees as radians."""
    ...


@deg2rad.pointwise(promote="int_to_float", dtypes="floating")
def deg2rad_scalar_function(self):
    return self * (math.pi / 180.0)


@op("aten::rad2deg", **conversion_entry("rad2deg"))
def rad2deg(self: Tensor) -> Tensor:
    """Radians as degrees."""
    ...


@rad2deg.pointwise(promote="int_to_float", dtypes="floating")
def rad2deg_scalar_function(self):
    return self * (180.0 / math.pi)


@op("aten::angle", structured=False, **{**UNARY, "inplace": False, "out": Out(explicit=True)})
def angle(self: Tensor) -> Tensor:
    """The angle of every complex number; of real ones 0, or pi where they are negative."""
    ...


@angle.pointwise(promote="int_to_float", dtypes="floating")
def angle_scalar_function(self):
    return math.nan if math.isnan(self) else math.pi if self < 0 else 0.0


@angle.pointwise(promote="complex_to_real", dtypes="complex")
def angle_complex_scalar_function(self):
    return cmath.phase(self)
