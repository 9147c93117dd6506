"""Operators that copy a tensor: ``clone`` and ``contiguous``. Autograd clones gradients that leaves keep, so this
module imports little.
"""

from __future__ import annotations

from opdsl.declare import op, traceable
from opdsl.kernels import clone
from opdsl.runtime import MemoryFormat, Tensor
from opdsl.schema import Alias


@op("aten::clone", kernel="CompositeExplicitAutograd", variants="function, method", tags=("core", "pointwise"))
def clone_tensor(self: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """Return a copy of the tensor, which shares no memory with it."""
    return clone(self, memory_format or MemoryFormat.preserve_format)


clone_tensor.sharding(elementwise=True)
clone_tensor.derivative(self=lambda grad: grad)


@op("aten::contiguous", variants="method")
@traceable
def contiguous(
    self: Tensor[Alias("a")], *, memory_format: MemoryFormat = MemoryFormat.contiguous_format
) -> Tensor[Alias("a")]:
    """Return the tensor itself if it has the memory layout ``memory_format``, else a copy that has it."""
    if self.is_contiguous(memory_format):
        return self
    return self.clone(memory_format=memory_format)
