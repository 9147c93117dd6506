"""Angles: trigonometric and hyperbolic functions, and their inverses."""

from __future__ import annotations

import cmath
import math
from typing import Any

from opdsl.aten._shared.entries import CORE_BINARY, CORE_UNARY, UNARY
from opdsl.declare import Inplace, Library, Out, Row

lib = Library("aten")

# A backend's kernel gets tensors of one device only.
ONE_DEVICE: dict[str, Any] = {"device_check": "ExactSame"}

angles = lib.table(
    {
        "sin(Tensor self) -> Tensor": Row("The sine of every element, an angle in radians.", lambda x: math.sin(x)),
        "cos(Tensor self) -> Tensor": Row("The cosine of every element, an angle in radians.", lambda x: math.cos(x)),
        "tan(Tensor self) -> Tensor": Row("The tangent of every element, an angle in radians.", lambda x: math.tan(x)),
        "asin(Tensor self) -> Tensor": Row(
            "The arcsine of every element, in [-pi/2, pi/2]; NaN outside of [-1, 1].", lambda x: math.asin(x)
        ),
        "acos(Tensor self) -> Tensor": Row(
            "The arccosine of every element, in [0, pi]; NaN outside of [-1, 1].", lambda x: math.acos(x)
        ),
        "atan(Tensor self) -> Tensor": Row(
            "The arctangent of every element, in [-pi/2, pi/2].", lambda x: math.atan(x)
        ),
        "atan2(Tensor self, Tensor other) -> Tensor": Row(
            "The angle of the point (``other``, ``self``) in the plane, in [-pi, pi].",
            lambda y, x: math.atan2(y, x),
            **{**CORE_BINARY, "out": Out(tags=("core", "pointwise"))},
        ),
        "sinh(Tensor self) -> Tensor": Row("The hyperbolic sine of every element.", lambda x: math.sinh(x)),
        "cosh(Tensor self) -> Tensor": Row("The hyperbolic cosine of every element.", lambda x: math.cosh(x)),
        "tanh(Tensor self) -> Tensor": Row("The hyperbolic tangent of every element.", lambda x: math.tanh(x)),
        "asinh(Tensor self) -> Tensor": Row(
            "The inverse hyperbolic sine of every element.", lambda x: math.asinh(x), **ONE_DEVICE
        ),
        "acosh(Tensor self) -> Tensor": Row(
            "The inverse hyperbolic cosine of every element; NaN below 1.", lambda x: math.acosh(x), **ONE_DEVICE
        ),
        "atanh(Tensor self) -> Tensor": Row(
            "The inverse hyperbolic tangent of every element; NaN outside of [-1, 1].",
            lambda x: math.atanh(x),
            **ONE_DEVICE,
        ),
    },
    pointwise={"promote": "int_to_float"},
    **CORE_UNARY,
)
acos, asin, atan, atan2 = angles["acos"], angles["asin"], angles["atan"], angles["atan2"]
acosh, asinh, atanh, tanh = angles["acosh"], angles["asinh"], angles["atanh"], angles["tanh"]


def conversion_entry(name: str) -> dict[str, Any]:
    """What the entry of a conversion between degrees and radians says."""
    return {
        "dispatch": {"CompositeExplicitAutograd": name},
        "inplace": Inplace(dispatch={"CompositeExplicitAutograd": f"{name}_"}),
        "out": Out(explicit=True, dispatch={"CompositeExplicitAutograd": f"{name}_out"}),
    }


conversions = lib.table(
    {
        "deg2rad(Tensor self) -> Tensor": Row(
            "Degrees as radians.", lambda x: x * (math.pi / 180.0), **conversion_entry("deg2rad")
        ),
        "rad2deg(Tensor self) -> Tensor": Row(
            "Radians as degrees.", lambda x: x * (180.0 / math.pi), **conversion_entry("rad2deg")
        ),
        "angle(Tensor self) -> Tensor": Row(
            "The angle of every complex number; of real ones 0, or pi where they are negative.",
            lambda x: math.nan if math.isnan(x) else math.pi if x < 0 else 0.0,
            device_check="NoCheck",
            inplace=False,
            out=Out(explicit=True),
        ),
    },
    pointwise={"promote": "int_to_float", "dtypes": "floating"},
    **{**UNARY, **ONE_DEVICE, "structured": False},
)
conversions["angle"].pointwise(promote="complex_to_real", dtypes="complex")(lambda z: cmath.phase(z))
