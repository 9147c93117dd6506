"""Operators that sort along a dimension or select by rank: ``sort``, ``argsort``, ``topk``, ``kthvalue``."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy

from opdsl.aten._shared.checks import is_ordered, require_kernel
from opdsl.aten.index.torch_order import LONG, first_places, nth_place, order_keys, sorted_places, stable_places
from opdsl.declare import Out, forward, op, traceable
from opdsl.errors import DimensionError, DTypeError
from opdsl.kernels import check, copy_, step
from opdsl.kernels.iteration.strides import dense_strides
from opdsl.kernels.primitives.host import is_beyond, through_host
from opdsl.kernels.primitives.ordering import order_elements
from opdsl.runtime import Array, Category, MemoryFormat, Tensor, bool_, cpu, from_numpy, int64, wrap_dimension
from opdsl.schema.vocabulary import SymInt

# At least this many elements in a row, and this many in total, are sorted by `place_by_words`.
_ROW_OF_WORDS, _WORDS_FROM = 32, 256


class Ordered(NamedTuple):
    """Result of sorting: the elements in order, and the index that each of them had."""

    values: Tensor
    indices: Tensor


def refuse_complex(operator: str, tensor: Tensor) -> None:
    """Check that an operator that needs an order gets no complex tensor. Raises DTypeError: the tensor is complex."""
    if tensor.dtype.category is Category.COMPLEX:
        raise DTypeError(f"{operator} does not support complex dtypes on CPU")


def taken(self: Tensor, dim: int, places: Tensor) -> Ordered:
    """Gather the elements at the given indices along a dimension, and return them with these indices.

    Args:
        self: of at least one dimension.
        dim: the dimension, not negative.
        places: the indices as a matrix, with a row for each combination of the other dimensions' indices.
    """
    others = (*self.shape[:dim], *self.shape[dim + 1 :])
    rows = places.view((*others, places.shape[1]))
    indices = rows.movedim(-1, dim).clone(memory_format=MemoryFormat.contiguous_format)
    return Ordered(self.gather(dim, indices), indices)


def put(values: Tensor, indices: Tensor, ordered: Ordered) -> None:
    """Copy the sorted elements and their indices into the outputs."""
    copy_(values, ordered.values)
    copy_(indices, ordered.indices)


@op("aten::sort", variants="function, method", tags="core", out=Out("sort.values", args=("values", "indices")))
def sort(self: Tensor, dim: int = -1, descending: bool = False) -> Ordered:
    """Return the elements along a dimension in order, and their indices; NaN is the largest."""
    ...


@sort.overload("stable", variants="function, method", out=Out("sort.values_stable", args=("values", "indices")))
def sort_stable(self: Tensor, *, stable: bool | None, dim: int = -1, descending: bool = False) -> Ordered:
    """Return ``sort`` with equal elements in their original order, unless ``stable=False``."""
    ...


@sort_stable.meta
def sort_meta(ctx, self, dim):
    wrap_dimension(dim, self.ndim)
    refuse_complex("Sort", self)
    strides = dense_strides(self.geometry)
    ctx.set_output(0, self.shape, strides, like=self)
    ctx.set_output(1, self.shape, strides, like=self, dtype=int64)


def in_order(self: Tensor, stable: bool | None, dim: int, descending: bool) -> Ordered:
    """Return the result of ``sort`` on the CPU, with equal elements in the order of PyTorch's algorithm."""
    if self.ndim == 0:
        return Ordered(self.clone(), self.new_zeros((), dtype=int64))
    dimension = wrap_dimension(dim, self.ndim)
    keys = order_keys(self, dimension, descending)
    if self.dtype.itemsize <= 4 and keys.shape[1] >= _ROW_OF_WORDS and keys.numel() >= _WORDS_FROM:
        places = keys.new_empty(keys.shape)
        place_by_words(keys, bool(stable), places)
        return taken(self, dimension, places)
    return taken(self, dimension, stable_places(keys) if stable else sorted_places(keys))


@step
def place_by_words(keys: Array, stable: bool, places: Array) -> None:
    """Write the indices that sort each row of keys, by sorting integers that combine a key and its index with NumPy.

    Args:
        keys: int64 (rows, length), numbers of 32 bits.
        stable: whether equal keys stay in order in short rows, too.
        places: the output, of the same shape.
    """
    length = keys.shape[1]
    bits = (length - 1).bit_length()
    words = (keys << bits) | numpy.arange(length)
    words.sort(axis=1)
    numpy.bitwise_and(words, (1 << bits) - 1, out=places)
    if not stable and length < LONG:
        words >>= bits
        rows = (words[:, 1:] == words[:, :-1]).any(axis=1).nonzero()[0]
        if len(rows):
            places[rows] = sorted_places(from_numpy(keys[rows])).numpy()


@sort_stable.out_kernel("CPU", compiled=False)
def sort_cpu(self, stable, dim, descending, values, indices):
    if values.numel():
        put(values, indices, in_order(self, stable, dim, descending))


@sort_stable.out_kernel("CUDA", compiled=False)
def sort_cuda(self, dim, descending, values, indices):
    order_elements(self, wrap_dimension(dim, self.ndim), descending, values, indices)


sort_stable.sharding(along="dim")


def first_places_along(self: Tensor, count: int, dim: int) -> Tensor:
    """Return the indices of the ``count`` smallest elements along a dimension, smallest first; the order of equal ones
    is unspecified.
    """
    if is_beyond(self):
        return cast("Tensor", through_host(first_places_along, (self, count, dim)))
    if self.device is cpu:
        keys = self.unsqueeze(0) if self.dtype is int64 and self.ndim == 1 else order_keys(self, dim, False)
        places = stable_places(keys).view((*self.shape[:dim], *self.shape[dim + 1 :], -1))
        return places.movedim(-1, dim).narrow(dim, 0, count).contiguous()
    shape = (*self.shape[:dim], count, *self.shape[dim + 1 :])
    indices = self.new_empty(shape, dtype=int64)
    order_elements(self, dim, False, self.new_empty(shape), indices)
    return indices


