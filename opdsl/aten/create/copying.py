"""Copies."""

from __future__ import annotations

from opdsl.aten.create.like_factories import zeros_like
from opdsl.declare import op, traceable
from opdsl.kernels import clone, copy_
from opdsl.runtime import MemoryFormat, Tensor
from opdsl.schema import Alias


@op(
    "aten::copy_",
    kernel="CompositeExplicitAutograd",
    variants="method",
    device_check="NoCheck",
    device_guard=False,
    autogen="copy.out",
)
def copy_tensor_(
    self: Tensor[Alias("a", write=True)], src: Tensor, non_blocking: bool = False
) -> Tensor[Alias("a", write=True)]:
    """Writes another tensor's elements, broadcast and converted, into this one."""
    return copy_(self, src, non_blocking=non_blocking)


@copy_tensor_.derivative("self", "src")
def copy_tensor_derivative(grad, output_mask):
    return (zeros_like(grad) if output_mask[0] else None), grad


@op("aten::copy", kernel="CompositeExplicitAutogradNonFunctional", tags="core")
def copy_functional(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """``src`` broadcast to the shape and converted to the dtype of ``self``."""
    return copy_(clone(self), src)


@copy_functional.derivative("self", "src")
def copy_functional_derivative(grad, output_mask):
    return (zeros_like(grad) if output_mask[0] else None), grad


@op(
    "aten::clone",
    kernel="CompositeExplicitAutograd",
    variants="function, method",
    tags=("core", "pointwise"),
    autogen="clone.out",
)
def clone_tensor(self: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """A copy with memory of its own."""
    return clone(self, memory_format or MemoryFormat.preserve_format)


clone_tensor.sharding(elementwise=True)


clone_tensor.derivative(self=lambda grad: grad)


@op("aten::contiguous", variants="method", manual_cpp_binding=True)
@traceable
def contiguous(
    self: Tensor[Alias("a")], *, memory_format: MemoryFormat = MemoryFormat.contiguous_format
) -> Tensor[Alias("a")]:
    """The tensor itself if its elements lie in that order, a copy in which they do otherwise."""
    if self.is_contiguous(memory_format):
        return self
    return self.clone(memory_format=memory_format)
