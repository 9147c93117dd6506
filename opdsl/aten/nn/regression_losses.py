"""Losses of differences, of probabilities and of signs, with the operators that are their gradients.

The rules are those of ATen/native/Loss.cpp, cpu/BinaryOpsKernel.cpp and cpu/PointwiseOpsKernel.cpp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opdsl.aten._shared.checks import require_floating
from opdsl.aten._shared.entries import OWN_GRAD_INPUT, WITH_GRADIENT
from opdsl.aten.nn.losses import reduced, share, weighted
from opdsl.declare import Library, Out, Row, forward, op, traceable
from opdsl.dispatch import get_default_dtype
from opdsl.errors import NumberError, UnsupportedDTypeError
from opdsl.kernels import check, copy_, holds
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.runtime import Tensor, result_type
from opdsl.schema.vocabulary import Reduction

lib, aten = Library("opdsl"), Library("aten")

# What keeps the gradient of a probability of 0 or 1 finite, and the least logarithm of one.
_EPSILON = 1e-12
_LEAST_LOGARITHM = -100

ITERATED = Out(structured=True, structured_inherits="TensorIteratorBase")
MEAN = "int reduction=Mean"


def require_real(name: str, self: Tensor, target: Tensor) -> None:
    """That a loss is of floating-point numbers, as PyTorch's kernels are.

    Raises:
        UnsupportedDTypeError: it is not.
    """
    common = result_type((self, target), get_default_dtype())
    if not common.is_floating_point:
        raise UnsupportedDTypeError(f"\"{name}\" not implemented for '{common.scalar_type}'")


# --------------------------------------------------------------------------------------------------------- differences


def squared(x: Any, y: Any) -> Any:
    return (x - y) * (x - y)


def squared_slope(x: Any, y: Any, share: Any) -> Any:
    return 2 * (x - y) * share


def smooth_l1(x: Any, y: Any, beta: Any) -> Any:
    size = abs(x - y)
    return 0.5 * size * size / beta if size < beta else size - 0.5 * beta


def smooth_l1_slope(x: Any, y: Any, share: Any, beta: Any) -> Any:
    difference = x - y
    return (-1.0 if difference <= -beta else (1.0 if difference >= beta else difference / beta)) * share


def huber(x: Any, y: Any, delta: Any) -> Any:
    size = abs(x - y)
    return 0.5 * size * size if size < delta else delta * (size - 0.5 * delta)


def huber_slope(x: Any, y: Any, share: Any, delta: Any) -> Any:
    difference = x - y
    return (-delta if difference <= -delta else (delta if difference >= delta else difference)) * share


def plus(total: Any, more: Any) -> Any:
    return total + more


def sum_or_mean(total: Any, count: Any, reduction: Any) -> Any:
    return total / count if reduction == 1 else total


def sum_or_mean_by(total: Any, count: Any, reduction: Any, number: Any) -> Any:
    return sum_or_mean(total, count, reduction)


def declare(
    name: str,
    doc: str,
    element: Callable[..., Any],
    slope: Callable[..., Any],
    refuse: Callable[..., None],
    *,
    number: str = "",
    own: dict[str, Any],
    of_gradient: dict[str, Any],
) -> None:
    """Declare a loss of differences, and the operator of its gradient.

    Args:
        name: of the loss.
        doc: what it is.
        element: the loss of two numbers.
        slope: its derivative by the first one, times the gradient that comes to it.
        refuse: what neither takes, of the name of a kernel, both tensors and the number.
        number: of the schema, and its default, if there is one.
        own, of_gradient: what the entries say.
    """
    both, given = "Tensor self, Tensor target", f", float {number.partition('=')[0]}" if number else ""
    elements, folded, slopes = lib.table(
        {
            f"{name}_elements({both}{given}) -> Tensor": Row(f"What each two elements add to ``{name}``.", element),
            f"{name}_folded({both}, int reduction{given}) -> Tensor": Row("The sum or the mean of that."),
            f"{name}_slopes({both}, Tensor share{given}) -> Tensor": Row("Its derivative, times the gradient.", slope),
        },
        pointwise=True,
        out=True,
    ).values()
    finish = sum_or_mean_by if number else sum_or_mean
    folded.reduction(init=0, lift=element, finish=finish, promote="int_to_float")(plus)
    folded.non_differentiable("self", "target")  # the loss, which calls it, has the derivative

    @traceable
    def loss(self: Tensor, target: Tensor, reduction: int, *numbers: float, out: Tensor | None = None) -> Tensor:
        refuse(name, self, target, *numbers)
        if reduction in (Reduction.Mean, Reduction.Sum):
            return folded(self, target, reduction, *numbers, out=out)
        return elements(self, target, *numbers, out=out)

    @traceable
    def gradient(
        grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, *numbers: float, out: Tensor | None = None
    ) -> Tensor:
        refuse(f"{name}_backward", self, target, *numbers)
        found = slopes(self, target, share(grad_output, self, target, reduction), *numbers, out=out)
        return found.to(self.dtype) if out is None else found

    default = f", float {number}" if number else ""
    made = aten.table(
        {
            f"{name}({both}, {MEAN}{default}) -> Tensor": Row(doc, loss, kernel=True, **own),
            f"{name}_backward(Tensor grad_output, {both}, int reduction{given}) -> Tensor": Row(
                f"The gradient of ``{name}``.", gradient, kernel=WITH_GRADIENT, **of_gradient
            ),
        },
        python_module="nn",
    )
    backward = made[f"{name}_backward"]
    made[name].derivative(self=backward, target=forward(backward, "grad", "target", "self"))


def refuse_mse(name: str, self: Tensor, target: Tensor) -> None:
    require_real(name.replace("mse_", ""), self, target)


def refuse_smooth_l1(name: str, self: Tensor, target: Tensor, beta: float) -> None:
    if name == "smooth_l1_loss":
        check(beta >= 0, "smooth_l1_loss does not support negative values for beta.")
        require_real("loss", self, target)
    else:
        require_floating("smooth_l1_backward_cpu_out", self)


def refuse_huber(name: str, self: Tensor, target: Tensor, delta: float) -> None:
    if name == "huber_loss":
        check(delta > 0, "huber_loss does not support non-positive values for delta.")
    require_floating("huber" if name == "huber_loss" else "huber_backward_cpu_out", self)


declare(
    "mse_loss",
    "``(self - target) ** 2``",
    squared,
    squared_slope,
    refuse_mse,
    own={"device_check": "NoCheck", "out": ITERATED},
    of_gradient={"out": OWN_GRAD_INPUT},
)
declare(
    "smooth_l1_loss",
    "Half the square of a difference by ``beta`` where that is below ``beta``, else the difference less half of it.",
    smooth_l1,
    smooth_l1_slope,
    refuse_smooth_l1,
    number="beta=1.0",
    own={"device_check": "NoCheck", "out": ITERATED},
    of_gradient={
        "dispatch": "CompositeExplicitAutograd",
        "out": Out(".grad_input", args=("grad_input",), explicit=True, dispatch="CPU, CUDA"),
    },
)
declare(
    "huber_loss",
    "Half the square of a difference below ``delta``; beyond it ``delta`` times the difference less half of it.",
    huber,
    huber_slope,
    refuse_huber,
    number="delta=1.0",
    own={"out": Out(explicit=True)},
    of_gradient={
        "dispatch": "CompositeExplicitAutograd",
        "out": Out(".out", args=("grad_input",), explicit=True, dispatch="CPU, CUDA"),
    },
)

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
    """That of events of a probability, not less than what keeps gradients finite."""
    return ((1 - self) * self).clamp_min(_EPSILON)


def gradient_meta(ctx, grad_output, self, target):
    require_real("loss_backward", self, target)
    ctx.set_output(0, broadcast_all((grad_output.shape, self.shape, target.shape)), like=self)


def cross_entropy_gradient(grad_output, self, target, weight, reduction, grad_input):
    slope = weighted((self - target) / variance_of(self), weight)
    copy_(grad_input, slope * share(grad_output, self, target, reduction))


_GIVEN = "Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean"


@op("aten::binary_cross_entropy", python_module="nn", device_check="NoCheck", structured=False, out=Out(explicit=True))
def binary_cross_entropy(
    self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = Reduction.Mean
) -> Tensor:
    """``-(target * log(self) + (1 - target) * log(1 - self))``, no logarithm below -100."""
    ...


binary_cross_entropy.meta(cross_entropy_meta)
binary_cross_entropy.out_kernel(cross_entropy)


@op("aten::binary_cross_entropy_backward", python_module="nn", structured=False, out=OWN_GRAD_INPUT)
def binary_cross_entropy_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = Reduction.Mean
) -> Tensor:
    """The gradient of ``binary_cross_entropy``."""
    ...


binary_cross_entropy_backward.meta(gradient_meta)
binary_cross_entropy_backward.out_kernel(cross_entropy_gradient)


@op("aten::soft_margin_loss", python_module="nn", kernel="CompositeExplicitAutograd", out=Out(explicit=True))
def soft_margin_loss(self: Tensor, target: Tensor, reduction: int = Reduction.Mean) -> Tensor:
    """``log(1 + exp(-target * self))``, of targets 1 and -1."""
    return reduced((-target * self).exp().log1p(), reduction)


@op(
    "aten::soft_margin_loss_backward",
    python_module="nn",
    kernel=("CompositeExplicitAutograd", "Autograd"),
    out=OWN_GRAD_INPUT,
)
def soft_margin_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """The gradient of ``soft_margin_loss``."""
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
