"""Gradients of activation functions, as PyTorch names them; their own gradients are derived from them.

Each takes the gradient of the result first, and then what the function was given, or what it gave.
"""

from __future__ import annotations

import math
from typing import Any

from opdsl.aten._shared.checks import real
from opdsl.declare import Out, op
from opdsl.kernels import check
from opdsl.runtime import Tensor
from opdsl.scalar.intrinsics import conjugate
from opdsl.schema.spelling import spelled
from opdsl.schema.vocabulary import Scalar


def gradient_of(name: str, **options: object) -> dict[str, Any]:
    """What the entries of a gradient say: its out argument is ``grad_input``."""
    return {
        "python_module": "nn",
        "device_check": "ExactSame",
        "tags": (),
        "out": Out(f"{name}_backward.grad_input", args=("grad_input",), **OUT.get(name, {})),
        **options,
    }


# PyTorch has a composite kernel, too, for backends that have none of their own.
COMPOSITE = {"CompositeImplicitAutograd": "math_silu_backward"}

# Which out variants say what their functionals do not.
UNTAGGED: dict[str, Any] = {"tags": ()}
PLAIN: dict[str, Any] = {"explicit": True}
OUT: dict[str, dict[str, Any]] = {
    "gelu": UNTAGGED,
    "threshold": UNTAGGED,
    "hardtanh": PLAIN,
    "log_sigmoid": PLAIN,
}

# ------------------------------------------------------------------------------------------------------------- smooth


@op("aten::sigmoid_backward", **gradient_of("sigmoid", tags="pointwise"))
def sigmoid_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    """``grad_output * output * (1 - output)``"""
    ...


@sigmoid_backward.pointwise(dtypes=("floating", "complex"))
def sigmoid_backward_scalar_function(grad_output, output):
    return grad_output * conjugate((1.0 - output) * output)


@op("aten::tanh_backward", **gradient_of("tanh", tags="pointwise"))
def tanh_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    """``grad_output * (1 - output**2)``"""
    ...


@tanh_backward.pointwise(dtypes=("floating", "complex"))
def tanh_backward_scalar_function(grad_output, output):
    return grad_output * conjugate(1.0 - output * output)


@op("aten::logit_backward", **gradient_of("logit", tags="pointwise"))
def logit_backward(grad_output: Tensor, self: Tensor, eps: float | None = None) -> Tensor:
    """``grad_output / (self * (1 - self))``; 0 beyond ``eps`` and ``1 - eps``, NaN beyond 0 and 1 without it."""
    ...


@logit_backward.pointwise(dtypes="floating")
def logit_backward_scalar_function(grad_output, self, eps):
    is_free = eps is None or eps < 0
    low, beyond = (0.0, math.nan) if is_free else (eps, 0.0)
    return beyond if self < low or self > 1.0 - low else grad_output / (self * (1.0 - self))


@op("aten::silu_backward", **gradient_of("silu", tags="pointwise", dispatch=COMPOSITE))
def silu_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """The gradient of ``silu``."""
    ...


@silu_backward.pointwise(dtypes=("floating", "complex"))
def silu_backward_scalar_function(grad_output, self):
    sigmoid = 1.0 / (1.0 + math.exp(-self))
    return grad_output * conjugate(sigmoid * (1.0 + self * (1.0 - sigmoid)))


@op("aten::mish_backward", python_module="nn", tags=(), device_check="ExactSame", structured=False)
def mish_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """The gradient of ``mish``."""
    ...


@mish_backward.pointwise(dtypes="floating")
def mish_backward_scalar_function(grad_output, self):
    sigmoid = 1.0 / (1.0 + math.exp(-self))
    tanh = math.tanh(math.log1p(math.exp(self)))
    return grad_output * (tanh + self * sigmoid * (1.0 - tanh * tanh))


@mish_backward.kernel("CompositeImplicitAutograd")
def mish_backward_composite(grad_output, self):
    tanh = self.exp().log1p().tanh()
    return grad_output * (tanh + self * self.sigmoid() * (1.0 - tanh * tanh))


