"""Fake quantization: rounding to numbers that integers with a scale can represent, for quantization-aware training."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from opdsl.aten.pointwise.comparison import where
from opdsl.aten.pointwise.logical import logical_and, logical_or
from opdsl.declare import forward, op
from opdsl.kernels import check
from opdsl.runtime import Tensor
from opdsl.schema.vocabulary import Name


class Quantised(NamedTuple):
    """Results of fake quantization: the rounded numbers, and a mask of those whose integers are within bounds."""

    output: Tensor
    mask: Tensor


def quantised(self: Tensor, scale: float | Tensor, zero_point: float | Tensor) -> Tensor:
    """Return the integers that represent numbers, in a floating dtype and not yet clamped to the bounds."""
    inverse = 1.0 / scale if isinstance(scale, Tensor) or scale else math.inf
    return (self * inverse).round() + zero_point


def restored(integers: Tensor, scale: float | Tensor, zero_point: float | Tensor, low: int, high: int) -> Tensor:
    """Return the numbers that integers represent, after clamping the integers to ``low`` and ``high``."""
    return (integers.clamp(low, high) - zero_point) * scale


def within(integers: Tensor, low: int, high: int) -> Tensor:
    """Return a mask of the integers that are within bounds."""
    return logical_and(integers >= low, integers <= high)


def require_bounds(quant_min: int, quant_max: int, zero_point: int = 0) -> None:
    """Check that ``quant_min`` is at most ``quant_max``, and a nonzero zero point between them.

    Raises:
        ShapeError: the bounds are not in order, or the zero point is outside.
    """
    check(quant_min <= quant_max, "`quant_min` should be less than or equal to `quant_max`.")
    check(
        quant_min <= zero_point <= quant_max or not zero_point,
        "`zero_point` must be between `quant_min` and `quant_max`.",
    )


def along(values: Tensor, like: Tensor, axis: int) -> Tensor:
    """Check a vector with a number per channel, and reshape it to broadcast to ``like`` along dimension ``axis``."""
    check(
        values.ndim == 1 and -like.ndim <= axis < like.ndim and values.shape[0] == like.shape[axis],
        f"expected a number for each of the channels along dimension {axis} of {list(like.shape)}, but got "
        f"{list(values.shape)}",
    )
    return values.view([-1 if index == axis % like.ndim else 1 for index in range(like.ndim)])


PER_TENSOR, PER_CHANNEL = (f"fake_quantize_per_{name}_affine" for name in ("tensor", "channel"))


@op("aten::fake_quantize_per_tensor_affine_cachemask_backward")
def fake_quantize_per_tensor_affine_cachemask_backward(grad: Tensor, mask: Tensor) -> Tensor:
    """Return the gradient of ``fake_quantize_per_tensor_affine_cachemask``, 0 where integers were out of bounds."""
    return grad * mask


@op("aten::fake_quantize_per_channel_affine_cachemask_backward")
def _backward_by_channel(grad: Tensor, mask: Tensor) -> Tensor:
    """Return the gradient of ``fake_quantize_per_channel_affine_cachemask``, 0 where integers were out of bounds."""
    return grad * mask


@op("aten::fake_quantize_per_tensor_affine_cachemask", kernel=True)
def _by_numbers(
    self: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int
) -> tuple[Annotated[Tensor, Name("output")], Annotated[Tensor, Name("mask")]]:
    """Round to numbers that integers from ``quant_min`` to ``quant_max`` represent; return also a mask of those within
    bounds.
    """
    require_bounds(quant_min, quant_max, zero_point)
    integers = quantised(self, scale, zero_point)
    output = restored(integers, scale, zero_point, quant_min, quant_max)
    return Quantised(output, within(integers, quant_min, quant_max))


_by_numbers.derivative(self=fake_quantize_per_tensor_affine_cachemask_backward)


@op("aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", kernel=True)
def by_tensors(
    self: Tensor, scale: Tensor, zero_point: Tensor, fake_quant_enabled: Tensor, quant_min: int, quant_max: int
) -> tuple[Annotated[Tensor, Name("output")], Annotated[Tensor, Name("mask")]]:
    """Compute ``fake_quantize_per_tensor_affine_cachemask`` with scale and zero point in tensors, if it is enabled."""
    require_bounds(quant_min, quant_max)
    integers = quantised(self, scale, zero_point)
    output, mask = restored(integers, scale, zero_point, quant_min, quant_max), within(integers, quant_min, quant_max)
    whole = where(fake_quant_enabled != 0, output, self).to(self.dtype)
    return Quantised(whole, logical_or(mask, fake_quant_enabled == 0))


by_tensors.derivative(self=fake_quantize_per_tensor_affine_cachemask_backward)


@op("aten::fake_quantize_per_channel_affine_cachemask", kernel=True)
def by_channel(
    self: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> tuple[Annotated[Tensor, Name("output")], Annotated[Tensor, Name("mask")]]:
    """Compute ``fake_quantize_per_tensor_affine_cachemask`` with a scale and a zero point for each channel."""
    require_bounds(quant_min, quant_max)
    step, zero = along(scale, self, axis), along(zero_point, self, axis)
    integers = quantised(self, step, zero)
    output = restored(integers, step, zero, quant_min, quant_max).to(self.dtype)
    return Quantised(output, within(integers, quant_min, quant_max))


by_channel.derivative(self=_backward_by_channel)


@op("aten::fake_quantize_per_tensor_affine")
@forward(_by_numbers, result=0)
def fake_quantize_per_tensor_affine(
    self: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int
) -> Tensor:
    """Compute ``fake_quantize_per_tensor_affine_cachemask`` without its mask."""


@op("aten::fake_quantize_per_tensor_affine.tensor_qparams")
@forward(by_tensors, fake_quant_enabled=lambda scale: scale.new_ones((1,)), result=0)
def fake_quantize_per_tensor_affine_tensor_qparams(
    self: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int
) -> Tensor:
    """Compute ``fake_quantize_per_tensor_affine`` with a scale and a zero point in tensors."""


@op("aten::fake_quantize_per_channel_affine")
@forward(by_channel, result=0)
def fake_quantize_per_channel_affine(
    self: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """Compute ``fake_quantize_per_channel_affine_cachemask`` without its mask."""


# ------------------------------------------------------------------------------------------------------- learned scales


def rounded_zero(zero_point: Tensor, low: int, high: int) -> Tensor:
    """Round a learned zero point to an integer within bounds, halves to even."""
    return zero_point.round().clamp(low, high)


def learned(self: Tensor, scale: Tensor, zero: Tensor, low: int, high: int) -> Tensor:
    """Compute fake quantization with a learned scale and a rounded zero point."""
    require_bounds(low, high)
    return restored(quantised(self, scale, zero), scale, zero, low, high).to(self.dtype)


def gradients_of_learned(
    grad: Tensor, self: Tensor, scale: Tensor, zero: Tensor, low: int, high: int, factor: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradient of the input, and elementwise terms of the gradients of scale and zero point (Bhalgat et al.
    2020).
    """
    integers = quantised(self, scale, zero)
    inside = within(integers, low, high)
    of_scale = where(
        inside,
        (restored(integers, scale, zero, low, high) - self) / scale,
        where(integers < low, low - zero, high - zero),
    )
    return grad * inside, grad * of_scale * factor, where(inside, 0.0, -grad * scale * factor)


