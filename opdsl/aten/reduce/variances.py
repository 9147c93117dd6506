"""Variances and standard deviations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

from opdsl.aten.reduce.sums import restore_dims
from opdsl.declare import Library, Out, Row
from opdsl.runtime import Tensor
from opdsl.schema.vocabulary import IntList, Size

lib = Library("aten")

Dimensions = Annotated[IntList, Size(1)]

# --------------------------------------------------------------------------------------------------- scalar functions


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


MOMENTS: dict[str, Any] = {
    "init": (0, 0, 0),
    # The mean, the sum of squared deviations and the number of a single element.
    "lift": lambda x: (x, 0.0, 1.0),
    "promote": "floating_input",
    # In double precision, so that squares do not overflow.
    "accumulators": ("double", "real_double", "real_double"),
}


# ----------------------------------------------------------------------------------------------------------- gradients


def variance_gradient(grad: Tensor, self: Tensor, dim: Any, correction: Any, keepdim: bool) -> Tensor:
    """``2 / (n - correction) * (x - mean)`` times the gradient of a variance."""
    spread = restore_dims(grad, self.ndim, dim, keepdim)
    count = self.numel() // max(spread.numel(), 1)
    divisor = count - (1 if correction is None else correction)
    return spread * (self - self.mean(dim, True)) * (2 / divisor if divisor > 0 else math.inf)


def deviation_gradient(grad: Tensor, result: Tensor, self: Tensor, dim: Any, correction: Any, keepdim: bool) -> Tensor:
    """The same of a standard deviation; nothing where that is 0."""
    vanishing = result == 0
    for_variance = (grad / (result.masked_fill(vanishing, 1) * 2)).masked_fill(vanishing, 0)
    return variance_gradient(for_variance, self, dim, correction, keepdim)


def mean_gradient(grad: Tensor, self: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """The gradient of a mean that is returned beside."""
    spread = restore_dims(grad, self.ndim, dim, keepdim)
    return spread.expand(self.shape) / max(self.numel() // max(spread.numel(), 1), 1)


# --------------------------------------------------------------------------------------- var, std, var_mean, std_mean

ENTRY: dict[str, Any] = {"tags": "reduction", "device_check": "NoCheck"}
CORE: dict[str, Any] = {**ENTRY, "tags": ("core", "reduction")}
BOTH = "function, method"


def as_number(unbiased: bool) -> int:
    """How many elements more a variance counts."""
    return int(unbiased)


def declare_moments(
    name: str, text: str, doc: str, finish: Any, gradient: Any, *, entry: Mapping[str, Any] = ENTRY, mean: bool = False
) -> Any:
    """Declare a moment by its correction, and by whether the elements are a sample: of all, and along dimensions.

    Args:
        name: of the packet.
        text: what it is.
        doc: what documents it by its correction.
        finish: the scalar function that makes results.
        gradient: the formula.
        entry: what the entries say for dimensions.
        mean: whether the mean is returned beside.

    Returns:
        The operator by its correction.
    """
    returns, results = ("(Tensor, Tensor)", ("real", "value")) if mean else ("Tensor", ("cast_real",))
    unbiased: dict[str, Any] = {"cpp_no_default_args": ["unbiased"]}
    corrected = "int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False"
    by_correction, of_all, along = lib.table(
        {
            f"{name}.correction(Tensor self, {corrected}) -> {returns}": Row(
                doc, structured=False, out=mean or Out(f"{name}.correction_out", explicit=True), **entry
            ),
            f"{name}(Tensor self, bool unbiased=True) -> {returns}": Row(
                f"The {text} of all elements, of a sample if ``unbiased``.", **unbiased, **ENTRY
            ),
            f"{name}.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> {returns}": Row(
                f"The {text} along dimensions, of a sample if ``unbiased``.",
                out=not mean and Out(f"{name}.out", explicit=True, cpp_no_default_args=("unbiased",)),
                **unbiased,
                **entry,
            ),
        },
        variants="function" if mean else BOTH,
    ).values()
    by_correction.reduction(finish=finish, results=results, **MOMENTS)(merge)
    by_correction.derivative("self")(gradient)
    of_all.forward(by_correction, dim=None, correction=as_number)
    along.forward(by_correction, correction=as_number)
    return by_correction


declare_moments(
    "var",
    "variance",
    "The sum of squared deviations from the mean along dimensions, divided by the number of elements less\n    "
    "``correction`` (1 where None is given).",
    variance,
    variance_gradient,
    entry=CORE,
)
declare_moments(
    "std",
    "standard deviation",
    "The square root of the variance along dimensions.",
    standard_deviation,
    deviation_gradient,
)
var_mean_correction = declare_moments(
    "var_mean",
    "variance and the mean",
    "The variance and the mean along dimensions.",
    lambda mean, deviation, count, n, correction=1: (
        variance(mean, deviation, count, n, correction),
        mean_of(mean, count, n),
    ),
    lambda grads, self, dim, correction, keepdim: (
        variance_gradient(grads[0], self, dim, correction, keepdim) + mean_gradient(grads[1], self, dim, keepdim)
    ),
    mean=True,
)
declare_moments(
    "std_mean",
    "standard deviation and the mean",
    "The standard deviation and the mean along dimensions.",
    lambda mean, deviation, count, n, correction=1: (
        standard_deviation(mean, deviation, count, n, correction),
        mean_of(mean, count, n),
    ),
    lambda grads, result0, self, dim, correction, keepdim: (
        deviation_gradient(grads[0], result0, self, dim, correction, keepdim)
        + mean_gradient(grads[1], self, dim, keepdim)
    ),
    mean=True,
)
