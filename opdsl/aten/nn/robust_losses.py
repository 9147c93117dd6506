"""Losses of differences that grow like squares near 0 and like lengths beyond, and of margins that are soft.

The rules are those of ATen/native/Loss.cpp and cpu/BinaryOpsKernel.cpp, cpu/PointwiseOpsKernel.cpp.
"""

from __future__ import annotations

from opdsl.aten._shared.checks import require_floating
from opdsl.aten.create.like_factories import zeros_like
from opdsl.aten.nn.losses import Loss, plus, reduced, share, sum_or_mean
from opdsl.aten.nn.regression_losses import ITERATED, STRUCTURED, loss_meta
from opdsl.declare import Library, Out, forward, op
from opdsl.kernels import check
from opdsl.runtime import Tensor
from opdsl.schema.vocabulary import Reduction

lib = Library("opdsl")


# ------------------------------------------------------------------------------------------------------ smooth_l1_loss


@lib.op(out=True)
def smooth_l1_elements(self: Tensor, target: Tensor, beta: float) -> Tensor:
    """``(self - target) ** 2 / (2 * beta)`` where the difference is below ``beta``, ``abs(...) - beta / 2`` beyond."""
    ...


@smooth_l1_elements.pointwise
def smooth_l1_element(self, target, beta):
    size = abs(self - target)
    return 0.5 * size * size / beta if size < beta else size - 0.5 * beta


