"""Indexing by tensors, one for each dimension: ``index`` reads, ``index_put`` writes.

The rules are those of ATen/native/TensorAdvancedIndexing.cpp and IndexingUtils.h.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from opdsl.aten._shared.index_tensors import BOTH, as_int64, nonzero_columns, require_inside
from opdsl.aten._shared.scalars import plus
from opdsl.aten.index.gathering import require_apart
from opdsl.declare import Out, forward, op, traceable
from opdsl.dispatch.warning import warn
from opdsl.errors import DeviceError, DimensionError, DTypeError, PositionError, ShapeError
from opdsl.kernels import Positions, clone, gather, scatter
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.kernels.iteration.strides import output_strides
from opdsl.runtime import Tensor, bool_, contiguous_strides, require_no_overlap, require_writable, uint8
from opdsl.schema import Alias
from opdsl.schema.vocabulary import DimVector, Scalar

Indices = Sequence[Tensor | None]


class Indexed(NamedTuple):
    """Description of the loop that reads or writes the elements at index tensors.

    shape: of the result, over which the loop runs.
    strides: the tensor's strides along the loop's dimensions, in elements; 0 along dimensions of the indices.
    positions: for each indexed dimension, the index tensor that determines the offset.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    positions: list[Positions]


def indexed(self: Tensor, indices: Indices, values: Tensor | None = None) -> Indexed:
    """Return the loop over the elements of a tensor at the given index tensors, after checking the arguments.

    Args:
        self: the tensor to read or write.
        indices: index tensors or masks, one for each dimension; None takes a dimension whole.
        values: to be written, if any; only their shape is checked.

    Raises:
        DeviceError: see ``beside``.
        DimensionError: there are too many indices, one has the wrong dtype, or they do not broadcast together.
        ShapeError: the values do not broadcast.
        PositionError: an index is out of bounds.
    """
    self, indices = merge_masked(self, beside(self, indices))
    expanded, masked = expand_masks(self, indices)
    if len(expanded) > self.ndim:
        raise DimensionError(f"too many indices for tensor of dimension {self.ndim} (got {len(expanded)})")
    expanded += [None] * (self.ndim - len(expanded))
    dims = [dim for dim, index in enumerate(expanded) if index is not None]
    shape = shape_of_indices([index for index in expanded if index is not None])
    rest = [dim for dim in range(self.ndim) if dim not in dims]
    # The dimensions of the indices come first in the result if the indexed dimensions are not adjacent.
    together = not dims or dims[-1] - dims[0] + 1 == len(dims)
    before = [dim for dim in rest if together and dims and dim < dims[0]]
    after = [dim for dim in rest if dim not in before]
    full_shape = (*(self.shape[dim] for dim in before), *shape, *(self.shape[dim] for dim in after))
    if values is not None:
        value_of_shape(values, full_shape)
    positions = []
    for dim in dims:
        position = expanded[dim]
        assert position is not None, "given holds the dimensions of tensors"
        size = self.shape[dim]
        if size == 0 and 0 not in shape:
            raise PositionError("index is out of bounds for dimension with size 0")
        if dim not in masked and 0 not in full_shape:
            require_inside(position, size, dim, least=-size)
        standing = position.expand(shape).reshape((*(1,) * len(before), *shape, *(1,) * len(after)))
        positions.append(Positions(standing, size, self.strides[dim]))
    strides = (*(self.strides[dim] for dim in before), *(0,) * len(shape), *(self.strides[dim] for dim in after))
    return Indexed(full_shape, strides, positions)


def beside(self: Tensor, indices: Indices) -> Indices:
    """Move index tensors from the CPU to the device of the tensor that they index.

    Raises:
        DeviceError: an index is on another device that is not the CPU.
    """
    if all(index is None or index.device is self.device for index in indices) or self.is_meta:
        return indices
    for index in indices:
        if index is not None and not index.is_cpu and index.device is not self.device:
            raise DeviceError(
                f"indices should be either on cpu or on the same device as the indexed tensor ({self.device}), not on "
                f"{index.device}"
            )
    return [None if index is None else index.to(self.device) for index in indices]


