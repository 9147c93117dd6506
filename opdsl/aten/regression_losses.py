"""Losses of differences and of probabilities, with the operators that are their gradients.

The rules are those of ATen/native/Loss.cpp.
"""

from __future__ import annotations

from typing import Any

from opdsl.aten.losses import loss_gradient, reduced
from opdsl.declare import Out, op
from opdsl.dispatch import get_default_dtype
from opdsl.errors import NumberError
from opdsl.kernels import MetaContext, check, copy_, write_out
from opdsl.kernels.broadcasting import broadcast_all
from opdsl.runtime import Tensor, result_type
from opdsl.schema import Alias
from opdsl.schema.vocabulary import Reduction

# What keeps the gradient of a probability of 0 or 1 finite, and the least logarithm of one.
_EPSILON = 1e-12
_LEAST_LOGARITHM = -100

STRUCTURED: dict[str, Any] = {"device_check": "NoCheck", "python_module": "nn"}
ITERATED = Out(structured_inherits="TensorIteratorBase")
GRADIENT: dict[str, Any] = {"structured": False, "python_module": "nn"}


def loss_meta(ctx: MetaContext, self: Tensor, target: Tensor, reduction: int) -> None:
    """What the shape functions of losses of two tensors have in common."""
    shape = broadcast_all((self.shape, target.shape))
    if reduction in (Reduction.Mean, Reduction.Sum):
        shape = ()
    ctx.set_output(0, shape, dtype=result_type((self, target), get_default_dtype()), like=self)


def gradient_meta(ctx: MetaContext, grad_output: Tensor, self: Tensor, target: Tensor) -> None:
    """What the shape functions of their gradients have in common."""
    shape = broadcast_all((grad_output.shape, self.shape, target.shape))
    ctx.set_output(0, shape, like=self)


# ------------------------------------------------------------------------------------------------------------ squares


@op("aten::mse_loss", **STRUCTURED, out=ITERATED)
def mse_loss(self: Tensor, target: Tensor, reduction: int = Reduction.Mean) -> Tensor:
    """``(self - target) ** 2``"""
    ...


mse_loss.meta(loss_meta)


@mse_loss.out_kernel("CPU", compiled=False)
def mse_loss_cpu(self, target, reduction, out):
    copy_(out, reduced((self - target).square(), reduction))


@op("aten::mse_loss_backward", **GRADIENT, out=Out("mse_loss_backward.grad_input", args=("grad_input",), explicit=True))
def mse_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """The gradient of ``mse_loss``."""
    ...


@mse_loss_backward.meta
def mse_loss_backward_meta(ctx, grad_output, self, target, reduction):
    gradient_meta(ctx, grad_output, self, target)


@mse_loss_backward.out_kernel("CPU", compiled=False)
def mse_loss_backward_cpu(grad_output, self, target, reduction, grad_input):
    copy_(grad_input, 2 * (self - target) * loss_gradient(grad_output, self, reduction))


@mse_loss.derivative("self")
def mse_loss_derivative(grad, self, target, reduction):
    return mse_loss_backward(grad, self, target, reduction)


@mse_loss.derivative("target")
def mse_loss_target_derivative(grad, self, target, reduction):
    return mse_loss_backward(grad, target, self, reduction)


@mse_loss_backward.derivative("grad_output")
def mse_loss_backward_derivative(grad, self, target, reduction):
    return mse_loss_backward(grad, self, target, reduction)


@mse_loss_backward.derivative("self")
def mse_loss_backward_self_derivative(grad, grad_output, self, reduction):
    return 2 * grad * loss_gradient(grad_output, self, reduction)


@mse_loss_backward.derivative("target")
def mse_loss_backward_target_derivative(grad, grad_output, self, reduction):
    return -2 * grad * loss_gradient(grad_output, self, reduction)


# ------------------------------------------------------------------------------------- squares near, differences apart


@op("aten::smooth_l1_loss", **STRUCTURED, out=ITERATED)
def smooth_l1_loss(self: Tensor, target: Tensor, reduction: int = Reduction.Mean, beta: float = 1.0) -> Tensor:
    """``d ** 2 / (2 * beta)`` for a difference ``d`` below ``beta``, ``d - beta / 2`` from there on."""
    ...


@smooth_l1_loss.meta
def smooth_l1_loss_meta(ctx, self, target, reduction, beta):
    check(beta >= 0, "smooth_l1_loss does not support negative values for beta.")
    loss_meta(ctx, self, target, reduction)