@lib.op(out=True)
def smooth_l1_folded(self: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
    """Their sum or mean."""
    ...


def smooth_l1_sum_or_mean(total, count, reduction, beta):
    return sum_or_mean(total, count, reduction)


smooth_l1_folded.reduction(init=0, lift=smooth_l1_element, finish=smooth_l1_sum_or_mean, promote="int_to_float")(plus)
SMOOTH_L1 = Loss(smooth_l1_elements, smooth_l1_folded)


@lib.op
def smooth_l1_slopes(self: Tensor, target: Tensor, beta: float) -> Tensor:
    """The derivative of ``smooth_l1_elements`` by ``self``."""
    ...


@smooth_l1_slopes.pointwise
def smooth_l1_slope(self, target, beta):
    difference = self - target
    return -1.0 if difference <= -beta else (1.0 if difference >= beta else difference / beta)


@op("aten::smooth_l1_loss", **STRUCTURED, out=ITERATED)
def smooth_l1_loss(self: Tensor, target: Tensor, reduction: int = Reduction.Mean, beta: float = 1.0) -> Tensor:
    """Half the square of a difference by ``beta`` where that is below ``beta``, else the difference less half of it."""
    ...


@smooth_l1_loss.meta
def smooth_l1_loss_meta(ctx, self, target, reduction, beta):
    check(beta >= 0, "smooth_l1_loss does not support negative values for beta.")
    loss_meta(ctx, self, target, reduction)


@smooth_l1_loss.out_kernel
def smooth_l1_loss_cpu(self, target, reduction, beta, out):
    SMOOTH_L1.write(out, self, target, reduction, beta)


@op(
    "aten::smooth_l1_loss_backward",
    kernel="CompositeExplicitAutograd",
    python_module="nn",
    out=Out("smooth_l1_loss_backward.grad_input", args=("grad_input",), explicit=True, dispatch="CPU, CUDA"),
)
def smooth_l1_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
    """The gradient of ``smooth_l1_loss``."""
    require_floating("smooth_l1_backward_cpu_out", self)
    return smooth_l1_slopes(self, target, beta) * share(grad_output, self, target, reduction)


smooth_l1_loss.derivative(
    self=smooth_l1_loss_backward, target=forward(smooth_l1_loss_backward, "grad", "target", "self")
)


smooth_l1_loss_backward.derivative(grad_output=smooth_l1_loss_backward)


def smooth_l1_curvature(self: Tensor, target: Tensor, beta: float) -> Tensor:
    """The second derivative: ``1 / beta`` below ``beta``."""
    near = (self - target).abs() < beta
    return near.to(self.dtype) / beta if beta else zeros_like(near, dtype=self.dtype)


@smooth_l1_loss_backward.derivative("self")
def smooth_l1_loss_backward_self_derivative(grad, grad_output, self, target, reduction, beta):
    factor = share(grad * grad_output, self, target, reduction)
    return smooth_l1_curvature(self, target, beta) * factor


@smooth_l1_loss_backward.derivative("target")
def smooth_l1_loss_backward_target_derivative(grad, grad_output, self, target, reduction, beta):
    factor = share(grad * grad_output, self, target, reduction)
    return -smooth_l1_curvature(self, target, beta) * factor


# ---------------------------------------------------------------------------------------------------------- huber_loss


@lib.op
def huber_elements(self: Tensor, target: Tensor, delta: float) -> Tensor:
    """``(self - target) ** 2 / 2`` where the difference is below ``delta``, else ``delta * (abs(...) - delta / 2)``."""
    ...


@huber_elements.pointwise
def huber_element(self, target, delta):
    size = abs(self - target)
    return 0.5 * size * size if size < delta else delta * (size - 0.5 * delta)


@lib.op
def huber_slopes(self: Tensor, target: Tensor, delta: float) -> Tensor:
    """The derivative of ``huber_elements`` by ``self``."""
    ...


@huber_slopes.pointwise
def huber_slope(self, target, delta):
    difference = self - target
    return -delta if difference < -delta else (delta if difference > delta else difference)


@op("aten::huber_loss", kernel=True, python_module="nn", out=Out(explicit=True))
def huber_loss(self: Tensor, target: Tensor, reduction: int = Reduction.Mean, delta: float = 1.0) -> Tensor:
    """Half the square of a difference below ``delta``; beyond it ``delta`` times the difference less half of it."""
    check(delta > 0, "huber_loss does not support non-positive values for delta.")
    require_floating("huber", self)
    return reduced(huber_elements(self, target, delta), reduction)


@op(
    "aten::huber_loss_backward",
    kernel="CompositeExplicitAutograd",
    python_module="nn",
    out=Out("huber_loss_backward.out", args=("grad_input",), explicit=True, dispatch="CPU, CUDA"),
)
def huber_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor:
    """The gradient of ``huber_loss``."""
    require_floating("huber_backward_cpu_out", self)
    return huber_slopes(self, target, delta) * share(grad_output, self, target, reduction)


huber_loss.derivative(self=huber_loss_backward, target=forward(huber_loss_backward, "grad", "target", "self"))


huber_loss_backward.derivative(grad_output=huber_loss_backward)


def is_square(self: Tensor, target: Tensor, delta: float) -> Tensor:
    """1 where the loss is a square, 0 beyond: its second derivative."""
    return ((self - target).abs() < delta).to(self.dtype)


@huber_loss_backward.derivative("self")
def huber_loss_backward_self_derivative(grad, grad_output, self, target, reduction, delta):
    factor = share(grad * grad_output, self, target, reduction)
    return is_square(self, target, delta) * factor


@huber_loss_backward.derivative("target")
def huber_loss_backward_target_derivative(grad, grad_output, self, target, reduction, delta):
    factor = share(grad * grad_output, self, target, reduction)
    return -is_square(self, target, delta) * factor


# ----------------------------------------------------------------------------------------------------- soft_margin_loss


@op("aten::soft_margin_loss", kernel="CompositeExplicitAutograd", python_module="nn", out=Out(explicit=True))
def soft_margin_loss(self: Tensor, target: Tensor, reduction: int = Reduction.Mean) -> Tensor:
    """``log(1 + exp(-target * self))``, of targets 1 and -1."""
    return reduced((-target * self).exp().log1p(), reduction)


@op(
    "aten::soft_margin_loss_backward",
    kernel="CompositeExplicitAutograd",
    python_module="nn",
    out=Out("soft_margin_loss_backward.grad_input", args=("grad_input",), explicit=True),
)
def soft_margin_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """The gradient of ``soft_margin_loss``."""
    power = (-target * self).exp()
    return -target * power / (power + 1) * share(grad_output, self, target, reduction)


soft_margin_loss.derivative(
    self=lambda grad, self, target, reduction: soft_margin_loss_backward(grad, self.conj(), target.conj(), reduction),
)


@soft_margin_loss_backward.derivative("grad_output")
def soft_margin_loss_backward_derivative(grad, grad_output, self, target, reduction):
    return soft_margin_loss_backward(grad, self.conj(), target.conj(), reduction)


@soft_margin_loss_backward.derivative("self")
def soft_margin_loss_backward_self_derivative(grad, grad_output, self, target, reduction):
    sign = -target.conj()
    power = (sign * self.conj()).exp()
    curvature = sign * sign * power / ((power + 1) * (power + 1))
    return curvature * share(grad * grad_output.conj(), self, target, reduction)