def merge_masked(self: Tensor, indices: Indices) -> tuple[Tensor, Indices]:
    """Flatten the masked dimensions of the tensor, and the mask, if one mask is the only index and the strides allow
    it.

    A single index tensor then replaces one for each masked dimension.
    """
    present = [(place, index) for place, index in enumerate(indices) if index is not None]
    if len(present) != 1 or present[0][1].dtype is not bool_:
        return self, indices
    dim, mask = present[0]
    end = dim + mask.ndim
    sizes, strides = self.shape[dim:end], self.strides[dim:end]
    if mask.ndim < 2 or mask.shape != sizes or not mask.is_contiguous() or mask.numel() == 0:
        return self, indices
    if strides != tuple(step * strides[-1] for step in contiguous_strides(sizes)):
        return self, indices
    flat = self.view((*self.shape[:dim], mask.numel(), *self.shape[end:]))
    return flat, [mask.view(-1) if index is mask else None for index in indices]


def expand_masks(self: Tensor, indices: Indices) -> tuple[list[Tensor | None], set[int]]:
    """Convert indices to int64, replacing a mask by an index tensor for each of its dimensions.

    Returns:
        The index tensors, one for each dimension, and which of them come from masks.

    Raises:
        DimensionError: an index is neither of integers nor a mask, or the shape of a mask does not fit its dimensions.
    """
    expanded: list[Tensor | None] = []
    masked: set[int] = set()
    for place, index in enumerate(indices):
        if index is None:
            expanded.append(None)
        elif index.dtype in BOTH:
            expanded.append(as_int64(index))
        elif index.dtype in (bool_, uint8):
            first = len(expanded)
            expanded += positions_of_mask(self, index, place, first)
            masked.update(range(first, len(expanded)))
        else:
            raise DimensionError("tensors used as indices must be long, int, byte or bool tensors")
    return expanded, masked


def positions_of_mask(self: Tensor, mask: Tensor, place: int, dim: int) -> list[Tensor]:
    """Return the indices of a mask's true elements, one tensor for each of its dimensions.

    Args:
        self: the tensor that is indexed.
        mask: of bool or uint8.
        place: of the mask among the indices.
        dim: the first dimension that it masks.

    Raises:
        DimensionError: the masked dimensions have other sizes.
    """
    if mask.dtype is uint8:
        warn("indexing with dtype uint8 is now deprecated, please use a dtype bool instead.")
    if mask.shape != self.shape[dim : dim + mask.ndim]:
        raise DimensionError(
            f"The shape of the mask {list(mask.shape)} at index {place} does not match the shape of the indexed tensor "
            f"{list(self.shape)} at index {dim}"
        )
    if mask.ndim == 0:  # would add a dimension of size 1 or 0 instead of indexing one
        raise DimensionError("a zero-dim mask takes a dimension of its own: x[None][mask[None]]")
    return nonzero_columns(mask)


def shape_of_indices(tensors: Sequence[Tensor]) -> tuple[int, ...]:
    """Return the shape to which index tensors broadcast. Raises DimensionError: they do not broadcast."""
    try:
        return broadcast_all(index.shape for index in tensors)
    except ShapeError:
        shapes = ", ".join(str(list(index.shape)) for index in tensors)
        raise DimensionError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None


@op(
    "aten::index.Tensor",
    variants="function, method",
    tags=("core", "dynamic_output_shape"),
    out=Out(
        tags=(),
        structured_inherits="TensorIteratorBase",
        precomputed={"indices": {"sizes": DimVector, "strides": DimVector}},
    ),
)
def index_tensor(self: Tensor, indices: list[Tensor | None]) -> Tensor:
    """Return the elements at index tensors, one for each dimension; None takes a dimension whole."""
    ...


