"""Operators that find nonzero elements, or select, fill and scatter where a mask holds."""

from __future__ import annotations

from typing import Any, Literal, overload

from opdsl.aten._shared.index_tensors import nonzero_columns, nonzero_rows
from opdsl.aten.create.factories import full, zeros
from opdsl.aten.create.ranges import arange
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.shape.splitting import unbind
from opdsl.aten.shape.stacking import stack
from opdsl.aten.shape.view_scatters import constant_pad_nd
from opdsl.declare import Out, forward, op, traceable
from opdsl.errors import DTypeError, UnsupportedModeError
from opdsl.kernels import Positions, check, gather, new_tensor, scatter
from opdsl.kernels.iteration.broadcasting import broadcast
from opdsl.kernels.iteration.numbers import to_element
from opdsl.runtime import (
    DType,
    MemoryFormat,
    Tensor,
    bool_,
    install_method,
    int32,
    int64,
    require_no_overlap,
    require_writable,
)
from opdsl.runtime.geometry import geometry
from opdsl.schema import Alias
from opdsl.schema.vocabulary import Scalar, SymInt


@op(
    "aten::nonzero",
    kernel=True,
    variants="method, function",
    tags=("dynamic_output_shape", "core"),
    out=Out(apart=True),
)
def nonzero_tensor(self: Tensor) -> Tensor:
    """Return the indices of the nonzero elements, one row for each element."""
    if self.ndim:
        return nonzero_rows(self)
    count = int(bool(self.item()))
    return new_tensor(geometry(int64, self.device, (count, 0), (1, count)))


@overload
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: Literal[False] = False) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
@overload
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool) -> Tensor | tuple[Tensor, ...]: ...
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Tensor | tuple[Tensor, ...]:
    """Return the indices of the nonzero elements.

    Args:
        input: of any dtype.
        out: an int64 tensor to write the result to.
        as_tuple: whether to return a tuple with one tensor for each dimension, instead of a row for each element.

    Raises:
        UnsupportedModeError: both ``out`` and ``as_tuple`` are given.

    >>> import opdsl
    >>> opdsl.nonzero(opdsl.tensor([[0, 1], [2, 0]]), as_tuple=True)
    (tensor([0, 1]), tensor([1, 0]))
    """
    if as_tuple:
        if out is not None:
            raise UnsupportedModeError("nonzero: a tuple is not written into out=. Omit out= or as_tuple=True.")
        return tuple(nonzero_numpy(input))
    return nonzero_tensor(input) if out is None else nonzero_tensor(input, out=out)


