"""Variances and standard deviations."""

from __future__ import annotations

import math
from typing import Annotated, Any

from opdsl.aten.reduce.sums import restore_dims
from opdsl.declare import Out, forward, op
from opdsl.runtime import Tensor
from opdsl.schema import Alias
from opdsl.schema.vocabulary import IntList, Scalar, Size

Dimensions = Annotated[IntList, Size(1)]
Written = Annotated[Tensor, Alias("a", write=True)]

# --------------------------------------------------------------------------------------------------- scalar functions


def one_element(x: float) -> tuple[float, float, float]:
    """The mean, the sum of squared deviations and the number of a single element."""
    return x, 0.0, 1.0


def square(x: float) -> float:
    """The square of the magnitude."""
    return x.real * x.real + x.imag * x.imag


def merge(
    mean: float, deviation: float, count: float, other_mean: float, other_deviation: float, other_count: float
) -> tuple[float, float, float]:
    """Of all elements from those of two parts (Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for
    computing sample variances", 1979)."""
    share = other_count / max(count + other_count, 1.0)
    difference = other_mean - mean
    return (
        mean + difference * share,
        deviation + other_deviation + square(difference) * (count * share),
        count + other_count,
    )


def variance(mean: float, deviation: float, count: float, n: int, correction: float = 1) -> float:
    return deviation / max(count - correction, 0.0)


def standard_deviation(mean: float, deviation: float, count: float, n: int, correction: float = 1) -> float:
    return math.sqrt(variance(mean, deviation, count, n, correction))


def mean_of(mean: float, count: float, n: int) -> float:
    """The mean; NaN of no elements."""
    return mean if n > 0 else mean / count


def variance_and_mean(
    mean: float, deviation: float, count: float, n: int, correction: float = 1
) -> tuple[float, float]:
    return variance(mean, deviation, count, n, correction), mean_of(mean, count, n)


def deviation_and_mean(
    mean: float, deviation: float, count: float, n: int, correction: float = 1
) -> tuple[float, float]:
    return standard_deviation(mean, deviation, count, n, correction), mean_of(mean, count, n)


MOMENTS: dict[str, Any] = {
    "init": (0, 0, 0),
    "lift": one_element,
    "promote": "floating_input",
    # In double precision, so that squares do not overflow.
    "accumulators": ("double", "real_double", "real_double"),
}


# ----------------------------------------------------------------------------------------------------------- var, std

ENTRY: dict[str, Any] = {"tags": "reduction", "device_check": "NoCheck"}
UNBIASED: dict[str, Any] = {**ENTRY, "cpp_no_default_args": ["unbiased"]}
BOTH = "function, method"


@op(
    "aten::var.correction",
    variants=BOTH,
    structured=False,
    out=Out("var.correction_out", explicit=True, **ENTRY),
    **{**ENTRY, "tags": ("core", "reduction")},
)
def var_correction(
    self: Tensor, dim: Dimensions | None = None, *, correction: Scalar | None = None, keepdim: bool = False
) -> Tensor:
    """The sum of squared deviations from the mean along dimensions, divided by the number of elements less
    ``correction`` (1 where None is given)."""
    ...


var_correction.reduction(finish=variance, results=("cast_real",), **MOMENTS)(merge)


def variance_gradient(grad: Tensor, self: Tensor, dim: Any, correction: Any, keepdim: bool) -> Tensor:
    """``2 / (n - correction) * (x - mean)`` times the gradient of a variance."""
    spread = restore_dims(grad, self.ndim, dim, keepdim)
    count = self.numel() // max(spread.numel(), 1)
    divisor = count - (1 if correction is None else correction)
    factor = math.inf if divisor == 0 else 2 / max(divisor, 0) if divisor > 0 else math.inf
    return spread * (self - self.mean(dim, True)) * factor


def deviation_gradient(grad: Tensor, result: Tensor, self: Tensor, dim: Any, correction: Any, keepdim: bool) -> Tensor:
    """The same of a standard deviation; nothing where that is 0."""
    vanishing = result == 0
    for_variance = (grad / (result.masked_fill(vanishing, 1) * 2)).masked_fill(vanishing, 0)
    return variance_gradient(for_variance, self, dim, correction, keepdim)