@smooth_l1_loss.out_kernel("CPU", compiled=False)
def smooth_l1_loss_cpu(self, target, reduction, beta, out):
    distance = (self - target).abs()
    apart = distance - 0.5 * beta
    near = distance.square() * (0.5 / beta) if beta else apart
    copy_(out, reduced(near.where(distance < beta, apart), reduction))


def smooth_l1_loss_slope(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
    """The gradient of ``smooth_l1_loss``."""
    difference = self - target
    slope = difference.sign()
    if beta:
        slope = (difference / beta).where(difference.abs() < beta, slope)
    return slope * loss_gradient(grad_output, self, reduction)


@op("aten::smooth_l1_loss_backward", python_module="nn")
def smooth_l1_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
    """The gradient of ``smooth_l1_loss``."""
    ...


smooth_l1_loss_backward.kernel("CompositeExplicitAutograd")(smooth_l1_loss_slope)


@smooth_l1_loss_backward.out_variant("smooth_l1_loss_backward.grad_input", python_module="nn")
def smooth_l1_loss_backward_out(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    reduction: int,
    beta: float,
    *,
    grad_input: Tensor[Alias("a", write=True)],
) -> Tensor[Alias("a", write=True)]:
    """``smooth_l1_loss_backward`` into a given tensor."""
    ...


@smooth_l1_loss_backward_out.kernel("CPU", "Meta")
def smooth_l1_loss_backward_out_kernel(grad_output, self, target, reduction, beta, grad_input):
    made = smooth_l1_loss_slope(grad_output, self, target, reduction, beta)
    return write_out("aten::smooth_l1_loss_backward.grad_input", grad_input, made)


@smooth_l1_loss.derivative("self")
def smooth_l1_loss_derivative(grad, self, target, reduction, beta):
    return smooth_l1_loss_backward(grad, self, target, reduction, beta)


@smooth_l1_loss.derivative("target")
def smooth_l1_loss_target_derivative(grad, self, target, reduction, beta):
    return smooth_l1_loss_backward(grad, target, self, reduction, beta)


@smooth_l1_loss_backward.derivative("grad_output")
def smooth_l1_loss_backward_derivative(grad, self, target, reduction, beta):
    return smooth_l1_loss_backward(grad, self, target, reduction, beta)


@smooth_l1_loss_backward.derivative("self", "target")
def smooth_l1_loss_backward_inputs_derivative(grad, grad_output, self, target, reduction, beta):
    is_near = (self - target).abs() < beta
    slope = (grad * loss_gradient(grad_output, self, reduction) / beta).where(is_near, 0)
    return slope, -slope


@op("aten::huber_loss", structured=False, python_module="nn", out=Out(explicit=True))
def huber_loss(self: Tensor, target: Tensor, reduction: int = Reduction.Mean, delta: float = 1.0) -> Tensor:
    """``d ** 2 / 2`` for a difference ``d`` up to ``delta``, ``delta * (d - delta / 2)`` beyond."""
    ...


@huber_loss.meta
def huber_loss_meta(ctx, self, target, reduction, delta):
    check(delta > 0, "huber_loss does not support non-positive values for delta.")
    loss_meta(ctx, self, target, reduction)


@huber_loss.out_kernel("CPU", compiled=False)
def huber_loss_cpu(self, target, reduction, delta, out):
    distance = (self - target).abs()
    loss = (0.5 * distance.square()).where(distance <= delta, delta * (distance - 0.5 * delta))
    copy_(out, reduced(loss, reduction))


def huber_loss_slope(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor:
    """The gradient of ``huber_loss``."""
    return (self - target).clamp(-delta, delta) * loss_gradient(grad_output, self, reduction)


@op("aten::huber_loss_backward", python_module="nn")
def huber_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor:
    """The gradient of ``huber_loss``."""
    ...


huber_loss_backward.kernel("CompositeExplicitAutograd")(huber_loss_slope)


@huber_loss_backward.out_variant("huber_loss_backward.out", python_module="nn")
def huber_loss_backward_out(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    reduction: int,
    delta: float,
    *,
    grad_input: Tensor[Alias("a", write=True)],
) -> Tensor[Alias("a", write=True)]:
    """``huber_loss_backward`` into a given tensor."""
    ...


@huber_loss_backward_out.kernel("CPU", "Meta")
def huber_loss_backward_out_kernel(grad_output, self, target, reduction, delta, grad_input):
    made = huber_loss_slope(grad_output, self, target, reduction, delta)
    return write_out("aten::huber_loss_backward.out", grad_input, made)


@huber_loss.derivative("self")
def huber_loss_derivative(grad, self, target, reduction, delta):
    return huber_loss_backward(grad, self, target, reduction, delta)


@huber_loss.derivative("target")
def huber_loss_target_derivative(grad, self, target, reduction, delta):
    return huber_loss_backward(grad, target, self, reduction, delta)


@huber_loss_backward.derivative("grad_output")
def huber_loss_backward_derivative(grad, self, target, reduction, delta):
    return huber_loss_backward(grad, self, target, reduction, delta)


@huber_loss_backward.derivative("self", "target")
def huber_loss_backward_inputs_derivative(grad, grad_output, self, target, reduction, delta):
    is_near = (self - target).abs() < delta
    slope = (grad * loss_gradient(grad_output, self, reduction)).where(is_near, 0)
    return slope, -slope


# ------------------------------------------------------------------------------------------------------ probabilities


@op("aten::binary_cross_entropy", device_check="NoCheck", structured=False, python_module="nn", out=Out(explicit=True))
def binary_cross_entropy(
    self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = Reduction.Mean
) -> Tensor:
    """``-(target * log(self) + (1 - target) * log(1 - self))``, no logarithm below -100."""
    ...


@binary_cross_entropy.meta
def binary_cross_entropy_meta(ctx, self, target, weight, reduction):
    loss_meta(ctx, self, target, reduction)


@binary_cross_entropy.out_kernel("CPU", compiled=False)
def binary_cross_entropy_cpu(self, target, weight, reduction, out):
    if self.numel() and not (self >= 0).logical_and(self <= 1).all().item():
        raise NumberError("all elements of input should be between 0 and 1")
    of_one, of_zero = ((-self).log1p().clamp_min(_LEAST_LOGARITHM), self.log().clamp_min(_LEAST_LOGARITHM))
    loss = (target - 1) * of_one - target * of_zero
    copy_(out, reduced(loss if weight is None else loss * weight, reduction))


@op(
    "aten::binary_cross_entropy_backward",
    **GRADIENT,
    out=Out("binary_cross_entropy_backward.grad_input", args=("grad_input",), explicit=True),
)
def binary_cross_entropy_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = Reduction.Mean,
) -> Tensor:
    """The gradient of ``binary_cross_entropy``."""
    ...


@binary_cross_entropy_backward.meta
def binary_cross_entropy_backward_meta(ctx, grad_output, self, target, weight, reduction):
    gradient_meta(ctx, grad_output, self, target)


@binary_cross_entropy_backward.out_kernel("CPU", compiled=False)
def binary_cross_entropy_backward_cpu(grad_output, self, target, weight, reduction, grad_input):
    slope = (self - target) / ((1 - self) * self).clamp_min(_EPSILON)
    slope = slope if weight is None else slope * weight
    copy_(grad_input, slope * loss_gradient(grad_output, self, reduction))


@binary_cross_entropy.derivative("self")
def binary_cross_entropy_derivative(grad, self, target, weight, reduction):
    return binary_cross_entropy_backward(grad, self, target, weight, reduction)


def target_slope(self: Tensor, weight: Tensor | None) -> Tensor:
    """The derivative of an element's cross entropy by its target."""
    slope = ((1 - self).log() - self.log()).clamp(_LEAST_LOGARITHM, -_LEAST_LOGARITHM)
    return slope if weight is None else slope * weight


@binary_cross_entropy.derivative("target")
def binary_cross_entropy_target_derivative(grad, self, weight, reduction):
    return target_slope(self, weight) * loss_gradient(grad, self, reduction)


@binary_cross_entropy_backward.derivative("grad_output")
def binary_cross_entropy_backward_derivative(grad, self, target, weight, reduction):
    return binary_cross_entropy_backward(grad, self, target, weight, reduction)


@binary_cross_entropy_backward.derivative("self")
def binary_cross_entropy_backward_self_derivative(grad, grad_output, self, target, weight, reduction):
    variance = ((1 - self) * self).clamp_min(_EPSILON)
    slope = (self * self - 2 * self * target + target) / variance.square()
    slope = slope if weight is None else slope * weight
    return slope * grad * loss_gradient(grad_output, self, reduction)


@binary_cross_entropy_backward.derivative("target")
def binary_cross_entropy_backward_target_derivative(grad, grad_output, self, weight, reduction):
    slope = -1 / ((1 - self) * self).clamp_min(_EPSILON)
    slope = slope if weight is None else slope * weight
    return slope * grad * loss_gradient(grad_output, self, reduction)