@overload
def nonzero_method(self: Tensor, *, as_tuple: Literal[False] = False) -> Tensor: ...
@overload
def nonzero_method(self: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
@overload
def nonzero_method(self: Tensor, *, as_tuple: bool) -> Tensor | tuple[Tensor, ...]: ...
def nonzero_method(self: Tensor, *, as_tuple: bool = False) -> Tensor | tuple[Tensor, ...]:
    """Return the indices of the nonzero elements, see ``opdsl.nonzero``.

    Args:
        as_tuple: whether to return a tuple with one tensor for each dimension, instead of a row for each element.
    """
    return tuple(nonzero_numpy(self)) if as_tuple else nonzero_tensor(self)


install_method("nonzero", nonzero_method, replace=True)


@op("aten::nonzero_numpy", variants="method, function")
def nonzero_numpy(self: Tensor) -> list[Tensor]:
    """Return the indices of the nonzero elements, one tensor for each dimension."""
    return unbind(nonzero_tensor(self if self.ndim else self.unsqueeze(0)), 1)


@op("aten::argwhere", variants="method, function", tags="dynamic_output_shape")
@forward(nonzero_tensor)
def argwhere(self: Tensor) -> Tensor:
    """Return the indices of the nonzero elements, one row for each element; NumPy's name of ``nonzero``."""


@op(
    "aten::masked_select",
    kernel=True,
    variants="method, function",
    tags="dynamic_output_shape",
    out=Out(apart=True),
)
def masked_select(self: Tensor, mask: Tensor) -> Tensor:
    """Return the elements where a mask holds, as a vector in row-major order."""
    require_mask(mask, "masked_select: expected BoolTensor for mask")
    shape = broadcast(self.shape, mask.shape)
    source, positions = where_it_holds(self.expand(shape), mask.expand(shape))
    count = positions[0].tensor.numel()
    output = new_tensor(geometry(self.dtype, self.device, (count,), (1,)))
    gather(output, source, (0,), positions)
    return output


@masked_select.derivative("self")
def masked_select_derivative(grad, self, mask):
    shape = broadcast(self.shape, mask.shape)
    return zeros(shape, dtype=grad.dtype, device=grad.device).masked_scatter(mask, grad)


def require_mask(mask: Tensor, message: str) -> None:
    """Check that a mask is bool. Raises DTypeError: it is not."""
    if mask.dtype is not bool_:
        raise DTypeError(message)


def where_it_holds(tensor: Tensor, mask: Tensor) -> tuple[Tensor, list[Positions]]:
    """Return the indices where a mask of the tensor's shape holds, and the tensor that they index: flattened if
    contiguous.
    """
    if tensor.ndim != 1 and tensor.is_contiguous() and mask.is_contiguous():
        tensor, mask = tensor.view((-1,)), mask.view((-1,))
    pairs = zip(nonzero_columns(mask), tensor.shape, tensor.strides, strict=True)
    return tensor, [Positions(column, size, stride) for column, size, stride in pairs]


def fill_where(self: Tensor, mask: Tensor, value: Tensor | complex) -> Tensor:
    """Fill the tensor in place where a mask holds: the kernel of ``masked_fill_``.

    Raises:
        DTypeError: the mask is not bool.
        ShapeError: the mask does not broadcast to the tensor.
        NumberError: the dtype does not hold the number.
        OverlapError: elements of the tensor share memory.
    """
    if isinstance(value, Tensor):
        check(
            value.ndim == 0,
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).",
        )
        value = 0 if self.is_meta else value.item()
    require_mask(mask, f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype.scalar_type}")
    number = to_element(value, self.dtype, self.numel())
    mask = mask.expand(self.shape)
    require_writable(self, "aten::masked_fill_")
    require_no_overlap(self, mask, "aten::masked_fill_")
    return where(mask, full([], number, dtype=self.dtype, device=self.device), self, out=self)


def broadcast_copy(self: Tensor, mask: Tensor) -> Tensor:
    """Return a contiguous copy of a tensor, broadcast together with a mask."""
    return self.expand(broadcast(mask.shape, self.shape)).clone(memory_format=MemoryFormat.contiguous_format)


@traceable
def filled_copy(self: Tensor, mask: Tensor, value: Tensor | complex) -> Tensor:
    """Return a copy that is filled where a mask holds: the kernel of ``masked_fill``."""
    return broadcast_copy(self, mask).masked_fill_(mask, value)


IN_PLACE: dict[str, Any] = {"kernel": True, "variants": "method"}


@op("aten::masked_fill_.Scalar", **IN_PLACE)
def masked_fill_(self: Tensor[Alias("a", write=True)], mask: Tensor, value: Scalar) -> Tensor[Alias("a", write=True)]:
    """Fill the tensor in place with a number where a mask holds."""
    return fill_where(self, mask, value)


@op("aten::masked_fill_.Tensor", **IN_PLACE)
def masked_fill_tensor_(
    self: Tensor[Alias("a", write=True)], mask: Tensor, value: Tensor
) -> Tensor[Alias("a", write=True)]:
    """Fill the tensor in place with the element of a zero-dim tensor where a mask holds."""
    return fill_where(self, mask, value)


@op("aten::masked_scatter_", **IN_PLACE)
def masked_scatter_(
    self: Tensor[Alias("a", write=True)], mask: Tensor, source: Tensor
) -> Tensor[Alias("a", write=True)]:
    """Write the first elements of ``source``, in order, to the elements where a mask holds."""
    if self.dtype is not source.dtype:
        raise DTypeError(
            "masked_scatter: expected self and source to have same dtypes but got "
            f"{self.dtype.scalar_type} and {source.dtype.scalar_type}"
        )
    require_mask(mask, f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype.scalar_type}")
    mask = mask.expand(self.shape)
    require_writable(self, "aten::masked_scatter_")
    for read in (mask, source):
        require_no_overlap(self, read, "aten::masked_scatter_")
    if self.is_meta:
        return self
    target, positions = where_it_holds(self, mask)
    count = positions[0].tensor.numel()
    check(source.numel() >= count, "Number of elements of source < number of ones in mask", got=source.numel())
    values = source.reshape((-1,)).narrow(0, 0, count)
    scatter(target, (count,), (0,), positions, values)
    return self


