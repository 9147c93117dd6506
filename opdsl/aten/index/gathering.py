"""Operators that gather elements at indices along one dimension, or in the flattened tensor: ``gather``, ``take``."""

from __future__ import annotations

from opdsl.aten._shared.index_tensors import BOTH, LONG, along, among_all, as_int64, modulo, require_inside, sizes_of
from opdsl.declare import Out, op, traceable
from opdsl.errors import DTypeError, PositionError
from opdsl.kernels import Positions, as_resized, check, gather
from opdsl.kernels.iteration.broadcasting import broadcast
from opdsl.runtime import Tensor, int64, require_no_overlap, wrap_dimension


@op("aten::gather", variants="method, function", tags="core", out=True)
def gather_along(self: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """Return the elements at the indices ``index`` along ``dim``: ``out[i, j] = self[index[i, j], j]`` for
    ``dim=0``.
    """
    ...


@gather_along.meta
def gather_meta(ctx, self, dim, index):
    dimension = wrap_dimension(dim, self.ndim)
    ctx.set_output(0, index.shape, like=self)
    require_apart(ctx.maybe_get_output(), index.shape, "aten::gather.out", self, index)
    if index.numel() == 0:
        return
    if index.dtype not in BOTH:
        raise DTypeError("gather(): Expected dtype int32/int64 for index")
    sizes, wanted = sizes_of(self), sizes_of(index)
    check(len(sizes) == len(wanted), "Index tensor must have the same number of dimensions as input tensor")
    for number, (size, wanted_size) in enumerate(zip(sizes, wanted, strict=True)):
        check(
            number == dimension or wanted_size <= size,
            f"Size does not match at dimension {number} expected index {list(index.shape)} to be no larger than self "
            f"{list(self.shape)} apart from dimension {dimension}",
        )
    along(self, dimension, index)


@gather_along.out_kernel
def gather_cpu(self, dim, index, out):
    if index.numel():
        strides, positions = along(self, wrap_dimension(dim, self.ndim), index)
        gather(out, self, strides, [positions])


gather_along.derivative(self=lambda grad, self, dim, index: grad.new_zeros(self.shape).scatter_add_(dim, index, grad))


def require_apart(out: Tensor | None, shape: tuple[int, ...], operator: str, *read: Tensor) -> None:
    """Check that an output, once resized to the shape of the result, shares no memory with the inputs.

    Raises:
        OverlapError: the output shares memory with an input.
    """
    if out is not None:
        shown = as_resized(out, shape)
        for source in read:
            require_no_overlap(shown, source, operator)


@op("aten::index_select", variants="method, function", tags="core", out=Out(tags=()))
def index_select(self: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return the slices of a dimension at the indices in the vector ``index``."""
    ...


@index_select.meta
def index_select_meta(ctx, self, dim, index):
    dimension = wrap_dimension(dim, self.ndim)
    check(index.ndim < 2, "index_select(): Index is supposed to be a vector", got=index.shape)
    check(
        self.ndim > 0 or index.numel() == 1,
        f"index_select(): Index to scalar can have only 1 value, got {index.numel()} value(s)",
    )
    if index.dtype not in BOTH:
        raise DTypeError("index_select(): Expected dtype int32 or int64 for index")
    out = ctx.maybe_get_output()
    if out is not None and out.dtype is not self.dtype:
        raise DTypeError("index_select(): self and result must have the same scalar type")
    shape = self.shape
    wanted = (*shape[:dimension], index.numel(), *shape[dimension + 1 :]) if shape else ()
    ctx.set_output(0, wanted, like=self)
    require_apart(out, wanted, "aten::index_select.out", self, index)
    check(
        index.numel() == 0 or not shape or shape[dimension] > 0,
        "index_select(): self indexing axis dim should be positive",
    )
    selected(self, dimension, index)


def selected(tensor: Tensor, dim: int, index: Tensor) -> tuple[tuple[int, ...], Positions]:
    """Return the strides and the index tensor with which ``gather`` reads the slices of ``index_select``.

    Raises:
        PositionError: an index is out of bounds.
    """
    wide = as_int64(index)
    size, strides = sizes_of(tensor)[dim], list(tensor.strides or (0,))
    require_inside(wide, size, dim)
    stride, strides[dim] = strides[dim], 0
    standing = wide.reshape((-1, *(1,) * (tensor.ndim - 1 - dim)) if tensor.ndim else ())
    return tuple(strides[: tensor.ndim]), Positions(standing, size, stride)


@index_select.out_kernel
def index_select_cpu(self, dim, index, out):
    strides, positions = selected(self, wrap_dimension(dim, self.ndim), index)
    gather(out, self, strides, [positions])


index_select.derivative(self=lambda grad, self, dim, index: grad.new_zeros(self.shape).index_add_(dim, index, grad))


@op("aten::take", variants="method, function", out=True)
def take(self: Tensor, index: Tensor) -> Tensor:
    """Return the elements at indices into the flattened tensor, in row-major order."""
    ...


@take.meta
def take_meta(ctx, self, index):
    if index.dtype not in LONG:
        raise DTypeError(f"take(): Expected a long tensor for index, but got {index.dtype.scalar_type}")
    out = ctx.maybe_get_output()
    if out is not None and out.dtype is not self.dtype:
        raise DTypeError(
            f"take(): self and out expected to have the same dtype, but got self.dtype = {self.dtype.scalar_type} and "
            f"out.dtype = {out.dtype.scalar_type}"
        )
    ctx.set_output(0, index.shape, like=self)
    require_apart(out, index.shape, "aten::take.out", self, index)
    if self.numel() == 0 and index.numel():
        raise PositionError("take(): tried to take from an empty tensor")
    among_all(self, index)


take.out_kernel(lambda self, index, out: gather(out, self, (0,) * index.ndim, among_all(self, index)))
take.derivative(self=lambda grad, self, index: grad.new_zeros(self.shape).put_(index, grad, True))


@op("aten::take_along_dim", variants="method, function", out=True)
@traceable
def take_along_dim(self: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Return ``gather`` with the other dimensions broadcast; if ``dim`` is None, from the flattened tensor."""
    if indices.dtype is not int64:
        raise DTypeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.scalar_type}")
    if dim is None:
        return self.reshape((-1,)).gather(0, indices.reshape((-1,)))
    check(
        self.ndim == indices.ndim,
        "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
        f"{self.ndim} dimensions for input, and {indices.ndim} dimensions for indices",
    )
    place = wrap_dimension(dim, self.ndim)
    size = sizes_of(self)[place]
    check(size > 0 or indices.numel() == 0, "ZeroDivisionError")
    shape = list(broadcast(without(self.shape, place), without(indices.shape, place)))
    source, wanted = list(shape), list(shape)
    if self.ndim:
        source[place], wanted[place] = self.shape[place], indices.shape[place]
    wrapped = modulo(indices, size) if size else indices
    return self.expand(source).gather(place, wrapped.expand(wanted))


def without(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    """Return a shape with the size of one dimension replaced by 1."""
    return (*shape[:dim], 1, *shape[dim + 1 :]) if shape else ()
