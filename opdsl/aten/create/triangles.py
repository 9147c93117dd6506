"""Triangles and diagonals of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from opdsl.aten.create.factories import zeros
from opdsl.aten.create.ranges import arange
from opdsl.aten.pointwise.comparison import where
from opdsl.declare import Inplace, Out, op, traceable
from opdsl.errors import ShapeError, UnsupportedDTypeError
from opdsl.kernels import check, new_tensor
from opdsl.kernels.outputs import array_of
from opdsl.kernels.primitives.host import is_beyond, through_host
from opdsl.kernels.primitives.scalar_loops import scalar_loop
from opdsl.runtime import Device, DType, Layout, MemoryFormat, Tensor, bool_, cpu, int64, wrap_dimension
from opdsl.runtime.geometry import geometry
from opdsl.schema.vocabulary import SymInt

# ---------------------------------------------------------------------------------------------------------- tril, triu


def triangle_meta(ctx: Any, self: Tensor, name: str) -> None:
    """The shape function of ``tril`` and ``triu``.

    Raises:
        ShapeError: the tensor is no batch of matrices.
    """
    check(self.ndim >= 2, f"{name}: input tensor must have at least 2 dimensions")
    ctx.set_output(0, self.shape, like=self)


def beyond_diagonal(self: Tensor) -> Tensor:
    """For every element of a matrix how far it lies to the right of the main diagonal."""
    rows, columns = self.shape[-2:]
    return arange(columns, device=self.device) - arange(rows, device=self.device).unsqueeze(-1)


def lower_scalar_function(element: Any, row: Any, column: Any, diagonal: Any) -> Any:
    return element if column - row <= diagonal else 0


def upper_scalar_function(element: Any, row: Any, column: Any, diagonal: Any) -> Any:
    return element if column - row >= diagonal else 0


def keep(self: Tensor, function: Callable[..., Any], diagonal: int, out: Tensor) -> None:
    """Write the elements on one side of a diagonal, and zeros elsewhere."""
    if is_beyond(out):
        through_host(keep, (self, function, diagonal, out), [out])
    elif out.numel() and not out.is_meta:
        rows, columns = (arange(size, device=self.device) for size in self.shape[-2:])
        given = (self, rows.unsqueeze(-1), columns)
        loop = scalar_loop(function, (*(each.geometry for each in given), int64), out.geometry)
        loop(*(array_of(each) for each in given), diagonal, array_of(out))


@op("aten::tril", variants="method, function", inplace=Inplace(variants="method"), out=True)
def tril(self: Tensor, diagonal: SymInt = 0) -> Tensor:
    """The lower triangle of a matrix, up to a diagonal; zeros elsewhere."""
    ...


@tril.meta
def tril_meta(ctx, self):
    triangle_meta(ctx, self, "tril")


tril.sharding(rows=2)


@tril.out_kernel(alias_safe=True)
def tril_cpu(self, diagonal, out):
    keep(self, lower_scalar_function, diagonal, out)


tril.derivative(self=lambda grad, diagonal: grad.tril(diagonal))


@op("aten::triu", variants="method, function", inplace=Inplace(variants="method"), out=True)
def triu(self: Tensor, diagonal: SymInt = 0) -> Tensor:
    """The upper triangle of a matrix, from a diagonal on; zeros elsewhere."""
    ...


@triu.meta
def triu_meta(ctx, self):
    triangle_meta(ctx, self, "triu")


triu.sharding(rows=2)


@triu.out_kernel(alias_safe=True)
def triu_cpu(self, diagonal, out):
    keep(self, upper_scalar_function, diagonal, out)


triu.derivative(self=lambda grad, diagonal: grad.triu(diagonal))


def triangle_indices(
    is_lower: bool, row: int, column: int, offset: int, dtype: DType | None, device: Device | None
) -> Tensor:
    """The rows and the columns of a triangle's elements.

    Raises:
        ShapeError: a negative number of rows or columns, or more elements than a tensor has.
    """
    check(row >= 0, f"row must be non-negative, got{row}")
    check(column >= 0, f"col must be non-negative, got{column}")
    offset = min(max(offset, -row), column)  # diagonals further out have no elements
    below = size_below(row, column, offset if is_lower else offset - 1)
    count = below if is_lower else row * column - below
    place = device or cpu
    made = new_tensor(geometry(int64, place if place.type == "meta" else cpu, (2, count)))
    if count and not made.is_meta:
        first = max(0, -offset) if is_lower else 0
        rows = numpy.arange(first, row if is_lower else min(row, column - offset))
        diagonal = (rows + offset).clip(-1 if is_lower else 0, column)
        begins, ends = (0, (diagonal + 1).clip(0, column)) if is_lower else (diagonal, column)
        lengths = numpy.broadcast_to(ends - begins, rows.shape)
        made.array[0] = rows.repeat(lengths)
        # Counts from 0 in each row, and from where the row begins.
        made.array[1] = numpy.arange(count) - (lengths.cumsum() - lengths - begins).repeat(lengths)
    return made.to(place, dtype or int64)


def size_below(row: int, column: int, offset: int) -> int:
    """How many elements a matrix has on and below a diagonal.

    >>> size_below(3, 4, 0), size_below(3, 4, -2), size_below(3, 4, 5)
    (6, 1, 12)
    """
    rows = min(max(row + offset, 0), row) if column else 0  # that have any
    shortest = min(max(offset + 1, 1), column)
    growing = min(rows, column - shortest)
    return growing * (2 * shortest + growing - 1) // 2 + (rows - growing) * column


@op("aten::tril_indices", kernel=True, out=True)
def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: DType | None = int64,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    """The rows and the columns of the elements of a lower triangle."""
    return triangle_indices(True, row, col, offset, dtype, device)


@op("aten::triu_indices", kernel=True, out=True)
def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: DType | None = int64,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    """The rows and the columns of the elements of an upper triangle."""
    return triangle_indices(False, row, col, offset, dtype, device)


# ----------------------------------------------------------------------------------------------------------- diagonals


@op("aten::diag_embed", kernel="CompositeExplicitAutogradNonFunctional", variants="function, method", out=True)
@traceable
def diag_embed(self: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices of zeros, with the last dimension as their diagonals."""
    first, second = wrap_dimension(dim1, self.ndim + 1), wrap_dimension(dim2, self.ndim + 1)
    if first == second:
        raise ShapeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = abs(offset) + self.size(-1)
    shape = list(self.shape[:-1])
    for index in sorted((first, second)):
        shape.insert(index, size)
    made = zeros(shape, dtype=self.dtype, device=self.device)
    made.diagonal(offset, first, second).copy_(self)
    return made


