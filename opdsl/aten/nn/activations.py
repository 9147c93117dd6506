"""Activation functions of neural networks."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from opdsl.aten._shared.checks import category_of, is_boolean, real
from opdsl.aten._shared.entries import CORE_UNARY
from opdsl.aten.nn.activation_gradients import sigmoid_backward
from opdsl.aten.pointwise.clamping import between
from opdsl.aten.pointwise.comparison import where
from opdsl.declare import Inplace, Out, forward, op
from opdsl.errors import OptionError
from opdsl.kernels import check
from opdsl.kernels.iteration.numbers import convert
from opdsl.runtime import Category, Tensor, int64, uint8
from opdsl.schema.spelling import spelled
from opdsl.schema.vocabulary import Scalar


class LogSigmoid(NamedTuple):
    """The results of ``log_sigmoid_forward``."""

    output: Tensor
    buffer: Tensor


ACTIVATION: dict[str, Any] = {"python_module": "nn", "tags": "pointwise", "inplace": True, "out": Out(tags=())}
"""An activation function: a function only, no method."""

CORE_ACTIVATION: dict[str, Any] = {**ACTIVATION, "tags": ("core", "pointwise")}
"""An activation function of PyTorch's core set."""

# ------------------------------------------------------------------------------------------------------- sigmoid, silu


@op("aten::sigmoid", **CORE_UNARY)
def sigmoid(self: Tensor) -> Tensor:
    """``1 / (1 + exp(-self))``"""
    ...


@sigmoid.pointwise(promote="int_to_float")
def sigmoid_scalar_function(self):
    return 1.0 / (1.0 + math.exp(-self))


# Of the result, as in PyTorch.
sigmoid.derivative(self=lambda grad, result: sigmoid_backward(grad, result))


@op("aten::silu", device_check="ExactSame", **{**ACTIVATION, "out": True})
def silu(self: Tensor) -> Tensor:
    """``self * sigmoid(self)``"""
    ...


@silu.pointwise(dtypes=("floating", "complex"))
def silu_scalar_function(self):
    return self / (1.0 + math.exp(-self))


@op(
    "aten::log_sigmoid_forward",
    python_module="nn",
    tags=(),
    structured=False,
    device_check="NoCheck",
    out=Out("log_sigmoid_forward.output", args=("output", "buffer"), explicit=True, named=False),
)
def log_sigmoid_forward(self: Tensor) -> LogSigmoid:
    """``log(sigmoid(self))``, and ``exp(-abs(self))``, which its gradient is made of."""
    ...


@log_sigmoid_forward.pointwise(dtypes="floating")
def log_sigmoid_scalar_function(self):
    buffer = math.exp(-self if self > 0 else self)
    return (0.0 if self > 0 else self) - math.log1p(buffer), buffer


@op("aten::log_sigmoid", python_module="nn", device_check="NoCheck", out=Out(explicit=True))
@forward(log_sigmoid_forward, result=0)
def log_sigmoid(self: Tensor) -> Tensor:
    """``log(sigmoid(self))``"""


# ------------------------------------------------------------------------------------------- pieces of straight lines


# PyTorch's relu is no structured operator, so ours is exported as a plain one.
@op("aten::relu", structured=False, **CORE_UNARY)
def relu(self: Tensor) -> Tensor:
    """``max(self, 0)``"""
    ...


@relu.meta
def relu_meta(ctx, self):
    check(not is_boolean(self), "Boolean inputs not supported for relu")


@relu.pointwise
def relu_scalar_function(self):
    return max(0, self)


# At 0 nothing passes, as in PyTorch.
relu.derivative(self=lambda grad, result: where(result <= 0, 0.0, grad))


@op("aten::leaky_relu", **CORE_ACTIVATION)
def leaky_relu(self: Tensor, negative_slope: Scalar = 0.01) -> Tensor:
    """``self``, times ``negative_slope`` where it is negative."""
    ...


@leaky_relu.pointwise(dtypes="floating")
def leaky_relu_scalar_function(self, negative_slope):
    return self if self > 0 else self * negative_slope


@op("aten::hardtanh", structured=False, **{**CORE_ACTIVATION, "out": Out(tags=(), explicit=True)})
def hardtanh(self: Tensor, min_val: Scalar = -1, max_val: Scalar = 1) -> Tensor:
    """``self`` between two bounds."""
    ...


@hardtanh.meta
def hardtanh_meta(ctx, self, min_val, max_val):
    check(not is_boolean(self), "Bool inputs not supported for hardtanh")
    if category_of(self) is Category.INT:
        check(
            self.dtype is not uint8 or min(convert(each, int64) for each in (min_val, max_val)) >= 0,
            "cannot do hardtanh on an unsigned type with negative limits",
        )
    if real(min_val) > real(max_val):
        raise OptionError("min_val cannot be greater than max_val")


hardtanh.pointwise(dtypes=("integer", "floating"))(between)


# At the bounds none of the gradient passes, as in PyTorch.
hardtanh.derivative(self=lambda grad, self, min_val, max_val: where((self <= min_val) + (self >= max_val), 0.0, grad))


@op("aten::hardsigmoid", **ACTIVATION)
def hardsigmoid(self: Tensor) -> Tensor:
    """``self / 6 + 1 / 2`` between 0 and 1."""
    ...


@hardsigmoid.pointwise(dtypes="floating")
def hardsigmoid_scalar_function(self):
    inside = self > -3.0 and self < 3.0
    return (self + 3.0) / 6.0 if inside else 0.0 if self <= -3.0 else 1.0 if self >= 3.0 else math.nan


@op(
    "aten::hardswish", structured=False, device_check="NoCheck", **{**ACTIVATION, "tags": (), "out": Out(explicit=True)}
)
def hardswish(self: Tensor) -> Tensor:
    """``self * hardsigmoid(self)``"""
    ...


