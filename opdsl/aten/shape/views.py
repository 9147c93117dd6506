"""Views of the same elements in other shapes: ``view``, ``reshape``, ``expand``, ``squeeze``, ``as_strided``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from opdsl.aten._shared.everywhere import EVERYWHERE
from opdsl.aten._shared.sharing import shared
from opdsl.declare import Inplace, forward, op, traceable
from opdsl.errors import DTypeError, ShapeError
from opdsl.kernels import check
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.runtime import (
    DType,
    MemoryFormat,
    Tensor,
    become,
    forget_history,
    has_internal_overlap,
    infer_size,
    int64,
    make_view,
    storage_size,
    view_of,
    views,
    wrap_dimension,
)
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.symbols import is_symbolic
from opdsl.schema import Alias
from opdsl.schema.vocabulary import SymInt

METHOD = Inplace(variants="method")
"""Option for the in-place variant, a method that makes the tensor itself the view."""


def same(self: views.View, *_level: int) -> views.View:
    """Return a view unchanged: the kernel of views of the whole tensor."""
    return self


@op("aten::alias", tags="core", variants="method, function")
def alias(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """Return a view of the whole tensor."""
    ...


alias.view_kernel("CompositeExplicitAutograd")(lambda self: self)


@op("aten::_fw_primal", variants="method")
def _fw_primal(self: Tensor[Alias("a")], level: int) -> Tensor[Alias("a")]:
    """Return a view of the whole tensor without a forward-mode tangent."""
    ...


_fw_primal.view_kernel("CompositeExplicitAutograd")(lambda self, level: self)


@op("aten::detach", variants="function, method")
def detach(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """Return a view of the whole tensor without autograd history."""
    ...


detach.view_kernel("CompositeExplicitAutograd")(lambda self: self)


@op("aten::view", tags="core", variants="method")
def view(self: Tensor[Alias("a")], size: list[SymInt]) -> Tensor[Alias("a")]:
    """Return a view with another shape. The strides must allow it."""
    ...


view.view_kernel(*EVERYWHERE)(lambda self, size: views.view(self, size))


@op("aten::_unsafe_view", may_alias=True, variants="function")
def _unsafe_view(self: Tensor, size: list[SymInt]) -> Tensor:
    """Return a view of a tensor that nothing else refers to; autograd treats the result as a new tensor."""
    ...


_unsafe_view.view_kernel("CompositeExplicitAutograd")(lambda self, size: views.view(self, size))


@op("aten::expand", tags="core", variants="method")
def expand(self: Tensor[Alias("a")], size: list[SymInt], *, implicit: bool = False) -> Tensor[Alias("a")]:
    """Return a view with dimensions of size 1, and new leading dimensions, repeated without a copy."""
    ...


expand.view_kernel("CompositeExplicitAutograd")(lambda self, size, implicit: views.expand(self, size))


@op("aten::unsqueeze", variants="function, method", inplace=METHOD, tags="core")
def unsqueeze(self: Tensor[Alias("a")], dim: int) -> Tensor[Alias("a")]:
    """Return a view with a new dimension of size 1."""
    ...


unsqueeze.view_kernel("CompositeExplicitAutograd")(lambda self, dim: views.unsqueeze(self, dim))


@op("aten::squeeze", variants="function, method", inplace=METHOD)
def squeeze(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """Return a view without the dimensions of size 1."""
    ...


squeeze.view_kernel("CompositeExplicitAutograd")(lambda self: views.squeeze(self))


@op("aten::squeeze.dim", variants="function, method", inplace=METHOD, tags="core")
def squeeze_dim(self: Tensor[Alias("a")], dim: int) -> Tensor[Alias("a")]:
    """Return a view without a dimension, if its size is 1."""
    ...


squeeze_dim.view_kernel("CompositeExplicitAutograd")(lambda self, dim: views.squeeze(self, dim))


@op("aten::squeeze.dims", variants="function, method", inplace=METHOD, tags="core")
def squeeze_dims(self: Tensor[Alias("a")], dim: list[int]) -> Tensor[Alias("a")]:
    """Return a view without those of the given dimensions whose size is 1."""
    ...


squeeze_dims.view_kernel("CompositeExplicitAutograd")(lambda self, dim: views.squeeze(self, dim))

_fw_primal.derivative(self=lambda grad: grad)
detach.non_differentiable("self")

for _other_shape in (view, _unsafe_view, unsqueeze):
    _other_shape.derivative(self=lambda grad, self: grad.reshape(self.shape))
# Autograd sums every gradient to the shape of its input.
expand.derivative(self=lambda grad: grad)


@op("aten::detach_", kernel="CompositeExplicitAutograd", variants="function, method", tags="inplace_view")
def detach_(self: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]:
    """Drop the autograd history of the tensor, which becomes a leaf."""
    return self


detach_.kernel("Autograd")(lambda self: forget_history(self))


@op("aten::lift_fresh", kernel="CompositeExplicitAutograd")
def lift_fresh(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """Return the tensor itself; in PyTorch function transforms replace this operator to wrap new tensors."""
    return self


# -------------------------------------------------------------------------------------------------------- view, reshape


@view.overload("dtype", kernel="CompositeExplicitAutograd", variants="method")
def view_dtype(self: Tensor[Alias("a")], dtype: DType) -> Tensor[Alias("a")]:
    """Return a view of the same bytes as elements of another dtype."""
    for bit, what in ((self.is_conj(), "conjugate view tensors"), (self.is_neg(), "tensors with negative bit set")):
        check(not bit, f"torch.Tensor.view is not supported for {what} when converting to a different dtype.")
    return make_view(self, *views.view_as_dtype(view_of(self), self.dtype, dtype), dtype)


view_dtype.non_differentiable("self")


@op("aten::reshape", variants="function, method")
@traceable
def reshape(self: Tensor[Alias("a")], shape: list[SymInt]) -> Tensor[Alias("a")]:
    """Return the tensor with another shape: a view if the strides allow it, else a copy."""
    if any(map(is_symbolic, (*self.geometry.shape, *shape))):  # symbolic sizes of a tracer are not hashable
        wanted, shows = reshaped.__wrapped__(self.geometry, tuple(shape))
    else:
        wanted, shows = reshaped(self.geometry, shape)
    if shows:
        return self.view(wanted)
    copy: Tensor = _unsafe_view(self.clone(memory_format=MemoryFormat.contiguous_format), wanted)
    return copy


@lru_cache(maxsize=1024)
def reshaped(form: TensorMeta, shape: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
    """Return the shape with its -1 filled in, and whether a view of tensors with this geometry can have it."""
    wanted, seen = views.reshape(views.View(form.shape, form.strides), shape)
    return wanted, seen is not None


@op("aten::view_as", variants="method")
@forward(view, size=lambda other: other.shape)
def view_as(self: Tensor[Alias("a")], other: Tensor) -> Tensor[Alias("a")]:
    """Return a view with the shape of another tensor. The strides must allow it."""


@op("aten::reshape_as", variants="method")
@forward(reshape, shape=lambda other: other.shape)
def reshape_as(self: Tensor[Alias("a")], other: Tensor) -> Tensor[Alias("a")]:
    """Return the tensor with the shape of another tensor: a view if the strides allow it, else a copy."""


@op("aten::ravel", variants="function, method")
@traceable
def ravel(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """Return the elements as a vector: a view if the tensor is contiguous, else a copy."""
    return self.contiguous().view((-1,))


@op("aten::flatten.using_ints", variants="function, method")
@traceable
def flatten(self: Tensor[Alias("a")], start_dim: int = 0, end_dim: int = -1) -> Tensor[Alias("a")]:
    """Merge the dimensions from ``start_dim`` to ``end_dim`` into one; a view if the strides allow it, else a copy."""
    first, last = wrap_dimension(start_dim, self.ndim), wrap_dimension(end_dim, self.ndim)
    check(first <= last, "flatten() has invalid args: start_dim cannot come after end_dim")
    if self.ndim == 0:
        return self.reshape((1,))
    if first == last:
        return self
    shape = self.shape
    return self.reshape((*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]))


@op("aten::unflatten.int", variants="function, method")
@traceable
def unflatten(self: Tensor[Alias("a")], dim: int, sizes: list[SymInt]) -> Tensor[Alias("a")]:
    """Return a view with one dimension split into several."""
    dimension = wrap_dimension(dim, self.ndim)
    check(len(sizes) > 0, "unflatten: sizes must be non-empty")
    shape = self.shape
    size = shape[dimension] if shape else 1
    try:
        parts = infer_size(sizes, size)
    except ShapeError:
        raise ShapeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dimension} ({size}) in the "
            "input tensor"
        ) from None
    return self.view((*shape[:dimension], *parts, *shape[dimension + 1 :]))


# ----------------------------------------------------------------------------------------------------------- as_strided


@op("aten::as_strided", kernel=EVERYWHERE, variants="function, method", tags="core")
def as_strided(
    self: Tensor[Alias("a")], size: list[SymInt], stride: list[SymInt], storage_offset: SymInt | None = None
) -> Tensor[Alias("a")]:
    """Return a view of the storage with any shape, strides and offset."""
    return make_view(self, *strided_view(self, size, stride, storage_offset))


@as_strided.derivative("self")
def as_strided_derivative(grad, self, size, stride, storage_offset):
    """Return the gradient, computed in the layout of the storage: elements that occur several times get the sum.

    If elements of ``self`` share memory, they divide their gradient.
    """
    count = storage_size(self) // self.itemsize
    places = grad.new_ones((count,), dtype=int64).cumsum(0).sub(1)
    offset = self.storage_offset() if storage_offset is None else storage_offset
    shown, own = (
        as_strided(places, *layout).reshape((-1,))
        for layout in ((size, stride, offset), (self.shape, self.strides, self.storage_offset()))
    )
    gradient = grad.new_zeros((count,)).index_add(0, shown, grad.reshape((-1,))).index_select(0, own)
    if has_internal_overlap(self.geometry):
        gradient = shared(
            gradient, own.new_zeros((count,)).index_add(0, own, own.new_ones(own.shape)).index_select(0, own)
        )
    return gradient.view(self.shape)


def strided_view(tensor: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None) -> views.View:
    """Return the shape, strides and offset of ``as_strided``. Raises ShapeError: they exceed the storage."""
    offset = tensor.storage_offset() if storage_offset is None else storage_offset
    return views.as_strided(tuple(size), tuple(stride), offset, storage_size(tensor), tensor.itemsize)


@op(
    "aten::as_strided_",
    kernel="CompositeExplicitAutogradNonFunctional",
    variants="function, method",
    tags="inplace_view",
)
def as_strided_(
    self: Tensor[Alias("a", write=True)], size: list[SymInt], stride: list[SymInt], storage_offset: SymInt | None = None
) -> Tensor[Alias("a", write=True)]:
    """Give the tensor itself another shape, strides and offset in its storage."""
    return become(self, strided_view(self, size, stride, storage_offset))


# ----------------------------------------------------------------------------------------------------- added dimensions


@op("aten::expand_as", variants="method")
@forward(expand, size=lambda other: other.shape)
def expand_as(self: Tensor[Alias("a")], other: Tensor) -> Tensor[Alias("a")]:
    """Return a view expanded to the shape of another tensor."""


@op("aten::broadcast_to", variants="function, method")
@forward(expand)
def broadcast_to(self: Tensor[Alias("a")], size: list[SymInt]) -> Tensor[Alias("a")]:
    """Return a view expanded to a shape; NumPy's name of ``expand``."""