_TENSOR, _CHANNEL = (f"_fake_quantize_learnable_per_{name}_affine" for name in ("tensor", "channel"))


@op("aten::_fake_quantize_learnable_per_tensor_affine", kernel=True)
def _fake_quantize_learnable_per_tensor_affine(
    self: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int, grad_factor: float = 1.0
) -> Tensor:
    """Compute ``fake_quantize_per_tensor_affine`` with a learned scale and zero point."""
    return learned(self, scale, rounded_zero(zero_point, quant_min, quant_max), quant_min, quant_max)


@op("aten::_fake_quantize_learnable_per_tensor_affine_backward")
def _fake_quantize_learnable_per_tensor_affine_backward(
    grad: Tensor,
    self: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of ``_fake_quantize_learnable_per_tensor_affine``: of input, scale and zero point."""
    zero = rounded_zero(zero_point, quant_min, quant_max)
    gradients = gradients_of_learned(grad, self, scale, zero, quant_min, quant_max, grad_factor)
    return gradients[0], gradients[1].sum().view((1,)), gradients[2].sum().view((1,))


@op("aten::_fake_quantize_learnable_per_channel_affine", kernel=True)
def _fake_quantize_learnable_per_channel_affine(
    self: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int, grad_factor: float = 1.0
) -> Tensor:
    """Compute ``fake_quantize_per_channel_affine`` with learned scales and zero points."""
    zero = rounded_zero(along(zero_point, self, axis), quant_min, quant_max)
    return learned(self, along(scale, self, axis), zero, quant_min, quant_max)


@op("aten::_fake_quantize_learnable_per_channel_affine_backward")
def _fake_quantize_learnable_per_channel_affine_backward(
    grad: Tensor,
    self: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    axis: int,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of ``_fake_quantize_learnable_per_channel_affine``: of input, scales and zero points."""
    zero = rounded_zero(along(zero_point, self, axis), quant_min, quant_max)
    gradients = gradients_of_learned(grad, self, along(scale, self, axis), zero, quant_min, quant_max, grad_factor)
    dims = [index for index in range(self.ndim) if index != axis % self.ndim]
    of_scale, of_zero = (gradient.sum(dims) if dims else gradient for gradient in gradients[1:])
    return gradients[0], of_scale, of_zero


_fake_quantize_learnable_per_tensor_affine.derivative("self", "scale", "zero_point")(
    _fake_quantize_learnable_per_tensor_affine_backward
)
_fake_quantize_learnable_per_channel_affine.derivative("self", "scale", "zero_point")(
    _fake_quantize_learnable_per_channel_affine_backward
)
