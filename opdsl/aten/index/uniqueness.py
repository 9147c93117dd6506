"""Distinct elements and slices, where each stands among them, and how often they are there.

The rules are those of ATen/native/Unique.cpp; no two NaN are equal.
"""

from __future__ import annotations

from typing import Any

import numpy

from opdsl.aten._shared.checks import require_kernel
from opdsl.aten._shared.index_tensors import nonzero_columns
from opdsl.aten.create.ranges import arange
from opdsl.aten.index.sorting import sort_stable
from opdsl.aten.index.torch_order import order_keys
from opdsl.aten.shape.joining import cat
from opdsl.declare import op
from opdsl.errors import DimensionError
from opdsl.kernels import check, step
from opdsl.runtime import Array, MemoryFormat, Tensor, cpu, int64, wrap_dimension

DYNAMIC: dict[str, Any] = {"tags": "dynamic_output_shape"}

UNORDERED = ". There is no order."

Distinct = tuple[Tensor, Tensor, Tensor]


def runs(begins: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of a vector that says where runs begin: the first places of all runs, the run of each place, and the lengths."""
    starts = nonzero_columns(begins)[0]
    ends = cat((starts[1:], starts.new_full((1,), begins.shape[0])))
    return starts, begins.cumsum(0) - 1, ends - starts


def where_slices_begin(slices: Tensor) -> Tensor:
    """Return which slices along the first dimension differ from the one before."""
    differs = slices[1:] != slices[:-1]
    if differs.ndim > 1:
        differs = differs.flatten(1).any(1)
    return cat((differs.new_ones((1,)), differs))


def none_of(self: Tensor, *shape: int) -> Tensor:
    """An int64 tensor of a shape without elements."""
    return self.new_empty(shape, dtype=int64)


def distinct(self: Tensor) -> Distinct:
    """The distinct elements of a vector in order, where each of its elements is among them, and how often they are."""
    if self.numel() == 0:
        return self.clone(), none_of(self, 0), none_of(self, 0)
    ordered, order = sort_stable(self, stable=True)
    starts, places, counts = runs(where_slices_begin(ordered))
    inverse = places.new_empty(places.shape).scatter(0, order, places)
    return ordered.index_select(0, starts), inverse, counts


def distinct_in_a_row(self: Tensor) -> Distinct:
    """The first of each run of equal slices along the first dimension, the run of each slice, and the lengths."""
    if self.shape[0] == 0:
        return self.clone(), none_of(self, 0), none_of(self, 0)
    starts, places, counts = runs(where_slices_begin(self))
    return self.index_select(0, starts), places, counts


# ----------------------------------------------------------------------------------------------------------- elements


@op("aten::_unique2", kernel=True, autogen="_unique2.out", **DYNAMIC)
def _unique2(
    self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The distinct elements in order, where each element is among them, and how often they are there."""
    require_kernel(not self.dtype.is_complex, "unique", self.dtype, UNORDERED)
    values, inverse, counts = distinct(self.flatten())
    inverse = inverse.reshape(self.shape) if return_inverse else none_of(self, 0)
    return values, inverse, counts if return_counts else none_of(self, 0)


@op("aten::_unique", kernel=True, autogen="_unique.out", **DYNAMIC)
def _unique(self: Tensor, sorted: bool = True, return_inverse: bool = False) -> tuple[Tensor, Tensor]:
    """The distinct elements in order, and where each element is among them."""
    return _unique2(self, sorted, return_inverse, False)[:2]


# -------------------------------------------------------------------------------------------------------------- slices


def order_of(slices: Tensor) -> Tensor:
    """Positions that put slices along the first dimension into the order of their elements, the first counting most."""
    rows = slices.flatten(1) if slices.ndim > 1 else slices.unsqueeze(1)
    order = arange(0, slices.shape[0], device=slices.device)
    if slices.device is cpu:
        write_order(order_keys(rows, 1, False), order)
        return order
    for column in reversed(rows.unbind(1)):
        order = order.index_select(0, sort_stable(column.index_select(0, order), stable=True)[1])
    return order


@step
def write_order(keys: Array, order: Array) -> None:
    """Write where rows of int64 stand in the order of their texts of bytes; equal ones stay in order."""
    words = (keys ^ numpy.int64(-1 << 63)).astype(">i8")
    order[...] = words.view(f"V{words.strides[0]}")[:, 0].argsort(kind="stable")


def slices_of(self: Tensor, dim: int) -> tuple[Tensor, int]:
    """The slices along a dimension, along the first one, and the dimension counted from the first.

    Raises:
        DimensionError, ShapeError: there is none, or slices have no elements to tell them apart.
    """
    if self.ndim == 0:
        raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions")
    require_kernel(not self.dtype.is_complex, "unique_dim", self.dtype, UNORDERED)
    dimension = wrap_dimension(dim, self.ndim)
    empty = sum(size == 0 for size in self.shape)
    if self.shape[dimension] == 0:
        check(empty == 1, "Number of zero sized dimensions is more than one, so unique cannot be applied ")
    check(
        self.shape[dimension] == 0 or empty == 0,
        "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied",
    )
    return self.movedim(dimension, 0).clone(memory_format=MemoryFormat.contiguous_format), dimension


def no_slices(self: Tensor) -> Distinct:
    """The distinct slices where there are none."""
    return self.clone(memory_format=MemoryFormat.contiguous_format), none_of(self, 0), none_of(self, 0)


@op("aten::unique_dim", kernel=True, autogen="unique_dim.out", **DYNAMIC)
def unique_dim(
    self: Tensor, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The distinct slices along a dimension in order, which of them each slice is, and how often they are there."""
    slices, dimension = slices_of(self, dim)
    if slices.shape[0] == 0:
        return no_slices(self)
    order = order_of(slices)
    result, places, counts = distinct_in_a_row(slices.index_select(0, order))
    return result.movedim(0, dimension), places.new_empty(places.shape).scatter(0, order, places), counts


@op("aten::unique_dim_consecutive", kernel=True, autogen="unique_dim_consecutive.out", **DYNAMIC)
def unique_dim_consecutive(
    self: Tensor, dim: int, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The first of each run of equal slices along a dimension, the run of each slice, and the lengths of runs."""
    slices, dimension = slices_of(self, dim)
    if slices.shape[0] == 0:
        return no_slices(self)
    result, places, counts = distinct_in_a_row(slices)
    return result.movedim(0, dimension), places, counts


@op("aten::unique_consecutive", kernel=True, autogen="unique_consecutive.out", **DYNAMIC)
def unique_consecutive(
    self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The first of each run of equal elements, or of slices along a dimension; the run of each, and the lengths.

    >>> import opdsl
    >>> opdsl.ops.aten.unique_consecutive(opdsl.tensor([2, 2, 1, 2]), return_counts=True)
    (tensor([2, 1, 2]), tensor([], dtype=opdsl.int64), tensor([2, 1, 1]))
    """
    if dim is not None and not (self.ndim == 1 and dim == 0):
        return unique_dim_consecutive(self, dim, return_inverse, return_counts)
    require_kernel(not self.dtype.is_complex, "unique", self.dtype, UNORDERED)
    values, places, counts = distinct_in_a_row(self.flatten())
    inverse = places.reshape(self.shape) if return_inverse else none_of(self, 0)
    return values, inverse, counts if return_counts else none_of(self, 0)
