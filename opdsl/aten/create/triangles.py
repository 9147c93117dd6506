"""Operators of triangles (``tril``), diagonals (``diag``, ``trace``) and identity matrices (``eye``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opdsl.aten._shared.entries import documented
from opdsl.aten.create.factories import of_size, zeros
from opdsl.aten.create.ranges import arange
from opdsl.aten.pointwise.comparison import where
from opdsl.declare import Inplace, Overload, op, traceable
from opdsl.errors import ShapeError, UnsupportedDTypeError
from opdsl.kernels import check, fill_, new_tensor
from opdsl.kernels.compiler import compiler_for
from opdsl.kernels.outputs import array_of
from opdsl.kernels.primitives.host import is_beyond, through_host
from opdsl.kernels.primitives.scalar_loops import scalar_loop
from opdsl.runtime import Device, DType, Layout, MemoryFormat, Tensor, bool_, cpu, int64, make_view, wrap_dimension
from opdsl.runtime.geometry import geometry
from opdsl.runtime.symbol import largest, smallest
from opdsl.schema.vocabulary import SymInt, TensorOptions


def beyond_diagonal(self: Tensor) -> Tensor:
    """Return for every element of a matrix its column index minus its row index: 0 on the main diagonal."""
    rows, columns = self.shape[-2:]
    return arange(columns, device=self.device) - arange(rows, device=self.device).unsqueeze(-1)


def lower_scalar_function(element: Any, row: Any, column: Any, diagonal: Any) -> Any:
    return element if column - row <= diagonal else 0


def upper_scalar_function(element: Any, row: Any, column: Any, diagonal: Any) -> Any:
    return element if column - row >= diagonal else 0


def keep(self: Tensor, function: Callable[..., Any], diagonal: int, out: Tensor) -> None:
    """Write the elements on one side of a diagonal to ``out``, and zeros elsewhere; ``function`` chooses the side."""
    if is_beyond(out):
        through_host(keep, (self, function, diagonal, out), [out])
    elif out.numel() and not out.is_meta:
        rows, columns = (arange(size, device=self.device) for size in self.shape[-2:])
        tensors = (self, rows.unsqueeze(-1), columns)
        loop = scalar_loop(function, (*(tensor.geometry for tensor in tensors), int64), out.geometry)
        loop(*(array_of(tensor) for tensor in tensors), diagonal, array_of(out))


def declare_triangle(name: str, text: str, function: Callable[..., Any]) -> None:
    """Declare an operator that keeps the elements of a matrix on one side of a diagonal: ``tril`` or ``triu``.

    Args:
        name: of the packet.
        text: the docstring of the operator.
        function: the scalar function of an element, its row, its column and the diagonal.
    """

    @op(f"aten::{name}", variants="method, function", inplace=Inplace(variants="method"), out=True)
    @documented(text)
    def triangle(self: Tensor, diagonal: SymInt = 0) -> Tensor: ...

    @triangle.meta
    def triangle_meta(ctx, self):
        check(self.ndim >= 2, f"{name}: input tensor must have at least 2 dimensions")
        ctx.set_output(0, self.shape, like=self)

    @triangle.out_kernel(alias_safe=True)
    def triangle_kernel(self, diagonal, out):
        keep(self, function, diagonal, out)

    triangle.sharding(rows=2)
    triangle.derivative(self=lambda grad, diagonal: getattr(grad, name)(diagonal))


declare_triangle(
    "tril",
    "Return the lower triangle of matrices, up to and including a diagonal, and zeros elsewhere.",
    lower_scalar_function,
)
declare_triangle(
    "triu", "Return the upper triangle of matrices, from a diagonal on, and zeros elsewhere.", upper_scalar_function
)


def triangle_indices(
    is_lower: bool, row: int, column: int, offset: int, dtype: DType | None, device: Device | None
) -> Tensor:
    """Return the row and column indices of the elements in a lower or upper triangle, as a tensor of two rows.

    Raises:
        ShapeError: a negative number of rows or columns, or more elements than a tensor can have.
    """
    check(row >= 0, f"row must be non-negative, got{row}")
    check(column >= 0, f"col must be non-negative, got{column}")
    offset = smallest(largest(offset, -row), column)  # diagonals further out have no elements
    below = size_below(row, column, offset if is_lower else offset - 1)
    count = below if is_lower else row * column - below
    place = device or cpu
    output = new_tensor(geometry(int64, place if place.type == "meta" else cpu, (2, count)))
    if not output.is_meta:
        compiler_for("cpu").handwritten("triangle")(is_lower, row, column, offset, array_of(output))
    return output.to(place, dtype or int64)


def size_below(row: int, column: int, offset: int) -> int:
    """Return the number of elements that a matrix has on and below a diagonal.

    >>> size_below(3, 4, 0), size_below(3, 4, -2), size_below(3, 4, 5)
    (6, 1, 12)
    """
    rows: int = smallest(largest(row + offset, 0), row) if column else 0  # that have such elements
    shortest: int = smallest(largest(offset + 1, 1), column)
    growing: int = smallest(rows, column - shortest)
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
    """Return the row and column indices of the elements of a lower triangle, as a tensor of two rows."""
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
    """Return the row and column indices of the elements of an upper triangle, as a tensor of two rows."""
    return triangle_indices(False, row, col, offset, dtype, device)


# ------------------------------------------------------------------------------------------------------------ diagonals


@op("aten::diag_embed", kernel="CompositeExplicitAutogradNonFunctional", variants="function, method", out=True)
@traceable
def diag_embed(self: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return matrices that are zero except for a diagonal, which holds the last dimension of ``self``."""
    first, second = wrap_dimension(dim1, self.ndim + 1), wrap_dimension(dim2, self.ndim + 1)
    if first == second:
        raise ShapeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = abs(offset) + self.size(-1)
    shape = list(self.shape[:-1])
    for index in sorted((first, second)):
        shape.insert(index, size)
    output = zeros(shape, dtype=self.dtype, device=self.device)
    output.diagonal(offset, first, second).copy_(self)
    return output


