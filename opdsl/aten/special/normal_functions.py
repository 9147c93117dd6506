"""Functions of the normal distribution that are accurate in the tails: ``special_erfcx``, ``special_log_ndtr``,
``special_ndtri``.
"""

from __future__ import annotations

import math
from typing import Any

from opdsl import primitives
from opdsl.aten.special.bessel import REAL, SPECIAL
from opdsl.aten.special.series import evaluate
from opdsl.declare import formula, op
from opdsl.runtime import Tensor
from opdsl.scalar.intrinsics import fma


def erfcx(x: Any) -> Any:
    size = abs(x)
    positive = evaluate("ERFCX", 1.0 - 8.0 / (size + 4.0)) / (size + 0.5)
    # Below 0 it is 2*exp(x*x) minus the mirrored value, with a correction for the rounding of the square.
    square = size * size
    power = math.exp(square)
    corrected = 2.0 * fma(power, fma(size, size, -square), power) - positive
    mirrored = power + (power - positive) if math.isinf(power) else corrected
    return mirrored if x < 0 else positive


def log_ndtr(x: Any) -> Any:
    t = x * math.sqrt(0.5)
    tail = math.log(erfcx(-t) / 2.0) - t * t
    return tail if x < -1.0 else math.log1p(-math.erfc(t) / 2.0)


def ndtri(x: Any) -> Any:
    y = x - 0.5
    tail = 1.0 - x if x > 0.5 else x
    s = math.sqrt(-2.0 * math.log(tail))
    inverse = 1.0 / s
    rest = math.log(s) + (evaluate("QUANTILE_NEAR", inverse) if s < 8.0 else evaluate("QUANTILE_FAR", inverse))
    deviations = math.inf if tail == 0 else s - rest * inverse
    beyond = math.copysign(deviations, y)
    return y * evaluate("QUANTILE_CENTER", y * y) if abs(y) <= 0.375 else beyond


special_erfcx_elements = primitives.elements(erfcx, **REAL)


@op("aten::special_erfcx", **SPECIAL)
@formula
def special_erfcx(self: Tensor) -> Tensor:
    """``exp(self * self) * erfc(self)``"""
    return special_erfcx_elements(self)


special_log_ndtr_elements = primitives.elements(log_ndtr, **REAL)


@op("aten::special_log_ndtr", **SPECIAL)
@formula
def special_log_ndtr(self: Tensor) -> Tensor:
    """Return the logarithm of the standard normal cumulative distribution function."""
    return special_log_ndtr_elements(self)


special_ndtri_elements = primitives.elements(ndtri, **REAL)


@op("aten::special_ndtri", **SPECIAL)
@formula
def special_ndtri(self: Tensor) -> Tensor:
    """Return the quantile of the standard normal distribution for each probability; NaN outside of [0, 1]."""
    return special_ndtri_elements(self)


special_erfcx.derivative(self=lambda grad, self, result: (2.0 * self * result - 2.0 / math.sqrt(math.pi)) * grad)
special_log_ndtr.derivative(
    self=lambda grad, self, result: grad / math.sqrt(2 * math.pi) * (result + self * self / 2).neg().exp()
)
special_ndtri.derivative(self=lambda grad, result: grad * math.sqrt(2 * math.pi) * (result * result / 2).exp())
