"""Losses of differences, binary cross entropy and soft margin loss, with the operators of their gradients.

The rules are those of ATen/native/Loss.cpp, cpu/BinaryOpsKernel.cpp and cpu/PointwiseOpsKernel.cpp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from opdsl import primitives
from opdsl.aten._shared.checks import require_floating
from opdsl.aten._shared.entries import GRAD_INPUT, WITH_GRADIENT
from opdsl.aten._shared.scalars import plus
from opdsl.aten.nn.losses import reduced, share, weighted
from opdsl.declare import Library, Operator, Out, formula, forward, op
from opdsl.dispatch import get_default_dtype
from opdsl.errors import NumberError, UnsupportedDTypeError
from opdsl.kernels import check, copy_, holds
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.primitives import Loop
from opdsl.runtime import Tensor, result_type
from opdsl.schema.vocabulary import Reduction

lib = Library("opdsl")

# The least variance of a probability, which keeps gradients finite, and the least logarithm of a probability.
_EPSILON = 1e-12
_LEAST_LOGARITHM = -100

ITERATED = Out(structured_inherits="TensorIteratorBase")


def require_real(name: str, self: Tensor, target: Tensor) -> None:
    """Check that the operands of a loss promote to a floating dtype, as PyTorch's kernels require.

    Raises:
        UnsupportedDTypeError: they do not.
    """
    common = result_type((self, target), get_default_dtype())
    if not common.is_floating_point:
        raise UnsupportedDTypeError(f"\"{name}\" not implemented for '{common.scalar_type}'")


# --------------------------------------------------------------------------------------------------------- differences


def squared(x: Any, y: Any) -> Any:
    return (x - y) * (x - y)


def smooth_l1(x: Any, y: Any, beta: Any) -> Any:
    size = abs(x - y)
    return 0.5 * size * size / beta if size < beta else size - 0.5 * beta


def huber(x: Any, y: Any, delta: Any) -> Any:
    size = abs(x - y)
    return 0.5 * size * size if size < delta else delta * (size - 0.5 * delta)


def sum_or_mean(total: Any, count: Any, reduction: Any) -> Any:
    return total / count if reduction == 1 else total


def sum_or_mean_by(total: Any, count: Any, reduction: Any, number: Any) -> Any:
    return sum_or_mean(total, count, reduction)


def folded(element: Callable[..., Any], finish: Callable[..., Any] = sum_or_mean) -> Loop:
    """Return the loop that computes a sum or a mean of losses.

    Args:
        element: the function that returns the loss of two numbers.
        finish: the function that is applied to the sum.
    """
    return primitives.fold(plus, init=0, lift=element, finish=finish, promote="int_to_float")


squared_terms, smooth_l1_terms = folded(squared), folded(smooth_l1, sum_or_mean_by)
huber_terms = folded(huber, sum_or_mean_by)


class Parts(NamedTuple):
    """Operators that a loss of differences and its gradient are composed of.

    elements: computes the loss of each pair of elements.
    folded: computes the sum or the mean of the losses.
    slopes: computes the derivative of each loss, times its incoming gradient.
    """

    elements: Operator[..., Tensor]
    folded: Operator[..., Tensor]
    slopes: Operator[..., Tensor]

    def loss(self, first: Tensor, target: Tensor, reduction: int, out: Tensor | None, *numbers: float) -> Tensor:
        """Compute the loss, in one pass if it is reduced to a sum or a mean."""
        if reduction in (Reduction.Mean, Reduction.Sum):
            return self.folded(first, target, reduction, *numbers, out=out)
        return self.elements(first, target, *numbers, out=out)

    def gradient(
        self, grad: Tensor, first: Tensor, target: Tensor, reduction: int, out: Tensor | None, *numbers: float
    ) -> Tensor:
        """Compute the gradient of the loss with respect to ``first``, in the dtype of ``first`` or into ``out``."""
        slope = self.slopes(first, target, share(grad, first, target, reduction), *numbers, out=out)
        return slope.to(first.dtype) if out is None else slope


@lib.op(out=True)
@formula
def mse_loss_elements(self: Tensor, target: Tensor) -> Tensor:
    """Return the elements of ``mse_loss`` before their reduction."""
    return (self - target) ** 2


@lib.op(out=True)
@formula
def mse_loss_folded(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """Return the sum or the mean of the elements of ``mse_loss``."""
    return squared_terms(self, target, reduction)


@lib.op(out=True)
@formula
def mse_loss_slopes(self: Tensor, target: Tensor, share: Tensor) -> Tensor:
    """Return the derivatives of the elements of ``mse_loss``, times their incoming gradients ``share``."""
    return 2 * (self - target) * share


# The derivative is registered for the loss, which calls this operator.
mse_loss_folded.non_differentiable("self", "target")
mse_loss_parts = Parts(mse_loss_elements, mse_loss_folded, mse_loss_slopes)


@op("aten::mse_loss", python_module="nn", kernel=True, out=ITERATED)
def mse_loss(self: Tensor, target: Tensor, reduction: int = Reduction.Mean, *, out: Tensor | None = None) -> Tensor:
    """``(self - target) ** 2``"""
    require_real("loss", self, target)
    return mse_loss_parts.loss(self, target, reduction, out)


@op("aten::mse_loss_backward", python_module="nn", kernel=WITH_GRADIENT, out=GRAD_INPUT)
def mse_loss_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, *, out: Tensor | None = None
) -> Tensor:
    """Return the gradient of ``mse_loss`` with respect to ``self``."""
    require_real("loss_backward", self, target)
    return mse_loss_parts.gradient(grad_output, self, target, reduction, out)


mse_loss.derivative(self=mse_loss_backward, target=forward(mse_loss_backward, "grad", "target", "self"))


@lib.op(out=True)
@formula(dtypes=("bool", "integer", "floating"))
def smooth_l1_loss_elements(self: Tensor, target: Tensor, beta: float) -> Tensor:
    """Return the elements of ``smooth_l1_loss`` before their reduction."""
    size = (self - target).abs()
    return 0.5 * size * size / beta if size < beta else size - 0.5 * beta


@lib.op(out=True)
@formula
def smooth_l1_loss_folded(self: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
    """Return the sum or the mean of the elements of ``smooth_l1_loss``."""
    return smooth_l1_terms(self, target, reduction, beta)


@lib.op(out=True)
@formula(dtypes=("bool", "integer", "floating"))
def smooth_l1_loss_slopes(self: Tensor, target: Tensor, share: Tensor, beta: float) -> Tensor:
    """Return the derivatives of the elements of ``smooth_l1_loss``, times their incoming gradients ``share``."""
    difference = self - target
    return (-1.0 if difference <= -beta else 1.0 if difference >= beta else difference / beta) * share


# The derivative is registered for the loss, which calls this operator.
smooth_l1_loss_folded.non_differentiable("self", "target")
smooth_l1_loss_parts = Parts(smooth_l1_loss_elements, smooth_l1_loss_folded, smooth_l1_loss_slopes)


@op("aten::smooth_l1_loss", python_module="nn", kernel=True, out=ITERATED)
def smooth_l1_loss(
    self: Tensor, target: Tensor, reduction: int = Reduction.Mean, beta: float = 1.0, *, out: Tensor | None = None
) -> Tensor:
    """``0.5 * d ** 2 / beta`` where ``d = abs(self - target)`` is below ``beta``, ``d - 0.5 * beta`` elsewhere."""
    check(beta >= 0, "smooth_l1_loss does not support negative values for beta.")
    require_real("loss", self, target)
    return smooth_l1_loss_parts.loss(self, target, reduction, out, beta)


@op(
    "aten::smooth_l1_loss_backward",
    python_module="nn",
    kernel=WITH_GRADIENT,
    out=Out(".grad_input", args=("grad_input",)),
)
def smooth_l1_loss_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, beta: float, *, out: Tensor | None = None
) -> Tensor:
    """Return the gradient of ``smooth_l1_loss`` with respect to ``self``."""
    require_floating("smooth_l1_backward_cpu_out", self)
    return smooth_l1_loss_parts.gradient(grad_output, self, target, reduction, out, beta)


smooth_l1_loss.derivative(
    self=smooth_l1_loss_backward, target=forward(smooth_l1_loss_backward, "grad", "target", "self")
)


@lib.op(out=True)
@formula(dtypes=("bool", "integer", "floating"))
def huber_loss_elements(self: Tensor, target: Tensor, delta: float) -> Tensor:
    """Return the elements of ``huber_loss`` before their reduction."""
    size = (self - target).abs()
    return 0.5 * size * size if size < delta else delta * (size - 0.5 * delta)


@lib.op(out=True)
@formula
def huber_loss_folded(self: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor:
    """Return the sum or the mean of the elements of ``huber_loss``."""
    return huber_terms(self, target, reduction, delta)


@lib.op(out=True)
@formula(dtypes=("bool", "integer", "floating"))
def huber_loss_slopes(self: Tensor, target: Tensor, share: Tensor, delta: float) -> Tensor:
    """Return the derivatives of the elements of ``huber_loss``, times their incoming gradients ``share``."""
    difference = self - target
    return (-delta if difference <= -delta else delta if difference >= delta else difference) * share


# The derivative is registered for the loss, which calls this operator.
huber_loss_folded.non_differentiable("self", "target")
huber_loss_parts = Parts(huber_loss_elements, huber_loss_folded, huber_loss_slopes)


@op("aten::huber_loss", python_module="nn", kernel=True, out=True)
def huber_loss(
    self: Tensor, target: Tensor, reduction: int = Reduction.Mean, delta: float = 1.0, *, out: Tensor | None = None
) -> Tensor:
    """``0.5 * d ** 2`` where ``d = abs(self - target)`` is below ``delta``, ``delta * (d - 0.5 * delta)`` elsewhere."""
    check(delta > 0, "huber_loss does not support non-positive values for delta.")
    require_floating("huber", self)
    return huber_loss_parts.loss(self, target, reduction, out, delta)


@op(
    "aten::huber_loss_backward",
    python_module="nn",
    kernel=WITH_GRADIENT,
    out=Out(".out", args=("grad_input",)),
)
def huber_loss_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, delta: float, *, out: Tensor | None = None
) -> Tensor:
    """Return the gradient of ``huber_loss`` with respect to ``self``."""
    require_floating("huber_backward_cpu_out", self)
    return huber_loss_parts.gradient(grad_output, self, target, reduction, out, delta)


huber_loss.derivative(self=huber_loss_backward, target=forward(huber_loss_backward, "grad", "target", "self"))

# ------------------------------------------------------------------------------------------------- probabilities, signs


def cross_entropy_meta(ctx, self, target, reduction):
    require_real("loss", self, target)
    shape = () if reduction in (Reduction.Mean, Reduction.Sum) else broadcast_all((self.shape, target.shape))
    ctx.set_output(0, shape, dtype=result_type((self, target), get_default_dtype()), like=self)


def cross_entropy(self, target, weight, reduction, out):
    if self.numel() and not holds((self >= 0).logical_and(self <= 1).all()):
        raise NumberError("all elements of input should be between 0 and 1")
    of_one, of_zero = (-self).log1p().clamp_min(_LEAST_LOGARITHM), self.log().clamp_min(_LEAST_LOGARITHM)
    copy_(out, reduced(weighted((target - 1) * of_one - target * of_zero, weight), reduction))


def variance_of(self: Tensor) -> Tensor:
    """Return ``self * (1 - self)``, the variance of events of a probability, clamped to keep gradients finite."""
    return ((1 - self) * self).clamp_min(_EPSILON)


def gradient_meta(ctx, grad_output, self, target):
    require_real("loss_backward", self, target)
    ctx.set_output(0, broadcast_all((grad_output.shape, self.shape, target.shape)), like=self)


def cross_entropy_gradient(grad_output, self, target, weight, reduction, grad_input):
    slope = weighted((self - target) / variance_of(self), weight)
    copy_(grad_input, slope * share(grad_output, self, target, reduction))


@op("aten::binary_cross_entropy", python_module="nn", out=True)
def binary_cross_entropy(
    self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = Reduction.Mean
) -> Tensor:
    """``-(target * log(self) + (1 - target) * log(1 - self))``, with logarithms of at least -100."""
    ...


binary_cross_entropy.meta(cross_entropy_meta)
binary_cross_entropy.out_kernel(cross_entropy)


@op("aten::binary_cross_entropy_backward", python_module="nn", out=GRAD_INPUT)
def binary_cross_entropy_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = Reduction.Mean
) -> Tensor:
    """Return the gradient of ``binary_cross_entropy`` with respect to ``self``."""
    ...


binary_cross_entropy_backward.meta(gradient_meta)
binary_cross_entropy_backward.out_kernel(cross_entropy_gradient)


@op("aten::soft_margin_loss", python_module="nn", kernel="CompositeExplicitAutograd", out=True)
def soft_margin_loss(self: Tensor, target: Tensor, reduction: int = Reduction.Mean) -> Tensor:
    """``log(1 + exp(-target * self))``, for targets 1 and -1."""
    return reduced((-target * self).exp().log1p(), reduction)


@op(
    "aten::soft_margin_loss_backward",
    python_module="nn",
    kernel=("CompositeExplicitAutograd", "Autograd"),
    out=GRAD_INPUT,
)
def soft_margin_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """Return the gradient of ``soft_margin_loss`` with respect to ``self``."""
    power = (-target * self).exp()
    return -target * power / (power + 1) * share(grad_output, self, target, reduction)


soft_margin_loss.derivative(
    self=lambda grad, self, target, reduction: soft_margin_loss_backward(grad, self.conj(), target.conj(), reduction)
)


@binary_cross_entropy.derivative("target")
def binary_cross_entropy_target_derivative(grad, self, target, weight, reduction):
    slope = ((1 - self).log() - self.log()).clamp(_LEAST_LOGARITHM, -_LEAST_LOGARITHM)
    return weighted(slope, weight) * share(grad, self, target, reduction)


binary_cross_entropy.derivative(self=binary_cross_entropy_backward)
binary_cross_entropy_backward.derivative(grad_output=binary_cross_entropy_backward)


@binary_cross_entropy_backward.derivative("self")
def binary_cross_entropy_backward_self_derivative(grad, grad_output, self, target, weight, reduction):
    slope = (self * self - 2 * self * target + target) / variance_of(self).square()
    return weighted(slope, weight) * grad * share(grad_output, self, target, reduction)


@binary_cross_entropy_backward.derivative("target")
def binary_cross_entropy_backward_target_derivative(grad, grad_output, self, target, weight, reduction):
    return weighted(-1 / variance_of(self), weight) * grad * share(grad_output, self, target, reduction)
