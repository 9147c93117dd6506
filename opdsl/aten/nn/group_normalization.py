"""Group normalization, of groups of channels, and its derivatives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

from opdsl.aten._shared.checks import require_floating
from opdsl.aten.nn.batch_normalization import Statistics, check_channels, scaled_and_shifted
from opdsl.aten.nn.normalization import layer_norm_input_gradient, statistics_dtype
from opdsl.aten.reduce.variances import var_mean_correction
from opdsl.declare import op, traceable
from opdsl.dispatch import is_grad_enabled
from opdsl.kernels import check
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.runtime import DType, Tensor
from opdsl.schema.vocabulary import BoolList, Size, SymInt


def in_groups(tensor: Tensor, batch: int, channels: int, size: int, group: int) -> Tensor:
    """Reshape a tensor to (batch, groups, channels per group, elements per channel)."""
    return tensor.contiguous().view((batch, group, channels // group, size))


def of_groups(values: Tensor, group: int, dtype: DType) -> Tensor:
    """Reshape a vector with a value per channel so that it broadcasts to the result of ``in_groups``."""
    return values.to(dtype).contiguous().view((group, -1, 1))


def group_statistics(rows: Tensor, eps: float) -> Statistics:
    """Compute the mean and 1 / standard deviation of each group; ``rows`` is a result of ``in_groups``."""
    variance, mean = var_mean_correction(rows.to(precision_of(rows.dtype)), [2, 3], correction=0, keepdim=True)
    return Statistics(mean, (variance + eps).rsqrt())


def check_groups(input: Tensor, weight: Tensor | None, bias: Tensor | None, channels: int, group: int) -> None:
    """Check that channels can be divided into groups, and that parameters fit them (``check_group_norm_inputs``).

    Raises:
        ShapeError: the channels are not divisible, or weight or bias does not have one number per channel.
    """
    check(group > 0, f"Expected num groups to be greater than 0, got {group}")
    check(
        channels % group == 0,
        "Expected number of channels in input to be divisible by num_groups, but got input of shape "
        f"{list(input.shape)} and num_groups={group}",
    )
    for name, parameter in (("weight", weight), ("bias", bias)):
        check(
            parameter is None or (parameter.ndim == 1 and parameter.numel() == channels),
            f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
            f"shape {None if parameter is None else list(parameter.shape)} and input of shape {list(input.shape)}",
        )


@op("aten::native_group_norm", kernel=("CPU", "CUDA", "Meta", "CompositeExplicitAutograd"), tags="core", out=True)
@traceable
def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: SymInt, C: SymInt, HxW: SymInt, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalize each group of channels to mean 0 and variance 1, multiply it by ``weight`` and add ``bias``.

    Args:
        input: (N, C, ...).
        weight, bias: the weight and bias of each channel.
        N, C, HxW: the batch size, the number of channels, and the number of elements of a channel.
        group: the number of groups.
        eps: the number that is added to variances.

    Returns:
        The result; the mean and 1 / standard deviation of each group, (N, group).
    """
    check_groups(input, weight, bias, C, group)
    layout = input.geometry.suggested_memory_format()
    check(
        input.is_contiguous(memory_format=layout), "Expected X.is_contiguous(memory_format) to be true, but got false."
    )
    require_floating("GroupNormKernelImpl", input)
    dtype = statistics_dtype(input, weight, bias)
    check(input.numel() == N * C * HxW, f"Expected {N} x {C} x {HxW} elements, but got shape {list(input.shape)}")
    rows = in_groups(input, N, C, HxW, group)
    mean, rstd = group_statistics(rows, eps)
    scale = rstd if weight is None else rstd * of_groups(weight, group, rstd.dtype)
    shift = -mean * scale
    if bias is not None:
        shift = shift + of_groups(bias, group, shift.dtype)
    normalized = scaled_and_shifted(rows, scale, shift).to(input.dtype)
    output = normalized.view(input.shape).contiguous(memory_format=layout)
    return output, mean.view((N, group)).to(dtype), rstd.view((N, group)).to(dtype)


def through_statistics(rows: Tensor, statistics: Statistics, grads: Sequence[Tensor]) -> Tensor:
    """Return the part of the gradient of ``rows`` that comes from gradients of the mean and of 1 / the standard
    deviation.
    """
    mean, rstd = statistics
    to_mean, to_rstd = (grad.view(mean.shape).to(mean.dtype) / (rows.shape[2] * rows.shape[3]) for grad in grads)
    slope = to_rstd * rstd * rstd * rstd
    return scaled_and_shifted(rows, -slope, to_mean + mean * slope)


