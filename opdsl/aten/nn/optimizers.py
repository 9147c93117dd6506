"""Steps of optimizers over lists of parameters (PyTorch's ``_fused_`` operators), with one loop per parameter.

The rules are those of ATen/native/cpu/FusedAdamKernel.cpp, FusedSGDKernel.cpp and FusedAdagradKernel.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from opdsl.aten._shared.entries import documented
from opdsl.aten.create.factories import full
from opdsl.aten.pointwise.powers import number_pow
from opdsl.declare import Library, formula, op
from opdsl.errors import ArgumentError
from opdsl.runtime import Tensor, float64
from opdsl.schema import Alias

lib = Library("opdsl")

# ----------------------------------------------------------------------------------------------- steps of one parameter

# `skipped` is 1 if a gradient is infinite or NaN: a step changes nothing then.


def followed(param: Tensor, grad: Tensor, weight_decay: float, maximize: bool) -> Tensor:
    """Return the gradient that a step uses: negated for maximization, plus the weight decay's term."""
    return (-grad if maximize else grad) + weight_decay * param


def mean_of(average: Tensor, value: Tensor, weight: float) -> Tensor:
    """Return ``lerp(average, value, weight)``."""
    return average + weight * (value - average) if weight < 0.5 else value - (value - average) * (1 - weight)


def averaged(slope: Tensor, mean: Tensor, squares: Tensor, weight1: float, weight2: float) -> tuple[Tensor, Tensor]:
    """Return the running means of gradients and of their squares, updated with the gradient ``slope``."""
    return mean_of(mean, slope, weight1), squares * (1 - weight2) + weight2 * slope * slope


