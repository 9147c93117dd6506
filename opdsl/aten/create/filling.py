"""Operators that set all elements of a tensor (``fill_``, ``zero_``) or resize it (``resize_``)."""

from __future__ import annotations

from typing import Any

from opdsl.aten._shared.everywhere import EVERYWHERE
from opdsl.aten.create.factories import check_size, give_size
from opdsl.aten.create.like_factories import empty_like, zeros_like
from opdsl.declare import op
from opdsl.errors import DeviceError
from opdsl.kernels import check, copy_, fill_, resize
from opdsl.runtime import Device, MemoryFormat, Tensor, has_internal_overlap, strides_for
from opdsl.schema import Alias
from opdsl.schema.vocabulary import Scalar, SymInt


def zero_derivative(grad: Tensor) -> Tensor:
    """Return a gradient of zeros, for an operand that is overwritten or only parametrizes random numbers."""
    return zeros_like(grad)


WRITE: dict[str, Any] = {"kernel": EVERYWHERE, "variants": "function, method"}


@op("aten::fill_.Scalar", **WRITE)
def fill_number_(self: Tensor[Alias("a", write=True)], value: Scalar) -> Tensor[Alias("a", write=True)]:
    """Set every element to a number."""
    return fill_(self, value)


@op("aten::fill_.Tensor", **WRITE)
def fill_tensor_(self: Tensor[Alias("a", write=True)], value: Tensor) -> Tensor[Alias("a", write=True)]:
    """Set every element to the element of the zero-dim tensor ``value``."""
    check(value.ndim == 0, f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    if has_internal_overlap(self.geometry):  # copy_ refuses elements that share memory
        return fill_(self, value.item())
    return copy_(self, value.clone())


@op("aten::zero_", **{**WRITE, "variants": "method, function"})
def zero_(self: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]:
    """Set every element to 0."""
    return fill_(self, 0)


@op("aten::fill.Scalar", kernel="CompositeExplicitAutograd", tags="core")
def fill_number(self: Tensor, value: Scalar) -> Tensor:
    """Return a tensor with the shape and dtype of ``self`` and every element set to ``value``."""
    return empty_like(self).fill_(value)


@op("aten::fill.Tensor", kernel="CompositeExplicitAutograd")
def fill(self: Tensor, value: Tensor) -> Tensor:
    """Return a tensor with the shape and dtype of ``self`` and every element set to that of the zero-dim tensor
    ``value``.
    """
    return empty_like(self).fill_(value)


for _fill in (fill_number_, fill_tensor_, zero_, fill_number, fill):
    _fill.derivative("self")(zero_derivative)
for _fill in (fill_tensor_, fill):
    _fill.derivative(value=lambda grad: grad.sum())
for _fill in (fill_number, fill):
    _fill.sharding(elementwise=True)


@op("aten::resize_", kernel=EVERYWHERE, variants="method", tags=("core", "inplace_view"))
def resize_(
    self: Tensor[Alias("a", write=True)], size: list[SymInt], *, memory_format: MemoryFormat | None = None
) -> Tensor[Alias("a", write=True)]:
    """Resize the tensor in place; new elements are uninitialized."""
    check_size(size)
    check(memory_format is not MemoryFormat.preserve_format, "Unsupported memory format", got=str(memory_format))
    if memory_format is None:
        give_size(self, tuple(size))
    else:
        resize(self, tuple(size), strides_for(tuple(size), memory_format))
    return self


@op("aten::resize_as_", kernel="CompositeExplicitAutograd", variants="function, method", tags="inplace_view")
def resize_as_(
    self: Tensor[Alias("a", write=True)], the_template: Tensor, *, memory_format: MemoryFormat | None = None
) -> Tensor[Alias("a", write=True)]:
    """Resize the tensor in place to the shape of ``the_template``."""
    if memory_format is MemoryFormat.preserve_format:
        memory_format = the_template.geometry.suggested_memory_format()
    return self.resize_(the_template.shape, memory_format=memory_format)


@op("aten::_resize_output_", kernel=EVERYWHERE)
def _resize_output_(
    self: Tensor[Alias("a", write=True)], size: list[SymInt], device: Device
) -> Tensor[Alias("a", write=True)]:
    """Resize an output tensor in place, after checking that it is on the given device."""
    if self.device != device:
        raise DeviceError(f"_resize_output_: expected a tensor on {device}, got one on {self.device}")
    return self.resize_(size)
