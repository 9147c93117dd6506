"""Gradients of activation functions, as PyTorch names them; their own gradients are derived from them.

Each takes the gradient of the result first, and then what the function was given, or what it gave.
"""

from __future__ import annotations

import math
from typing import Any

from opdsl.aten._shared.checks import real
from opdsl.aten._shared.entries import GRAD_INPUT, OWN_GRAD_INPUT
from opdsl.declare import Out, op
from opdsl.kernels import check
from opdsl.runtime import Tensor
from opdsl.scalar.intrinsics import conjugate, rounded
from opdsl.schema.spelling import spelled
from opdsl.schema.vocabulary import Scalar

INEXACT: dict[str, Any] = {"dtypes": ("floating", "complex")}
UNTAGGED = Out(".grad_input", args=("grad_input",), tags=())


def require_name(ctx: Any, approximate: str) -> None:
    """Check that there is such a way to approximate ``gelu``."""
    check(approximate in ("none", "tanh"), "approximate argument must be either none or tanh.")


def require_positive(name: str, slope: complex, is_result: bool) -> None:
    """Check that what was given follows from the result.

    Raises:
        ShapeError: it does not, of a negative slope.
    """
    check(
        not is_result or real(slope) >= 0.0,
        f"In-place {name} backward calculation is triggered with a negative slope which is not supported. This is "
        "caused by calling in-place forward function with a negative slope, please call out-of-place version instead.",
    )


# ---------------------------------------------------------------------------------------------------- scalar functions


def silu_gradient(grad, x):
    sigmoid = 1.0 / (1.0 + math.exp(-x))
    return grad * conjugate(sigmoid * (1.0 + x * (1.0 - sigmoid)))


def mish_gradient(grad, x):
    sigmoid = 1.0 / (1.0 + math.exp(-x))
    tanh = math.tanh(math.log1p(math.exp(x)))
    return grad * (tanh + x * sigmoid * (1.0 - tanh * tanh))


def logit_gradient(grad, x, eps):
    is_free = eps is None or eps < 0
    low, beyond = (0.0, math.nan) if is_free else (eps, 0.0)
    return beyond if x < low or x > 1.0 - low else grad / (x * (1.0 - x))


def gelu_gradient(grad: Any, x: Any, approximate: Any) -> Any:
    if approximate == "none":
        area = 0.5 * (1.0 + math.erf(math.sqrt(0.5) * x))
        density = math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
        return grad * (area + x * density)
    square = x * x
    factor = math.sqrt(2.0 / math.pi)
    tanh = math.tanh(factor * (x + 0.044715 * square * x))
    slope = factor * (1.0 + 3.0 * 0.044715 * square)
    return grad * (0.5 * (1.0 + tanh) + 0.5 * x * (1.0 - tanh * tanh) * slope)


def softplus_gradient(grad, x, beta, threshold):
    power = math.exp(x * beta)
    return grad if x * beta > threshold else grad * power / (power + 1.0)


def elu_gradient(grad: Any, alpha: Any, scale: Any, input_scale: Any, x: Any) -> Any:
    below = input_scale * (alpha * scale) * math.exp(x * input_scale)
    return grad * (below if x <= 0 else scale)


def elu_result_gradient(grad: Any, alpha: Any, scale: Any, input_scale: Any, result: Any) -> Any:
    below = input_scale * (result + alpha * scale)
    return grad * (below if result <= 0 else scale)


def leaky_relu_gradient(grad: Any, x: Any, negative_slope: Any) -> Any:
    return grad if x > 0 else grad * negative_slope


def log_sigmoid_gradient(grad: Any, x: Any, buffer: Any) -> Any:
    share = buffer / (1.0 + buffer)
    return grad * (1.0 - share if x < 0 else share)


def hardswish_gradient(grad, x):
    rising = grad * (x / 3.0 + 0.5)
    return 0.0 if x <= -3.0 else rising if x < 3.0 else grad


def shrunk(grad, x, lambd):
    return 0.0 if x >= -rounded(lambd) and x <= rounded(lambd) else grad


# ------------------------------------------------------------------------------------------------------------ operators

GRADIENT: dict[str, Any] = {"python_module": "nn", "device_check": "ExactSame", "tags": (), "out": GRAD_INPUT}


@op("aten::sigmoid_backward", **{**GRADIENT, "tags": "pointwise"})
def sigmoid_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    """``grad_output * output * (1 - output)``"""
    ...


sigmoid_backward.pointwise(**INEXACT)(lambda grad, output: grad * conjugate((1.0 - output) * output))


@op("aten::tanh_backward", **{**GRADIENT, "tags": "pointwise"})
def tanh_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    """``grad_output * (1 - output**2)``"""
    ...


tanh_backward.pointwise(**INEXACT)(lambda grad, output: grad * conjugate(1.0 - output * output))


@op("aten::logit_backward", **{**GRADIENT, "tags": "pointwise"})
def logit_backward(grad_output: Tensor, self: Tensor, eps: float | None = None) -> Tensor:
    """``grad_output / (self * (1 - self))``; 0 beyond ``eps`` and ``1 - eps``, NaN beyond 0 and 1 without it."""
    ...


logit_backward.pointwise(dtypes="floating")(logit_gradient)


@op(
    "aten::silu_backward",
    **{**GRADIENT, "tags": "pointwise", "dispatch": {"CompositeImplicitAutograd": "math_silu_backward"}},
)
def silu_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """The gradient of ``silu``."""
    ...


silu_backward.pointwise(**INEXACT)(silu_gradient)


@op("aten::mish_backward", **{**GRADIENT, "structured": False, "out": False})
def mish_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """The gradient of ``mish``."""
    ...


mish_backward.pointwise(dtypes="floating")(mish_gradient)