diag_embed.derivative(self=lambda grad, offset, dim1, dim2: grad.diagonal(offset, dim1, dim2))


@op("aten::diag", variants="method, function", out=True)
@traceable
def diag(self: Tensor, diagonal: int = 0) -> Tensor:
    """Return a matrix with the vector ``self`` as its diagonal, or the diagonal of the matrix ``self``."""
    check(self.ndim in (1, 2), f"diag(): Supports 1D or 2D tensors. Got {self.ndim}D")
    if self.ndim == 1:
        return self.diag_embed(diagonal)
    return self.diagonal(diagonal).clone(memory_format=MemoryFormat.contiguous_format)


@op("aten::diagflat", variants="function, method")
@traceable
def diagflat(self: Tensor, offset: int = 0) -> Tensor:
    """Return a matrix whose diagonal holds all elements of ``self``, flattened."""
    return self.contiguous().view((-1,)).diag(offset)


@op("aten::trace", kernel=True, variants="method, function", out=True)
@traceable
def trace(self: Tensor) -> Tensor:
    """Return the sum of the main diagonal of a matrix."""
    check(self.ndim == 2, f"trace: expected a matrix, but got tensor with dim {self.ndim}")
    if self.dtype is bool_:
        raise UnsupportedDTypeError("\"trace\" not implemented for 'Bool'")
    return self.diagonal().sum()


@trace.derivative("self")
def trace_derivative(grad, self):
    rows, columns = self.shape
    return where(beyond_diagonal(self) == 0, grad.expand((rows, columns)), 0)


# ------------------------------------------------------------------------------------------------------------------ eye


@op(
    "aten::eye.m",
    kernel="CompositeExplicitAutograd",
    overloads={"": Overload("Return the identity matrix with ``n`` rows.", fixed={"m": None}), "m": Overload()},
    out=True,
)
@traceable
def eye(n: SymInt, m: SymInt, *, options: TensorOptions, out: Tensor | None = None) -> Tensor:
    """Return a matrix of ``n`` rows and ``m`` columns with ones on its diagonal and zeros elsewhere."""
    m = n if m is None else m
    check(n >= 0, f"n must be greater or equal to 0, got {n}")
    check(m >= 0, f"m must be greater or equal to 0, got {m}")
    output = zeros((n, m), **options) if out is None else fill_(of_size((n, m), options, out), 0)
    if out is None or not output.is_meta:
        fill_(make_view(output, (min(n, m),), (sum(output.stride()),)), 1)
    return output