@op("aten::gelu_backward", **gradient_of("gelu", tags="pointwise"))
def gelu_backward(grad_output: Tensor, self: Tensor, *, approximate: str = spelled("none", "'none'")) -> Tensor:
    """The gradient of ``gelu``."""
    ...


@gelu_backward.meta(reads_numbers=False)
def gelu_backward_meta(ctx, approximate):
    check(approximate in ("none", "tanh"), "approximate argument must be either none or tanh.")


@gelu_backward.pointwise(dtypes="floating")
def gelu_backward_scalar_function(grad_output, self, approximate):
    if approximate == "none":
        area = 0.5 * (1.0 + math.erf(math.sqrt(0.5) * self))
        density = math.exp(-0.5 * self * self) / math.sqrt(2.0 * math.pi)
        return grad_output * (area + self * density)
    square = self * self
    factor = math.sqrt(2.0 / math.pi)
    tanh = math.tanh(factor * (self + 0.044715 * square * self))
    slope = factor * (1.0 + 3.0 * 0.044715 * square)
    return grad_output * (0.5 * (1.0 + tanh) + 0.5 * self * (1.0 - tanh * tanh) * slope)


@op("aten::infinitely_differentiable_gelu_backward", python_module="nn", device_check="NoCheck", device_guard=False)
def infinitely_differentiable_gelu_backward(grad: Tensor, self: Tensor) -> Tensor:
    """The gradient of ``gelu``, made of operators that have gradients of every order."""
    area = 0.5 * (1.0 + (self * math.sqrt(0.5)).erf())
    density = (self * self * -0.5).exp() / math.sqrt(2.0 * math.pi)
    return grad * (area + self * density)


@op("aten::softplus_backward", **gradient_of("softplus"))
def softplus_backward(grad_output: Tensor, self: Tensor, beta: Scalar, threshold: Scalar) -> Tensor:
    """The gradient of ``softplus``."""
    ...


@softplus_backward.pointwise(dtypes="floating")
def softplus_backward_scalar_function(grad_output, self, beta, threshold):
    power = math.exp(self * beta)
    return grad_output if self * beta > threshold else grad_output * power / (power + 1.0)


@op("aten::elu_backward", **gradient_of("elu"))
def elu_backward(
    grad_output: Tensor, alpha: Scalar, scale: Scalar, input_scale: Scalar, is_result: bool, self_or_result: Tensor
) -> Tensor:
    """The gradient of ``elu``, of what it was given or, where ``is_result``, of what it gave."""
    ...


@elu_backward.meta
def elu_backward_meta(ctx, alpha, is_result):
    check(
        not is_result or real(alpha) >= 0.0,
        "In-place elu backward calculation is triggered with a negative slope which is not supported. This is caused "
        "by calling in-place forward function with a negative slope, please call out-of-place version instead.",
    )


@elu_backward.pointwise(dtypes="floating", when={"is_result": True})
def elu_result_backward_scalar_function(grad_output, alpha, scale, input_scale, self_or_result):
    below = input_scale * (self_or_result + alpha * scale)
    return grad_output * (below if self_or_result <= 0 else scale)


@elu_backward.pointwise(dtypes="floating", when={"is_result": False})
def elu_backward_scalar_function(grad_output, alpha, scale, input_scale, self_or_result):
    below = input_scale * (alpha * scale) * math.exp(self_or_result * input_scale)
    return grad_output * (below if self_or_result <= 0 else scale)


@op("aten::log_sigmoid_backward", **gradient_of("log_sigmoid", structured=False))
def log_sigmoid_backward(grad_output: Tensor, self: Tensor, buffer: Tensor) -> Tensor:
    """The gradient of ``log_sigmoid``; ``buffer`` is ``exp(-abs(self))``."""
    ...


log_sigmoid_backward.derivative(grad_output=log_sigmoid_backward)


@log_sigmoid_backward.derivative("self")
def log_sigmoid_backward_derivative(grad, grad_output, self):
    sigmoid = self.sigmoid()
    return grad * grad_output * (sigmoid - 1.0) * sigmoid


