"""Operators that create a tensor like another one (``zeros_like``) or of its dtype and device (``new_zeros``)."""

from __future__ import annotations

import math
from typing import Any

from opdsl.aten._shared.everywhere import EVERYWHERE
from opdsl.aten.create.factories import check_size, empty, full, ones, require_strided, zeros
from opdsl.declare import op
from opdsl.kernels import check, fill_, new_tensor
from opdsl.kernels.iteration.strides import dense_strides, strides_in_order
from opdsl.runtime import MemoryFormat, Tensor, strides_for
from opdsl.runtime.geometry import geometry
from opdsl.runtime.views import required_storage
from opdsl.schema.vocabulary import Scalar, SymInt, TensorOptions

# -------------------------------------------------------------------------------------------------------- given strides


@op("aten::empty_strided", kernel=EVERYWHERE, tags="core")
def empty_strided(size: list[SymInt], stride: list[SymInt], *, options: TensorOptions) -> Tensor:
    """Return an uninitialized tensor with the given size and strides, in elements."""
    check(
        len(size) == len(stride),
        f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})",
    )
    check_size(size)
    negative = [number for number in stride if number < 0]
    check(not negative, "as_strided: Negative strides are not supported at the moment, got strides", got=list(stride))
    output = empty([0], **options.replace(pin_memory=None))
    form = geometry(output.dtype, output.device, tuple(size), tuple(stride))
    return new_tensor(form, pinned=bool(options.pin_memory))


@op("aten::empty_permuted", kernel="CompositeExplicitAutograd")
def empty_permuted(size: list[SymInt], physical_layout: list[int], *, options: TensorOptions) -> Tensor:
    """Return an uninitialized dense tensor whose dimensions are in a given order in memory, outermost first."""
    count = len(size)
    check(
        len(physical_layout) == count,
        "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
        f"{count} is not equal to len(physical_layout) = {len(physical_layout)}",
    )
    for index, dim in enumerate(physical_layout):
        check(
            0 <= dim < count,
            f"Dimension out of range (expected to be between 0 and {count - 1}, but got {dim} at index {index})",
        )
    check(len(set(physical_layout)) == count, "Duplicate dim not allowed")
    check_size(size)
    strides = strides_in_order([max(number, 1) for number in size], tuple(reversed(physical_layout)))
    return empty_strided(size, strides, **options)


# ------------------------------------------------------------------------------------------------------- in the form of


@op("aten::empty_like", kernel="CompositeExplicitAutograd")
def empty_like(self: Tensor, *, options: TensorOptions, memory_format: MemoryFormat | None = None) -> Tensor:
    """Return an uninitialized tensor with the shape, dtype, device and memory order of ``self`` unless ``options`` say
    otherwise.
    """
    return new_like(self, options, memory_format)


empty_like.non_differentiable("self")


def new_like(self: Tensor, options: TensorOptions, memory_format: MemoryFormat | None) -> Tensor:
    """Return what ``empty_like`` returns, without dispatching the operator."""
    require_strided(options.layout)
    if memory_format in (None, MemoryFormat.preserve_format):
        strides = dense_strides(self.geometry)
    else:
        strides = strides_for(self.shape, memory_format)
    form = geometry(options.dtype or self.dtype, options.device or self.device, self.shape, strides)
    return new_tensor(form, pinned=bool(options.pin_memory))


@op("aten::full_like", kernel="CompositeExplicitAutograd", tags="core")
def full_like(
    self: Tensor, fill_value: Scalar, *, options: TensorOptions, memory_format: MemoryFormat | None = None
) -> Tensor:
    """Return a tensor with the shape and dtype of ``self`` and every element set to ``fill_value``."""
    return fill_(new_like(self, options, memory_format), fill_value)


@op("aten::zeros_like", kernel="CompositeExplicitAutograd")
def zeros_like(self: Tensor, *, options: TensorOptions, memory_format: MemoryFormat | None = None) -> Tensor:
    """Return a tensor of zeros with the shape and dtype of ``self``."""
    return fill_(new_like(self, options, memory_format), 0)


