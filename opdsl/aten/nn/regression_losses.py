"""Losses of differences and of probabilities, with the operators that are their gradients.

The rules are those of ATen/native/Loss.cpp.
"""

from __future__ import annotations

from typing import Any

from opdsl.aten.nn.losses import Loss, plus, reduced, share, sum_or_mean
from opdsl.declare import Library, Out, forward, op
from opdsl.dispatch import get_default_dtype
from opdsl.errors import NumberError, UnsupportedDTypeError
from opdsl.kernels import MetaContext, copy_, holds
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.runtime import Tensor, result_type
from opdsl.schema.vocabulary import Reduction

lib = Library("opdsl")

# What keeps the gradient of a probability of 0 or 1 finite, and the least logarithm of one.
_EPSILON = 1e-12
_LEAST_LOGARITHM = -100

STRUCTURED: dict[str, Any] = {"device_check": "NoCheck", "python_module": "nn"}
ITERATED = Out(structured_inherits="TensorIteratorBase")
GRADIENT: dict[str, Any] = {"structured": False, "python_module": "nn"}


def require_real(self: Tensor, target: Tensor, name: str) -> None:
    """That a loss is of floating-point numbers, as PyTorch's kernels are.

    Raises:
        UnsupportedDTypeError: it is not.
    """
    common = result_type((self, target), get_default_dtype())
    if not common.is_floating_point:
        raise UnsupportedDTypeError(f"\"{name}\" not implemented for '{common.scalar_type}'")


def loss_meta(ctx: MetaContext, self: Tensor, target: Tensor, reduction: int) -> None:
    """What the shape functions of losses of two tensors have in common."""
    require_real(self, target, "loss")
    shape = broadcast_all((self.shape, target.shape))
    if reduction in (Reduction.Mean, Reduction.Sum):
        shape = ()
    ctx.set_output(0, shape, dtype=result_type((self, target), get_default_dtype()), like=self)


def gradient_meta(ctx: MetaContext, grad_output: Tensor, self: Tensor, target: Tensor) -> None:
    """What the shape functions of their gradients have in common."""
    require_real(self, target, "loss_backward")
    shape = broadcast_all((grad_output.shape, self.shape, target.shape))
    ctx.set_output(0, shape, like=self)


# ------------------------------------------------------------------------------------------------------------ squares


@lib.op(out=True)
def squared_differences(self: Tensor, target: Tensor) -> Tensor:
    """``(self - target) ** 2``"""
    ...


@squared_differences.pointwise
def squared_difference(self, target):
    return (self - target) * (self - target)


@lib.op(out=True)
def squared_differences_folded(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """Their sum or mean."""
    ...


squared_differences_folded.reduction(init=0, lift=squared_difference, finish=sum_or_mean, promote="int_to_float")(plus)
SQUARES = Loss(squared_differences, squared_differences_folded)


@lib.op(out=True)
def shared_differences(self: Tensor, target: Tensor, share: Tensor) -> Tensor:
    """``2 * (self - target) * share``"""
    ...


@shared_differences.pointwise
def shared_difference(self, target, share):
    return 2 * (self - target) * share


@op("aten::mse_loss", **STRUCTURED, out=ITERATED)
def mse_loss(self: Tensor, target: Tensor, reduction: int = Reduction.Mean) -> Tensor:
    """``(self - target) ** 2``"""
    ...


mse_loss.meta(loss_meta)


@mse_loss.out_kernel
def mse_loss_cpu(self, target, reduction, out):
    SQUARES.write(out, self, target, reduction)


@op("aten::mse_loss_backward", **GRADIENT, out=Out("mse_loss_backward.grad_input", args=("grad_input",), explicit=True))
def mse_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """The gradient of ``mse_loss``."""
    ...


@mse_loss_backward.meta
def mse_loss_backward_meta(ctx, grad_output, self, target):
    gradient_meta(ctx, grad_output, self, target)


@mse_loss_backward.out_kernel
def mse_loss_backward_cpu(grad_output, self, target, reduction, grad_input):
    shared_differences(self, target, share(grad_output, self, target, reduction), out=grad_input)


mse_loss.derivative(self=mse_loss_backward, target=forward(mse_loss_backward, "grad", "target", "self"))
mse_loss_backward.derivative(
    grad_output=mse_loss_backward,
    self=lambda grad, grad_output, self, target, reduction: 2 * grad * share(grad_output, self, target, reduction),
    target=lambda grad, grad_output, self, target, reduction: -2 * grad * share(grad_output, self, target, reduction),
)


# ------------------------------------------------------------------------------------------------------ probabilities


@op("aten::binary_cross_entropy", device_check="NoCheck", structured=False, python_module="nn", out=Out(explicit=True))
def binary_cross_entropy(
    self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = Reduction.Mean
) -> Tensor:
    """``-(target * log(self) + (1 - target) * log(1 - self))``, no logarithm below -100."""
    ...


@binary_cross_entropy.meta
def binary_cross_entropy_meta(ctx, self, target, reduction):
    loss_meta(ctx, self, target, reduction)


@binary_cross_entropy.out_kernel
def binary_cross_entropy_cpu(self, target, weight, reduction, out):
    if self.numel() and not holds((self >= 0).logical_and(self <= 1).all()):
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
def binary_cross_entropy_backward_meta(ctx, grad_output, self, target):
    gradient_meta(ctx, grad_output, self, target)


@binary_cross_entropy_backward.out_kernel
def binary_cross_entropy_backward_cpu(grad_output, self, target, weight, reduction, grad_input):
    slope = (self - target) / ((1 - self) * self).clamp_min(_EPSILON)
    slope = slope if weight is None else slope * weight
    copy_(grad_input, slope * share(grad_output, self, target, reduction))


def target_slope(self: Tensor, weight: Tensor | None) -> Tensor:
    """The derivative of an element's cross entropy by its target."""
    slope = ((1 - self).log() - self.log()).clamp(_LEAST_LOGARITHM, -_LEAST_LOGARITHM)
    return slope if weight is None else slope * weight


binary_cross_entropy.derivative(
    self=binary_cross_entropy_backward,
    target=lambda grad, self, target, weight, reduction: (
        target_slope(self, weight) * share(grad, self, target, reduction)
    ),
)
binary_cross_entropy_backward.derivative(grad_output=binary_cross_entropy_backward)


@binary_cross_entropy_backward.derivative("self")
def binary_cross_entropy_backward_self_derivative(grad, grad_output, self, target, weight, reduction):
    variance = ((1 - self) * self).clamp_min(_EPSILON)
    slope = (self * self - 2 * self * target + target) / variance.square()
    slope = slope if weight is None else slope * weight
    return slope * grad * share(grad_output, self, target, reduction)


@binary_cross_entropy_backward.derivative("target")
def binary_cross_entropy_backward_target_derivative(grad, grad_output, self, target, weight, reduction):
    slope = -1 / ((1 - self) * self).clamp_min(_EPSILON)
    slope = slope if weight is None else slope * weight
    return slope * grad * share(grad_output, self, target, reduction)
