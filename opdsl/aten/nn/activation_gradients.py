"""Gradients of activation functions, under PyTorch's names; their own gradients are derived from their formulas.

Each operator takes the gradient of the result first, then the input or the result of the activation function.
"""

from __future__ import annotations

import math
from typing import Any

from opdsl import primitives
from opdsl.aten._shared.checks import real
from opdsl.aten._shared.entries import GRAD_INPUT
from opdsl.aten.pointwise.comparison import where
from opdsl.declare import Out, formula, op
from opdsl.kernels import check
from opdsl.runtime import Tensor
from opdsl.scalar.intrinsics import rounded
from opdsl.schema.spelling import spelled
from opdsl.schema.vocabulary import Scalar

INEXACT = ("floating", "complex")
UNTAGGED = Out(".grad_input", args=("grad_input",), tags=())


def require_positive(name: str, slope: complex, is_result: bool) -> None:
    """Check that a slope is not negative if the gradient is computed from the activation's result.

    Raises:
        ShapeError: the slope is negative, so that the result does not determine the input.
    """
    check(
        not is_result or real(slope) >= 0.0,
        f"In-place {name} backward calculation is triggered with a negative slope which is not supported. This is "
        "caused by calling in-place forward function with a negative slope, please call out-of-place version instead.",
    )


def sigmoid_of(x: Tensor) -> Tensor:
    """``1 / (1 + exp(-x))``"""
    return 1.0 / (1.0 + (-x).exp())


# ------------------------------------------------------------------------------------------------------------ operators

GRADIENT: dict[str, Any] = {"python_module": "nn", "tags": (), "out": GRAD_INPUT}


@op("aten::sigmoid_backward", **{**GRADIENT, "tags": "pointwise"})
@formula(dtypes=INEXACT)
def sigmoid_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    """``grad_output * output * (1 - output)``"""
    return grad_output * ((1.0 - output) * output).conj()


@op("aten::tanh_backward", **{**GRADIENT, "tags": "pointwise"})
@formula(dtypes=INEXACT)
def tanh_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    """``grad_output * (1 - output**2)``"""
    return grad_output * (1.0 - output * output).conj()


@op("aten::logit_backward", **{**GRADIENT, "tags": "pointwise"})
@formula(dtypes="floating")
def logit_backward(grad_output: Tensor, self: Tensor, eps: float | None = None) -> Tensor:
    """``grad_output / (self * (1 - self))``; outside of ``[eps, 1 - eps]`` 0, or, without ``eps``, NaN outside of ``[0,
    1]``.
    """
    low, beyond = (0.0, math.nan) if eps is None or eps < 0 else (eps, 0.0)
    return where((self < low) | (self > 1.0 - low), beyond, grad_output / (self * (1.0 - self)))


@op("aten::silu_backward", **{**GRADIENT, "tags": "pointwise"})
@formula(dtypes=INEXACT)
def silu_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """Return the gradient of ``silu`` with respect to its input."""
    sigmoid = sigmoid_of(self)
    return grad_output * (sigmoid * (1.0 + self * (1.0 - sigmoid))).conj()


@op("aten::mish_backward", **{**GRADIENT, "out": False})
@formula(dtypes="floating")
def mish_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """Return the gradient of ``mish`` with respect to its input."""
    slope = self.exp().log1p().tanh()
    return grad_output * (slope + self * sigmoid_of(self) * (1.0 - slope * slope))


@op("aten::gelu_backward", **{**GRADIENT, "tags": "pointwise", "out": UNTAGGED})
@formula(dtypes="floating")
def gelu_backward(grad_output: Tensor, self: Tensor, *, approximate: str = spelled("none", "'none'")) -> Tensor:
    """Return the gradient of ``gelu`` with respect to its input."""
    check(approximate in ("none", "tanh"), "approximate argument must be either none or tanh.")
    if approximate == "none":
        area = 0.5 * (1.0 + (math.sqrt(0.5) * self).erf())
        density = (-0.5 * self * self).exp() / math.sqrt(2.0 * math.pi)
        return grad_output * (area + self * density)
    square = self * self
    factor = math.sqrt(2.0 / math.pi)
    bent = (factor * (self + 0.044715 * square * self)).tanh()
    slope = factor * (1.0 + 3.0 * 0.044715 * square)
    return grad_output * (0.5 * (1.0 + bent) + 0.5 * self * (1.0 - bent * bent) * slope)


@op("aten::softplus_backward", **GRADIENT)
@formula(dtypes="floating")
def softplus_backward(grad_output: Tensor, self: Tensor, beta: Scalar, threshold: Scalar) -> Tensor:
    """Return the gradient of ``softplus`` with respect to its input."""
    power = (self * beta).exp()
    return grad_output if self * beta > threshold else grad_output * power / (power + 1.0)


@op("aten::elu_backward", **GRADIENT)
@formula(dtypes="floating")
def elu_backward(
    grad_output: Tensor, alpha: Scalar, scale: Scalar, input_scale: Scalar, is_result: bool, self_or_result: Tensor
) -> Tensor:
    """Return the gradient of ``elu`` with respect to its input, from the input or (``is_result``) from the result."""
    known = self_or_result
    below = known + alpha * scale if is_result else alpha * scale * (known * input_scale).exp()
    return grad_output * (input_scale * below if known <= 0 else scale)


