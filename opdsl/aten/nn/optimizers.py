"""Steps of optimizers over lists of parameters, PyTorch's ``_fused_`` operators: one loop for each parameter.

The rules are those of ATen/native/cpu/FusedAdamKernel.cpp, FusedSGDKernel.cpp and FusedAdagradKernel.cpp.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from opdsl.aten.create.factories import full
from opdsl.aten.pointwise.powers import number_pow
from opdsl.declare import Library, Row, traceable
from opdsl.errors import ArgumentError
from opdsl.runtime import Tensor, float64

lib = Library("opdsl")

# -------------------------------------------------------------------------------------------------- of one parameter

# `skipped` is 1 where a gradient is infinite or NaN: everything stays as it is then.


def followed(param: float, grad: float, weight_decay: float, maximize: bool) -> float:
    """The gradient that is followed, with that of the decay."""
    return (-grad if maximize else grad) + weight_decay * param


def mean_of(average: float, value: float, weight: float) -> float:
    """``lerp``"""
    return average + weight * (value - average) if weight < 0.5 else value - (value - average) * (1 - weight)


_MOMENTS = "Tensor param, Tensor grad, Tensor exp_avg, Tensor exp_avg_sq"
_NUMBERS = (
    "Tensor decay, Tensor step_size, Tensor correction, Tensor skipped, float weight1, float weight2, "
    "float weight_decay, float eps, bool maximize"
)

adam_step = lib.define(f"adam_step({_MOMENTS}, {_NUMBERS}) -> (Tensor, Tensor, Tensor)", out=True)


def averaged(slope: float, mean: float, squares: float, weight1: float, weight2: float) -> tuple[float, float]:
    """The mean of gradients and that of their squares, with one more."""
    return mean_of(mean, slope, weight1), squares * (1 - weight2) + weight2 * slope * slope


@adam_step.pointwise(dtypes="floating")
def adam_scalar_function(
    param, grad, mean, squares, decay, step_size, correction, skipped, weight1, weight2, weight_decay, eps, maximize
):
    """A parameter, the mean of its gradients and that of their squares after a step of Adam."""
    slope = followed(param, grad, weight_decay, maximize)
    new_mean, new_squares = averaged(slope, mean, squares, weight1, weight2)
    moved = param * decay - step_size * new_mean / (math.sqrt(new_squares) / correction + eps)
    stays = skipped == 1
    return param if stays else moved, mean if stays else new_mean, squares if stays else new_squares


amsgrad_step = lib.define(
    f"amsgrad_step({_MOMENTS}, Tensor max_exp_avg_sq, {_NUMBERS}) -> (Tensor, Tensor, Tensor, Tensor)", out=True
)


@amsgrad_step.pointwise(dtypes="floating")
def amsgrad_scalar_function(
    param,
    grad,
    mean,
    squares,
    largest,
    decay,
    step_size,
    correction,
    skipped,
    weight1,
    weight2,
    weight_decay,
    eps,
    maximize,
):
    """The same of Adam that never grows its steps, and the largest mean of squares yet."""
    slope = followed(param, grad, weight_decay, maximize)
    new_mean, new_squares = averaged(slope, mean, squares, weight1, weight2)
    new_largest = max(largest, new_squares)
    moved = param * decay - step_size * new_mean / (math.sqrt(new_largest) / correction + eps)
    stays = skipped == 1
    return (
        param if stays else moved,
        mean if stays else new_mean,
        squares if stays else new_squares,
        largest if stays else new_largest,
    )


sgd_step = lib.define(
    "sgd_step(Tensor param, Tensor grad, Tensor lr, Tensor skipped, float weight_decay, bool maximize) -> Tensor",
    out=True,
)


@sgd_step.pointwise(dtypes="floating")
def sgd_scalar_function(param, grad, lr, skipped, weight_decay, maximize):
    """A parameter after a step against its gradient."""
    moved = param - lr * followed(param, grad, weight_decay, maximize)
    return param if skipped == 1 else moved


momentum_step = lib.define(
    "momentum_step(Tensor param, Tensor grad, Tensor buffer, Tensor lr, Tensor skipped, float weight_decay, "
    "float momentum, float weight, bool nesterov, bool maximize, bool is_first_step) -> (Tensor, Tensor)",
    out=True,
)


@momentum_step.pointwise(dtypes="floating")
def momentum_scalar_function(
    param, grad, buffer, lr, skipped, weight_decay, momentum, weight, nesterov, maximize, is_first_step
):
    """A parameter and its momentum after a step along that."""
    slope = followed(param, grad, weight_decay, maximize)
    moving = slope if is_first_step else buffer * momentum + slope * weight
    moved = param - lr * (slope + momentum * moving if nesterov else moving)
    stays = skipped == 1
    return param if stays else moved, buffer if stays else moving


adagrad_step = lib.define(
    "adagrad_step(Tensor param, Tensor grad, Tensor state_sum, Tensor lr, Tensor skipped, "
    "float weight_decay, float eps, bool maximize) -> (Tensor, Tensor)",
    out=True,
)


@adagrad_step.pointwise(dtypes="floating")
def adagrad_scalar_function(param, grad, state_sum, lr, skipped, weight_decay, eps, maximize):
    """A parameter and the sum of squares of its gradients after a step of Adagrad."""
    slope = followed(param, grad, weight_decay, maximize)
    new_sum = state_sum + slope * slope
    moved = param - lr * slope / (math.sqrt(new_sum) + eps)
    stays = skipped == 1
    return param if stays else moved, state_sum if stays else new_sum


# -------------------------------------------------------------------------------------------------------------- lists


def per_parameter(name: str, *lists: Sequence[Tensor]) -> Iterator[tuple[Tensor, ...]]:
    """An element of each list.

    Raises:
        ArgumentError: they have not as many.
    """
    for each in lists:
        if len(each) != len(lists[0]):
            raise ArgumentError(f"{name}: expected as many tensors as parameters, {len(lists[0])}, got {len(each)}")
    return zip(*lists, strict=True)


def as_tensor(value: Tensor | float | None, like: Tensor) -> Tensor:
    """A number of all parameters in double precision, 0 for None; it is not read, so it may lie on a device."""
    if isinstance(value, Tensor):
        return value.to(like.device, float64)
    return full([], 0.0 if value is None else value, dtype=float64, device=like.device)


def unscaled(grad: Tensor, grad_scale: Tensor | None, skipped: Tensor) -> Tensor:
    """A gradient, which is divided by its scale where it is."""
    return grad if grad_scale is None else grad.div_(grad_scale.to(grad.device).masked_fill(skipped == 1, 1.0))


def adam_body(name: str, *, decouples: bool) -> Callable[..., None]:
    """The kernel of Adam, or of AdamW, whose decay does not go through the means."""

    @traceable
    def body(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: Tensor | float,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None,
        found_inf: Tensor | None,
    ) -> None:
        largest = [max_exp_avg_sqs] if amsgrad else []
        step = (amsgrad_step if amsgrad else adam_step).variants["out"]
        numbers = (1 - beta1, 1 - beta2, 0.0 if decouples else weight_decay, eps, maximize)
        for param, grad, count, *state in per_parameter(
            name, self, grads, state_steps, exp_avgs, exp_avg_sqs, *largest
        ):
            rate, skipped, steps = as_tensor(lr, param), as_tensor(found_inf, param), as_tensor(count, param)
            decay = 1 - rate * (weight_decay if decouples else 0.0)
            step_size = rate / (1 - number_pow(beta1, steps))
            correction = (1 - number_pow(beta2, steps)).sqrt()
            slope = unscaled(grad, grad_scale, skipped)
            step(param, slope, *state, decay, step_size, correction, skipped, *numbers, out=(param, *state))

    return body


@traceable
def sgd_body(
    self: Sequence[Tensor],
    grads: Sequence[Tensor],
    momentum_buffer_list: Sequence[Tensor],
    *,
    weight_decay: float,
    momentum: float,
    lr: Tensor | float,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
    grad_scale: Tensor | None,
    found_inf: Tensor | None,
) -> None:
    """The kernel of gradient descent, with momentum or without."""
    buffers = [momentum_buffer_list] if momentum else []
    for param, grad, *state in per_parameter("_fused_sgd_", self, grads, *buffers):
        rate, skipped = as_tensor(lr, param), as_tensor(found_inf, param)
        slope = unscaled(grad, grad_scale, skipped)
        if not state:
            sgd_step.variants["out"](param, slope, rate, skipped, weight_decay, maximize, out=param)
            continue
        numbers = (weight_decay, momentum, 1 - dampening, nesterov, maximize, is_first_step)
        momentum_step.variants["out"](param, slope, *state, rate, skipped, *numbers, out=(param, *state))


@traceable
def adagrad_body(
    self: Sequence[Tensor],
    grads: Sequence[Tensor],
    state_sums: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    *,
    lr: Tensor | float,
    lr_decay: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
    grad_scale: Tensor | None,
    found_inf: Tensor | None,
) -> None:
    """The kernel of Adagrad."""
    for param, grad, total, count in per_parameter("_fused_adagrad_", self, grads, state_sums, state_steps):
        skipped, steps = as_tensor(found_inf, param), as_tensor(count, param)
        rate = as_tensor(lr, param) / (1 + (steps - 1) * lr_decay)
        slope = unscaled(grad, grad_scale, skipped)
        run = adagrad_step.variants["out"]
        run(param, slope, total, rate, skipped, weight_decay, eps, maximize, out=(param, total))


# -------------------------------------------------------------------------------------------------------- declarations

_ADAM = (
    "Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, "
    "Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, {lr}, float beta1, float beta2, float weight_decay, "
    "float eps, bool amsgrad, bool maximize"
)
_SGD = (
    "Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] momentum_buffer_list, *, float weight_decay, float momentum, "
    "{lr}, float dampening, bool nesterov, bool maximize, bool is_first_step"
)
_ADAGRAD = (
    "Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] state_sums, {steps} state_steps, *, {lr}, float lr_decay, "
    "float weight_decay, float eps, bool maximize"
)

for _name, _arguments, _body in (
    ("_fused_adam", _ADAM, adam_body("_fused_adam_", decouples=False)),
    ("_fused_adamw", _ADAM, adam_body("_fused_adamw_", decouples=True)),
    ("_fused_sgd", _SGD, sgd_body),
    ("_fused_adagrad", _ADAGRAD, adagrad_body),
):
    _of_number, _of_tensor = (
        _arguments.format(lr=rate, steps=steps) + ", Tensor? grad_scale=None, Tensor? found_inf=None"
        for rate, steps in (("float lr", "Tensor(d!)[]"), ("Tensor lr", "Tensor[]"))
    )
    _doc = f"A step of ``{_name}`` of all parameters."
    Library("aten").table(
        {
            f"{_name}_({_of_number}) -> ()": Row(_doc, _body, autogen=f"{_name}, {_name}.out"),
            f"{_name}_.tensor_lr({_of_tensor}) -> ()": Row(
                _doc, _body, device_check="NoCheck", autogen=f"{_name}.tensor_lr, {_name}.tensor_lr_out"
            ),
        },
        kernel="CompositeExplicitAutograd",
        dispatch="CPU, CUDA",
    )
