"""Batch normalization of channels and its derivatives; instance normalization is built on it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, NamedTuple

from opdsl.aten._shared.checks import require_floating
from opdsl.aten._shared.results import store_results
from opdsl.aten.create.factories import empty
from opdsl.aten.nn.normalization import second_gradients, statistics_dtype
from opdsl.aten.reduce.variances import var_mean_correction
from opdsl.declare import Library, Out, formula, forward, op
from opdsl.dispatch import is_grad_enabled
from opdsl.errors import DimensionError, DTypeError, ShapeError
from opdsl.kernels import check
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.primitives.copying import copy_elements
from opdsl.runtime import DType, Tensor
from opdsl.schema import Alias
from opdsl.schema.vocabulary import BoolList, Size

lib, aten = Library("opdsl"), Library("aten")


# ---------------------------------------------------------------------------------------------------- batch statistics


class Statistics(NamedTuple):
    """Mean and 1 / standard deviation of each channel, in shapes that broadcast to the input."""

    mean: Tensor
    rstd: Tensor


def others(input: Tensor) -> list[int]:
    """Return the dimensions other than the channels, dimension 1."""
    return [0, *range(2, input.ndim)]


def by_channel(values: Tensor, ndim: int) -> Tensor:
    """Reshape a vector with a value per channel so that it broadcasts to an input of ``ndim`` dimensions."""
    return values.view((-1, *(1,) * (ndim - 2)))


def check_channels(input: Tensor) -> None:
    """Check that an input has a dimension of channels.

    Raises:
        DimensionError: the input has fewer than two dimensions.
    """
    if input.ndim < 2:
        raise DimensionError(
            f"Dimension out of range: the channels are dimension 1 of the input, but its shape is {list(input.shape)}"
        )


def parameter_dtype(input: Tensor, *parameters: Tensor | None) -> DType:
    """Return the dtype of the statistics that batch normalization returns, that of the parameters.

    Raises:
        UnsupportedDTypeError: the input is not floating.
        DTypeError: the dtypes of input and parameters do not fit.
    """
    require_floating("batch_norm", input)
    return statistics_dtype(input, *parameters)


def statistics_of(input: Tensor, eps: float) -> Statistics:
    """Compute the statistics of each channel of a batch."""
    variance, mean = var_mean_correction(input.to(precision_of(input.dtype)), others(input), correction=0, keepdim=True)
    return Statistics(mean, (variance + eps).rsqrt())


def running_statistics(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, eps: float
) -> Statistics:
    """Return running means and variances as ``Statistics``.

    Raises:
        ShapeError: one of them is None.
    """
    if running_mean is None or running_var is None:
        raise ShapeError("running_mean and running_var must be defined in evaluation mode")
    wide = precision_of(running_mean.dtype)
    mean, variance = (by_channel(statistic.to(wide), input.ndim) for statistic in (running_mean, running_var))
    return Statistics(mean, (variance + eps).rsqrt())


@lib.op(variants="function")
@formula
def scaled_and_shifted(input: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """``input * scale + shift``, all broadcast to the input."""
    return input * scale + shift


@lib.op(variants="function")
@formula
def centred_product(grad: Tensor, input: Tensor, mean: Tensor) -> Tensor:
    """``grad * (input - mean)``, all broadcast to the input."""
    return grad * (input - mean)


@lib.op(variants="function")
@formula
def gradient_through_statistics(
    grad: Tensor, input: Tensor, mean: Tensor, scale: Tensor, slope: Tensor, shift: Tensor
) -> Tensor:
    """``grad * scale - (input - mean) * slope - shift``, all broadcast to the input."""
    return grad * scale - (input - mean) * slope - shift


def normalized(input: Tensor, statistics: Statistics, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """Return the input normalized with given statistics, times ``weight`` plus ``bias``, in its memory format."""
    mean, scale = statistics
    if weight is not None:
        scale = scale * by_channel(weight.to(scale.dtype), input.ndim)
    shift = -mean * scale
    if bias is not None:
        shift = shift + by_channel(bias.to(shift.dtype), input.ndim)
    output = scaled_and_shifted(input, scale, shift).to(input.dtype)
    return output.contiguous(memory_format=input.geometry.suggested_memory_format())


def update_running(
    input: Tensor, statistics: tuple[Tensor, Tensor], running: tuple[Tensor | None, Tensor | None], momentum: float
) -> None:
    """Move running means and variances in place towards those of a batch, with the unbiased variance.

    Args:
        input: the batch.
        statistics: the mean and the biased variance of each channel.
        running: the running means and variances, each a tensor or None.
        momentum: the weight of the batch's statistics.

    Raises:
        ShapeError: there is not one running number for each channel.
    """
    channels = input.shape[1]
    for name, moment in zip(("running_mean", "running_var"), running, strict=True):
        check(
            moment is None or moment.shape == (channels,),
            f"{name} should contain {channels} elements, but has shape "
            f"{None if moment is None else list(moment.shape)}",
        )
    count = input.numel() // input.shape[1]
    unbiased = count / (count - 1) if count > 1 else math.inf
    for kept, statistic, factor in zip(running, statistics, (1.0, unbiased), strict=True):
        if kept is not None:
            moved = statistic.view((-1,)) * (momentum * factor) + kept * (1 - momentum)
            # The schema declares no write, so the version stays: tensors that were saved for a backward pass remain
            # valid.
            copy_elements(kept, moved)


def require_elements(input: Tensor) -> None:
    """Check that a batch has elements, without which it has no statistics.

    Raises:
        ShapeError: the batch is empty.
    """
    check(input.numel() > 0, f"input tensor must have at least one element, but got input_sizes = {list(input.shape)}")


# ---------------------------------------------------------------------------------------------------------- batch norm


def batch_normalized(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute batch normalization for all its operators; return the result, and mean and 1 / deviation of each channel.

    In evaluation the mean and the deviation are empty tensors.

    Raises:
        DimensionError, ShapeError: the shapes do not fit.
        UnsupportedDTypeError, DTypeError: the dtypes do not fit.
    """
    check_channels(input)
    dtype = parameter_dtype(input, weight, bias)
    for statistic in (running_mean, running_var):
        if statistic is not None and statistic.dtype is not dtype:
            raise DTypeError(f"expected scalar type {dtype.scalar_type} but found {statistic.dtype.scalar_type}")
    if not training:
        statistics = running_statistics(input, running_mean, running_var, eps)
        none = empty((0,), dtype=dtype, device=input.device)
        return normalized(input, statistics, weight, bias), none, none.clone()
    require_elements(input)
    wide = input.to(precision_of(input.dtype))
    variance, mean = var_mean_correction(wide, others(input), correction=0, keepdim=True)
    statistics = Statistics(mean, (variance + eps).rsqrt())
    result = normalized(input, statistics, weight, bias)
    update_running(input, (mean, variance), (running_mean, running_var), momentum)
    return result, statistics.mean.view((-1,)).to(dtype), statistics.rstd.view((-1,)).to(dtype)