@index_tensor.meta
def index_meta(ctx, self, indices):
    selection = indexed(self, indices)
    out = ctx.maybe_get_output()
    if out is not None and out.dtype is not self.dtype:
        raise DTypeError(
            f"index_out: self ({self.dtype.scalar_type}) and result ({out.dtype.scalar_type}) must have the same "
            "scalar type"
        )
    require_apart(out, selection.shape, "aten::index.out", self, *(index for index in indices if index is not None))
    stepping = self.geometry.replace(shape=selection.shape, strides=selection.strides)
    operands = [stepping, *(position.tensor.geometry for position in selection.positions)]
    strides = None if out is not None and out.shape == selection.shape else output_strides(selection.shape, operands)
    ctx.set_output(0, selection.shape, strides, like=self)
    # PyTorch's kernel has the index tensors in its TensorIterator, and gets their dimensions' sizes and strides here.
    return {"sizes": selection.positions, "strides": selection.strides}


index_tensor.out_kernel(lambda self, sizes, strides, out: gather(out, self, strides, sizes))
index_tensor.derivative(self=lambda grad, self, indices: grad.new_zeros(self.shape).index_put_(indices, grad, True))


@op("aten::_unsafe_index.Tensor", kernel="CompositeExplicitAutograd")
@forward(index_tensor)
def _unsafe_index(self: Tensor, indices: list[Tensor | None]) -> Tensor:
    """Return ``index``, including the bounds checks that PyTorch's ``_unsafe_index`` omits."""


_unsafe_index.derivative(index_tensor)


# ------------------------------------------------------------------------------------------------------------ index_put


@op("aten::_index_put_impl_", kernel=True)
def _index_put_impl_(
    self: Tensor[Alias("a", write=True)],
    indices: list[Tensor | None],
    values: Tensor,
    accumulate: bool = False,
    unsafe: bool = False,
) -> Tensor[Alias("a", write=True)]:
    """Write values at index tensors, or add them if ``accumulate``."""
    return write_indexed(self, indices, values, accumulate)


def write_indexed(self: Tensor, indices: Indices, values: Tensor, accumulate: bool) -> Tensor:
    """Write or add values at index tensors in place: the kernel of ``index_put_``.

    Raises:
        DeviceError, DimensionError, PositionError: see ``indexed``; zero-dim values may be on any device.
        DTypeError: the dtypes differ.
        ShapeError: the values do not broadcast.
        OverlapError: elements of the output share memory with each other or with an input.
    """
    fills = not accumulate and values.numel() == 1 and is_one_mask(indices)
    selection = indexed(self, indices, values)
    if self.dtype is not values.dtype and not fills:
        raise DTypeError(
            f"Index put requires the source and destination dtypes match, got {self.dtype.scalar_type} for the "
            f"destination and {values.dtype.scalar_type} for the source."
        )
    require_writable(self, "aten::index_put_")
    if values.device is not self.device:
        if values.ndim:
            raise DeviceError(
                f"Expected all tensors to be on the same device, but found at least two devices, {self.device} and "
                f"{values.device}!"
            )
        values = values.to(self.device)
    for read in (values, *(index for index in indices if index is not None)):
        require_no_overlap(self, read, "aten::index_put_")
    scatter(
        self,
        selection.shape,
        selection.strides,
        selection.positions,
        value_of_shape(values, selection.shape),
        plus if accumulate else None,
    )
    return self


def is_one_mask(indices: Indices) -> bool:
    """Return whether a single mask is the only index: PyTorch then fills (``canDispatchToMaskedFill``).

    Raises:
        DTypeError: the mask is not bool.
    """
    tensors = [index for index in indices if index is not None]
    if len(tensors) != 1 or tensors[0].dtype not in (bool_, uint8):
        return False
    if tensors[0].dtype is uint8:
        raise DTypeError("masked_fill_ only supports boolean masks, but got mask with dtype unsigned char")
    return True


