"""Operators for batch normalization over several devices, and other signatures of ``batch_norm``."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from opdsl.aten.create.factories import empty
from opdsl.aten.nn.batch_normalization import (
    batch_normalized,
    by_channel,
    native_batch_norm_backward,
    native_batch_norm_backward_derivative,
    native_batch_norm_derivative,
    others,
    store_moved,
)
from opdsl.aten.reduce.variances import var_mean_correction
from opdsl.declare import forward, op
from opdsl.kernels import check
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.primitives.copying import copy_elements
from opdsl.runtime import Tensor, uint8
from opdsl.schema import Alias
from opdsl.schema.vocabulary import BoolList, Size


@op("aten::batch_norm_stats")
def batch_norm_stats(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Return the mean and 1 / standard deviation of each channel."""
    wide = input.to(precision_of(input.dtype))
    variance, mean = var_mean_correction(wide, others(input), correction=0)
    return mean, (variance + eps).rsqrt()


@op("aten::batch_norm_elemt", out=True)
def batch_norm_elemt(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, invstd: Tensor, eps: float
) -> Tensor:
    """``(input - mean) * invstd * weight + bias``, with a value of each vector per channel."""
    normalized = (input - by_channel(mean, input.ndim)) * by_channel(invstd, input.ndim)
    normalized = normalized if weight is None else normalized * by_channel(weight, input.ndim)
    normalized = normalized if bias is None else normalized + by_channel(bias, input.ndim)
    return normalized.to(input.dtype)


