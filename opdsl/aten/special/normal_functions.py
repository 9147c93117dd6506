"""Functions of the normal distribution whose tails are exact."""

from __future__ import annotations

import math
from typing import Any

from opdsl.aten.special.bessel import SPECIAL, ScalarFunction
from opdsl.aten.special.series import SERIES
from opdsl.aten.special.series_values import evaluate, in_both_precisions
from opdsl.declare import op
from opdsl.runtime import Tensor
from opdsl.scalar.intrinsics import fma


@op("aten::special_erfcx", **SPECIAL)
def special_erfcx(self: Tensor) -> Tensor:
    """``exp(self * self) * erfc(self)``"""
    ...


@in_both_precisions(special_erfcx)
def erfcx_function(kind: str) -> ScalarFunction:
    whole = SERIES["ERFCX"][kind]

    def erfcx_scalar_function(self: Any) -> Any:
        x = abs(self)
        found = evaluate(whole, 1.0 - 8.0 / (x + 4.0)) / (x + 0.5)
        # 2*exp(x*x) less that below 0; what rounding of the square loses counts there.
        square = x * x
        power = math.exp(square)
        mirrored = power + (power - found) if math.isinf(power) else 2.0 * fma(power, fma(x, x, -square), power) - found
        return mirrored if self < 0 else found

    return erfcx_scalar_function


special_erfcx.derivative(self=lambda grad, self, result: (2.0 * self * result - 2.0 / math.sqrt(math.pi)) * grad)


@op("aten::special_log_ndtr", **SPECIAL)
def special_log_ndtr(self: Tensor) -> Tensor:
    """The logarithm of the area below the standard normal curve, up to every element."""
    ...


@in_both_precisions(special_log_ndtr)
def log_ndtr_function(kind: str) -> ScalarFunction:
    scaled = erfcx_function(kind)

    def log_ndtr_scalar_function(self: Any) -> Any:
        t = self * math.sqrt(0.5)
        tail = math.log(scaled(-t) / 2.0) - t * t
        return tail if self < -1.0 else math.log1p(-math.erfc(t) / 2.0)

    return log_ndtr_scalar_function


special_log_ndtr.derivative(
    self=lambda grad, self, result: grad / math.sqrt(2 * math.pi) * (result + self * self / 2).neg().exp(),
)


@op("aten::special_ndtri", **SPECIAL)
def special_ndtri(self: Tensor) -> Tensor:
    """Up to where the area below the standard normal curve is that of every element; NaN outside of [0, 1]."""
    ...


@in_both_precisions(special_ndtri)
def ndtri_function(kind: str) -> ScalarFunction:
    center, near, far = SERIES["QUANTILE_CENTER"][kind], SERIES["QUANTILE_NEAR"][kind], SERIES["QUANTILE_FAR"][kind]

    def ndtri_scalar_function(self: Any) -> Any:
        y = self - 0.5
        tail = 1.0 - self if self > 0.5 else self
        s = math.sqrt(-2.0 * math.log(tail))
        inverse = 1.0 / s
        rest = math.log(s) + (evaluate(near, inverse) if s < 8.0 else evaluate(far, inverse))
        deviations = math.inf if tail == 0 else s - rest * inverse
        beyond = math.copysign(deviations, y)
        return y * evaluate(center, y * y) if abs(y) <= 0.375 else beyond

    return ndtri_scalar_function


special_ndtri.derivative(self=lambda grad, result: grad * math.sqrt(2 * math.pi) * (result * result / 2).exp())
