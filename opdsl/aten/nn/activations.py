"""Activation functions of neural networks."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from opdsl import primitives
from opdsl.aten._shared.checks import category_of, is_boolean, real
from opdsl.aten._shared.entries import CORE_UNARY
from opdsl.aten.nn.activation_gradients import (
    elu_backward,
    gelu_backward,
    hardsigmoid_backward,
    leaky_relu_backward,
    mish_backward,
    sigmoid_backward,
    silu_backward,
    softplus_backward,
    softshrink_backward,
)
from opdsl.aten.pointwise.clamping import between
from opdsl.aten.pointwise.comparison import where
from opdsl.declare import Inplace, Out, formula, forward, op
from opdsl.errors import OptionError
from opdsl.kernels import check
from opdsl.kernels.iteration.numbers import convert
from opdsl.runtime import Category, Tensor, int64, uint8
from opdsl.scalar.intrinsics import rounded
from opdsl.schema.spelling import spelled
from opdsl.schema.vocabulary import Scalar

UNTAGGED = Inplace(tags=())


class LogSigmoid(NamedTuple):
    """Results of ``log_sigmoid_forward``: the values, and the buffer from which the gradient is computed."""

    output: Tensor
    buffer: Tensor


# ------------------------------------------------------------------------------------------------ sigmoid, log_sigmoid


@op("aten::sigmoid", **CORE_UNARY)
@formula
def sigmoid(self: Tensor) -> Tensor:
    """``1 / (1 + exp(-self))``"""
    # An unsigned integer has no negative, and a product of complex numbers is NaN where one of them is infinite.
    opposite = -self if self.dtype.is_complex else -1.0 * self
    return 1.0 / (1.0 + opposite.exp())


sigmoid.derivative(self=lambda grad, result: sigmoid_backward(grad, result))


@op(
    "aten::log_sigmoid_forward",
    python_module="nn",
    tags=(),
    out=Out(".output", args=("output", "buffer"), named=False),
)
@formula(dtypes="floating")
def log_sigmoid_forward(self: Tensor) -> LogSigmoid:
    """``log(sigmoid(self))``, and ``exp(-abs(self))``, from which the gradient is computed."""
    buffer = (-self if self > 0 else self).exp()
    return LogSigmoid((0.0 if self > 0 else self) - buffer.log1p(), buffer)


@op("aten::log_sigmoid", python_module="nn", out=True)
@forward(log_sigmoid_forward, result=0)
def log_sigmoid(self: Tensor) -> Tensor:
    """``log(sigmoid(self))``"""


# -------------------------------------------------------------------------------------------------------------- checks


def require_bounds(ctx, self, min_val, max_val):
    """Check that ``hardtanh`` can clamp a tensor's elements to ``min_val`` and ``max_val``.

    Raises:
        ShapeError: the elements are bools, or unsigned integers with a negative limit.
        OptionError: ``min_val`` is greater than ``max_val``.
    """
    check(not is_boolean(self), "Bool inputs not supported for hardtanh")
    if category_of(self) is Category.INT:
        check(
            self.dtype is not uint8 or min(convert(limit, int64) for limit in (min_val, max_val)) >= 0,
            "cannot do hardtanh on an unsigned type with negative limits",
        )
    if real(min_val) > real(max_val):
        raise OptionError("min_val cannot be greater than max_val")


def require_distance(ctx, lambd):
    """Check that ``lambd`` is not negative."""
    check(real(lambd) >= 0, f"lambda must be greater or equal to 0, but found to be {real(lambd):g}.")


# ------------------------------------------------------------------------------------------------------------ operators

CORE = ("core", "pointwise")

ACTIVATION: dict[str, Any] = {"python_module": "nn", "tags": "pointwise", "inplace": True, "out": Out(tags=())}


# The gradient at 0 is 0, as in PyTorch.
@op("aten::relu", **{**CORE_UNARY, "python_module": None})
@formula
def relu(self: Tensor) -> Tensor:
    """``max(self, 0)``"""
    check(not is_boolean(self), "Boolean inputs not supported for relu")
    return self.clamp_min(0)


relu.derivative(self=lambda grad, result: where(result <= 0, 0.0, grad))


@op("aten::silu", **{**ACTIVATION, "out": True})
@formula(dtypes=("floating", "complex"))
def silu(self: Tensor) -> Tensor:
    """``self * sigmoid(self)``"""
    return self / (1.0 + (-self).exp())


silu.derivative(self=silu_backward)


@op("aten::leaky_relu", **{**ACTIVATION, "tags": CORE})
@formula(dtypes="floating")
def leaky_relu(self: Tensor, negative_slope: Scalar = 0.01) -> Tensor:
    """``self``, multiplied by ``negative_slope`` where it is negative."""
    return self if self > 0 else self * negative_slope


leaky_relu.derivative(self=forward(leaky_relu_backward, self_is_result=False))


hardtanh_elements = primitives.elements(between, dtypes=("integer", "floating"))


# The gradient at the bounds is 0, as in PyTorch.
@op("aten::hardtanh", **{**ACTIVATION, "tags": CORE, "out": Out(tags=())})
@formula
def hardtanh(self: Tensor, min_val: Scalar = -1, max_val: Scalar = 1) -> Tensor:
    """``self`` clamped to ``min_val`` and ``max_val``."""
    return hardtanh_elements(self, min_val, max_val)


hardtanh.derivative(self=lambda grad, self, min_val, max_val: where((self <= min_val) + (self >= max_val), 0.0, grad))
hardtanh.meta(require_bounds)


@op("aten::hardsigmoid", **ACTIVATION)
@formula(dtypes="floating")
def hardsigmoid(self: Tensor) -> Tensor:
    """``self / 6 + 1 / 2``, clamped to 0 and 1."""
    return (self + 3.0).clamp(0.0, 6.0) / 6.0


hardsigmoid.derivative(self=hardsigmoid_backward)


# The gradient at -3 is 0 and at 3 it is 1, those of the linear pieces outside, as in PyTorch.
@op("aten::hardswish", **{**ACTIVATION, "tags": (), "out": True})
@formula(dtypes="floating")
def hardswish(self: Tensor) -> Tensor:
    """``self * hardsigmoid(self)``"""
    return self * (self + 3.0).clamp(0.0, 6.0) / 6.0


hardswish.derivative(
    self=lambda grad, self: where(self <= -3.0, 0.0, where(self < 3.0, grad * (self / 3.0 + 0.5), grad))
)


threshold_elements = primitives.elements(
    lambda x, threshold, value: value if x <= threshold else x, dtypes=("integer", "floating")
)


@op("aten::threshold", **{**ACTIVATION, "python_module": None, "inplace": UNTAGGED})
@formula
def threshold(self: Tensor, threshold: Scalar, value: Scalar) -> Tensor:
    """``value`` where ``self`` is at most ``threshold``, ``self`` elsewhere."""
    return threshold_elements(self, threshold, value)


hardshrink_elements = primitives.elements(
    lambda x, lambd: 0.0 if x >= -rounded(lambd) and x <= rounded(lambd) else x, dtypes="floating"
)


@op("aten::hardshrink", **{**ACTIVATION, "variants": "function, method", "python_module": None, "inplace": False})
@formula
def hardshrink(self: Tensor, lambd: Scalar = 0.5) -> Tensor:
    """``self``, with 0 in place of elements whose magnitude is at most ``lambd``."""
    return hardshrink_elements(self, lambd)


@op("aten::softshrink", **{**ACTIVATION, "inplace": False})
@formula(dtypes="floating")
def softshrink(self: Tensor, lambd: Scalar = 0.5) -> Tensor:
    """``self``, moved towards 0 by ``lambd``, with 0 for elements whose magnitude is at most ``lambd``."""
    return self - lambd if self > lambd else self * 0.0 if self >= -lambd else self + lambd


softshrink.derivative(self=softshrink_backward)
softshrink.meta(require_distance)


@op("aten::gelu", **{**ACTIVATION, "tags": CORE, "inplace": UNTAGGED})
@formula(dtypes="floating")
def gelu(self: Tensor, *, approximate: str = spelled("none", "'none'")) -> Tensor:
    """``self`` times the probability that a standard normal variable is below ``self``; ``"tanh"`` approximates it."""
    check(approximate in ("none", "tanh"), "approximate argument must be either none or tanh.")
    if approximate == "none":
        return 0.5 * self * (1.0 + (math.sqrt(0.5) * self).erf())
    inner = math.sqrt(2.0 / math.pi) * (self + 0.044715 * self * self * self)
    return 0.5 * self * (1.0 + inner.tanh())


gelu.derivative(self=gelu_backward)


@op("aten::elu", **{**ACTIVATION, "tags": CORE})
@formula(dtypes="floating")
def elu(self: Tensor, alpha: Scalar = 1, scale: Scalar = 1, input_scale: Scalar = 1) -> Tensor:
    """``scale * self``, or for negative elements ``scale * alpha * (exp(input_scale * self) - 1)``."""
    if self <= 0:
        return (self * input_scale).expm1() * (alpha * scale)
    return self * scale


elu.derivative(
    self=lambda grad, self, alpha, scale, input_scale: elu_backward(grad, alpha, scale, input_scale, False, self)
)


@op("aten::celu", **{**ACTIVATION, "python_module": None, "inplace": True})
@formula(dtypes="floating")
def celu(self: Tensor, alpha: Scalar = 1.0) -> Tensor:
    """``max(self, 0) + min(alpha * (exp(self / alpha) - 1), 0)``"""
    check(alpha != 0, "ZeroDivisionError: alpha cannot be 0 for CELU")
    return (self * (1.0 / alpha)).expm1() * alpha if self <= 0 else self


celu.derivative(self=lambda grad, self, alpha: elu_backward(grad, alpha, 1, 1.0 / alpha, False, self))


@op("aten::softplus", **{**ACTIVATION, "inplace": False})
@formula(dtypes="floating")
def softplus(self: Tensor, beta: Scalar = 1, threshold: Scalar = 20) -> Tensor:
    """``log(1 + exp(beta * self)) / beta``, or ``self`` where ``beta * self`` is larger than ``threshold``."""
    scaled = self * beta
    return self if scaled > threshold else scaled.exp().log1p() / beta


softplus.derivative(self=softplus_backward)


@op("aten::mish", **{**ACTIVATION, "inplace": UNTAGGED})
@formula(dtypes="floating")
def mish(self: Tensor) -> Tensor:
    """``self * tanh(log(1 + exp(self)))``"""
    return self * self.exp().log1p().tanh()


mish.derivative(self=mish_backward)


SELU: dict[str, Any] = {"alpha": 1.6732632423543772848170429916717, "scale": 1.0507009873554804934193349852946}


@op("aten::relu6", tags="pointwise", python_module="nn", inplace=UNTAGGED)
@forward(hardtanh, min_val=0, max_val=6)
def relu6(self: Tensor) -> Tensor:
    """``self`` clamped to 0 and 6."""


@op("aten::selu", tags="pointwise", inplace=True)
@forward(elu, input_scale=1, **SELU)
def selu(self: Tensor) -> Tensor:
    """``elu`` with the constants that preserve mean 0 and variance 1 (Klambauer et al., 2017)."""