@native_group_norm.derivative("input", "weight", "bias")
def native_group_norm_derivative(grads, input, weight, N, C, HxW, group, eps, result1, result2, output_mask):
    wide = precision_of(input.dtype)
    rows = in_groups(input, N, C, HxW, group).to(wide)
    if is_grad_enabled():  # the saved ones are not differentiable
        statistics = group_statistics(rows, eps)
        of_input, to_weight, to_bias = group_gradients(
            grads[0], input, statistics, weight, (N, C, HxW, group), output_mask
        )
    else:
        statistics = Statistics(*(statistic.view((N, group, 1, 1)).to(wide) for statistic in (result1, result2)))
        layout = input.geometry.suggested_memory_format()
        grad, dense = (tensor.contiguous(memory_format=layout) for tensor in (grads[0], input))
        of_input, to_weight, to_bias = native_group_norm_backward(
            grad, dense, result1, result2, weight, N, C, HxW, group, output_mask
        )
    if output_mask[0]:
        of_input = of_input + through_statistics(rows, statistics, grads[1:]).view(input.shape).to(input.dtype)
    return of_input, to_weight, to_bias


def group_gradients(
    grad: Tensor,
    input: Tensor,
    statistics: Statistics,
    weight: Tensor | None,
    sizes: tuple[int, int, int, int],
    mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Return the gradients of input, weight and bias that ``mask`` selects, composed of differentiable operators."""
    wide, dims = precision_of(input.dtype), [2, 3]
    rows, grads = (in_groups(tensor, *sizes).to(wide) for tensor in (input, grad))
    standardized = (rows - statistics.mean) * statistics.rstd
    scaled = grads if weight is None else grads * of_groups(weight, sizes[3], wide)
    of_input = None
    if mask[0]:
        along = standardized * (scaled * standardized).mean(dims, True)
        output = statistics.rstd * (scaled - scaled.mean(dims, True) - along)
        of_input = output.view(input.shape).to(input.dtype)
    to_weight, to_bias = parameter_gradients(standardized, grads, input if weight is None else weight, mask[1:])
    return of_input, to_weight, to_bias


def parameter_gradients(standardized: Tensor, grads: Tensor, like: Tensor, mask: Sequence[bool]) -> tuple[Any, Any]:
    """Return the gradients of weight and bias that ``mask`` selects, in the dtype of ``like``."""
    return (
        (standardized * grads).sum([0, 3]).view((-1,)).to(like.dtype) if mask[0] else None,
        grads.sum([0, 3]).view((-1,)).to(like.dtype) if mask[1] else None,
    )


@op("aten::native_group_norm_backward", kernel=True, tags="core")
def native_group_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    N: SymInt,
    C: SymInt,
    HxW: SymInt,
    group: int,
    output_mask: Annotated[BoolList, Size(3)],
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of ``native_group_norm`` with respect to input, weight and bias that ``output_mask``
    selects.
    """
    asked: Any = output_mask
    check_groups(input, weight, None, C, group)
    layout = input.geometry.suggested_memory_format()
    wide = precision_of(input.dtype)
    grads, rows = (in_groups(tensor, N, C, HxW, group).to(wide) for tensor in (grad_out, input))
    means, deviations = (statistic.view((N, group, 1, 1)).to(wide) for statistic in (mean, rstd))
    to_input: Any = None  # None if not wanted
    if asked[0]:
        scaled = grads if weight is None else grads * of_groups(weight, group, wide)
        input_gradient = layer_norm_input_gradient(scaled, rows, means, deviations, None, 2)
        to_input = input_gradient.view(input.shape).to(input.dtype).contiguous(memory_format=layout)
    standardized = (rows - means) * deviations
    to_weight, to_bias = parameter_gradients(standardized, grads, input if weight is None else weight, asked[1:])
    return to_input, to_weight, to_bias


@op("aten::group_norm")
@traceable
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Normalize each group of channels to mean 0 and variance 1, multiply it by ``weight`` and add ``bias``."""
    check_channels(input)
    batch, channels = input.shape[:2]
    check_groups(input, weight, bias, channels, num_groups)
    size = math.prod(input.shape[2:])
    dense = input.contiguous(memory_format=input.geometry.suggested_memory_format())
    return native_group_norm(dense, weight, bias, batch, channels, size, num_groups, eps)[0]