@log_sigmoid_backward.pointwise(dtypes="floating")
def log_sigmoid_backward_scalar_function(grad_output, self, buffer):
    share = buffer / (1.0 + buffer)
    return grad_output * (1.0 - share if self < 0 else share)


# ------------------------------------------------------------------------------------------- pieces of straight lines


@op("aten::threshold_backward", **{**gradient_of("threshold", tags="pointwise"), "python_module": None})
def threshold_backward(grad_output: Tensor, self: Tensor, threshold: Scalar) -> Tensor:
    """``grad_output`` where ``self`` is larger than the threshold, 0 elsewhere."""
    ...


@threshold_backward.pointwise(dtypes=("integer", "floating"))
def threshold_backward_scalar_function(grad_output, self, threshold):
    return 0 if self <= threshold else grad_output


@op("aten::leaky_relu_backward", **gradient_of("leaky_relu"))
def leaky_relu_backward(grad_output: Tensor, self: Tensor, negative_slope: Scalar, self_is_result: bool) -> Tensor:
    """``grad_output``, times ``negative_slope`` where ``self`` is not positive."""
    ...


@leaky_relu_backward.meta
def leaky_relu_backward_meta(ctx, negative_slope, self_is_result):
    check(
        not self_is_result or real(negative_slope) >= 0.0,
        "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported. This is "
        "caused by calling in-place forward function with a negative slope, please call out-of-place version instead.",
    )


def leaky_relu_backward_scalar_function(grad_output: Any, self: Any, negative_slope: Any) -> Any:
    return grad_output if self > 0 else grad_output * negative_slope


for is_result in (False, True):
    leaky_relu_backward.pointwise(dtypes="floating", when={"self_is_result": is_result})(
        leaky_relu_backward_scalar_function
    )


@op("aten::hardtanh_backward", **gradient_of("hardtanh", structured=False))
def hardtanh_backward(grad_output: Tensor, self: Tensor, min_val: Scalar, max_val: Scalar) -> Tensor:
    """``grad_output`` where ``self`` is between two bounds, 0 elsewhere."""
    ...


@hardtanh_backward.pointwise(dtypes="floating")
def hardtanh_backward_scalar_function(grad_output, self, min_val, max_val):
    return 0.0 if self <= min_val or self >= max_val else grad_output


@op("aten::hardsigmoid_backward", **gradient_of("hardsigmoid"))
def hardsigmoid_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """The gradient of ``hardsigmoid``."""
    ...


@hardsigmoid_backward.pointwise(dtypes="floating")
def hardsigmoid_backward_scalar_function(grad_output, self):
    return grad_output * (1.0 / 6.0) if self > -3.0 and self < 3.0 else 0.0


@op("aten::hardswish_backward", python_module="nn", tags=(), device_check="ExactSame", structured=False, out=True)
def hardswish_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """The gradient of ``hardswish``."""
    ...


@hardswish_backward.pointwise(dtypes="floating")
def hardswish_backward_scalar_function(grad_output, self):
    rising = grad_output * (self / 3.0 + 0.5)
    return 0.0 if self <= -3.0 else rising if self < 3.0 else grad_output


def shrunk(grad_output: Any, self: Any, lambd: Any) -> Any:
    return 0.0 if self >= -lambd and self <= lambd else grad_output


@op("aten::softshrink_backward", **gradient_of("softshrink"))
def softshrink_backward(grad_output: Tensor, self: Tensor, lambd: Scalar) -> Tensor:
    """``grad_output`` where the magnitude is larger than ``lambd``, 0 elsewhere."""
    ...


softshrink_backward.pointwise(dtypes="floating")(shrunk)


@op(
    "aten::hardshrink_backward",
    **{**gradient_of("hardshrink"), "python_module": None, "variants": "function, method"},
)
def hardshrink_backward(grad_out: Tensor, self: Tensor, lambd: Scalar) -> Tensor:
    """``grad_out`` where the magnitude is larger than ``lambd``, 0 elsewhere."""
    ...


@hardshrink_backward.pointwise(dtypes="floating")
def hardshrink_backward_scalar_function(grad_out, self, lambd):
    return shrunk(grad_out, self, lambd)