elu_backward.meta(lambda ctx, alpha, is_result: require_positive("elu", alpha, is_result))


@op("aten::log_sigmoid_backward", **{**GRADIENT, "out": GRAD_INPUT})
@formula(dtypes="floating")
def log_sigmoid_backward(grad_output: Tensor, self: Tensor, buffer: Tensor) -> Tensor:
    """Return the gradient of ``log_sigmoid`` with respect to its input; ``buffer`` is ``exp(-abs(self))``."""
    share = buffer / (1.0 + buffer)
    return grad_output * (1.0 - share if self < 0 else share)


@op("aten::threshold_backward", **{**GRADIENT, "python_module": None, "tags": "pointwise", "out": UNTAGGED})
@formula(dtypes=("integer", "floating"))
def threshold_backward(grad_output: Tensor, self: Tensor, threshold: Scalar) -> Tensor:
    """``grad_output`` where ``self`` is larger than ``threshold``, 0 elsewhere."""
    return where(self <= threshold, 0, grad_output)


@op("aten::leaky_relu_backward", **GRADIENT)
@formula(dtypes="floating")
def leaky_relu_backward(grad_output: Tensor, self: Tensor, negative_slope: Scalar, self_is_result: bool) -> Tensor:
    """``grad_output``, multiplied by ``negative_slope`` where ``self`` is not positive."""
    return grad_output if self > 0 else grad_output * negative_slope


leaky_relu_backward.meta(
    lambda ctx, negative_slope, self_is_result: require_positive("leakyReLu", negative_slope, self_is_result)
)


@op("aten::hardtanh_backward", **{**GRADIENT, "out": GRAD_INPUT})
@formula(dtypes="floating")
def hardtanh_backward(grad_output: Tensor, self: Tensor, min_val: Scalar, max_val: Scalar) -> Tensor:
    """``grad_output`` where ``self`` is strictly between ``min_val`` and ``max_val``, 0 elsewhere."""
    return where((self <= min_val) | (self >= max_val), 0.0, grad_output)


@op("aten::hardsigmoid_backward", **GRADIENT)
@formula(dtypes="floating")
def hardsigmoid_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """Return the gradient of ``hardsigmoid`` with respect to its input."""
    return where((self > -3.0) & (self < 3.0), grad_output * (1.0 / 6.0), 0.0)


@op("aten::hardswish_backward", **{**GRADIENT, "out": True})
@formula(dtypes="floating")
def hardswish_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """Return the gradient of ``hardswish`` with respect to its input."""
    rising = grad_output * (self / 3.0 + 0.5)
    return where(self <= -3.0, 0.0, where(self < 3.0, rising, grad_output))


# PyTorch rounds the bound to the dtype of the elements before it compares.
def shrunk(grad: Any, x: Any, lambd: Any) -> Any:
    return 0.0 if x >= -rounded(lambd) and x <= rounded(lambd) else grad


softshrink_backward_elements = primitives.elements(shrunk, dtypes="floating")


@op("aten::softshrink_backward", **GRADIENT)
@formula
def softshrink_backward(grad_output: Tensor, self: Tensor, lambd: Scalar) -> Tensor:
    """``grad_output`` where ``abs(self)`` is larger than ``lambd``, 0 elsewhere."""
    return softshrink_backward_elements(grad_output, self, lambd)


hardshrink_backward_elements = primitives.elements(shrunk, dtypes="floating")


@op("aten::hardshrink_backward", **{**GRADIENT, "python_module": None, "variants": "function, method"})
@formula
def hardshrink_backward(grad_out: Tensor, self: Tensor, lambd: Scalar) -> Tensor:
    """``grad_out`` where ``abs(self)`` is larger than ``lambd``, 0 elsewhere."""
    return hardshrink_backward_elements(grad_out, self, lambd)


@log_sigmoid_backward.derivative("self")
def log_sigmoid_backward_derivative(grad, grad_output, self):
    sigmoid = self.sigmoid()
    return grad * grad_output * (sigmoid - 1.0) * sigmoid


log_sigmoid_backward.derivative(grad_output=log_sigmoid_backward)


@mish_backward.kernel("CompositeImplicitAutograd")
def mish_backward_composite(grad_output, self):
    tanh = self.exp().log1p().tanh()
    return grad_output * (tanh + self * self.sigmoid() * (1.0 - tanh * tanh))


@op("aten::infinitely_differentiable_gelu_backward", python_module="nn")
def infinitely_differentiable_gelu_backward(grad: Tensor, self: Tensor) -> Tensor:
    """Return the gradient of ``gelu``, composed of operators that can be differentiated any number of times."""
    area = 0.5 * (1.0 + (self * math.sqrt(0.5)).erf())
    density = (self * self * -0.5).exp() / math.sqrt(2.0 * math.pi)
    return grad * (area + self * density)