@op("aten::ones_like", kernel="CompositeExplicitAutograd")
def ones_like(self: Tensor, *, options: TensorOptions, memory_format: MemoryFormat | None = None) -> Tensor:
    """Return a tensor of ones with the shape and dtype of ``self``."""
    return fill_(new_like(self, options, memory_format), 1)


for _like in (full_like, zeros_like, ones_like):
    _like.sharding(elementwise=True)
    _like.non_differentiable("self")


# ------------------------------------------------------------------------------------------------------- of the kind of


def of_kind(self: Tensor, options: TensorOptions) -> TensorOptions:
    """Return the options with missing dtype and device taken from ``self``."""
    return options.replace(dtype=options.dtype or self.dtype, device=options.device or self.device)


OF_KIND: dict[str, Any] = {"kernel": "CompositeExplicitAutograd", "variants": "method"}


@op("aten::new_empty", **OF_KIND)
def new_empty(self: Tensor, size: list[SymInt], *, options: TensorOptions) -> Tensor:
    """Return an uninitialized tensor of the given size, with the dtype and device of ``self`` by default."""
    return empty(size, **of_kind(self, options))


@op("aten::new_empty_strided", **{**OF_KIND, "kernel": "CompositeExplicitAutogradNonFunctional"})
def new_empty_strided(self: Tensor, size: list[SymInt], stride: list[SymInt], *, options: TensorOptions) -> Tensor:
    """Return an uninitialized tensor of the given size and strides, with the dtype and device of ``self``
    by default.
    """
    return empty_strided(size, stride, **of_kind(self, options))


@op("aten::new_full", **OF_KIND)
def new_full(self: Tensor, size: list[SymInt], fill_value: Scalar, *, options: TensorOptions) -> Tensor:
    """Return a tensor of the given size with every element set to ``fill_value``, with the dtype and device of ``self``
    by default.
    """
    return full(size, fill_value, **of_kind(self, options))


@op("aten::new_zeros", **OF_KIND)
def new_zeros(self: Tensor, size: list[SymInt], *, options: TensorOptions) -> Tensor:
    """Return a tensor of zeros of the given size, with the dtype and device of ``self`` by default."""
    return zeros(size, **of_kind(self, options))


@op("aten::new_ones", **OF_KIND)
def new_ones(self: Tensor, size: list[SymInt], *, options: TensorOptions) -> Tensor:
    """Return a tensor of ones of the given size, with the dtype and device of ``self`` by default."""
    return ones(size, **of_kind(self, options))


for _make in (new_empty, new_empty_strided, new_full, new_zeros, new_ones):
    _make.non_differentiable("self")


@op("aten::_new_zeros_with_same_feature_meta", kernel="CompositeExplicitAutograd")
def _new_zeros_with_same_feature_meta(self: Tensor, other: Tensor, *, self_num_batch_dims: int = 0) -> Tensor:
    """Return zeros of the dtype of ``self`` with the first dimensions of ``self``, followed by the shape and strides of
    ``other``.

    Args:
        self: provides the dtype and the sizes of the batch dimensions.
        other: provides the shape and strides of an item of the batch.
        self_num_batch_dims: how many dimensions of ``self`` are batch dimensions.
    """
    count = self_num_batch_dims
    check(0 <= count <= self.ndim, f"expected at most {self.ndim} batch dimensions, got {count}")
    offset = other.storage_offset()
    reach = 0 if 0 in other.shape else required_storage(other.shape, other.strides)
    batch = self.shape[:count]
    steps = [reach + offset] * count
    for dim in reversed(range(count - 1)):
        steps[dim] = steps[dim + 1] * batch[dim + 1]
    whole = self.new_zeros((math.prod(batch) * (reach + offset),))
    return whole.as_strided((*batch, *other.shape), (*steps, *other.strides), offset)


_new_zeros_with_same_feature_meta.non_differentiable("self", "other")


@op("aten::_efficientzerotensor", kernel=EVERYWHERE)
def _efficientzerotensor(size: list[SymInt], *, options: TensorOptions) -> Tensor:
    """Return zeros. They have memory like any tensor; PyTorch's have none."""
    return fill_(empty(size, **options), 0)
