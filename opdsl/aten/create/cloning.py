"""Copies in memory of their own: gradients that leaves keep are such, so that little is loaded with them."""

from __future__ import annotations

from opdsl.declare import op, traceable
from opdsl.kernels import clone
from opdsl.runtime import MemoryFormat, Tensor
from opdsl.schema import Alias


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
