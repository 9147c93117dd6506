"""Operators that count elements by value or in bins: ``bincount``, ``histc``, ``histogram``.

The rules are those of ATen/native/SummaryOps.cpp and Histogram.cpp.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy

from opdsl.aten._shared.checks import CONVERT, real, require_kernel
from opdsl.aten._shared.index_tensors import nonzero_columns
from opdsl.aten.create.ranges import linspace
from opdsl.aten.index.bucketization import bucketize
from opdsl.aten.reduce.extrema import aminmax
from opdsl.declare import Library, Out, op
from opdsl.errors import DTypeError, ShapeError, UnsupportedDTypeError
from opdsl.kernels import MetaContext, check, copy_, range_of
from opdsl.kernels.iteration.dtypes import c_name
from opdsl.kernels.iteration.numbers import floating
from opdsl.runtime import Category, Tensor, cpu, float32, float64, int64
from opdsl.schema.vocabulary import Scalar, SymInt

lib = Library("opdsl")


class Histogram(NamedTuple):
    """Number of elements, or sum of their weights, in each bin; and the edges of the bins."""

    hist: Tensor
    bin_edges: Tensor


@op("aten::bincount", kernel=True, variants="function, method", tags="dynamic_output_shape")
def bincount(self: Tensor, weights: Tensor | None = None, minlength: SymInt = 0) -> Tensor:
    """Count how often each integer from 0 on occurs, or add up the weights of its occurrences.

    Args:
        self: a vector of integers that are not negative.
        weights: one for each of them; the sums are float32 for float32 weights, else float64.
        minlength: the least length of the result, which otherwise ends with the largest integer.

    >>> import opdsl
    >>> opdsl.bincount(opdsl.tensor([1, 3, 1]))
    tensor([0, 2, 0, 1])
    """
    is_whole = self.dtype.category is Category.INT
    require_kernel(is_whole, "bincount_cpu", self.dtype, ". Convert first: x.to(int64).")
    check(minlength >= 0, "minlength should be >= 0")
    if self.ndim == 1 and self.numel() == 0:
        return self.new_zeros((minlength,), dtype=int64)
    whole = "bincount only supports 1-d non-negative integral inputs."
    check(self.ndim == 1, whole)
    places = self.to(int64)
    numbers = range_of(places, likely=9)
    assert numbers is not None, "there are elements"
    check(numbers[0] >= 0, whole)
    check(weights is None or weights.shape == self.shape, "weights should be 1-d and have the same length as input")
    counts = (numbers[1] + 1, minlength)
    if weights is None:
        return places.new_zeros((max(counts),)).index_add(0, places, places.new_ones(places.shape))
    dtype = float32 if weights.dtype is float32 else float64
    return places.new_zeros((max(counts),), dtype=dtype).index_add(0, places, weights.to(dtype))


# -------------------------------------------------------------------------------------------------------- between edges


def interpolated(values: Tensor, edges: Tensor) -> Tensor:
    """Return the bin index, int64, of each value between evenly spaced edges, by linear interpolation."""
    first, last = edges[0], edges[-1]
    return ((values - first) * (edges.shape[0] - 1) / (last - first)).to(int64)


def count_between(edges: Tensor, values: Tensor, weight: Tensor | None, *, is_even: bool) -> Tensor:
    """Count the values in each bin, or add up their weights; a value equal to the last edge belongs to the last bin.

    Args:
        edges: a vector in ascending order.
        values: a vector of the same dtype.
        weight: one for each of the values, or None.
        is_even: whether the edges are evenly spaced, so that bins are computed instead of searched.
    """
    inside = nonzero_columns((values >= edges[0]).logical_and(values <= edges[-1]))[0]
    values = values.index_select(0, inside)
    bins = edges.shape[0] - 1
    places = interpolated(values, edges) if is_even else bucketize(values, edges, right=True) - 1
    shares = values.new_ones(values.shape) if weight is None else weight.index_select(0, inside)
    return edges.new_zeros((bins,)).index_add(0, places.clamp_max(bins - 1), shares)


def check_bins(bins: int) -> None:
    """Check that the number of bins is positive. Raises ShapeError: it is not."""
    check(bins > 0, f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")


def require_same(self: Tensor, hist: Tensor | None, name: str) -> None:
    """Check that an output has the dtype of the input. Raises DTypeError: it has another."""
    if hist is not None and hist.dtype is not self.dtype:
        raise DTypeError(
            f"torch.histogram: input tensor and {name} tensor should have the same dtype, but got input "
            f"{c_name(self.dtype)} and {name} {c_name(hist.dtype)}"
        )


# ---------------------------------------------------------------------------------------------------------------- histc


def bounds_of_all(self: Tensor, least: complex, most: complex) -> tuple[float, float]:
    """Return the outer edges of a histogram: ``least`` and ``most``; if these are equal, the smallest and the largest
    element; if those are equal too, one below and one above.

    Raises:
        ShapeError: the edges are not finite, or in the wrong order.
    """
    first, last = (floating(real(number)) for number in (least, most))
    if first == last and self.numel():
        smallest, largest = aminmax(self)
        first, last = real(smallest.item()), real(largest.item())
    if first == last:
        first, last = first - 1, last + 1
    if not (-math.inf < first < math.inf and -math.inf < last < math.inf):
        raise ShapeError(f"torch.histc: range of [{first:g}, {last:g}] is not finite")
    check(first < last, "torch.histc: max must be larger than min")
    return first, last


@op("aten::histc", variants="method, function", out=True)
def histc(self: Tensor, bins: int = 100, min: Scalar = 0, max: Scalar = 0) -> Tensor:
    """Count the elements in each of ``bins`` bins between ``min`` and ``max``; the result has the dtype of the
    elements.

    Args:
        self: floating-point numbers, of any shape; elements outside of all bins are not counted.
        bins: the number of bins, all of one width.
        min, max: the outer edges; the smallest and the largest element if they are equal.
    """
    ...


@histc.meta
def histc_meta(ctx, self, bins):
    check_bins(bins)
    require_kernel(self.dtype.is_floating_point, "histogram_cpu", self.dtype, CONVERT)
    require_same(self, ctx.maybe_get_output(), "hist")
    ctx.set_output(0, (bins,), like=self)


@histc.out_kernel
def histc_cpu(self, bins, min, max, out):
    first, last = bounds_of_all(self, min, max)
    if out.device is cpu and self.dtype in (float32, float64):
        copy_(out, even_counts(self.flatten(), bins, first, last))
        return
    edges = linspace(first, last, bins + 1, dtype=self.dtype, device=self.device)
    copy_(out, count_between(edges, self.flatten(), None, is_even=True))


histc.non_differentiable("self")


@lib.op(variants="function", out=True)
def even_counts(values: Tensor, bins: int, first: float, last: float) -> Tensor:
    """Count the numbers in each of ``bins`` bins of equal width; a number equal to the last edge belongs to the last
    bin.

    Args:
        values: float32 or float64, of one dimension.
        bins: the number of bins.
        first, last: the outer edges.
    """
    ...


@even_counts.meta
def even_counts_meta(ctx, values, bins, first, last):
    check(values.ndim == 1, "expected numbers of one dimension", got=values.shape)
    check_bins(bins)
    check(-math.inf < first < last < math.inf, "expected finite edges that ascend", got=(first, last))
    if values.dtype not in (float32, float64):
        raise UnsupportedDTypeError(f"not implemented for '{values.dtype.scalar_type}'")
    ctx.set_output(0, (bins,), like=values)


even_counts.non_differentiable("values")


@even_counts.out_kernel("CPU")
def even_counts_cpu(values, bins, first, last, out):
    # Like PyTorch, compute bins in the precision of the numbers.
    out[:] = bins
    count = out[0]
    out[:] = first
    low = out[0]
    out[:] = last
    high = out[0]
    width = high - low
    counts = numpy.zeros(bins, numpy.int64)
    for i in range(len(values)):
        value = values[i]
        if value >= low and value <= high:
            share = (value - low) * count / width
            if share >= bins:
                counts[bins - 1] += 1
            elif share >= 0:
                counts[int(share)] += 1
            else:  # NaN: the edges are equal after rounding, or their distance overflows
                counts[0] += 1
    for i in range(bins):  # numba takes two seconds to compile ``out[:] = tensor``
        out[i] = counts[i]


# ------------------------------------------------------------------------------------------------------------ histogram


def check_weights(self: Tensor, weight: Tensor | None) -> None:
    """Check that there is one weight for each element, of its dtype. Raises ShapeError or DTypeError otherwise."""
    if weight is None:
        return
    check(
        weight.numel() == self.numel(),
        "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor excluding "
        f"its innermost dimension, but got input with shape [{self.numel()}, 1] and weight with shape "
        f"[{weight.numel()}]",
    )
    if weight.dtype is not self.dtype:
        raise DTypeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same "
            f"dtype, but got input(dtype={c_name(self.dtype)}), and weight(dtype={c_name(weight.dtype)})"
        )


def histogram_meta(ctx: MetaContext, self: Tensor, bins: int, weight: Tensor | None) -> None:
    """Check the arguments of ``histogram`` and set the shapes and dtypes of its outputs."""
    check_bins(bins)
    require_kernel(self.dtype in (float32, float64), "histogramdd", self.dtype, CONVERT)
    check_weights(self, weight)
    for index, (name, count) in enumerate((("hist", bins), ("bin_edges", bins + 1))):
        require_same(self, ctx.maybe_get_output(index), name)
        ctx.set_output(index, (count,), like=self)


def write_counts(
    self: Tensor, edges: Tensor, weight: Tensor | None, density: bool, hist: Tensor, bin_edges: Tensor
) -> None:
    """Write the number of elements in each bin, or their density, and the edges of the bins."""
    counts = count_between(edges, self.flatten(), None if weight is None else weight.flatten(), is_even=False)
    copy_(hist, counts / counts.sum() / (edges[1:] - edges[:-1]) if density else counts)
    copy_(bin_edges, edges)


def check_edges(self: Tensor, bins: Tensor) -> None:
    """Check that the edges of bins are a vector of the dtype of the elements.

    Raises:
        ShapeError, DTypeError: they are not.
    """
    check(
        bins.ndim == 1,
        f"torch.histogramdd: bins tensor should have one dimension, but got {bins.ndim} dimensions in the bins tensor "
        "for dimension 0",
    )
    check(
        bins.numel() > 0,
        f"torch.histogramdd: bins tensor should have at least 1 element, but got {bins.numel()} elements in the bins "
        "tensor for dimension 0",
    )
    if bins.dtype is not self.dtype:
        raise DTypeError(
            "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
            f"{c_name(self.dtype)} and bins for dimension 0 with dtype {c_name(bins.dtype)}"
        )


def even_edges(self: Tensor, bins: int, range: tuple[float, ...] | None) -> Tensor:
    """Return evenly spaced edges over a range, by default from the smallest to the largest element.

    Raises:
        ShapeError: the range is not finite or in the wrong order.
    """
    if range is not None:
        first, last = range
    elif self.is_meta:
        return self.new_empty((bins + 1,))  # the edges depend on the elements
    elif self.numel():
        first, last = (real(extremum.item()) for extremum in aminmax(self))
    else:
        first, last = 0.0, 1.0
    check(
        math.isfinite(first) and math.isfinite(last),
        f"torch.histogramdd: dimension 0's range [{first:g}, {last:g}] is not finite",
    )
    check(
        first <= last,
        f"torch.histogramdd: min should not exceed max, but got min {first:g} max {last:g} for dimension 0",
    )
    if first == last:
        first, last = first - 0.5, last + 0.5
    return linspace(first, last, bins + 1, dtype=self.dtype, device=self.device)


def outputs(name: str) -> Out:
    """Return the description of a histogram's ``out=`` variant."""
    return Out(f"histogram.{name}_out", args=("hist", "bin_edges"))