COPY: dict[str, Any] = {"kernel": "CompositeExplicitAutograd", "variants": "function, method"}


@op("aten::masked_fill.Scalar", tags="pointwise", **COPY)
def masked_fill_number(self: Tensor, mask: Tensor, value: Scalar) -> Tensor:
    """Return ``self`` filled with a number where a mask holds."""
    return filled_copy(self, mask, value)


@op("aten::masked_fill.Tensor", **COPY)
def masked_fill(self: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    """Return ``self`` filled with the element of a zero-dim tensor where a mask holds."""
    return filled_copy(self, mask, value)


@op("aten::masked_scatter", tags="core", **COPY)
def masked_scatter(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Return ``self`` with the first elements of ``source``, in order, where a mask holds."""
    return broadcast_copy(self, mask).masked_scatter_(mask, source)


for _fill in (masked_fill_number, masked_fill):
    _fill.sharding(elementwise=True)


def source_derivative(grad: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Return the gradient for the source of ``masked_scatter``; elements of the source that were not written get 0."""
    taken = grad.masked_select(mask)
    return constant_pad_nd(taken, (0, source.numel() - taken.numel())).reshape(source.shape)


for _write in (
    masked_fill_,
    masked_fill_tensor_,
    masked_scatter_,
    masked_fill_number,
    masked_fill,
    masked_scatter,
):
    _write.derivative(self=lambda grad, mask: grad.masked_fill(mask, 0))
for _write in (masked_fill_tensor_, masked_fill):
    _write.derivative(value=lambda grad, mask: grad.masked_fill(mask.logical_not(), 0).sum())
for _write in (masked_scatter_, masked_scatter):
    _write.derivative(source=source_derivative)


@op("aten::_rowwise_prune")
def _rowwise_prune(weight: Tensor, mask: Tensor, compressed_indices_dtype: DType) -> tuple[Tensor, Tensor]:
    """Return the rows that a mask keeps, and for each original row its index among these, or -1.

    Args:
        weight: a matrix.
        mask: of bools, one for each row.
        compressed_indices_dtype: int32 or int64.
    """
    check(
        weight.ndim == 2 and mask.shape == weight.shape[:1],
        "expected a matrix, and a mask with one element for each row",
        got=(weight.shape, mask.shape),
    )
    if mask.dtype is not bool_ or compressed_indices_dtype not in (int32, int64):
        raise DTypeError("_rowwise_prune: expected a mask of bools, and indices of int32 or int64")
    places = where(mask, mask.cumsum(0) - 1, -1)
    return weight[mask], places.to(compressed_indices_dtype)


@op("aten::nonzero_static", variants="method, function", out=True)
def nonzero_static(self: Tensor, *, size: SymInt, fill_value: int = -1) -> Tensor:
    """Return the indices of the first ``size`` nonzero elements, one row for each, padded to ``size`` rows.

    Args:
        self: of any dtype.
        size: the number of rows.
        fill_value: the content of rows for which there is no nonzero element.

    >>> import opdsl
    >>> opdsl.nonzero_static(opdsl.tensor([0, 4, 0, 5]), size=3)
    tensor([[ 1],
            [ 3],
            [-1]])
    """
    check(size >= 0, f"nonzero_static: 'size' must be an non-negative integer, but got {size}")
    if not self.ndim:
        return self.new_empty((size, 0), dtype=int64)
    is_there = (self != 0).flatten()
    rank = is_there.cumsum(0) - 1
    row = where(is_there.logical_and(rank < size), rank, size)  # the last row collects all others
    numbers = arange(is_there.shape[0], device=self.device)
    result = numbers.new_full((size + 1,), -1).scatter(0, row, numbers).narrow(0, 0, size)
    columns: list[Tensor] = []
    rest: Any = result
    for extent in reversed(self.shape):
        columns.append(where(result < 0, fill_value, rest % max(extent, 1)))
        rest = rest // max(extent, 1)
    return stack(columns[::-1], 1)