diag_embed.derivative(self=lambda grad, offset, dim1, dim2: grad.diagonal(offset, dim1, dim2))


@op("aten::diag", variants="method, function", out=Out(explicit=True))
@traceable
def diag(self: Tensor, diagonal: int = 0) -> Tensor:
    """A matrix with a vector as its diagonal, or the diagonal of a matrix."""
    check(self.ndim in (1, 2), f"diag(): Supports 1D or 2D tensors. Got {self.ndim}D")
    if self.ndim == 1:
        return self.diag_embed(diagonal)
    return self.diagonal(diagonal).clone(memory_format=MemoryFormat.contiguous_format)


@op("aten::diagflat", variants="function, method")
@traceable
def diagflat(self: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements as its diagonal."""
    return self.contiguous().view((-1,)).diag(offset)


@op("aten::trace", kernel=True, variants="method, function", out=True)
@traceable
def trace(self: Tensor) -> Tensor:
    """The sum of a matrix' diagonal."""
    check(self.ndim == 2, f"trace: expected a matrix, but got tensor with dim {self.ndim}")
    if self.dtype is bool_:
        raise UnsupportedDTypeError("\"trace\" not implemented for 'Bool'")
    return self.diagonal().sum()


@trace.derivative("self")
def trace_derivative(grad, self):
    rows, columns = self.shape
    return where(beyond_diagonal(self) == 0, grad.expand((rows, columns)), 0)
