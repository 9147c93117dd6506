"""Pointwise maximum and minimum of two tensors, and clamping of elements to bounds."""

from __future__ import annotations

import math
from typing import Any

from opdsl import primitives
from opdsl.aten._shared.entries import CORE_UNARY, UNARY
from opdsl.aten._shared.scalars import larger, smaller
from opdsl.aten.pointwise.comparison import where
from opdsl.declare import formula, op
from opdsl.kernels import check
from opdsl.runtime import Tensor
from opdsl.schema.vocabulary import Scalar

ORDERED = ("integer", "floating")


EXTREMUM: dict[str, Any] = {"variants": "method, function", "tags": "pointwise", "out": True}


@op("aten::maximum", **{**EXTREMUM, "tags": ("core", "pointwise")})
@formula
def maximum(self: Tensor, other: Tensor) -> Tensor:
    """Return the larger of two elements; NaN if either is NaN."""
    return primitives.maximum(self, other)


@op("aten::minimum", **{**EXTREMUM, "tags": ("core", "pointwise")})
@formula
def minimum(self: Tensor, other: Tensor) -> Tensor:
    """Return the smaller of two elements; NaN if either is NaN."""
    return primitives.minimum(self, other)


fmax_elements = primitives.elements(lambda one, other: one if one >= other or math.isnan(other) else other)


@op("aten::fmax", **EXTREMUM)
@formula
def fmax(self: Tensor, other: Tensor) -> Tensor:
    """Return the larger of two elements; if one is NaN, the other one."""
    return fmax_elements(self, other)


fmin_elements = primitives.elements(lambda one, other: one if one <= other or math.isnan(other) else other)


@op("aten::fmin", **EXTREMUM)
@formula
def fmin(self: Tensor, other: Tensor) -> Tensor:
    """Return the smaller of two elements; if one is NaN, the other one."""
    return fmin_elements(self, other)


CLAMP: dict[str, Any] = {**CORE_UNARY, "inplace": True, "out": True}
"""Options of ``op`` for ``clamp``."""

BOUNDED: dict[str, Any] = {**UNARY, "out": True}
"""Options of ``op`` for overloads whose bounds are tensors."""


def check_bounds(ctx, min, max):
    """Check that ``clamp`` gets at least one bound. Raises ShapeError: it gets none."""
    check(min is not None or max is not None, "torch.clamp: At least one of 'min' or 'max' must not be None")


def lower(self: Any, min: Any) -> Any:
    """Return the larger of a number and its lower bound."""
    return larger(min, self)


def upper(self: Any, max: Any) -> Any:
    """Return the smaller of a number and its upper bound."""
    return smaller(max, self)


def between(self: Any, min: Any, max: Any) -> Any:
    """Return a number clamped to two bounds, of which either may be None; the upper bound if it is below the lower
    one.
    """
    raised = self if min is None else lower(self, min)
    return raised if max is None else upper(raised, max)


clamp_elements = primitives.elements(between, promoting=("min", "max"), dtypes=ORDERED)


@op("aten::clamp", **CLAMP)
@formula
def clamp(self: Tensor, min: Scalar | None = None, max: Scalar | None = None) -> Tensor:
    """Return the elements clamped to the range from ``min`` to ``max``."""
    return clamp_elements(self, min, max)


clamp.meta(reads_numbers=False)(check_bounds)


def within(self: Tensor, min: Any, max: Any) -> Tensor:
    """Return a mask of the elements between two bounds, both included."""
    inside = self == self if min is None else self >= min
    return inside if max is None else inside.logical_and(self <= max)


# An element equal to a bound gets the whole gradient, as in PyTorch.
clamp.derivative(self=lambda grad, self, min, max: where(within(self, min, max), grad, 0.0))


clamp_tensors_elements = primitives.elements(between, dtypes=ORDERED)


@clamp.overload("Tensor", **{**BOUNDED, "tags": ("core", "pointwise")})
@formula
def clamp_tensors(self: Tensor, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
    """Return the elements clamped to the range from ``min`` to ``max``, with bounds for each element."""
    return clamp_tensors_elements(self, min, max)


clamp_tensors.meta(reads_numbers=False)(check_bounds)
clamp_tensors.derivative(self=lambda grad, self, min, max: where(within(self, min, max), grad, 0.0))


@clamp_tensors.derivative("min")
def clamp_tensors_min_derivative(grad, self, min, max):
    below = self < min
    return where(below if max is None else below.logical_and(min < max), grad, 0.0)


@clamp_tensors.derivative("max")
def clamp_tensors_max_derivative(grad, self, min, max):
    above = self > max
    return where(above if min is None else above.logical_or(max < min), grad, 0.0)


clamp_min_elements = primitives.elements(lower, promoting="min", dtypes=ORDERED)


@op("aten::clamp_min", **UNARY)
@formula
def clamp_min(self: Tensor, min: Scalar) -> Tensor:
    """Return the elements, or ``min`` where that is larger."""
    return clamp_min_elements(self, min)


clamp_min.derivative(self=lambda grad, self, min: where(self >= min, grad, 0.0))


@op("aten::clamp_min.Tensor", **BOUNDED)
@formula
def clamp_min_tensor(self: Tensor, min: Tensor) -> Tensor:
    """Return the elements, or the element of ``min`` where that is larger."""
    return primitives.maximum(min, self)


clamp_min_tensor.derivative(
    self=lambda grad, self, min: where(self >= min, grad, 0.0), min=lambda grad, self, min: where(self < min, grad, 0.0)
)


clamp_max_elements = primitives.elements(upper, promoting="max", dtypes=ORDERED)


@op("aten::clamp_max", **UNARY)
@formula
def clamp_max(self: Tensor, max: Scalar) -> Tensor:
    """Return the elements, or ``max`` where that is smaller."""
    return clamp_max_elements(self, max)


clamp_max.derivative(self=lambda grad, self, max: where(self <= max, grad, 0.0))


@op("aten::clamp_max.Tensor", **BOUNDED)
@formula
def clamp_max_tensor(self: Tensor, max: Tensor) -> Tensor:
    """Return the elements, or the element of ``max`` where that is smaller."""
    return primitives.minimum(max, self)


clamp_max_tensor.derivative(
    self=lambda grad, self, max: where(self <= max, grad, 0.0), max=lambda grad, self, max: where(self > max, grad, 0.0)
)
