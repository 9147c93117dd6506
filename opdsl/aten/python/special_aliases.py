"""Alternative names of operators in ``torch.special``, such as ``special_erf`` for ``erf``."""

from __future__ import annotations

from typing import Any

from opdsl.aten.nn.activations import sigmoid
from opdsl.aten.nn.normalization import log_softmax, softmax
from opdsl.aten.pointwise.exponentials import erf, erfc, erfinv, exp2, expm1, log1p, logit, sinc
from opdsl.aten.pointwise.rounding import round_decimals
from opdsl.aten.special.bessel import i0
from opdsl.aten.special.gamma_functions import digamma, lgamma, mvlgamma, polygamma
from opdsl.aten.special.incomplete_gamma import igamma, igammac
from opdsl.declare import forward, op
from opdsl.runtime import DType, Tensor

ALIASES: tuple[tuple[str, Any], ...] = (
    ("special_erf", erf),
    ("special_erfc", erfc),
    ("special_erfinv", erfinv),
    ("special_exp2", exp2),
    ("special_expit", sigmoid),
    ("special_expm1", expm1),
    ("special_log1p", log1p),
    ("special_digamma", digamma),
    ("special_gammainc", igamma),
    ("special_gammaincc", igammac),
    ("special_gammaln", lgamma),
    ("special_i0", i0),
    ("special_multigammaln", mvlgamma),
    ("special_polygamma", polygamma),
    ("special_psi", digamma),
    ("special_logit", logit),
    ("special_sinc", sinc),
)

for name, operator in ALIASES:
    operator.alias(f"aten::{name}", python_module="special", variants="function", inplace=False)


@op("aten::special_round", python_module="special", out=True)
def special_round(self: Tensor, *, decimals: int = 0) -> Tensor:
    """Return every element rounded to ``decimals`` decimals."""
    ...


special_round.forward(round_decimals)


@op("aten::special_softmax", python_module="special", variants="function")
@forward(softmax)
def special_softmax(self: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """Return ``softmax`` of the tensor along a dimension."""


@op("aten::special_log_softmax", python_module="special", variants="function")
@forward(log_softmax)
def special_log_softmax(self: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """Return ``log_softmax`` of the tensor along a dimension."""
