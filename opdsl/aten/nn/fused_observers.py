"""Fake quantization with scales from observed data: moving averages of minima and maxima."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

from opdsl.aten.nn.fake_quantization import (
    Quantised,
    by_channel,
    by_tensors,
    fake_quantize_per_tensor_affine_cachemask_backward,
    require_bounds,
)
from opdsl.aten.pointwise.clamping import maximum
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.pointwise.logical import logical_and
from opdsl.aten.reduce.extrema import aminmax
from opdsl.declare import op
from opdsl.errors import DTypeError
from opdsl.kernels import check
from opdsl.runtime import Tensor, bool_, float32, float64
from opdsl.schema import Alias
from opdsl.schema.vocabulary import Name

SMALLEST_SCALE = 6.1e-5
"""Smallest scale, about the smallest normal float16 number; smaller scales are raised to it."""


def observed(self: Tensor, ch_axis: int, per_row: bool) -> tuple[Tensor, Tensor]:
    """Return the minimum and the maximum of each channel, or of all elements."""
    if not per_row:
        low, high = aminmax(self)
        return low.reshape((1,)), high.reshape((1,))
    rows = self.transpose(0, ch_axis).flatten(1) if self.ndim > 1 else self.unsqueeze(1)
    return aminmax(rows, dim=1)


NOTHING_SEEN = (math.inf, -math.inf, 1.0, 0)
"""Initial values of the statistics: minimum, maximum, scale and zero point."""


def averaged(running: Tensor, current: Tensor, constant: float) -> Tensor:
    """Move a running average towards a value; an infinite average has seen no value yet, and is replaced."""
    current = current.reshape(running.shape)
    return where(running.isinf(), current, running + constant * (current - running))


def chosen(low: Tensor, high: Tensor, quant_min: int, quant_max: int, symmetric: bool) -> tuple[Tensor, Tensor]:
    """Return scales and zero points for numbers from ``low`` to ``high`` (``ChooseQuantizationParams`` in
    quant_utils.h).
    """
    steps = quant_max - quant_min
    low, high = low.to(float64), high.to(float64)
    spans = logical_and(low < 0, high > 0)
    if symmetric:
        most = maximum((low / -(steps // 2 + 1)).abs(), (high / (steps // 2)).abs())
        low = where(spans, (most * -(steps // 2 + 1)).to(float32).to(float64), low)
        high = where(spans, (most * (steps // 2)).to(float32).to(float64), high)
    low, high = low.clamp(max=0.0), high.clamp(min=0.0)
    scale = (high - low) / steps
    scale = where(logical_and(scale.to(float32) != 0, scale.to(float32).reciprocal().isfinite()), scale, 0.1)
    is_small, widened = scale < SMALLEST_SCALE, SMALLEST_SCALE / scale
    low, high = (
        where(is_small, where(other == 0, sign * SMALLEST_SCALE * steps, bound * widened), bound)
        for bound, other, sign in ((low, high, -1), (high, low, 1))
    )
    scale = where(is_small, SMALLEST_SCALE, scale)
    from_low, from_high = quant_min - low / scale, quant_max - high / scale
    errors = abs(quant_min) + (low / scale).abs(), abs(quant_max) + (high / scale).abs()
    zero = where(errors[0] < errors[1], from_low, from_high)
    if symmetric:
        zero = where(spans, (quant_min + quant_max) / 2, zero)
    return scale, zero.clamp(quant_min, quant_max).round()


def counted(self: Tensor, ch_axis: int, per_row: bool, statistics: Sequence[Tensor]) -> tuple[int, bool]:
    """Return the number of elements that statistics need, and whether they are empty and have to be resized to it.

    Raises:
        ShapeError, DTypeError: ``ch_axis`` is out of bounds, or the statistics do not fit.
    """
    check(0 <= ch_axis < max(self.ndim, 1), f"expected ch_axis to be a dimension of {list(self.shape)}", got=ch_axis)
    running_min, running_max, *_ = statistics
    if any(tensor.dtype is not float32 for tensor in (self, running_min, running_max)):
        raise DTypeError("_fused_moving_avg_obs_fq_helper: expected float32")
    count = self.shape[ch_axis] if per_row and self.ndim else 1
    is_new = per_row and running_min.numel() == 0
    sizes = [statistic.numel() for statistic in statistics]
    check(is_new or sizes == [count] * 4, f"expected {count} elements of extrema, scale and zero point", got=sizes)
    return count, is_new


@op("aten::_fused_moving_avg_obs_fq_helper")
def helper(
    self: Tensor,
    observer_on: Tensor,
    fake_quant_on: Tensor,
    running_min: Tensor[Alias("a", write=True)],
    running_max: Tensor[Alias("b", write=True)],
    scale: Tensor[Alias("c", write=True)],
    zero_point: Tensor[Alias("d", write=True)],
    averaging_const: float,
    quant_min: int,
    quant_max: int,
    ch_axis: int,
    per_row_fake_quant: bool = False,
    symmetric_quant: bool = False,
) -> tuple[Annotated[Tensor, Name("output")], Annotated[Tensor, Name("mask")]]:
    """Fake-quantize with scales from moving averages of extrema; return also a mask of the numbers within bounds.

    Args:
        self: float32 numbers.
        observer_on, fake_quant_on: whether extrema are observed, and numbers rounded: tensors of one element.
        running_min, running_max: moving averages of the extrema, of each channel or of all elements; empty ones are
            initialized.
        scale, zero_point: the scales and zero points, which are written.
        averaging_const: the weight of new extrema in the averages.
        quant_min, quant_max: the bounds of integers.
        ch_axis: the dimension of the channels.
        per_row_fake_quant: whether there is a scale for each channel.
        symmetric_quant: whether the integers are symmetric about the zero point.
    """
    ...


helper.derivative(self=fake_quantize_per_tensor_affine_cachemask_backward)


@helper.kernel("CPU", "CUDA")
def helper_kernel(
    self,
    observer_on,
    fake_quant_on,
    running_min,
    running_max,
    scale,
    zero_point,
    averaging_const,
    quant_min,
    quant_max,
    ch_axis,
    per_row_fake_quant,
    symmetric_quant,
):
    require_bounds(quant_min, quant_max)
    statistics = running_min, running_max, scale, zero_point
    count, is_new = counted(self, ch_axis, per_row_fake_quant, statistics)
    low, high, factor, zero = (
        statistic.new_full((count,), value) if is_new else statistic
        for statistic, value in zip(statistics, NOTHING_SEEN, strict=True)
    )
    if observer_on.item():
        extrema = observed(self, ch_axis, per_row_fake_quant)
        low, high = (averaged(*tensors, averaging_const) for tensors in zip((low, high), extrema, strict=True))
    if fake_quant_on.item():
        pairs = zip(chosen(low, high, quant_min, quant_max, symmetric_quant), (factor, zero), strict=True)
        factor, zero = (value.reshape(target.shape).to(target.dtype) for value, target in pairs)
        if per_row_fake_quant:
            quantised = by_channel(self, factor, zero, ch_axis, quant_min, quant_max)
        else:
            quantised = by_tensors(self, factor, zero, fake_quant_on, quant_min, quant_max)
    else:
        quantised = Quantised(self.clone(), self.new_ones(self.shape, dtype=bool_))
    for statistic, value in zip(statistics, (low, high, factor, zero), strict=True):  # after all checks
        if is_new:
            statistic.resize_((count,))
        if value is not statistic:
            statistic.copy_(value)
    return quantised


@helper.kernel("Meta")
def helper_meta_kernel(
    self, running_min, running_max, scale, zero_point, quant_min, quant_max, ch_axis, per_row_fake_quant
):
    require_bounds(quant_min, quant_max)
    statistics = running_min, running_max, scale, zero_point
    count, is_new = counted(self, ch_axis, per_row_fake_quant, statistics)
    for statistic in statistics if is_new else ():
        statistic.resize_((count,))
    return Quantised(self.clone(), self.new_ones(self.shape, dtype=bool_))


@op("aten::fused_moving_avg_obs_fake_quant")
def fused_moving_avg_obs_fake_quant(
    self: Tensor,
    observer_on: Tensor,
    fake_quant_on: Tensor,
    running_min: Tensor[Alias("a", write=True)],
    running_max: Tensor[Alias("b", write=True)],
    scale: Tensor[Alias("c", write=True)],
    zero_point: Tensor[Alias("d", write=True)],
    averaging_const: float,
    quant_min: int,
    quant_max: int,
    ch_axis: int,
    per_row_fake_quant: bool = False,
    symmetric_quant: bool = False,
) -> Tensor:
    """Compute ``_fused_moving_avg_obs_fq_helper`` without its mask; return a copy of a tensor without elements."""
    if not self.numel():
        return self.clone()
    return helper(
        self,
        observer_on,
        fake_quant_on,
        running_min,
        running_max,
        scale,
        zero_point,
        averaging_const,
        quant_min,
        quant_max,
        ch_axis,
        per_row_fake_quant,
        symmetric_quant,
    )[0]
