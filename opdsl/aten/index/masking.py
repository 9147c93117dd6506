"""Operators that find elements by a condition, and write where a mask holds."""

from __future__ import annotations

from typing import Literal, overload

from opdsl.aten._shared.index_tensors import nonzero_columns, nonzero_rows
from opdsl.aten.create.factories import full, zeros
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.shape.splitting import unbind
from opdsl.aten.shape.view_scatters import constant_pad_nd
from opdsl.declare import Out, forward, op, traceable
from opdsl.errors import DTypeError
from opdsl.kernels import Positions, check, gather, new_tensor, scatter
from opdsl.kernels.iteration.broadcasting import broadcast
from opdsl.kernels.iteration.numbers import to_element
from opdsl.kernels.primitives.copying import copy_elements
from opdsl.runtime import (
    DType,
    MemoryFormat,
    Tensor,
    bool_,
    cpu,
    install_method,
    int32,
    int64,
    require_no_overlap,
    require_writable,
)
from opdsl.runtime.geometry import geometry
from opdsl.schema import Alias
from opdsl.schema.vocabulary import Scalar

# ------------------------------------------------------------------------------------------------------------- nonzero


@op(
    "aten::nonzero",
    kernel=True,
    variants="method, function",
    tags=("dynamic_output_shape", "core"),
    out=Out(explicit=True, apart=True),
)
def nonzero_tensor(self: Tensor) -> Tensor:
    """The indices of the elements that are not zero, one row for each."""
    if self.device is cpu and self.ndim:
        return nonzero_rows(self)
    columns = nonzero_columns(self)
    count = columns[0].numel() if columns else int(bool(self.item()))
    made = new_tensor(geometry(int64, self.device, (count, self.ndim), (1, count)))
    for dim, column in enumerate(columns):
        copy_elements(made.select(1, dim), column)
    return made


@overload
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: Literal[False] = False) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
@overload
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool) -> Tensor | tuple[Tensor, ...]: ...
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Tensor | tuple[Tensor, ...]:
    """The indices of the elements that are not zero.

    Args:
        input: of any dtype.
        out: where to write them; int64.
        as_tuple: whether they come as one tensor for each dimension, and not as one row for each element.

    >>> import opdsl
    >>> opdsl.nonzero(opdsl.tensor([[0, 1], [2, 0]]), as_tuple=True)
    (tensor([0, 1]), tensor([1, 0]))
    """
    if as_tuple:
        return tuple(nonzero_numpy(input))
    return nonzero_tensor(input) if out is None else nonzero_tensor(input, out=out)


@overload
def nonzero_method(self: Tensor, *, as_tuple: Literal[False] = False) -> Tensor: ...
@overload
def nonzero_method(self: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
@overload
def nonzero_method(self: Tensor, *, as_tuple: bool) -> Tensor | tuple[Tensor, ...]: ...
def nonzero_method(self: Tensor, *, as_tuple: bool = False) -> Tensor | tuple[Tensor, ...]:
    """``opdsl.nonzero``.

    Args:
        as_tuple: whether they come as one tensor for each dimension, and not as one row for each element.
    """
    return tuple(nonzero_numpy(self)) if as_tuple else nonzero_tensor(self)


install_method("nonzero", nonzero_method, replace=True)


@op("aten::nonzero_numpy", variants="method, function")
def nonzero_numpy(self: Tensor) -> list[Tensor]:
    """The indices of the elements that are not zero, one tensor for each dimension."""
    return unbind(nonzero_tensor(self if self.ndim else self.unsqueeze(0)), 1)


@op("aten::argwhere", variants="method, function", tags="dynamic_output_shape")
@forward(nonzero_tensor)
def argwhere(self: Tensor) -> Tensor:
    """``nonzero``, by NumPy's name."""


# ------------------------------------------------------------------------------------------------------- masked_select


# PyTorch's kernel finds the size of its result.
@op(
    "aten::masked_select",
    kernel=True,
    variants="method, function",
    tags="dynamic_output_shape",
    out=Out(explicit=True, apart=True),
)
def masked_select(self: Tensor, mask: Tensor) -> Tensor:
    """The elements where a mask holds, in row-major order."""
    require_mask(mask, "masked_select: expected BoolTensor for mask")
    shape = broadcast(self.shape, mask.shape)
    source, positions = where_it_holds(self.expand(shape), mask.expand(shape))
    count = positions[0].tensor.numel()
    made = new_tensor(geometry(self.dtype, self.device, (count,), (1,)))
    gather(made, source, (0,), positions)
    return made


@masked_select.derivative("self")
def masked_select_derivative(grad, self, mask):
    shape = broadcast(self.shape, mask.shape)
    return zeros(shape, dtype=grad.dtype, device=grad.device).masked_scatter(mask, grad)


def require_mask(mask: Tensor, message: str) -> None:
    """That a mask is bool.

    Raises:
        DTypeError: it is not.
    """
    if mask.dtype is not bool_:
        raise DTypeError(message)


def where_it_holds(tensor: Tensor, mask: Tensor) -> tuple[Tensor, list[Positions]]:
    """Where a mask of the tensor's shape holds: positions that lead through the tensor, or through its elements."""
    if tensor.ndim != 1 and tensor.is_contiguous() and mask.is_contiguous():
        tensor, mask = tensor.view((-1,)), mask.view((-1,))
    pairs = zip(nonzero_columns(mask), tensor.shape, tensor.strides, strict=True)
    return tensor, [Positions(column, size, stride) for column, size, stride in pairs]


# ------------------------------------------------------------------------------------------ masked_fill, masked_scatter


@op(
    "aten::masked_fill_.Scalar",
    kernel=True,
    variants="method",
    device_check="NoCheck",
    autogen="masked_fill.Scalar_out",
)
def masked_fill_(self: Tensor[Alias("a", write=True)], mask: Tensor, value: Scalar) -> Tensor[Alias("a", write=True)]:
    """Writes a number where a mask holds."""
    return fill_where(self, mask, value)


masked_fill_.derivative(self=lambda grad, mask: grad.masked_fill(mask, 0))


@masked_fill_.overload(
    "Tensor", kernel=True, variants="method", device_check="NoCheck", autogen="masked_fill.Tensor_out"
)
def masked_fill_tensor_(
    self: Tensor[Alias("a", write=True)], mask: Tensor, value: Tensor
) -> Tensor[Alias("a", write=True)]:
    """Writes a zero-dim tensor where a mask holds."""
    check(
        value.ndim == 0,
        f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).",
    )
    return fill_where(self, mask, 0 if self.is_meta else value.item())