def selected_gradient(grad: Tensor, self: Tensor, indices: Tensor, dim: int) -> Tensor:
    """Return the gradient of the input of a gather along a dimension: ``grad`` scattered to ``indices``, 0
    elsewhere.
    """
    return grad.new_zeros(self.shape).scatter(dim, indices, grad)


@sort.kernel("CompositeExplicitAutograd")
@traceable
def sort_kernel(self, dim, descending, out):
    return sort(self, stable=False, dim=dim, descending=descending, out=out)


for _sort in (sort_stable, sort):
    _sort.derivative(self=selected_gradient)


@op("aten::argsort", variants="function, method")
@forward(sort, result=1)
def argsort(self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    """Return the indices that sort the elements along a dimension."""


@argsort.overload("stable", variants="function, method", out=Out("argsort.stable_out"))
@forward(sort_stable, result=1)
def argsort_stable(self: Tensor, *, stable: bool, dim: int = -1, descending: bool = False) -> Tensor:
    """Return the indices that sort the elements along a dimension, with equal elements in their original order."""


@op("aten::msort", variants="function, method", out=True)
@forward(sort, dim=0, result=0)
def msort(self: Tensor) -> Tensor:
    """Return the elements in order along the first dimension."""


@op("aten::topk", variants="function, method", tags="core", out=Out("topk.values", args=("values", "indices")))
def topk(self: Tensor, k: SymInt, dim: int = -1, largest: bool = True, sorted: bool = True) -> Ordered:
    """Return the ``k`` largest (or smallest) elements along a dimension, the largest (smallest) first, and their
    indices.
    """
    ...


@topk.meta
def topk_meta(ctx, self, k, dim):
    dimension = wrap_dimension(dim, self.ndim)
    check(0 <= k <= (self.shape[dimension] if self.ndim else 1), "selected index k out of range")
    refuse_complex("topk", self)
    if self.dtype is bool_:
        raise DTypeError("topk does not support bool dtypes on CPU")
    shape = (*self.shape[:dimension], k, *self.shape[dimension + 1 :]) if self.ndim else ()
    ctx.set_output(0, shape, like=self)
    ctx.set_output(1, shape, like=self, dtype=int64)


def first_in_order(self: Tensor, k: int, dim: int, largest: bool, sorted: bool) -> Ordered:
    """Return the result of ``topk`` on the CPU, with equal elements chosen by PyTorch's algorithm."""
    if self.ndim == 0:
        return Ordered(self.clone(), self.new_zeros((), dtype=int64))
    dimension = wrap_dimension(dim, self.ndim)
    return taken(self, dimension, first_places(order_keys(self, dimension, largest), k, sorted))


@topk.out_kernel("CPU", compiled=False)
def topk_cpu(self, k, dim, largest, sorted, values, indices):
    if values.numel():
        put(values, indices, first_in_order(self, k, dim, largest, sorted))


@topk.out_kernel("CUDA", compiled=False)
def topk_cuda(self, dim, largest, values, indices):
    order_elements(self, wrap_dimension(dim, self.ndim), largest, values, indices)


topk.sharding(along="dim", selects="k")
topk.derivative(self=selected_gradient)


@op(
    "aten::kthvalue",
    kernel="CompositeExplicitAutograd",
    variants="function, method",
    out=Out("kthvalue.values", args=("values", "indices"), apart=True),
)
@traceable
def kthvalue(self: Tensor, k: SymInt, dim: int = -1, keepdim: bool = False) -> Ordered:
    """Return the k-th smallest element along a dimension, counted from 1, and its index."""
    ordered = kth_element(self, k, dim)
    if keepdim or self.ndim == 0:
        return ordered
    return Ordered(ordered.values.squeeze(dim), ordered.indices.squeeze(dim))


def kth_element(self: Tensor, k: int, dim: int) -> Ordered:
    """Return the k-th smallest element along a dimension and its index; the dimension is kept with size 1.

    Raises:
        DimensionError, ShapeError: there is no such dimension or element.
        UnsupportedDTypeError: the dtype is bool or complex.
    """
    dimension = wrap_dimension(dim, self.ndim)
    if self.ndim and self.shape[dimension] == 0:
        raise DimensionError(f"kthvalue(): Expected reduction dim {dimension} to have non-zero size.")
    size = self.shape[dimension] if self.ndim else 1
    check(1 <= k <= size, f"kthvalue(): selected number k out of range for dimension {dimension}")
    require_kernel(is_ordered(self.dtype), "kthvalue_cpu", self.dtype, ".")
    if self.ndim == 0:
        return Ordered(self.clone(), self.new_zeros((), dtype=int64))
    if self.is_meta:
        indices = self.new_empty((*self.shape[:dimension], 1, *self.shape[dimension + 1 :]), dtype=int64)
    elif self.device is cpu:
        return taken(self, dimension, nth_place(order_keys(self, dimension, False), k - 1))
    else:
        indices = first_places_along(self, k, dimension).narrow(dimension, k - 1, 1).contiguous()
    return Ordered(self.gather(dimension, indices), indices)


@kthvalue.derivative("self")
def kthvalue_derivative(grad, self, indices, dim, keepdim):
    if not keepdim and self.ndim:
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return selected_gradient(grad, self, indices, dim)
