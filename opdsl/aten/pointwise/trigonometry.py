"""Trigonometric and hyperbolic functions and their inverses; ``deg2rad``, ``rad2deg``, ``angle``."""

from __future__ import annotations

import cmath
import math
from typing import Any

from opdsl import primitives
from opdsl.aten._shared.entries import CORE_BINARY, CORE_UNARY, UNARY
from opdsl.declare import Out, formula, op
from opdsl.runtime import Tensor


@op("aten::sin", **CORE_UNARY)
@formula
def sin(self: Tensor) -> Tensor:
    """Return the sine of every element, an angle in radians."""
    return primitives.sin(self)


@op("aten::cos", **CORE_UNARY)
@formula
def cos(self: Tensor) -> Tensor:
    """Return the cosine of every element, an angle in radians."""
    return primitives.cos(self)


@op("aten::tan", **CORE_UNARY)
@formula
def tan(self: Tensor) -> Tensor:
    """Return the tangent of every element, an angle in radians."""
    return primitives.tan(self)


@op("aten::asin", **CORE_UNARY)
@formula
def asin(self: Tensor) -> Tensor:
    """Return the arcsine of every element, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""
    return primitives.asin(self)


@op("aten::acos", **CORE_UNARY)
@formula
def acos(self: Tensor) -> Tensor:
    """Return the arccosine of every element, in [0, pi]; NaN outside of [-1, 1]."""
    return primitives.acos(self)


@op("aten::atan", **CORE_UNARY)
@formula
def atan(self: Tensor) -> Tensor:
    """Return the arctangent of every element, in [-pi/2, pi/2]."""
    return primitives.atan(self)


@op("aten::atan2", **{**CORE_BINARY, "out": Out(tags=("core", "pointwise"))})
@formula
def atan2(self: Tensor, other: Tensor) -> Tensor:
    """Return the angle of the point (``other``, ``self``) in the plane, in [-pi, pi]."""
    return primitives.atan2(self, other)


@op("aten::sinh", **CORE_UNARY)
@formula
def sinh(self: Tensor) -> Tensor:
    """Return the hyperbolic sine of every element."""
    return primitives.sinh(self)


@op("aten::cosh", **CORE_UNARY)
@formula
def cosh(self: Tensor) -> Tensor:
    """Return the hyperbolic cosine of every element."""
    return primitives.cosh(self)


@op("aten::tanh", **CORE_UNARY)
@formula
def tanh(self: Tensor) -> Tensor:
    """Return the hyperbolic tangent of every element."""
    return primitives.tanh(self)


@op("aten::asinh", **CORE_UNARY)
@formula
def asinh(self: Tensor) -> Tensor:
    """Return the inverse hyperbolic sine of every element."""
    return primitives.asinh(self)


@op("aten::acosh", **CORE_UNARY)
@formula
def acosh(self: Tensor) -> Tensor:
    """Return the inverse hyperbolic cosine of every element; NaN below 1."""
    return primitives.acosh(self)


@op("aten::atanh", **CORE_UNARY)
@formula
def atanh(self: Tensor) -> Tensor:
    """Return the inverse hyperbolic tangent of every element; NaN outside of [-1, 1]."""
    return primitives.atanh(self)


FLOATING: dict[str, Any] = {"promote": "int_to_float", "dtypes": "floating"}

REAL = ("bool", "integer", "floating")


@op("aten::deg2rad", **UNARY)
@formula(dtypes=REAL)
def deg2rad(self: Tensor) -> Tensor:
    """``self * pi / 180``"""
    return self * (math.pi / 180.0)


@op("aten::rad2deg", **UNARY)
@formula(dtypes=REAL)
def rad2deg(self: Tensor) -> Tensor:
    """``self * 180 / pi``"""
    return self * (180.0 / math.pi)


@op("aten::angle", **{**UNARY, "inplace": False})
def angle(self: Tensor) -> Tensor:
    """Return the angle of every complex number; for real ones 0, or pi if they are negative."""
    ...


angle_elements = primitives.elements(lambda x: math.nan if math.isnan(x) else math.pi if x < 0 else 0.0, **FLOATING)
angle_complex_elements = primitives.elements(lambda z: cmath.phase(z), promote="complex_to_real", dtypes="complex")


@angle.formula
def angle_real(self: Tensor) -> Tensor:
    return angle_elements(self)


@angle.formula(dtypes="complex")
def angle_complex(self: Tensor) -> Tensor:
    return angle_complex_elements(self)