@op("aten::histogram.bins_tensor", variants="method, function", out=outputs("bins_tensor"))
def histogram(self: Tensor, bins: Tensor, *, weight: Tensor | None = None, density: bool = False) -> Histogram:
    """Count the elements in each bin between given edges, or add up their weights.

    Args:
        self: float32 or float64, of any shape; elements outside of all bins are not counted.
        bins: the edges in ascending order, of the same dtype.
        weight: one for each element, of the same dtype.
        density: whether to divide the counts by their sum and the width of the bins, so that the whole area is 1.
    """
    ...


@histogram.meta
def histogram_of_edges_meta(ctx, self, bins, weight):
    check_edges(self, bins)
    histogram_meta(ctx, self, bins.numel() - 1, weight)


@histogram.out_kernel("CPU", compiled=False)
def histogram_cpu(self, bins, weight, density, hist, bin_edges):
    write_counts(self, bins, weight, density, hist, bin_edges)


@histogram.overload("bin_ct", variants="method, function", out=outputs("bin_ct"))
def histogram_by_count(
    self: Tensor,
    bins: int = 100,
    *,
    range: list[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Histogram:
    """Return ``histogram`` for ``bins`` bins of equal width, over ``range`` or from the smallest to the largest
    element.
    """
    ...


@histogram_by_count.meta
def histogram_by_count_meta(ctx, self, bins, range, weight):
    check(
        range is None or len(range) == 2,
        f"torch.histogramdd: for a 1-dimensional histogram range should have 2 elements, but got {len(range or ())}",
    )
    histogram_meta(ctx, self, bins, weight)


@histogram_by_count.out_kernel("CPU", compiled=False)
def histogram_by_count_cpu(self, bins, range, weight, density, hist, bin_edges):
    write_counts(self, even_edges(self, bins, range), weight, density, hist, bin_edges)
