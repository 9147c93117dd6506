"""Reductions to variances and standard deviations: ``var``, ``std``, ``var_mean``, ``std_mean``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, cast

from opdsl import primitives
from opdsl.aten._shared.entries import documented
from opdsl.aten.reduce.sums import restore_dims
from opdsl.declare import Out, formula, forward, op
from opdsl.runtime import Tensor
from opdsl.schema.vocabulary import IntList, Scalar, Size

Dimensions = Annotated[IntList, Size(1)]

# ----------------------------------------------------------------------------------------------------- scalar functions


def square(x: float) -> float:
    """Return the square of a number's magnitude."""
    return x.real * x.real + x.imag * x.imag


def merge(
    mean: float, deviation: float, count: float, other_mean: float, other_deviation: float, other_count: float
) -> tuple[float, float, float]:
    """Merge the means, sums of squared deviations and counts of two sets of elements into those of both together.

    The formulas are from Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
    variances", 1979.
    """
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
    """Return the mean, or NaN if there are no elements."""
    return mean if n > 0 else mean / count


MOMENTS: dict[str, Any] = {
    "init": (0, 0, 0),
    # The mean, the sum of squared deviations and the count of a single element.
    "lift": lambda x: (x, 0.0, 1.0),
    "promote": "floating_input",
    # In double precision, so that squares do not overflow.
    "accumulators": ("double", "real_double", "real_double"),
}


# ------------------------------------------------------------------------------------------------------------ gradients


def variance_gradient(grad: Tensor, self: Tensor, dim: Any, correction: Any, keepdim: bool) -> Tensor:
    """Return the gradient of a variance: ``grad * 2 / (n - correction) * (x - mean)``."""
    spread = restore_dims(grad, self.ndim, dim, keepdim)
    count = self.numel() // max(spread.numel(), 1)
    divisor = count - (1 if correction is None else correction)
    return spread * (self - self.mean(dim, True)) * (2 / divisor if divisor > 0 else math.inf)


def deviation_gradient(grad: Tensor, result: Tensor, self: Tensor, dim: Any, correction: Any, keepdim: bool) -> Tensor:
    """Return the gradient of a standard deviation; 0 where the deviation is 0."""
    vanishing = result == 0
    for_variance = (grad / (result.masked_fill(vanishing, 1) * 2)).masked_fill(vanishing, 0)
    return variance_gradient(for_variance, self, dim, correction, keepdim)


