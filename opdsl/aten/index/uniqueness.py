"""Operators that find the distinct elements or slices of a tensor: ``_unique2``, ``unique_dim``,
``unique_consecutive``.

The rules are those of ATen/native/Unique.cpp; no two NaN are equal.
"""

from __future__ import annotations

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

UNORDERED = ". There is no order."

Distinct = tuple[Tensor, Tensor, Tensor]


def runs(begins: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return for runs, given a mask of where each begins: their start indices, the run number of each index, and their
    lengths.
    """
    starts = nonzero_columns(begins)[0]
    ends = cat((starts[1:], starts.new_full((1,), begins.shape[0])))
    return starts, begins.cumsum(0) - 1, ends - starts


def where_slices_begin(slices: Tensor) -> Tensor:
    """Return a mask of the slices along the first dimension that differ from the preceding one; the first counts as
    different.
    """
    differs = slices[1:] != slices[:-1]
    if differs.ndim > 1:
        differs = differs.flatten(1).any(1)
    return cat((differs.new_ones((1,)), differs))


def none_of(self: Tensor, *shape: int) -> Tensor:
    """Return an int64 tensor of a shape that has no elements, for a result that was not requested."""
    return self.new_empty(shape, dtype=int64)


def distinct(self: Tensor) -> Distinct:
    """Return the distinct elements of a vector in order, the index of each element among them, and their counts."""
    if self.numel() == 0:
        return self.clone(), none_of(self, 0), none_of(self, 0)
    ordered, order = sort_stable(self, stable=True)
    starts, places, counts = runs(where_slices_begin(ordered))
    inverse = places.new_empty(places.shape).scatter(0, order, places)
    return ordered.index_select(0, starts), inverse, counts


def distinct_in_a_row(self: Tensor) -> Distinct:
    """Return the first of each run of equal slices along the first dimension, the run number of each slice, and the run
    lengths.
    """
    if self.shape[0] == 0:
        return self.clone(), none_of(self, 0), none_of(self, 0)
    starts, places, counts = runs(where_slices_begin(self))
    return self.index_select(0, starts), places, counts


# ------------------------------------------------------------------------------------------------------------- elements


@op("aten::_unique2", kernel=True, tags="dynamic_output_shape")
def _unique2(
    self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the distinct elements in order, the index of each element among them, and their counts."""
    require_kernel(not self.dtype.is_complex, "unique", self.dtype, UNORDERED)
    values, inverse, counts = distinct(self.flatten())
    inverse = inverse.reshape(self.shape) if return_inverse else none_of(self, 0)
    return values, inverse, counts if return_counts else none_of(self, 0)


@op("aten::_unique", kernel=True, tags="dynamic_output_shape")
def _unique(self: Tensor, sorted: bool = True, return_inverse: bool = False) -> tuple[Tensor, Tensor]:
    """Return the distinct elements in order, and the index of each element among them."""
    return _unique2(self, sorted, return_inverse, False)[:2]


# --------------------------------------------------------------------------------------------------------------- slices


def order_of(slices: Tensor) -> Tensor:
    """Return the indices that sort the slices along the first dimension lexicographically."""
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
    """Write the indices that sort rows of int64 keys lexicographically, by comparing their bytes; equal rows stay in
    order.
    """
    words = (keys ^ numpy.int64(-1 << 63)).astype(">i8")
    order[...] = words.view(f"V{words.strides[0]}")[:, 0].argsort(kind="stable")


def slices_of(self: Tensor, dim: int) -> tuple[Tensor, int]:
    """Return the tensor with the dimension ``dim`` moved to the front, as a contiguous copy, and that dimension, not
    negative.

    Raises:
        DimensionError, ShapeError: there is no such dimension, or the slices have no elements to compare.
        UnsupportedDTypeError: the tensor is complex.
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
    """Return the result of ``unique_dim`` for a tensor without slices: a copy of the tensor, and empty indices and
    counts.
    """
    return self.clone(memory_format=MemoryFormat.contiguous_format), none_of(self, 0), none_of(self, 0)


@op("aten::unique_dim", kernel=True, tags="dynamic_output_shape")
def unique_dim(
    self: Tensor, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the distinct slices along a dimension in order, the index of each slice among them, and their counts."""
    slices, dimension = slices_of(self, dim)
    if slices.shape[0] == 0:
        return no_slices(self)
    order = order_of(slices)
    result, places, counts = distinct_in_a_row(slices.index_select(0, order))
    return result.movedim(0, dimension), places.new_empty(places.shape).scatter(0, order, places), counts


@op("aten::unique_dim_consecutive", kernel=True, tags="dynamic_output_shape")
def unique_dim_consecutive(
    self: Tensor, dim: int, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the first of each run of equal slices along a dimension, the run number of each slice, and the run
    lengths.
    """
    slices, dimension = slices_of(self, dim)
    if slices.shape[0] == 0:
        return no_slices(self)
    result, places, counts = distinct_in_a_row(slices)
    return result.movedim(0, dimension), places, counts


@op("aten::unique_consecutive", kernel=True, tags="dynamic_output_shape")
def unique_consecutive(
    self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the first of each run of equal elements or slices, the run number of each element or slice, and the run
    lengths.

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
