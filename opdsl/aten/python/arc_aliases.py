"""Alternative names of inverse trigonometric and hyperbolic functions, such as ``arcsin`` for ``asin``."""

from __future__ import annotations

from opdsl.aten.pointwise.trigonometry import acos, acosh, asin, asinh, atan, atan2, atanh
from opdsl.declare import Out

for name, operator in (
    ("arccos", acos),
    ("arccosh", acosh),
    ("arcsin", asin),
    ("arcsinh", asinh),
    ("arctan", atan),
    ("arctanh", atanh),
):
    operator.alias(f"aten::{name}")

atan2.alias("aten::arctan2", out=Out("arctan2.out"))
