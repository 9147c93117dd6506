"""Operators under the other names that PyTorch knows them by."""

from __future__ import annotations

from typing import Any

from opdsl.aten.nn.activations import sigmoid
from opdsl.aten.nn.normalization import log_softmax, softmax
from opdsl.aten.pointwise.arithmetic import mul, mul_number, neg, sub, sub_number
from opdsl.aten.pointwise.clamping import CLAMP, clamp, clamp_tensors
from opdsl.aten.pointwise.comparison import ge, ge_number, gt, gt_number, le, le_number, lt, lt_number, ne, ne_number
from opdsl.aten.pointwise.division import div, div_mode, div_number, div_number_mode
from opdsl.aten.pointwise.exponentials import erf, erfc, erfinv, exp2, expm1, log1p, logit, sinc
from opdsl.aten.pointwise.rounding import abs_tensor, round_decimals, trunc
from opdsl.aten.pointwise.trigonometry import acos, acosh, asin, asinh, atan, atan2, atanh
from opdsl.aten.special.bessel import i0
from opdsl.aten.special.gamma_functions import digamma, lgamma, mvlgamma, polygamma
from opdsl.aten.special.incomplete_gamma import igamma, igammac
from opdsl.declare import Inplace, Out, forward, op
from opdsl.runtime import DType, Tensor

NO_CHECK: dict[str, Any] = {"device_check": "NoCheck"}
SPECIAL: dict[str, Any] = {"python_module": "special", "variants": "function", "inplace": False}
TRUE_DIVIDE: dict[str, Any] = {
    "tags": "pointwise",
    "inplace": Inplace(variants="method", tags=()),
    "out": Out("true_divide.out", tags=()),
}

# The other name, the operators that have it, and what their entries say besides.
ALIASES: tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...] = (
    ("absolute", (abs_tensor,), {**NO_CHECK, "inplace": Inplace(variants="method")}),
    ("arccos", (acos,), {}),
    ("arccosh", (acosh,), {}),
    ("arcsin", (asin,), {}),
    ("arcsinh", (asinh,), {}),
    ("arctan", (atan,), {}),
    ("arctan2", (atan2,), {"out": Out("arctan2.out", device_check="NoCheck")}),
    ("arctanh", (atanh,), {}),
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
    ("true_divide", (div,), {**NO_CHECK, **TRUE_DIVIDE}),
    ("true_divide", (div_number,), NO_CHECK),
    ("special_erf", (erf,), SPECIAL),
    ("special_erfc", (erfc,), SPECIAL),
    ("special_erfinv", (erfinv,), SPECIAL),
    ("special_exp2", (exp2,), SPECIAL),
    ("special_expit", (sigmoid,), SPECIAL),
    ("special_expm1", (expm1,), SPECIAL),
    ("special_log1p", (log1p,), SPECIAL),
    ("special_digamma", (digamma,), SPECIAL),
    ("special_gammainc", (igamma,), SPECIAL),
    ("special_gammaincc", (igammac,), SPECIAL),
    ("special_gammaln", (lgamma,), SPECIAL),
    ("special_i0", (i0,), SPECIAL),
    ("special_multigammaln", (mvlgamma,), SPECIAL),
    ("special_polygamma", (polygamma,), SPECIAL),
    ("special_psi", (digamma,), SPECIAL),
    ("special_logit", (logit,), SPECIAL),
    ("special_sinc", (sinc,), SPECIAL),
)

for name, operators, options in ALIASES:
    for operator in operators:
        operator.alias(f"aten::{name}", **options)


@op("aten::special_round", python_module="special", out=True)
def special_round(self: Tensor, *, decimals: int = 0) -> Tensor:
    """Every element rounded to a number of decimals."""
    ...


special_round.forward(round_decimals)


@op("aten::special_softmax", python_module="special", variants="function")
@forward(softmax)
def special_softmax(self: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """``softmax``."""


@op("aten::special_log_softmax", python_module="special", variants="function")
@forward(log_softmax)
def special_log_softmax(self: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """``log_softmax``."""