@op("aten::broadcast_tensors", may_alias=True)
def broadcast_tensor_list(tensors: list[Tensor]) -> list[Tensor]:
    """Return views of the tensors, expanded to the shape to which all of them broadcast."""
    shape = broadcast_all(tensor.shape for tensor in tensors)
    return [tensor.expand(shape) for tensor in tensors]


def broadcast_tensors(*tensors: Tensor | Sequence[Tensor]) -> list[Tensor]:
    """Return views of the tensors, expanded to the shape to which all of them broadcast.

    Args:
        tensors: as separate arguments, or as one list.

    Raises:
        ShapeError: two sizes differ and neither is 1.

    >>> import opdsl
    >>> [tensor.shape for tensor in opdsl.broadcast_tensors(opdsl.ones(2, 1), opdsl.ones(3))]
    [(2, 3), (2, 3)]
    """
    listed: Any = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    return broadcast_tensor_list(listed)


@op("aten::_reshape_alias", kernel=EVERYWHERE, variants="function, method")
def _reshape_alias(self: Tensor[Alias("a")], size: list[SymInt], stride: list[SymInt]) -> Tensor[Alias("a")]:
    """Return a view with given shape and strides and the tensor's own offset; PyTorch's ``reshape`` calls it."""
    return make_view(self, *strided_view(self, size, stride, None))


_reshape_alias.derivative(self=lambda grad, self: grad.reshape(self.shape))


@op("aten::_reshape_from_tensor", kernel="CompositeImplicitAutograd", may_alias=True)
def _reshape_from_tensor(self: Tensor, shape: Tensor) -> Tensor:
    """Return ``reshape`` to the sizes in an int64 vector."""
    if shape.dtype is not int64:
        raise DTypeError(f"_reshape_from_tensor: expected sizes of int64, but got {shape.dtype}")
    check(shape.ndim == 1, "expected a vector of sizes", got=shape.shape)
    return self.reshape([int(size) for size in shape.tolist()])
