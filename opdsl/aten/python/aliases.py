"""Alternative names of pointwise operators, such as ``multiply`` for ``mul`` and ``greater`` for ``gt``."""

from __future__ import annotations

from typing import Any

from opdsl.aten.pointwise.arithmetic import mul, mul_number, neg, sub, sub_number
from opdsl.aten.pointwise.clamping import CLAMP, clamp, clamp_tensors
from opdsl.aten.pointwise.comparison import ge, ge_number, gt, gt_number, le, le_number, lt, lt_number, ne, ne_number
from opdsl.aten.pointwise.division import div, div_mode, div_number, div_number_mode
from opdsl.aten.pointwise.rounding import abs_tensor, trunc
from opdsl.declare import Inplace, Out

TRUE_DIVIDE: dict[str, Any] = {
    "tags": "pointwise",
    "inplace": Inplace(variants="method", tags=()),
    "out": Out("true_divide.out", tags=()),
}

# Alternative name, the operators that get it, and further options.
ALIASES: tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...] = (
    ("absolute", (abs_tensor,), {"inplace": Inplace(variants="method")}),
    ("clip", (clamp,), {**CLAMP, "tags": "pointwise"}),
    ("clip", (clamp_tensors,), {"tags": "pointwise", "out": Out("clip.Tensor_out", tags=())}),
    ("divide", (div, div_number, div_mode, div_number_mode), {}),
    ("fix", (trunc,), {}),
    ("greater", (gt, gt_number), {}),
    ("greater_equal", (ge, ge_number), {}),
    ("less", (lt, lt_number), {}),
    ("less_equal", (le, le_number), {}),
    ("multiply", (mul, mul_number), {}),
    ("negative", (neg,), {}),
    ("not_equal", (ne, ne_number), {}),
    ("subtract", (sub, sub_number), {}),
    ("true_divide", (div,), TRUE_DIVIDE),
    ("true_divide", (div_number,), {}),
)

for name, operators, options in ALIASES:
    for operator in operators:
        operator.alias(f"aten::{name}", **options)