def channel_gradients(
    grad: Tensor, input: Tensor, weight: Tensor | None, statistics: Statistics, training: bool, mask: tuple[bool, ...]
) -> tuple[Any, Any, Any]:
    """Return the gradients of input, weight and bias that ``mask`` selects, from the statistics of the forward pass.

    Args:
        grad: the gradient of the result.
        input: the input of the forward pass.
        weight: the weight of each channel, or None.
        statistics: the statistics that the forward pass used.
        training: whether these are the input's own, through which gradients flow as well.
        mask: whether the gradients of input, weight and bias are wanted.
    """
    dims, (mean, rstd) = others(input), statistics
    wide = precision_of(input.dtype)
    weighted = centred_product(grad, input, mean).sum(dims, True) * rstd
    total = grad.to(wide).sum(dims, True)
    through_statistics = None
    if mask[0]:
        factor = rstd if weight is None else rstd * by_channel(weight.to(wide), input.ndim)
        if training:
            share = factor / (input.numel() // max(input.size(1), 1))
            through_statistics = gradient_through_statistics(
                grad, input, mean, factor, share * rstd * weighted, share * total
            )
        else:
            through_statistics = grad * factor
        through_statistics = through_statistics.to(input.dtype)
    kept = input.dtype if weight is None else weight.dtype
    to_weight, to_bias = (
        gradient.view((-1,)).to(kept) if wanted else None
        for gradient, wanted in zip((weighted, total), mask[1:], strict=True)
    )
    return through_statistics, to_weight, to_bias


def used_statistics(
    input: Tensor,
    running: tuple[Tensor | None, Tensor | None],
    saved: tuple[Tensor | None, Tensor | None],
    training: bool,
    eps: float,
) -> Statistics:
    """Return the statistics that the forward pass used: running ones, or in training saved or recomputed ones."""
    if not training:
        mean, variance = running
        return running_statistics(input, mean, variance, eps)
    if is_grad_enabled():  # the saved ones are not differentiable
        return statistics_of(input, eps)
    mean, rstd = saved
    if mean is None or rstd is None:
        raise ShapeError("save_mean and save_invstd must be defined in training mode")
    wide = precision_of(input.dtype)
    return Statistics(by_channel(mean.to(wide), input.ndim), by_channel(rstd.to(wide), input.ndim))


@op("aten::native_batch_norm", kernel=True, out=Out(args=("out", "save_mean", "save_invstd")))
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalize each channel to mean 0 and variance 1, multiply it by ``weight`` and add ``bias``.

    Args:
        input: (batch, channels, ...).
        weight, bias: the weight and bias of each channel.
        running_mean, running_var: statistics of each channel. In training they are moved towards the batch's by
            ``momentum``; otherwise they are used to normalize.
        training: whether the batch's own statistics are used.
        momentum: the weight of the batch's statistics in the running ones.
        eps: the number that is added to variances.

    Returns:
        The result; the mean and 1 / standard deviation of each channel in training, empty tensors otherwise.
    """
    return batch_normalized(input, weight, bias, running_mean, running_var, training, momentum, eps)


@native_batch_norm.derivative("input", "weight", "bias")
def native_batch_norm_derivative(
    grad, input, weight, running_mean, running_var, training, eps, result1, result2, output_mask
):
    running, saved = (running_mean, running_var), (result1, result2)
    if is_grad_enabled():
        statistics = used_statistics(input, running, saved, training, eps)
        return channel_gradients(grad, input, weight, statistics, training, output_mask)
    tensors: tuple[Tensor, ...] = native_batch_norm_backward(
        grad, input, weight, *running, *saved, training, eps, output_mask
    )
    return tensors[0], tensors[1], tensors[2]


@op("aten::native_batch_norm_backward", kernel=True)
def native_batch_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    weight: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    save_mean: Tensor | None,
    save_invstd: Tensor | None,
    train: bool,
    eps: float,
    output_mask: Annotated[BoolList, Size(3)],
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of ``native_batch_norm`` with respect to input, weight and bias that ``output_mask``
    selects.
    """
    require_floating("batch_norm_backward", input)
    running, saved = (running_mean, running_var), (save_mean, save_invstd)
    mask = (output_mask,) * 3 if isinstance(output_mask, bool) else tuple(output_mask)
    statistics = used_statistics(input, running, saved, train, eps)
    to_input, to_weight, to_bias = channel_gradients(grad_out, input, weight, statistics, train, mask)
    if to_input is not None:
        to_input = to_input.contiguous(memory_format=input.geometry.suggested_memory_format())
    return to_input, to_weight, to_bias


@native_batch_norm_backward.derivative("grad_out", "input", "weight")
def native_batch_norm_backward_derivative(
    grads, grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps
):
    mean, rstd = used_statistics(input, (running_mean, running_var), (save_mean, save_invstd), train, eps)
    scale = None if weight is None else by_channel(weight, input.ndim)
    tensors = (grads[0], *(None if grad is None else by_channel(grad, input.ndim) for grad in grads[1:]))
    of_grad_out, of_input, of_scale = second_gradients(
        tensors, grad_out, input, scale, mean, rstd, others(input), training=train
    )
    return of_grad_out, of_input, None if of_scale is None else of_scale.sum(others(input))


def store_moved(
    name: str, function: Callable[..., tuple[Tensor, ...]], arguments: tuple[Any, ...], outs: tuple[Tensor, ...]
) -> tuple[Tensor, ...]:
    """Store the results of a batch norm in training in ``out`` tensors, and update the running statistics.

    Args:
        name: the overload's name, for error messages.
        function: the function that computes the results.
        arguments: the function's arguments; the fourth and the fifth are the running statistics.
        outs: the tensors to store the results in.
    """
    moved = arguments[3].clone(), arguments[4].clone()
    results = function(*arguments[:3], *moved, *arguments[5:])
    return store_results(name, outs, results, list(zip(arguments[3:5], moved, strict=True)))


# This does not call native_batch_norm, whose schema forbids writes to the running statistics.
@op("aten::_native_batch_norm_legit", kernel=True, tags="core")
def _native_batch_norm_legit(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor[Alias("a", write=True)],
    running_var: Tensor[Alias("b", write=True)],
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute ``native_batch_norm`` under a schema that declares writes to the running statistics."""
    return batch_normalized(input, weight, bias, running_mean, running_var, training, momentum, eps)


_native_batch_norm_legit.derivative("input", "weight", "bias")(native_batch_norm_derivative)


@op("aten::_native_batch_norm_legit.out")
def _native_batch_norm_legit_out(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor[Alias("a", write=True)],
    running_var: Tensor[Alias("b", write=True)],
    training: bool,
    momentum: float,
    eps: float,
    *,
    out: Tensor[Alias("d", write=True)],
    save_mean: Tensor[Alias("e", write=True)],
    save_invstd: Tensor[Alias("f", write=True)],
) -> tuple[Tensor[Alias("d", write=True)], Tensor[Alias("e", write=True)], Tensor[Alias("f", write=True)]]:
    """Write the results of ``_native_batch_norm_legit`` into given tensors."""
    arguments = (input, weight, bias, running_mean, running_var, training, momentum, eps)
    stored = store_moved("_native_batch_norm_legit.out", batch_normalized, arguments, (out, save_mean, save_invstd))
    return stored[0], stored[1], stored[2]


@op(
    "aten::_native_batch_norm_legit.no_stats",
    kernel=True,
    tags="core",
    out=Out(args=("out", "save_mean", "save_invstd"), tags=()),
)
@forward(native_batch_norm, running_mean=None, running_var=None)
def _native_batch_norm_legit_no_stats(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, training: bool, momentum: float, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute ``native_batch_norm`` without running statistics."""


@op("aten::_native_batch_norm_legit_no_training", kernel="CompositeExplicitAutograd", tags="core")
@forward(native_batch_norm, training=False)
def _native_batch_norm_legit_no_training(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute ``native_batch_norm`` in evaluation, with the running statistics."""


_native_batch_norm_legit_no_stats.derivative("input", "weight", "bias")(
    partial(native_batch_norm_derivative, running_mean=None, running_var=None)
)
_native_batch_norm_legit_no_training.derivative("input", "weight", "bias")(
    partial(native_batch_norm_derivative, training=False)
)


@op("aten::batch_norm_update_stats", kernel=True)
def batch_norm_update_stats(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, momentum: float
) -> tuple[Tensor, Tensor]:
    """Return the mean and the biased variance of each channel, and move the running statistics towards them."""
    check_channels(input)
    dtype = parameter_dtype(input, running_mean, running_var)
    require_elements(input)
    wide = input.to(precision_of(input.dtype))
    variance, mean = var_mean_correction(wide, others(input), correction=0, keepdim=True)
    update_running(input, (mean, variance), (running_mean, running_var), momentum)
    return mean.view((-1,)).to(dtype), variance.view((-1,)).to(dtype)
