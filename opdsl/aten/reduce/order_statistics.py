"""Order statistics along a dimension: ``median``, ``mode``, ``quantile``.

The rules are those of ATen/native/Sorting.cpp.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from opdsl.aten._shared.checks import CONVERT, holds, is_ordered, require_kernel
from opdsl.aten._shared.sharing import shared
from opdsl.aten.create.like_factories import full_like
from opdsl.aten.create.ranges import arange
from opdsl.aten.index.sorting import sort, sort_stable
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.reduce.extrema import ValuesAndIndices, selected_derivative
from opdsl.aten.shape.joining import cat
from opdsl.declare import Out, forward, op
from opdsl.errors import DimensionError, DTypeError
from opdsl.kernels import check, step
from opdsl.runtime import Array, Tensor, cpu, float32, float64, int64, wrap_dimension
from opdsl.schema.spelling import spelled

BOTH = "function, method"
LINEAR = spelled("linear", "'linear'")
INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")

# Up to this length float32 represents all indices.
_LONGEST = 1 << 24


def require_elements(operator: str, self: Tensor, place: int) -> None:
    """Check that a dimension to reduce is not empty, else raise DimensionError."""
    if self.ndim and self.shape[place] == 0:
        raise DimensionError(f"{operator}(): Expected reduction dim {place} to have non-zero size.")


def without(values_and_indices: ValuesAndIndices, dim: int, keepdim: bool) -> ValuesAndIndices:
    """Return elements and indices that were selected along a dimension, without that dimension unless ``keepdim``."""
    if keepdim or values_and_indices.values.ndim == 0:
        return values_and_indices
    return ValuesAndIndices(values_and_indices.values.squeeze(dim), values_and_indices.indices.squeeze(dim))


def place_of_median(self: Tensor, place: int, *, skips_nan: bool) -> Tensor:
    """Return the indices of the medians along a dimension, kept with size 1; of the first NaN unless ``skips_nan``."""
    size = self.shape[place]
    numbers = size - self.isnan().sum([place], True)
    nths = (numbers - 1).clamp_min(0).div(2, rounding_mode="floor")
    if not skips_nan:
        nths = where(numbers < size, numbers, nths)  # NaN come last
    return sort_stable(self, stable=True, dim=place)[1].gather(place, nths)


@step
def write_median(source: Array, skips_nan: bool, out: Array) -> None:
    """Write the median of all elements, found by partial sorting."""
    elements = source.reshape(-1)
    numbers = elements.size
    if elements.dtype.kind == "f":
        numbers -= int(numpy.count_nonzero(numpy.isnan(elements)))
        if numbers == 0 or not (skips_nan or numbers == elements.size):
            out[...] = math.nan
            return
    nth = (numbers - 1) // 2
    out[...] = numpy.partition(elements, nth)[nth]  # NaN come last


def median_along(operator: str, self: Tensor, dim: int, keepdim: bool, *, skips_nan: bool) -> ValuesAndIndices:
    """Return the medians along a dimension, and their indices."""
    dimension = wrap_dimension(dim, self.ndim)
    require_elements(operator, self, dimension)
    require_kernel(is_ordered(self.dtype), "median_out", self.dtype, CONVERT)
    if self.ndim == 0:
        return ValuesAndIndices(self.clone(), self.new_zeros((), dtype=int64))
    shape = (*self.shape[:dimension], 1, *self.shape[dimension + 1 :])
    if self.is_meta or 0 in shape:
        indices = self.new_empty(shape, dtype=int64)
    else:
        indices = place_of_median(self, dimension, skips_nan=skips_nan)
    return without(ValuesAndIndices(self.gather(dimension, indices), indices), dimension, keepdim)


def declare_median(name: str, *, skips_nan: bool, text: str) -> Any:
    """Declare a median operator with two overloads: of all elements, and along a dimension.

    Args:
        name: of the packet.
        skips_nan: whether NaN are ignored; otherwise the median is NaN if an element is.
        text: the statement on NaN in the docstrings.
    """

    @op(f"aten::{name}", variants=BOTH)
    def median(self: Tensor) -> Tensor: ...

    median.__doc__ = f"Return the median of all elements, the lower one of two; {text}."

    @median.kernel
    def median_kernel(self):
        require_kernel(is_ordered(self.dtype), "median_cpu", self.dtype, CONVERT)
        if self.numel() == 0:
            return self.new_full((), math.nan, dtype=float64).to(self.dtype)
        if self.device is cpu and not self.dtype.is_encoded:
            median_kernel = self.new_empty(())
            write_median(self, skips_nan, median_kernel)
            return median_kernel
        return median_along(name, self.flatten(), 0, False, skips_nan=skips_nan).values

    @median.derivative("self")
    def median_derivative(grad, self, result):
        hits = where(result.isnan(), self.isnan(), self == result)
        return hits * shared(grad, hits.sum())

    @median.overload("dim", variants=BOTH, out=Out(f"{name}.dim_values", args=("values", "indices")))
    def median_dim(self: Tensor, dim: int, keepdim: bool = False) -> ValuesAndIndices: ...

    median_dim.__doc__ = f"Return the medians along a dimension and their indices, the lower one of two; {text}."

    @median_dim.kernel("CompositeExplicitAutograd")
    def median_dim_kernel(self, dim, keepdim):
        return median_along(name, self, dim, keepdim, skips_nan=skips_nan)

    median_dim.derivative("self")(selected_derivative)

    return median


median = declare_median("median", skips_nan=False, text="NaN if an element is NaN")
nanmedian = declare_median("nanmedian", skips_nan=True, text="NaN elements are ignored")


@op("aten::mode", kernel=True, variants=BOTH, out=Out("mode.values", args=("values", "indices")))
def mode(self: Tensor, dim: int = -1, keepdim: bool = False) -> ValuesAndIndices:
    """Return the most frequent element along a dimension, the smallest of several, and the index of one of its
    occurrences.
    """
    dimension = wrap_dimension(dim, self.ndim)
    require_elements("mode", self, dimension)
    if self.ndim == 0:
        return ValuesAndIndices(self.clone(), self.new_zeros((), dtype=int64))
    require_kernel(not self.dtype.is_complex, "mode_cpu", self.dtype, ". There is no order.")
    size = self.shape[dimension]
    ordered, order = sort(self, dimension)
    # The length so far of the run of equal elements at each index: the first maximum ends the mode's run.
    positions = arange(0, size, device=self.device).reshape((-1, *(1,) * (self.ndim - 1 - dimension)))
    begins = ordered.narrow(dimension, 1, size - 1) != ordered.narrow(dimension, 0, size - 1)
    first = begins.new_zeros((*self.shape[:dimension], 1, *self.shape[dimension + 1 :]))
    lengths = positions - (cat((first, begins), dimension) * positions).cummax(dimension)[0]
    indices = order.gather(dimension, lengths.argmax(dimension, True))
    return without(ValuesAndIndices(self.gather(dimension, indices), indices), dimension, keepdim)


mode.derivative("self")(selected_derivative)


# ------------------------------------------------------------------------------------------------------------ quantiles


def require_quantiles(self: Tensor, q: Tensor) -> None:
    """Check the arguments of ``quantile`` (``quantile_checks``). Raises ShapeError, DTypeError: they do not fit."""
    check(self.numel() > 0, "quantile() input tensor must be non-empty")
    check(q.ndim <= 1, "quantile() q must be a scalar or 1D tensor")
    if self.dtype not in (float32, float64):
        raise DTypeError("quantile() input tensor must be either float or double dtype")
    if q.dtype is not self.dtype:
        raise DTypeError("quantile() q tensor must be same dtype as the input tensor")


def ranks_of(ordered: Tensor, q: Tensor, *, skips_nan: bool) -> Tensor:
    """Return the fractional indices of quantiles in sorted rows; in rows with NaN the index of one, unless
    ``skips_nan``.
    """
    is_nan = ordered.isnan()
    if skips_nan:
        return (q * (is_nan.logical_not().sum([-1], True) - 1)).clamp_min(0)
    last = ordered.shape[-1] - 1
    return where(is_nan.any(-1, True), last, q * last)


def between(ordered: Tensor, ranks: Tensor, interpolation: str) -> Tensor:
    """Return the elements of sorted rows at fractional indices, by the given interpolation."""
    if interpolation in ("lower", "higher", "nearest"):
        rounded = {"lower": ranks.floor, "higher": ranks.ceil, "nearest": ranks.round}[interpolation]()
        return ordered.gather(-1, rounded.to(int64))
    below = ranks.to(int64)
    weights = full_like(ranks, 0.5) if interpolation == "midpoint" else ranks - below
    return ordered.gather(-1, below).lerp(ordered.gather(-1, ranks.ceil().to(int64)), weights)


def quantiles(
    self: Tensor, q: Tensor, dim: int | None, keepdim: bool, interpolation: str, *, skips_nan: bool
) -> Tensor:
    """Return the quantiles along a dimension; for a vector ``q`` they are along a new first dimension
    (``quantile_compute``).
    """
    require_quantiles(self, q)
    check(
        interpolation in INTERPOLATIONS,
        f"quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}",
    )
    dimension = wrap_dimension(0 if dim is None else dim, self.ndim)
    if self.device is cpu:
        check(holds(q.ge(0).logical_and(q.le(1))), "quantile() q values must be in the range [0, 1]")
    if dim is not None and self.ndim:
        shape = (*self.shape[:dimension], *((1,) if keepdim else ()), *self.shape[dimension + 1 :])
        rows = self if dimension == self.ndim - 1 else self.unsqueeze(-1).transpose(dimension, -1)
    else:
        shape, rows = (1,) * self.ndim if keepdim else (), self.flatten()
    ordered = sort(rows)[0]
    check(ordered.shape[-1] <= _LONGEST, "quantile() input tensor is too large")
    ordered = ordered.reshape((*shape, ordered.shape[-1]))
    ranks = ranks_of(ordered, q.reshape((-1,)), skips_nan=skips_nan)
    # All rows may share one row of ranks.
    levels = between(ordered, ranks.expand((*shape, q.numel())), interpolation)
    return levels.squeeze(-1) if q.ndim == 0 else levels.unsqueeze(0).transpose(0, -1).squeeze(-1)


def share_of(self: Tensor, q: float) -> Tensor:
    """Return a quantile fraction as a zero-dim tensor. Raises ShapeError: it is not in [0, 1]."""
    check(0 <= q <= 1, f"quantile() q must be in the range [0, 1] but got {q:g}")
    return self.new_full((), q)


def declare_quantile(name: str, *, skips_nan: bool, text: str) -> Any:
    """Declare a quantile operator with two overloads: ``q`` is a tensor or a number.

    Args:
        name: of the packet.
        skips_nan: whether NaN are ignored.
        text: the statement on NaN in the docstrings.
    """

    @op(f"aten::{name}", variants="method, function", out=Out(f"{name}.out", contiguous=True))
    def quantile(
        self: Tensor, q: Tensor, dim: int | None = None, keepdim: bool = False, *, interpolation: str = LINEAR
    ) -> Tensor:
        return quantiles(self, q, dim, keepdim, interpolation, skips_nan=skips_nan)

    quantile.__doc__ = f"Return the quantiles ``q`` of the elements along a dimension; {text}."

    @quantile.overload("scalar", variants="method, function", out=Out(f"{name}.scalar_out", contiguous=True))
    @forward(quantile, q=share_of)
    def quantile_scalar(
        self: Tensor, q: float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = LINEAR
    ) -> Tensor: ...

    quantile_scalar.__doc__ = f"Return the quantile ``q`` of the elements along a dimension; {text}."

    return quantile


quantile = declare_quantile("quantile", skips_nan=False, text="NaN if an element is NaN")
nanquantile = declare_quantile("nanquantile", skips_nan=True, text="NaN elements are ignored")
