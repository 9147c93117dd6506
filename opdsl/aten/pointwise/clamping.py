"""The larger and the smaller of two elements, and elements held between bounds."""

from __future__ import annotations

import math
from typing import Any

from opdsl import primitives
from opdsl.aten._shared.entries import CORE_UNARY, UNARY
from opdsl.aten._shared.scalars import larger, smaller
from opdsl.aten.pointwise.comparison import where
from opdsl.declare import Inplace, Out, formula, op
from opdsl.kernels import check
from opdsl.runtime import Tensor
from opdsl.schema.vocabulary import Scalar

ORDERED = ("integer", "floating")


EXTREMUM: dict[str, Any] = {"variants": "method, function", "tags": "pointwise", "out": True}


@op("aten::maximum", **{**EXTREMUM, "tags": ("core", "pointwise")})
@formula
def maximum(self: Tensor, other: Tensor) -> Tensor:
    """The larger of two elements; NaN if either is NaN."""
    return primitives.maximum(self, other)


@op("aten::minimum", **{**EXTREMUM, "tags": ("core", "pointwise")})
@formula
def minimum(self: Tensor, other: Tensor) -> Tensor:
    """The smaller of two elements; NaN if either is NaN."""
    return primitives.minimum(self, other)


fmax_elements = primitives.elements(lambda one, other: one if one >= other or math.isnan(other) else other)


@op("aten::fmax", **EXTREMUM)
@formula
def fmax(self: Tensor, other: Tensor) -> Tensor:
    """The larger of two elements; beside NaN the other one."""
    return fmax_elements(self, other)


fmin_elements = primitives.elements(lambda one, other: one if one <= other or math.isnan(other) else other)


@op("aten::fmin", **EXTREMUM)
@formula
def fmin(self: Tensor, other: Tensor) -> Tensor:
    """The smaller of two elements; beside NaN the other one."""
    return fmin_elements(self, other)


NO_DEFAULT = ("min",)

CLAMP: dict[str, Any] = {
    **CORE_UNARY,
    "cpp_no_default_args": NO_DEFAULT,
    "inplace": Inplace(cpp_no_default_args=NO_DEFAULT),
    "out": Out(cpp_no_default_args=NO_DEFAULT),
}
"""What the entry of ``clamp`` says."""

BOUNDED: dict[str, Any] = {**UNARY, "device_check": "ExactSame", "out": Out(device_check="NoCheck")}
"""What the entries say of overloads whose bounds are tensors."""


def check_bounds(ctx, min, max):
    """That there is a bound."""
    check(min is not None or max is not None, "torch.clamp: At least one of 'min' or 'max' must not be None")


def lower(self: Any, min: Any) -> Any:
    """``self``, or the bound where that is larger."""
    return larger(min, self)


def upper(self: Any, max: Any) -> Any:
    """``self``, or the bound where that is smaller."""
    return smaller(max, self)


def between(self: Any, min: Any, max: Any) -> Any:
    """``self`` between two bounds; the upper one where they are in the wrong order."""
    raised = self if min is None else lower(self, min)
    return raised if max is None else upper(raised, max)


clamp_elements = primitives.elements(between, promoting=("min", "max"), dtypes=ORDERED)


@op("aten::clamp", **CLAMP)
@formula
def clamp(self: Tensor, min: Scalar | None = None, max: Scalar | None = None) -> Tensor:
    """Every element, or the bound that it lies beyond."""
    return clamp_elements(self, min, max)


clamp.meta(reads_numbers=False)(check_bounds)


def within(self: Tensor, min: Any, max: Any) -> Tensor:
    """Return whether elements are between bounds; the bounds themselves are."""
    inside = self == self if min is None else self >= min
    return inside if max is None else inside.logical_and(self <= max)


# At a bound all of the gradient passes, as in PyTorch.
clamp.derivative(self=lambda grad, self, min, max: where(within(self, min, max), grad, 0.0))


clamp_tensors_elements = primitives.elements(between, dtypes=ORDERED)


@clamp.overload("Tensor", **{**BOUNDED, "tags": ("core", "pointwise")})
@formula
def clamp_tensors(self: Tensor, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
    """Every element, or the bound that it lies beyond, each its own."""
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
    """Every element, or the bound where that is larger."""
    return clamp_min_elements(self, min)


clamp_min.derivative(self=lambda grad, self, min: where(self >= min, grad, 0.0))


@op("aten::clamp_min.Tensor", **BOUNDED)
@formula
def clamp_min_tensor(self: Tensor, min: Tensor) -> Tensor:
    """Every element, or its bound where that is larger."""
    return primitives.maximum(min, self)


clamp_min_tensor.derivative(
    self=lambda grad, self, min: where(self >= min, grad, 0.0), min=lambda grad, self, min: where(self < min, grad, 0.0)
)


clamp_max_elements = primitives.elements(upper, promoting="max", dtypes=ORDERED)


@op("aten::clamp_max", **UNARY)
@formula
def clamp_max(self: Tensor, max: Scalar) -> Tensor:
    """Every element, or the bound where that is smaller."""
    return clamp_max_elements(self, max)


clamp_max.derivative(self=lambda grad, self, max: where(self <= max, grad, 0.0))


@op("aten::clamp_max.Tensor", **BOUNDED)
@formula
def clamp_max_tensor(self: Tensor, max: Tensor) -> Tensor:
    """Every element, or its bound where that is smaller."""
    return primitives.minimum(max, self)


clamp_max_tensor.derivative(
    self=lambda grad, self, max: where(self <= max, grad, 0.0), max=lambda grad, self, max: where(self > max, grad, 0.0)
)