def mean_gradient(grad: Tensor, self: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """The gradient of a mean that is returned beside."""
    spread = restore_dims(grad, self.ndim, dim, keepdim)
    return spread.expand(self.shape) / max(self.numel() // max(spread.numel(), 1), 1)


var_correction.derivative(
    self=lambda grad, self, dim, correction, keepdim: variance_gradient(grad, self, dim, correction, keepdim),
)


def as_number(unbiased: bool) -> int:
    """How many elements more a variance counts."""
    return int(unbiased)


@var_correction.overload("", variants=BOTH, **UNBIASED)
@forward(var_correction, dim=None, correction=as_number)
def var_all(self: Tensor, unbiased: bool = True) -> Tensor:
    """The variance of all elements, of a sample if ``unbiased``."""


@var_correction.overload(
    "dim",
    variants=BOTH,
    out=Out("var.out", explicit=True, cpp_no_default_args=("unbiased",)),
    **{**UNBIASED, "tags": ("core", "reduction")},
)
@forward(var_correction, correction=as_number)
def var_dim(self: Tensor, dim: Dimensions | None, unbiased: bool = True, keepdim: bool = False) -> Tensor:
    """The variance along dimensions, of a sample if ``unbiased``."""


@op(
    "aten::std.correction",
    variants=BOTH,
    structured=False,
    out=Out("std.correction_out", explicit=True),
    **ENTRY,
)
def std_correction(
    self: Tensor, dim: Dimensions | None = None, *, correction: Scalar | None = None, keepdim: bool = False
) -> Tensor:
    """The square root of the variance along dimensions."""
    ...


std_correction.reduction(finish=standard_deviation, results=("cast_real",), **MOMENTS)(merge)


@std_correction.derivative("self")
def std_derivative(grad, result, self, dim, correction, keepdim):
    return deviation_gradient(grad, result, self, dim, correction, keepdim)


@std_correction.overload("", variants=BOTH, **UNBIASED)
@forward(std_correction, dim=None, correction=as_number)
def std_all(self: Tensor, unbiased: bool = True) -> Tensor:
    """The standard deviation of all elements, of a sample if ``unbiased``."""


@std_correction.overload(
    "dim", variants=BOTH, out=Out("std.out", explicit=True, cpp_no_default_args=("unbiased",)), **UNBIASED
)
@forward(std_correction, correction=as_number)
def std_dim(self: Tensor, dim: Dimensions | None, unbiased: bool = True, keepdim: bool = False) -> Tensor:
    """The standard deviation along dimensions, of a sample if ``unbiased``."""


# ------------------------------------------------------------------------------------------------- var_mean, std_mean


@op("aten::var_mean.correction", variants="function", structured=False, out=True, **ENTRY)
def var_mean_correction(
    self: Tensor, dim: Dimensions | None = None, *, correction: Scalar | None = None, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    """The variance and the mean along dimensions."""
    ...


var_mean_correction.reduction(finish=variance_and_mean, results=("real", "value"), **MOMENTS)(merge)


@var_mean_correction.derivative("self")
def var_mean_derivative(grads, self, dim, correction, keepdim):
    spread = variance_gradient(grads[0], self, dim, correction, keepdim)
    return spread + mean_gradient(grads[1], self, dim, keepdim)


@var_mean_correction.overload("", variants="function", **UNBIASED)
@forward(var_mean_correction, dim=None, correction=as_number)
def var_mean_all(self: Tensor, unbiased: bool = True) -> tuple[Tensor, Tensor]:
    """The variance and the mean of all elements, of a sample if ``unbiased``."""


@var_mean_correction.overload("dim", variants="function", **UNBIASED)
@forward(var_mean_correction, correction=as_number)
def var_mean_dim(
    self: Tensor, dim: Dimensions | None, unbiased: bool = True, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    """The variance and the mean along dimensions, of a sample if ``unbiased``."""


@op("aten::std_mean.correction", variants="function", structured=False, out=True, **ENTRY)
def std_mean_correction(
    self: Tensor, dim: Dimensions | None = None, *, correction: Scalar | None = None, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean along dimensions."""
    ...


std_mean_correction.reduction(finish=deviation_and_mean, results=("real", "value"), **MOMENTS)(merge)


@std_mean_correction.derivative("self")
def std_mean_derivative(grads, result0, self, dim, correction, keepdim):
    spread = deviation_gradient(grads[0], result0, self, dim, correction, keepdim)
    return spread + mean_gradient(grads[1], self, dim, keepdim)


@std_mean_correction.overload("", variants="function", **UNBIASED)
@forward(std_mean_correction, dim=None, correction=as_number)
def std_mean_all(self: Tensor, unbiased: bool = True) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean of all elements, of a sample if ``unbiased``."""


@std_mean_correction.overload("dim", variants="function", **UNBIASED)
@forward(std_mean_correction, correction=as_number)
def std_mean_dim(
    self: Tensor, dim: Dimensions | None, unbiased: bool = True, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean along dimensions, of a sample if ``unbiased``."""