@hardswish.pointwise(dtypes="floating")
def hardswish_scalar_function(self):
    return self * min(max(self + 3.0, 0.0), 6.0) / 6.0


# At the kinks that of the straight pieces, as in PyTorch.
hardswish.derivative(
    self=lambda grad, self: where(self <= -3.0, 0.0, where(self < 3.0, grad * (self / 3.0 + 0.5), grad)),
)


@op("aten::threshold", **{**ACTIVATION, "python_module": None, "inplace": Inplace(tags=())})
def threshold(self: Tensor, threshold: Scalar, value: Scalar) -> Tensor:
    """``value`` where ``self`` is no larger than a threshold."""
    ...


@threshold.pointwise(dtypes=("integer", "floating"))
def threshold_scalar_function(self, threshold, value):
    return value if self <= threshold else self


@op("aten::hardshrink", variants="function, method", tags="pointwise", out=Out(tags=()))
def hardshrink(self: Tensor, lambd: Scalar = 0.5) -> Tensor:
    """0 where the magnitude is at most ``lambd``."""
    ...


@hardshrink.pointwise(dtypes="floating")
def hardshrink_scalar_function(self, lambd):
    return 0.0 if self >= -lambd and self <= lambd else self


@op("aten::softshrink", **{**ACTIVATION, "inplace": False})
def softshrink(self: Tensor, lambd: Scalar = 0.5) -> Tensor:
    """``self``, moved by ``lambd`` towards 0."""
    ...


@softshrink.meta
def softshrink_meta(ctx, lambd):
    check(real(lambd) >= 0, f"lambda must be greater or equal to 0, but found to be {real(lambd):g}.")


@softshrink.pointwise(dtypes="floating")
def softshrink_scalar_function(self, lambd):
    return self - lambd if self > lambd else self * 0.0 if self >= -lambd else self + lambd


# --------------------------------------------------------------------------------------------------- smooth functions


@op("aten::gelu", **{**CORE_ACTIVATION, "inplace": Inplace(tags=())})
def gelu(self: Tensor, *, approximate: str = spelled("none", "'none'")) -> Tensor:
    """``self`` times the probability that a normal variable is less; ``"tanh"`` approximates that."""
    ...


@gelu.meta(reads_numbers=False)
def gelu_meta(ctx, approximate):
    check(approximate in ("none", "tanh"), "approximate argument must be either none or tanh.")


@gelu.pointwise(dtypes="floating")
def gelu_scalar_function(self, approximate):
    if approximate == "none":
        return 0.5 * self * (1.0 + math.erf(math.sqrt(0.5) * self))
    inner = math.sqrt(2.0 / math.pi) * (self + 0.044715 * self * self * self)
    return 0.5 * self * (1.0 + math.tanh(inner))


@op("aten::elu", **CORE_ACTIVATION)
def elu(self: Tensor, alpha: Scalar = 1, scale: Scalar = 1, input_scale: Scalar = 1) -> Tensor:
    """``scale * self``; of negative elements ``scale * alpha * (exp(input_scale * self) - 1)``."""
    ...


@elu.pointwise(dtypes="floating")
def elu_scalar_function(self, alpha, scale, input_scale):
    return math.expm1(self * input_scale) * (alpha * scale) if self <= 0 else self * scale


@op(
    "aten::celu",
    structured=False,
    tags="pointwise",
    dispatch={"CompositeExplicitAutograd": "celu"},
    inplace=Inplace(dispatch={"CompositeExplicitAutograd": "celu_"}),
    out=Out(tags=()),
)
def celu(self: Tensor, alpha: Scalar = 1.0) -> Tensor:
    """``max(self, 0) + min(alpha * (exp(self / alpha) - 1), 0)``"""
    ...


@celu.meta
def celu_meta(ctx, alpha):
    check(alpha != 0, "ZeroDivisionError: alpha cannot be 0 for CELU")


@celu.pointwise(dtypes="floating")
def celu_scalar_function(self, alpha):
    return elu_scalar_function(self, alpha, 1, 1.0 / alpha)


@op("aten::softplus", **{**ACTIVATION, "inplace": False})
def softplus(self: Tensor, beta: Scalar = 1, threshold: Scalar = 20) -> Tensor:
    """``log(1 + exp(beta * self)) / beta``; ``self`` where ``beta * self`` is larger than the threshold."""
    ...


@softplus.pointwise(dtypes="floating")
def softplus_scalar_function(self, beta, threshold):
    return self if self * beta > threshold else math.log1p(math.exp(self * beta)) / beta


@op("aten::mish", device_check="ExactSame", **{**ACTIVATION, "inplace": Inplace(tags=())})
def mish(self: Tensor) -> Tensor:
    """``self * tanh(log(1 + exp(self)))``"""
    ...


@mish.pointwise(dtypes="floating")
def mish_scalar_function(self):
    return self * math.tanh(math.log1p(math.exp(self)))


# -------------------------------------------------------------------------------------- others, with some numbers fixed


@op("aten::relu6", python_module="nn", tags="pointwise", inplace=Inplace(tags=()))
def relu6(self: Tensor) -> Tensor:
    """``self`` between 0 and 6."""
    ...


relu6.forward(hardtanh, min_val=0, max_val=6)


@op("aten::selu", device_check="NoCheck", tags="pointwise", inplace=True)
def selu(self: Tensor) -> Tensor:
    """``elu`` with the numbers that keep mean and variance (Klambauer et al., 2017)."""
    ...


selu.forward(elu, alpha=1.6732632423543772848170429916717, scale=1.0507009873554804934193349852946, input_scale=1)
