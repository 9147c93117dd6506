"""Operators that stack tensors along a new dimension or as rows, columns and blocks: ``stack``, ``hstack``,
``block_diag``.
"""

from __future__ import annotations

from collections.abc import Sequence

from opdsl.aten.create.factories import zeros
from opdsl.aten.shape.joining import cat, write_joined
from opdsl.aten.shape.splitting import unbind
from opdsl.declare import forward, op, traceable
from opdsl.dispatch import get_default_dtype
from opdsl.kernels import check, copy_
from opdsl.runtime import Tensor, contiguous_strides, cpu, make_view, result_type, wrap_dimension


def stacking_dim(tensors: Sequence[Tensor], dim: int) -> int:
    """Return the new dimension of a stack, counted from the front.

    Raises:
        ShapeError: there are no tensors, or their shapes differ.
        DimensionError: the result has no such dimension.
    """
    check(len(tensors) > 0, "stack expects a non-empty TensorList")
    dimension = wrap_dimension(dim, tensors[0].ndim + 1)
    for position, tensor in enumerate(tensors):
        check(
            tensor.shape == tensors[0].shape,
            f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at entry 0 and "
            f"{list(tensor.shape)} at entry {position}",
        )
    return dimension


@op("aten::stack", kernel="CompositeExplicitAutograd", out=True)
@traceable
def stack(tensors: list[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Concatenate tensors along a new dimension."""
    dimension = stacking_dim(tensors, dim)
    first = tensors[0]
    joins = out is None and first.device is cpu and dimension < first.ndim
    if joins and all(tensor.dtype is first.dtype and tensor.is_contiguous() for tensor in tensors):
        before, size, after = first.shape[:dimension], first.shape[dimension], first.shape[dimension + 1 :]
        output = first.new_empty((*before, len(tensors), size, *after))
        shape = (*before, len(tensors) * size, *after)
        write_joined(tensors, dimension, make_view(output, shape, contiguous_strides(shape)))
        return output
    return cat([tensor.unsqueeze(dimension) for tensor in tensors], dimension, out=out)


stack.derivative(tensors=lambda grad, dim: list(unbind(grad, dim)))


def with_dimensions(tensor: Tensor, least: int) -> Tensor:
    """Return a view with at least ``least`` dimensions, as in NumPy: a vector becomes a row, a matrix gets a last
    dimension of 1.
    """
    while tensor.ndim < least:
        tensor = tensor.unsqueeze(-1 if tensor.ndim == 2 else 0)
    return tensor


@op("aten::atleast_1d", tags="maybe_aliasing_or_mutating")
def atleast_1d(self: Tensor) -> Tensor:
    """Return the tensor with at least one dimension."""
    return with_dimensions(self, 1)


@op("aten::atleast_1d.Sequence", may_alias=True)
def atleast_1d_sequence(tensors: list[Tensor]) -> list[Tensor]:
    """Return the tensors with at least one dimension each."""
    return [with_dimensions(tensor, 1) for tensor in tensors]


@op("aten::atleast_2d", tags="maybe_aliasing_or_mutating")
def atleast_2d(self: Tensor) -> Tensor:
    """Return the tensor with at least two dimensions; a vector becomes a row."""
    return with_dimensions(self, 2)


@op("aten::atleast_2d.Sequence", may_alias=True)
def atleast_2d_sequence(tensors: list[Tensor]) -> list[Tensor]:
    """Return the tensors with at least two dimensions each; vectors become rows."""
    return [with_dimensions(tensor, 2) for tensor in tensors]


@op("aten::atleast_3d", tags="maybe_aliasing_or_mutating")
def atleast_3d(self: Tensor) -> Tensor:
    """Return the tensor with at least three dimensions; a matrix gets a last dimension of size 1."""
    return with_dimensions(self, 3)


@op("aten::atleast_3d.Sequence", may_alias=True)
def atleast_3d_sequence(tensors: list[Tensor]) -> list[Tensor]:
    """Return the tensors with at least three dimensions each; matrices get a last dimension of size 1."""
    return [with_dimensions(tensor, 3) for tensor in tensors]


# ----------------------------------------------------------------------------------------------- hstack, vstack, dstack


def widened(tensors: Sequence[Tensor], name: str, least: int) -> list[Tensor]:
    """Return the tensors that ``hstack``, ``vstack`` or ``dstack`` concatenates, with at least ``least`` dimensions.

    Raises:
        ShapeError: the list is empty.
    """
    check(len(tensors) > 0, f"{name} expects a non-empty TensorList")
    return [with_dimensions(tensor, least) for tensor in tensors]


def columns(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the tensors that ``column_stack`` concatenates, with vectors as columns.

    Raises:
        ShapeError: the list is empty.
    """
    check(len(tensors) > 0, "column_stack expects a non-empty TensorList")
    return [tensor if tensor.ndim > 1 else tensor.reshape((tensor.numel(), 1)) for tensor in tensors]


@op("aten::hstack", out=True)
@forward(
    cat, tensors=lambda tensors: widened(tensors, "hstack", 1), dim=lambda tensors: min(max(tensors[0].ndim, 1), 2) - 1
)
def hstack(tensors: list[Tensor]) -> Tensor:
    """Concatenate tensors along the second dimension, vectors along the first."""


@op("aten::vstack", out=True)
@forward(cat, tensors=lambda tensors: widened(tensors, "vstack", 2), dim=0)
def vstack(tensors: list[Tensor]) -> Tensor:
    """Concatenate tensors along the first dimension, with vectors as rows."""


row_stack = vstack.alias("aten::row_stack")


@op("aten::dstack", out=True)
@forward(cat, tensors=lambda tensors: widened(tensors, "dstack", 3), dim=2)
def dstack(tensors: list[Tensor]) -> Tensor:
    """Concatenate tensors along the third dimension."""


@op("aten::column_stack", out=True)
@forward(cat, tensors=columns, dim=1)
def column_stack(tensors: list[Tensor]) -> Tensor:
    """Concatenate tensors along the second dimension, with vectors as columns."""


# ----------------------------------------------------------------------------------------------------------- block_diag


@op("aten::block_diag", kernel="CompositeExplicitAutograd")
def block_diag_list(tensors: list[Tensor]) -> Tensor:
    """Return a matrix of zeros with the given matrices as blocks along its diagonal."""
    for position, tensor in enumerate(tensors):
        check(
            tensor.ndim <= 2,
            f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {position} has {tensor.ndim} "
            "dimensions",
        )
    blocks = [with_dimensions(tensor, 2) for tensor in tensors]
    if not blocks:
        return zeros([1, 0])
    shape = [sum(block.shape[dim] for block in blocks) for dim in range(2)]
    diag_list = zeros(shape, dtype=result_type(tensors, get_default_dtype()), device=blocks[0].device)
    row = column = 0
    for block in blocks:
        height, width = block.shape
        copy_(diag_list.narrow(0, row, height).narrow(1, column, width), block)
        row, column = row + height, column + width
    return diag_list


@block_diag_list.derivative("tensors")
def block_diag_derivative(grad, tensors):
    gradients, row, column = [], 0, 0
    for tensor in tensors:
        height, width = (1, 1, *tensor.shape)[-2:]
        gradients.append(grad.narrow(0, row, height).narrow(1, column, width).reshape(tensor.shape))
        row, column = row + height, column + width
    return gradients


def block_diag(*tensors: Tensor) -> Tensor:
    """Return a matrix of zeros with the given matrices as blocks along its diagonal.

    Args:
        tensors: of two dimensions at most.

    Raises:
        ShapeError: a tensor has more dimensions.

    >>> import opdsl
    >>> opdsl.block_diag(opdsl.tensor([[1, 2]]), opdsl.tensor([3]))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    return block_diag_list(tensors)