@op("aten::gelu_backward", **{**GRADIENT, "tags": "pointwise", "out": UNTAGGED})
def gelu_backward(grad_output: Tensor, self: Tensor, *, approximate: str = spelled("none", "'none'")) -> Tensor:
    """The gradient of ``gelu``."""
    ...


@op("aten::softplus_backward", **GRADIENT)
def softplus_backward(grad_output: Tensor, self: Tensor, beta: Scalar, threshold: Scalar) -> Tensor:
    """The gradient of ``softplus``."""
    ...


softplus_backward.pointwise(dtypes="floating")(softplus_gradient)


@op("aten::elu_backward", **GRADIENT)
def elu_backward(
    grad_output: Tensor, alpha: Scalar, scale: Scalar, input_scale: Scalar, is_result: bool, self_or_result: Tensor
) -> Tensor:
    """The gradient of ``elu``, of what it was given or, where ``is_result``, of what it gave."""
    ...


elu_backward.meta(lambda ctx, alpha, is_result: require_positive("elu", alpha, is_result))


@op("aten::log_sigmoid_backward", **{**GRADIENT, "structured": False, "out": OWN_GRAD_INPUT})
def log_sigmoid_backward(grad_output: Tensor, self: Tensor, buffer: Tensor) -> Tensor:
    """The gradient of ``log_sigmoid``; ``buffer`` is ``exp(-abs(self))``."""
    ...


@op("aten::threshold_backward", **{**GRADIENT, "python_module": None, "tags": "pointwise", "out": UNTAGGED})
def threshold_backward(grad_output: Tensor, self: Tensor, threshold: Scalar) -> Tensor:
    """``grad_output`` where ``self`` is larger than the threshold, 0 elsewhere."""
    ...


threshold_backward.pointwise(dtypes=("integer", "floating"))(lambda grad, x, threshold: 0 if x <= threshold else grad)


@op("aten::leaky_relu_backward", **GRADIENT)
def leaky_relu_backward(grad_output: Tensor, self: Tensor, negative_slope: Scalar, self_is_result: bool) -> Tensor:
    """``grad_output``, times ``negative_slope`` where ``self`` is not positive."""
    ...


leaky_relu_backward.meta(
    lambda ctx, negative_slope, self_is_result: require_positive("leakyReLu", negative_slope, self_is_result)
)


@op("aten::hardtanh_backward", **{**GRADIENT, "structured": False, "out": OWN_GRAD_INPUT})
def hardtanh_backward(grad_output: Tensor, self: Tensor, min_val: Scalar, max_val: Scalar) -> Tensor:
    """``grad_output`` where ``self`` is between two bounds, 0 elsewhere."""
    ...


hardtanh_backward.pointwise(dtypes="floating")(lambda grad, x, low, high: 0.0 if x <= low or x >= high else grad)


@op("aten::hardsigmoid_backward", **GRADIENT)
def hardsigmoid_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """The gradient of ``hardsigmoid``."""
    ...


hardsigmoid_backward.pointwise(dtypes="floating")(lambda grad, x: grad * (1.0 / 6.0) if x > -3.0 and x < 3.0 else 0.0)


@op("aten::hardswish_backward", **{**GRADIENT, "structured": False, "out": True})
def hardswish_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """The gradient of ``hardswish``."""
    ...


hardswish_backward.pointwise(dtypes="floating")(hardswish_gradient)


@op("aten::softshrink_backward", **GRADIENT)
def softshrink_backward(grad_output: Tensor, self: Tensor, lambd: Scalar) -> Tensor:
    """``grad_output`` where the magnitude is larger than ``lambd``, 0 elsewhere."""
    ...


softshrink_backward.pointwise(dtypes="floating")(shrunk)


@op("aten::hardshrink_backward", **{**GRADIENT, "python_module": None, "variants": "function, method"})
def hardshrink_backward(grad_out: Tensor, self: Tensor, lambd: Scalar) -> Tensor:
    """``grad_out`` where the magnitude is larger than ``lambd``, 0 elsewhere."""
    ...


hardshrink_backward.pointwise(dtypes="floating")(shrunk)
gelu_backward.meta(reads_numbers=False)(require_name)
gelu_backward.pointwise(dtypes="floating")(gelu_gradient)
elu_backward.pointwise(dtypes="floating", when={"is_result": True})(elu_result_gradient)
elu_backward.pointwise(dtypes="floating", when={"is_result": False})(elu_gradient)

for _is_result in (False, True):
    leaky_relu_backward.pointwise(dtypes="floating", when={"self_is_result": _is_result})(leaky_relu_gradient)


@log_sigmoid_backward.derivative("self")
def log_sigmoid_backward_derivative(grad, grad_output, self):
    sigmoid = self.sigmoid()
    return grad * grad_output * (sigmoid - 1.0) * sigmoid


log_sigmoid_backward.derivative(grad_output=log_sigmoid_backward)
log_sigmoid_backward.pointwise(dtypes="floating")(log_sigmoid_gradient)


@mish_backward.kernel("CompositeImplicitAutograd")
def mish_backward_composite(grad_output, self):
    tanh = self.exp().log1p().tanh()
    return grad_output * (tanh + self * self.sigmoid() * (1.0 - tanh * tanh))


@op("aten::infinitely_differentiable_gelu_backward", python_module="nn", device_check="NoCheck", device_guard=False)
def infinitely_differentiable_gelu_backward(grad: Tensor, self: Tensor) -> Tensor:
    """The gradient of ``gelu``, made of operators that have gradients of every order."""
    area = 0.5 * (1.0 + (self * math.sqrt(0.5)).erf())
    density = (self * self * -0.5).exp() / math.sqrt(2.0 * math.pi)
    return grad * (area + self * density)