@lib.op(out=True)
@formula(dtypes="floating")
def adam_step(
    param: Tensor,
    grad: Tensor,
    exp_avg: Tensor,
    exp_avg_sq: Tensor,
    decay: Tensor,
    step_size: Tensor,
    correction: Tensor,
    skipped: Tensor,
    weight1: float,
    weight2: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return a parameter, the running mean of its gradients and that of their squares after a step of Adam."""
    slope = followed(param, grad, weight_decay, maximize)
    new_mean, new_squares = averaged(slope, exp_avg, exp_avg_sq, weight1, weight2)
    moved = param * decay - step_size * new_mean / (new_squares.sqrt() / correction + eps)
    stays = skipped == 1
    return param if stays else moved, exp_avg if stays else new_mean, exp_avg_sq if stays else new_squares


@lib.op(out=True)
@formula(dtypes="floating")
def amsgrad_step(
    param: Tensor,
    grad: Tensor,
    exp_avg: Tensor,
    exp_avg_sq: Tensor,
    max_exp_avg_sq: Tensor,
    decay: Tensor,
    step_size: Tensor,
    correction: Tensor,
    skipped: Tensor,
    weight1: float,
    weight2: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the results of ``adam_step`` with the largest mean of squares so far (AMSGrad), and that largest mean."""
    slope = followed(param, grad, weight_decay, maximize)
    new_mean, new_squares = averaged(slope, exp_avg, exp_avg_sq, weight1, weight2)
    new_largest = max_exp_avg_sq.maximum(new_squares)
    moved = param * decay - step_size * new_mean / (new_largest.sqrt() / correction + eps)
    stays = skipped == 1
    return (
        param if stays else moved,
        exp_avg if stays else new_mean,
        exp_avg_sq if stays else new_squares,
        max_exp_avg_sq if stays else new_largest,
    )


@lib.op(out=True)
@formula(dtypes="floating")
def sgd_step(param: Tensor, grad: Tensor, lr: Tensor, skipped: Tensor, weight_decay: float, maximize: bool) -> Tensor:
    """Return a parameter after a step of gradient descent."""
    moved = param - lr * followed(param, grad, weight_decay, maximize)
    return param if skipped == 1 else moved


@lib.op(out=True)
@formula(dtypes="floating")
def momentum_step(
    param: Tensor,
    grad: Tensor,
    buffer: Tensor,
    lr: Tensor,
    skipped: Tensor,
    weight_decay: float,
    momentum: float,
    weight: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
) -> tuple[Tensor, Tensor]:
    """Return a parameter and its momentum buffer after a step of gradient descent with momentum."""
    slope = followed(param, grad, weight_decay, maximize)
    moving = slope if is_first_step else buffer * momentum + slope * weight
    moved = param - lr * (slope + momentum * moving if nesterov else moving)
    stays = skipped == 1
    return param if stays else moved, buffer if stays else moving


@lib.op(out=True)
@formula(dtypes="floating")
def adagrad_step(
    param: Tensor,
    grad: Tensor,
    state_sum: Tensor,
    lr: Tensor,
    skipped: Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> tuple[Tensor, Tensor]:
    """Return a parameter and the sum of its squared gradients after a step of Adagrad."""
    slope = followed(param, grad, weight_decay, maximize)
    new_sum = state_sum + slope * slope
    moved = param - lr * slope / (new_sum.sqrt() + eps)
    stays = skipped == 1
    return param if stays else moved, state_sum if stays else new_sum


# -------------------------------------------------------------------------------------------------------------- lists


def per_parameter(name: str, *lists: Sequence[Tensor]) -> Iterator[tuple[Tensor, ...]]:
    """Return an iterator over corresponding elements of lists, one tuple per parameter.

    Raises:
        ArgumentError: the lists have different lengths.
    """
    for group in lists:
        if len(group) != len(lists[0]):
            raise ArgumentError(f"{name}: expected as many tensors as parameters, {len(lists[0])}, got {len(group)}")
    return zip(*lists, strict=True)


def as_tensor(value: Tensor | float | None, like: Tensor) -> Tensor:
    """Return a number, or a tensor on any device, as a float64 tensor on the device of ``like``; 0 for None."""
    if isinstance(value, Tensor):
        return value.to(like.device, float64)
    return full([], 0.0 if value is None else value, dtype=float64, device=like.device)


def unscaled(grad: Tensor, grad_scale: Tensor | None, skipped: Tensor) -> Tensor:
    """Divide a gradient by its scale in place, if there is one and the step is not skipped."""
    return grad if grad_scale is None else grad.div_(grad_scale.to(grad.device).masked_fill(skipped == 1, 1.0))


class Rates(NamedTuple):
    """Arguments that the steps of all optimizers take."""

    lr: Tensor | float
    weight_decay: float
    maximize: bool
    grad_scale: Tensor | None
    found_inf: Tensor | None


def step_adam(
    name: str,
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    states: Sequence[Sequence[Tensor]],
    rates: Rates,
    betas: tuple[float, float],
    eps: float,
    decouples: bool,
) -> None:
    """Update parameters by Adam, or by AdamW, whose weight decay does not enter the running means.

    Args:
        name: the operator's name, for error messages.
        params, grads, state_steps: the parameters, their gradients, and the numbers of steps taken.
        states: the running means of gradients and of their squares, and for AMSGrad the largest of the latter.
        rates, betas, eps: see PyTorch's operators.
        decouples: whether to use AdamW.
    """
    lr, weight_decay, maximize, grad_scale, found_inf = rates
    beta1, beta2 = betas
    step = (amsgrad_step if len(states) == 3 else adam_step).variants["out"]
    numbers = (1 - beta1, 1 - beta2, 0.0 if decouples else weight_decay, eps, maximize)
    for param, grad, count, *state in per_parameter(name, params, grads, state_steps, *states):
        rate, skipped, steps = as_tensor(lr, param), as_tensor(found_inf, param), as_tensor(count, param)
        decay = 1 - rate * (weight_decay if decouples else 0.0)
        step_size = rate / (1 - number_pow(beta1, steps))
        correction = (1 - number_pow(beta2, steps)).sqrt()
        slope = unscaled(grad, grad_scale, skipped)
        step(param, slope, *state, decay, step_size, correction, skipped, *numbers, out=(param, *state))


def step_sgd(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    buffers: Sequence[Sequence[Tensor]],
    rates: Rates,
    momentum: float,
    weight: float,
    nesterov: bool,
    is_first_step: bool,
) -> None:
    """Update parameters by gradient descent, with momentum where there are momentum buffers."""
    lr, weight_decay, maximize, grad_scale, found_inf = rates
    for param, grad, *state in per_parameter("_fused_sgd_", params, grads, *buffers):
        rate, skipped = as_tensor(lr, param), as_tensor(found_inf, param)
        slope = unscaled(grad, grad_scale, skipped)
        if not state:
            sgd_step.variants["out"](param, slope, rate, skipped, weight_decay, maximize, out=param)
            continue
        numbers = (weight_decay, momentum, weight, nesterov, maximize, is_first_step)
        momentum_step.variants["out"](param, slope, *state, rate, skipped, *numbers, out=(param, *state))


def step_adagrad(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    state_sums: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    rates: Rates,
    lr_decay: float,
    eps: float,
) -> None:
    """Update parameters by Adagrad: gradients are divided by the roots of the sums of their squares."""
    lr, weight_decay, maximize, grad_scale, found_inf = rates
    for param, grad, total, count in per_parameter("_fused_adagrad_", params, grads, state_sums, state_steps):
        skipped, steps = as_tensor(found_inf, param), as_tensor(count, param)
        rate = as_tensor(lr, param) / (1 + (steps - 1) * lr_decay)
        slope = unscaled(grad, grad_scale, skipped)
        run = adagrad_step.variants["out"]
        run(param, slope, total, rate, skipped, weight_decay, eps, maximize, out=(param, total))


# -------------------------------------------------------------------------------------------------------- declarations


def declare_adam(name: str, *, decouples: bool) -> None:
    """Declare the operators of a step of Adam, or of AdamW, whose weight decay does not enter the running means.

    Args:
        name: the operator's name, without the underscore that marks in-place operators.
        decouples: whether to declare AdamW.
    """
    text = f"Update all parameters by one step of the optimizer ``{name}``."

    @op(f"aten::{name}_", kernel="CompositeExplicitAutograd")
    @documented(text)
    def by_number(
        self: list[Tensor[Alias("a", write=True)]],
        grads: list[Tensor[Alias("b", write=True)]],
        exp_avgs: list[Tensor[Alias("c", write=True)]],
        exp_avg_sqs: list[Tensor[Alias("d", write=True)]],
        max_exp_avg_sqs: list[Tensor[Alias("e", write=True)]],
        state_steps: list[Tensor],
        *,
        lr: float,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> None:
        states = (exp_avgs, exp_avg_sqs, max_exp_avg_sqs) if amsgrad else (exp_avgs, exp_avg_sqs)
        rates = Rates(lr, weight_decay, maximize, grad_scale, found_inf)
        step_adam(f"{name}_", self, grads, state_steps, states, rates, (beta1, beta2), eps, decouples)

    @op(f"aten::{name}_.tensor_lr", kernel="CompositeExplicitAutograd")
    @documented(text)
    def by_tensor(
        self: list[Tensor[Alias("a", write=True)]],
        grads: list[Tensor[Alias("b", write=True)]],
        exp_avgs: list[Tensor[Alias("c", write=True)]],
        exp_avg_sqs: list[Tensor[Alias("d", write=True)]],
        max_exp_avg_sqs: list[Tensor[Alias("e", write=True)]],
        state_steps: list[Tensor],
        *,
        lr: Tensor,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> None:
        states = (exp_avgs, exp_avg_sqs, max_exp_avg_sqs) if amsgrad else (exp_avgs, exp_avg_sqs)
        rates = Rates(lr, weight_decay, maximize, grad_scale, found_inf)
        step_adam(f"{name}_", self, grads, state_steps, states, rates, (beta1, beta2), eps, decouples)


declare_adam("_fused_adam", decouples=False)
declare_adam("_fused_adamw", decouples=True)


@op("aten::_fused_sgd_", kernel="CompositeExplicitAutograd")
def _fused_sgd_(
    self: list[Tensor[Alias("a", write=True)]],
    grads: list[Tensor[Alias("b", write=True)]],
    momentum_buffer_list: list[Tensor[Alias("c", write=True)]],
    *,
    weight_decay: float,
    momentum: float,
    lr: float,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    """Update all parameters by a step of gradient descent, with momentum if ``momentum`` is not 0."""
    buffers = [momentum_buffer_list] if momentum else []
    rates = Rates(lr, weight_decay, maximize, grad_scale, found_inf)
    step_sgd(self, grads, buffers, rates, momentum, 1 - dampening, nesterov, is_first_step)


@op("aten::_fused_sgd_.tensor_lr", kernel="CompositeExplicitAutograd")
def _fused_sgd_tensor_lr_(
    self: list[Tensor[Alias("a", write=True)]],
    grads: list[Tensor[Alias("b", write=True)]],
    momentum_buffer_list: list[Tensor[Alias("c", write=True)]],
    *,
    weight_decay: float,
    momentum: float,
    lr: Tensor,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    """Update all parameters by a step of gradient descent, like ``_fused_sgd_`` with the learning rate in a tensor."""
    buffers = [momentum_buffer_list] if momentum else []
    rates = Rates(lr, weight_decay, maximize, grad_scale, found_inf)
    step_sgd(self, grads, buffers, rates, momentum, 1 - dampening, nesterov, is_first_step)


@op("aten::_fused_adagrad_", kernel="CompositeExplicitAutograd")
def _fused_adagrad_(
    self: list[Tensor[Alias("a", write=True)]],
    grads: list[Tensor[Alias("b", write=True)]],
    state_sums: list[Tensor[Alias("c", write=True)]],
    state_steps: list[Tensor[Alias("d", write=True)]],
    *,
    lr: float,
    lr_decay: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    """Update all parameters by a step of Adagrad."""
    rates = Rates(lr, weight_decay, maximize, grad_scale, found_inf)
    step_adagrad(self, grads, state_sums, state_steps, rates, lr_decay, eps)


@op("aten::_fused_adagrad_.tensor_lr", kernel="CompositeExplicitAutograd")
def _fused_adagrad_tensor_lr_(
    self: list[Tensor[Alias("a", write=True)]],
    grads: list[Tensor[Alias("b", write=True)]],
    state_sums: list[Tensor[Alias("c", write=True)]],
    state_steps: list[Tensor],
    *,
    lr: Tensor,
    lr_decay: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    """Update all parameters by a step of Adagrad, with the learning rate in a tensor."""
    rates = Rates(lr, weight_decay, maximize, grad_scale, found_inf)
    step_adagrad(self, grads, state_sums, state_steps, rates, lr_decay, eps)