masked_fill_tensor_.derivative(
    self=lambda grad, mask: grad.masked_fill(mask, 0),
    value=lambda grad, mask: grad.masked_fill(mask.logical_not(), 0).sum(),
)


def fill_where(self: Tensor, mask: Tensor, value: complex) -> Tensor:
    """``masked_fill_``.

    Raises:
        DTypeError: the mask is not bool. ShapeError: it does not broadcast to the tensor.
        NumberError: the dtype does not hold the number. OverlapError: the tensor's elements overlap.
    """
    require_mask(mask, f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype.scalar_type}")
    number = to_element(value, self.dtype, self.numel())
    mask = mask.expand(self.shape)
    require_writable(self, "aten::masked_fill_")
    require_no_overlap(self, mask, "aten::masked_fill_")
    return where(mask, full([], number, dtype=self.dtype, device=self.device), self, out=self)


@op(
    "aten::masked_fill.Scalar",
    kernel="CompositeExplicitAutograd",
    variants="function, method",
    tags="pointwise",
    device_check="NoCheck",
)
@traceable
def masked_fill(self: Tensor, mask: Tensor, value: Scalar) -> Tensor:
    """``self`` with a number where a mask holds."""
    return broadcast_copy(self, mask).masked_fill_(mask, value)


masked_fill.sharding(elementwise=True)


def kept_derivative(grad, mask):
    """The gradient of what a mask does not hold for."""
    return grad.masked_fill(mask, 0)


masked_fill.derivative("self")(kept_derivative)


@masked_fill.overload("Tensor", kernel="CompositeExplicitAutograd", variants="function, method", device_check="NoCheck")
@traceable
def masked_fill_tensor(self: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    """``self`` with a zero-dim tensor where a mask holds."""
    return broadcast_copy(self, mask).masked_fill_(mask, value)


masked_fill_tensor.sharding(elementwise=True)


masked_fill_tensor.derivative("self")(kept_derivative)
masked_fill_tensor.derivative(value=lambda grad, mask: grad.masked_fill(mask.logical_not(), 0).sum())


def broadcast_copy(self: Tensor, mask: Tensor) -> Tensor:
    """A contiguous copy in the shape to which a tensor and a mask broadcast."""
    return self.expand(broadcast(mask.shape, self.shape)).clone(memory_format=MemoryFormat.contiguous_format)


@op("aten::masked_scatter_", kernel=True, variants="method", autogen="masked_scatter.out")
def masked_scatter_(
    self: Tensor[Alias("a", write=True)], mask: Tensor, source: Tensor
) -> Tensor[Alias("a", write=True)]:
    """Writes the elements of ``source``, one after another, where a mask holds."""
    if self.dtype is not source.dtype:
        raise DTypeError(
            "masked_scatter: expected self and source to have same dtypes but got "
            f"{self.dtype.scalar_type} and {source.dtype.scalar_type}"
        )
    require_mask(mask, f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype.scalar_type}")
    mask = mask.expand(self.shape)
    require_writable(self, "aten::masked_scatter_")
    for each in (mask, source):
        require_no_overlap(self, each, "aten::masked_scatter_")
    if self.is_meta:
        return self
    target, positions = where_it_holds(self, mask)
    count = positions[0].tensor.numel()
    check(source.numel() >= count, "Number of elements of source < number of ones in mask", got=source.numel())
    values = source.reshape((-1,)).narrow(0, 0, count)
    scatter(target, (count,), (0,), positions, values)
    return self


masked_scatter_.derivative(self=lambda grad, mask: grad.masked_fill(mask, 0))


@masked_scatter_.derivative("source")
def masked_scatter_source_inplace_derivative(grad, mask, source):
    taken = grad.masked_select(mask)
    return constant_pad_nd(taken, (0, source.numel() - taken.numel())).reshape(source.shape)


@op("aten::masked_scatter", kernel="CompositeExplicitAutograd", variants="function, method", tags="core")
def masked_scatter(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """``self`` with the elements of ``source``, one after another, where a mask holds."""
    return broadcast_copy(self, mask).masked_scatter_(mask, source)


masked_scatter.derivative("self")(kept_derivative)


@masked_scatter.derivative("source")
def masked_scatter_source_derivative(grad, mask, source):
    taken = grad.masked_select(mask)
    return constant_pad_nd(taken, (0, source.numel() - taken.numel())).reshape(source.shape)


@op("aten::_rowwise_prune")
def _rowwise_prune(weight: Tensor, mask: Tensor, compressed_indices_dtype: DType) -> tuple[Tensor, Tensor]:
    """The rows that a mask keeps, and for each row which of these it is, -1 for none.

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