@op("aten::batch_norm_backward_reduce")
def batch_norm_backward_reduce(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    input_g: bool,
    weight_g: bool,
    bias_g: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return, per channel, the sum of gradients, the sum of ``grad_out * (input - mean)``, and gradients of weight and
    bias.

    ``input_g``, ``weight_g`` and ``bias_g`` select the results: the two sums, the gradient of the weight, and that of
    the bias. Results that are not selected are None.
    """
    wide, dims = precision_of(input.dtype), others(input)
    gradient = grad_out.to(wide)
    total = gradient.sum(dims)
    weighted = (gradient * (input.to(wide) - by_channel(mean.to(wide), input.ndim))).sum(dims)
    kept = input.dtype if weight is None else weight.dtype
    of_weight: Any = (weighted * invstd).to(kept) if weight_g else None
    of_bias: Any = total.to(kept, copy=True) if bias_g else None
    sums: tuple[Any, Any] = (total, weighted) if input_g else (None, None)
    return *sums, of_weight, of_bias


@op("aten::batch_norm_backward_elemt")
def batch_norm_backward_elemt(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    sum_dy: Tensor,
    sum_dy_xmu: Tensor,
    count: Tensor,
) -> Tensor:
    """Return the gradient of the input, from sums over all devices and the number of elements on each device."""
    mean, invstd, sum_dy, sum_dy_xmu = (
        by_channel(statistic, input.ndim) for statistic in (mean, invstd, sum_dy, sum_dy_xmu)
    )
    elements = count.sum()
    through = (input - mean) * (invstd * invstd * (sum_dy_xmu / elements))
    gradient = (grad_out - sum_dy / elements - through) * invstd
    gradient = gradient if weight is None else gradient * by_channel(weight, input.ndim)
    return gradient.to(input.dtype)


def with_reserve(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    *,
    training: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the results of ``native_batch_norm``, and an empty tensor as the memory that a backend would reserve."""
    tensors = batch_normalized(input, weight, bias, running_mean, running_var, training, momentum, eps)
    return *tensors, empty((0,), dtype=uint8, device=input.device)


@op("aten::_batch_norm_with_update", kernel=True)
def _batch_norm_with_update(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor[Alias("a", write=True)],
    running_var: Tensor[Alias("b", write=True)],
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Compute ``native_batch_norm`` in training; the last result is an empty tensor, in place of a backend's reserved
    memory.
    """
    return with_reserve(input, weight, bias, running_mean, running_var, momentum, eps, training=True)


@op("aten::_batch_norm_no_update", kernel="CompositeExplicitAutograd")
def _batch_norm_no_update(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Compute ``native_batch_norm`` with running statistics; the last result is an empty tensor for reserved memory."""
    return with_reserve(input, weight, bias, running_mean, running_var, momentum, eps, training=False)


for _norm, _training in ((_batch_norm_with_update, True), (_batch_norm_no_update, False)):
    _norm.derivative("input", "weight", "bias")(partial(native_batch_norm_derivative, training=_training))


@op("aten::_batch_norm_impl_index_backward")
@forward(
    native_batch_norm_backward,
    "grad_output",
    save_invstd=lambda save_var_transform: save_var_transform,
    unused=("impl_index", "reservedSpace"),
)
def _batch_norm_impl_index_backward(
    impl_index: int,
    input: Tensor,
    grad_output: Tensor,
    weight: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    save_mean: Tensor | None,
    save_var_transform: Tensor | None,
    train: bool,
    eps: float,
    output_mask: Annotated[BoolList, Size(3)],
    reservedSpace: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of ``_batch_norm_impl_index`` that ``output_mask`` selects."""


# -------------------------------------------------------------------------------------------------- several devices


@op("aten::batch_norm_gather_stats_with_counts")
def batch_norm_gather_stats_with_counts(
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    counts: Tensor,
) -> tuple[Tensor, Tensor]:
    """Combine the mean and 1 / standard deviation of each channel from several devices, and update the running
    statistics.

    Args:
        input: the input on one device, which is not read.
        mean, invstd: (devices, channels).
        running_mean, running_var: running statistics of each channel, updated in place, or None.
        momentum: the weight of the new statistics in the running ones.
        eps: the number that has been added to variances.
        counts: the number of elements of a channel on each device.
    """
    check(
        mean.ndim == 2 and mean.shape == invstd.shape, "expected statistics of each device and channel", got=mean.shape
    )
    check(counts.shape == mean.shape[:1], "expected a count for each device", got=counts.shape)
    wide = precision_of(mean.dtype)
    shares, means = counts.to(wide).unsqueeze(1), mean.to(wide)
    total = shares.sum(0)
    result = (shares * means).sum(0) / total
    within = invstd.to(wide).reciprocal()
    spread = (shares * (within * within - eps + (means - result) * (means - result))).sum(0)
    moved: tuple[tuple[Tensor | None, Tensor], ...] = (running_mean, result), (running_var, spread / (total - 1))
    for kept, _ in moved:
        check(kept is None or kept.shape == result.shape, "expected a running number for each channel")
    for kept, value in moved:
        if kept is not None:
            copy_elements(kept, value * momentum + kept * (1 - momentum))
    return result, (spread / total + eps).rsqrt()


@op("aten::batch_norm_gather_stats")
@forward(batch_norm_gather_stats_with_counts, counts=lambda mean, count: mean.new_full(mean.shape[:1], count))
def batch_norm_gather_stats(
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    count: int,
) -> tuple[Tensor, Tensor]:
    """Compute ``batch_norm_gather_stats_with_counts`` for devices with ``count`` elements per channel each."""


# ------------------------------------------------------------------------------------------------- other signatures


@op("aten::batch_norm_backward", kernel=True)
@forward(
    native_batch_norm_backward,
    save_invstd=lambda save_var: save_var,
    train=lambda update: update,
    unused=("reserve",),
)
def batch_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    weight: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    save_mean: Tensor | None,
    save_var: Tensor | None,
    update: bool,
    eps: float,
    output_mask: Annotated[BoolList, Size(3)],
    reserve: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of ``_batch_norm_with_update``, or of ``_batch_norm_no_update`` if ``update`` is False."""


@batch_norm_backward.derivative("grad_out", "input", "weight")
def batch_norm_backward_derivative(
    grads, grad_out, input, weight, running_mean, running_var, save_mean, save_var, update, eps
):
    gradients: tuple[Tensor | None, Tensor | None, Tensor | None] = native_batch_norm_backward_derivative(
        grads, grad_out, input, weight, running_mean, running_var, save_mean, save_var, update, eps
    )
    return gradients


@op("aten::_batch_norm_with_update.out")
def _batch_norm_with_update_out(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor[Alias("a", write=True)],
    running_var: Tensor[Alias("b", write=True)],
    momentum: float,
    eps: float,
    *,
    out: Tensor[Alias("d", write=True)],
    save_mean: Tensor[Alias("e", write=True)],
    save_invstd: Tensor[Alias("f", write=True)],
    reserve: Tensor[Alias("g", write=True)],
) -> tuple[
    Tensor[Alias("d", write=True)],
    Tensor[Alias("e", write=True)],
    Tensor[Alias("f", write=True)],
    Tensor[Alias("g", write=True)],
]:
    """Write the results of ``_batch_norm_with_update`` into given tensors."""
    outs = (out, save_mean, save_invstd, reserve)
    stored = store_moved(
        "_batch_norm_with_update.out",
        partial(with_reserve, training=True),
        (input, weight, bias, running_mean, running_var, momentum, eps),
        outs,
    )
    return stored[0], stored[1], stored[2], stored[3]
