"""Operator ``histogramdd``: histogram of points with several coordinates (ATen/native/Histogram.cpp)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from opdsl.aten._shared.checks import CONVERT, require_kernel
from opdsl.aten.index.bucketization import bucketize
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.reduce.histograms import check_edges, even_edges
from opdsl.declare import op
from opdsl.errors import DTypeError
from opdsl.kernels import check
from opdsl.kernels.iteration.dtypes import c_name
from opdsl.runtime import Tensor, bool_, float32, float64


class Histogramdd(NamedTuple):
    """Number of points, or sum of their weights, in each bin; and the edges of the bins along each coordinate."""

    hist: Tensor
    bin_edges: list[Tensor]


def check_points(self: Tensor, dims: int, weight: Tensor | None) -> None:
    """Check that points have ``dims`` coordinates, and that there is a weight for each point.

    Raises:
        ShapeError, DTypeError: they do not fit.
    """
    operator = "torch.histogramdd"
    check(self.ndim >= 2, f"{operator}: input tensor should have at least 2 dimensions, but got {self.ndim}")
    count = self.shape[-1]
    check(
        count == dims,
        f"{operator}: bins should have one element for each of the input's {count} coordinates, but got {dims}",
    )
    check(count > 0, f"{operator}: points should have at least 1 dimension", got=self.shape)
    require_kernel(self.dtype in (float32, float64), "histogramdd", self.dtype, CONVERT)
    if weight is None:
        return
    check(
        weight.shape == self.shape[:-1],
        f"{operator}: if weight tensor is provided it should have the same shape as the input tensor excluding its "
        f"innermost dimension, but got input with shape {list(self.shape)} and weight with shape {list(weight.shape)}",
    )
    if weight.dtype is not self.dtype:
        raise DTypeError(
            f"{operator}: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but "
            f"got input(dtype={c_name(self.dtype)}), and weight(dtype={c_name(weight.dtype)})"
        )


def edges_of(self: Tensor, bins: Sequence[int], range: Sequence[float] | None) -> list[Tensor]:
    """Return evenly spaced edges for each coordinate.

    Raises:
        ShapeError: a number of bins is not positive, or the range does not fit.
    """
    for dim, number in enumerate(bins):
        check(number > 0, f"torch.histogramdd(): bins must be > 0, but got {number} for dimension {dim}")
    check(
        range is None or len(range) == 2 * len(bins),
        f"torch.histogramdd: for a {len(bins)}-dimensional histogram range should have {2 * len(bins)} elements, but "
        f"got {len(range or ())}",
    )
    return [
        even_edges(
            self.select(-1, dim).flatten(), count, None if range is None else tuple(range[2 * dim : 2 * dim + 2])
        )
        for dim, count in enumerate(bins)
    ]


def count_in_boxes(self: Tensor, edges: Sequence[Tensor], weight: Tensor | None, density: bool) -> Tensor:
    """Count the points in each bin, or add up their weights; points on the last edges belong to the last bins."""
    counts = [edge.shape[0] - 1 for edge in edges]
    bins_filled: Any = self.new_zeros((math.prod(counts),))
    if bins_filled.shape[0]:
        points = self.reshape((-1, len(counts)))
        box: Any = 0
        inside: Any = points.new_ones((points.shape[0],), dtype=bool_)
        for dim, (edge, count) in enumerate(zip(edges, counts, strict=True)):
            values = points.select(1, dim).contiguous()
            box = box * count + (bucketize(values, edge, right=True) - 1).clamp(0, count - 1)
            inside = inside.logical_and(values >= edge[0]).logical_and(values <= edge[-1])
        shares: Any = 1.0 if weight is None else weight.reshape((-1,))
        bins_filled = bins_filled.index_add(0, box, where(inside, shares, bins_filled.new_zeros(())))
    bins_filled = bins_filled.reshape(counts)
    if density:
        bins_filled = bins_filled / bins_filled.sum()
        for dim, edge in enumerate(edges):
            bins_filled = bins_filled / edge.diff().reshape([-1 if index == dim else 1 for index in range(len(counts))])
    tensor: Tensor = bins_filled
    return tensor


def bin_edges(self: Tensor, bins: Sequence[int], range: Sequence[float] | None, weight: Tensor | None) -> list[Tensor]:
    check_points(self, len(bins), weight)
    return edges_of(self, bins, range)


@op("aten::_histogramdd_bin_edges", kernel=True)
def bin_edges_of(
    self: Tensor,
    bins: list[int],
    *,
    range: list[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> list[Tensor]:
    """Return evenly spaced edges of bins for each coordinate of the points."""
    return bin_edges(self, bins, range, weight)


@op("aten::_histogramdd_from_bin_cts", kernel=True)
def from_counts(
    self: Tensor,
    bins: list[int],
    *,
    range: list[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Tensor:
    """Count the points in each bin, for a given number of evenly spaced bins along each coordinate."""
    return count_in_boxes(self, bin_edges(self, bins, range, weight), weight, density)


@op("aten::_histogramdd_from_bin_tensors", kernel=True)
def from_edges(self: Tensor, bins: list[Tensor], *, weight: Tensor | None = None, density: bool = False) -> Tensor:
    """Count the points in each bin, for given edges along each coordinate."""
    check_points(self, len(bins), weight)
    for edges in bins:
        check_edges(self, edges)
    return count_in_boxes(self, bins, weight, density)


def by_counts(
    self: Tensor, bins: int | Sequence[int], range: Sequence[float] | None, weight: Tensor | None, density: bool
) -> Histogramdd:
    """Return the histogram of points in evenly spaced bins; a single number of bins holds for all coordinates."""
    if isinstance(bins, int):
        check(self.ndim >= 2, f"torch.histogramdd: input tensor should have at least 2 dimensions, but got {self.ndim}")
        bins = [bins] * self.shape[-1]
    options: dict[str, Any] = {"range": range, "weight": weight, "density": density}
    return Histogramdd(hist=from_counts(self, bins, **options), bin_edges=list(bin_edges_of(self, bins, **options)))


@op("aten::histogramdd")
def histogramdd(
    self: Tensor, bins: list[int], range: list[float] | None = None, weight: Tensor | None = None, density: bool = False
) -> Histogramdd:
    """Count the points in each bin, or add up their weights, for evenly spaced bins along each coordinate.

    Args:
        self: float32 or float64; the last dimension has the coordinates of a point.
        bins: the number of bins along each coordinate.
        range: for each coordinate the first and the last edge; by default the smallest and the largest coordinate.
        weight: one for each point.
        density: whether to divide the counts by their sum and the volumes of the bins.
    """
    return by_counts(self, bins, range, weight, density)


@op("aten::histogramdd.int_bins")
def histogramdd_int_bins(
    self: Tensor, bins: int, range: list[float] | None = None, weight: Tensor | None = None, density: bool = False
) -> Histogramdd:
    """Return ``histogramdd`` with the same number of bins along each coordinate."""
    return by_counts(self, bins, range, weight, density)


@op("aten::histogramdd.TensorList_bins")
def histogramdd_tensorlist_bins(
    self: Tensor,
    bins: list[Tensor],
    range: list[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Histogramdd:
    """Return ``histogramdd`` for bins with given edges."""
    return Histogramdd(from_edges(self, bins, weight=weight, density=density), [edges.clone() for edges in bins])