def mean_gradient(grad: Tensor, self: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """Return the gradient of the mean that ``var_mean`` or ``std_mean`` returns."""
    spread = restore_dims(grad, self.ndim, dim, keepdim)
    return spread.expand(self.shape) / max(self.numel() // max(spread.numel(), 1), 1)


# ----------------------------------------------------------------------------------------- var, std, var_mean, std_mean

ENTRY: dict[str, Any] = {"tags": "reduction"}
CORE: dict[str, Any] = {**ENTRY, "tags": ("core", "reduction")}
BOTH = "function, method"


def as_number(unbiased: bool) -> int:
    """Return the correction of a variance, which is subtracted from the number of elements: 1 if ``unbiased``, else
    0.
    """
    return int(unbiased)


def declare_moment(name: str, text: str, doc: str, finish: Any, gradient: Any, entry: Mapping[str, Any]) -> None:
    """Declare ``var`` or ``std``, with overloads by ``correction`` and by ``unbiased``, of all elements and along
    dimensions.

    Args:
        name: of the packet.
        text: the name of the statistic, for docstrings.
        doc: the docstring of the overload with ``correction``.
        finish: the scalar function that computes the result.
        gradient: the derivative formula.
        entry: options of the overloads with dimensions.
    """
    moments = primitives.fold(merge, finish=finish, results=("cast_real",), **MOMENTS)
    given_out = Out(f"{name}.correction_out")

    @op(f"aten::{name}.correction", variants=BOTH, out=given_out, **entry)
    @documented(doc)
    @formula
    def by_correction(
        self: Tensor, dim: Dimensions | None = None, *, correction: Scalar | None = None, keepdim: bool = False
    ) -> Tensor:
        return moments(self, dim, correction=correction, keepdim=keepdim)

    @op(f"aten::{name}", variants=BOTH, **ENTRY)
    @forward(by_correction, dim=None, correction=as_number)
    @documented(f"Return the {text} of all elements, estimated from a sample if ``unbiased``.")
    def of_all(self: Tensor, unbiased: bool = True) -> Tensor: ...

    along_out = Out(f"{name}.out")

    @op(f"aten::{name}.dim", variants=BOTH, out=along_out, **entry)
    @forward(by_correction, correction=as_number)
    @documented(f"Return the {text} along dimensions, estimated from a sample if ``unbiased``.")
    def along(self: Tensor, dim: Dimensions | None, unbiased: bool = True, keepdim: bool = False) -> Tensor: ...

    by_correction.derivative("self")(gradient)


def declare_moment_and_mean(name: str, text: str, doc: str, finish: Any, gradient: Any) -> Any:
    """Declare ``var_mean`` or ``std_mean``; for the arguments see ``declare_moment``.

    Returns:
        The overload with ``correction``.
    """
    moments = primitives.fold(merge, finish=finish, results=("real", "value"), **MOMENTS)

    @op(f"aten::{name}.correction", variants="function", out=True, **ENTRY)
    @documented(doc)
    @formula
    def by_correction(
        self: Tensor, dim: Dimensions | None = None, *, correction: Scalar | None = None, keepdim: bool = False
    ) -> tuple[Tensor, Tensor]:
        return cast("tuple[Tensor, Tensor]", moments(self, dim, correction=correction, keepdim=keepdim))

    @op(f"aten::{name}", variants="function", **ENTRY)
    @forward(by_correction, dim=None, correction=as_number)
    @documented(f"Return the {text} of all elements, estimated from a sample if ``unbiased``.")
    def of_all(self: Tensor, unbiased: bool = True) -> tuple[Tensor, Tensor]: ...

    @op(f"aten::{name}.dim", variants="function", **ENTRY)
    @forward(by_correction, correction=as_number)
    @documented(f"Return the {text} along dimensions, estimated from a sample if ``unbiased``.")
    def along(
        self: Tensor, dim: Dimensions | None, unbiased: bool = True, keepdim: bool = False
    ) -> tuple[Tensor, Tensor]: ...

    by_correction.derivative("self")(gradient)
    return by_correction


declare_moment(
    "var",
    "variance",
    "Return the variance along dimensions: the sum of squared deviations from the mean, divided by the number of\n    "
    "elements minus ``correction`` (1 for None).",
    variance,
    variance_gradient,
    CORE,
)
declare_moment(
    "std",
    "standard deviation",
    "Return the standard deviation along dimensions: the square root of the variance.",
    standard_deviation,
    deviation_gradient,
    ENTRY,
)

var_mean_correction = declare_moment_and_mean(
    "var_mean",
    "variance and the mean",
    "Return the variance and the mean along dimensions.",
    lambda mean, deviation, count, n, correction=1: (
        variance(mean, deviation, count, n, correction),
        mean_of(mean, count, n),
    ),
    lambda grads, self, dim, correction, keepdim: (
        variance_gradient(grads[0], self, dim, correction, keepdim) + mean_gradient(grads[1], self, dim, keepdim)
    ),
)
declare_moment_and_mean(
    "std_mean",
    "standard deviation and the mean",
    "Return the standard deviation and the mean along dimensions.",
    lambda mean, deviation, count, n, correction=1: (
        standard_deviation(mean, deviation, count, n, correction),
        mean_of(mean, count, n),
    ),
    lambda grads, result0, self, dim, correction, keepdim: (
        deviation_gradient(grads[0], result0, self, dim, correction, keepdim)
        + mean_gradient(grads[1], self, dim, keepdim)
    ),
)