def value_of_shape(values: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Broadcast values to the shape of the elements that they are written to.

    Raises:
        ShapeError: they do not broadcast.
    """
    try:
        return values.expand(shape)
    except ShapeError:
        raise ShapeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of "
            f"shape {list(shape)}"
        ) from None


@op("aten::index_put_", kernel="CompositeExplicitAutograd", variants="function, method")
def index_put_(
    self: Tensor[Alias("a", write=True)], indices: list[Tensor | None], values: Tensor, accumulate: bool = False
) -> Tensor[Alias("a", write=True)]:
    """Write values at index tensors in place, or add them if ``accumulate``."""
    return write_indexed(self, indices, values, accumulate)


@op("aten::index_put", kernel="CompositeExplicitAutograd", variants="function, method", tags="core")
@traceable
def index_put(self: Tensor, indices: list[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
    """Return ``self`` with values written at index tensors, or added if ``accumulate``."""
    return self.clone().index_put_(indices, values, accumulate)


@op("aten::_unsafe_index_put", kernel="CompositeExplicitAutograd")
def _unsafe_index_put(self: Tensor, indices: list[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
    """Return ``index_put``, including the bounds checks that PyTorch's ``_unsafe_index_put`` omits."""
    return write_indexed(clone(self), indices, values, accumulate)


def kept_derivative(grad: Tensor, indices: Indices, accumulate: bool) -> Tensor:
    """Return the gradient for ``self`` of ``index_put``: 0 where elements are overwritten, all of ``grad`` if values
    are added.
    """
    return grad if accumulate else grad.index_put(indices, grad.new_zeros(()), False)


for _write in (_index_put_impl_, index_put_, index_put, _unsafe_index_put):
    _write.derivative(self=kept_derivative, values=lambda grad, indices: index_tensor(grad, indices))


# --------------------------------------------------------------------------------------------------- where a mask holds


def inside(self: Tensor, indices: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Clamp indices to the bounds of their dimensions."""
    sizes = self.shape
    return [
        index if index is None or dim >= len(sizes) else index.clamp(-sizes[dim], sizes[dim] - 1)
        for dim, index in enumerate(indices)
    ]


@op("aten::_unsafe_masked_index", kernel="CompositeExplicitAutograd", variants="function")
def _unsafe_masked_index(self: Tensor, mask: Tensor, indices: list[Tensor | None], fill: Scalar) -> Tensor:
    """Return the elements at index tensors where a mask holds, and ``fill`` elsewhere."""
    if self.numel():
        return _unsafe_index(self, inside(self, indices)).masked_fill(mask.logical_not(), fill)
    # Index a tensor of one element in each indexed dimension instead, so that the result has the shape of the indices.
    shape = [1 if index is not None else size for index, size in zip(indices, self.shape, strict=False)]
    one = self.new_full((*shape, *self.shape[len(shape) :]), fill)
    return _unsafe_index(one, [None if index is None else index.new_zeros(index.shape) for index in indices])


@op("aten::_unsafe_masked_index_put_accumulate", kernel="CompositeExplicitAutograd", variants="function")
def _unsafe_masked_index_put_accumulate(
    self: Tensor, mask: Tensor, indices: list[Tensor | None], values: Tensor
) -> Tensor:
    """Return ``self`` with values added at index tensors where a mask holds."""
    if not self.numel():
        return self.clone()
    return _unsafe_index_put(self, inside(self, indices), values.masked_fill(mask.logical_not(), 0), True)


_unsafe_masked_index_put_accumulate.derivative(
    self=lambda grad: grad, values=lambda grad, mask, indices: _unsafe_masked_index(grad, mask, indices, 0)
)
_unsafe_masked_index.derivative(
    self=lambda grad, self, mask, indices: _unsafe_masked_index_put_accumulate(
        grad.new_zeros(self.shape), mask, indices, grad
    )
)
