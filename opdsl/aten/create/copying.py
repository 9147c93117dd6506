"""Operators that copy the elements of one tensor into another: ``copy_`` and ``copy``."""

from __future__ import annotations

from opdsl.aten.create.like_factories import zeros_like
from opdsl.declare import op
from opdsl.kernels import clone, copy_
from opdsl.runtime import Tensor
from opdsl.schema import Alias


@op("aten::copy_", kernel="CompositeExplicitAutograd", variants="method")
def copy_tensor_(
    self: Tensor[Alias("a", write=True)], src: Tensor, non_blocking: bool = False
) -> Tensor[Alias("a", write=True)]:
    """Copy the elements of ``src``, broadcast and converted to the dtype of ``self``, into ``self``."""
    return copy_(self, src, non_blocking=non_blocking)


@copy_tensor_.derivative("self", "src")
def copy_tensor_derivative(grad, output_mask):
    return (zeros_like(grad) if output_mask[0] else None), grad


@op("aten::copy", kernel="CompositeExplicitAutogradNonFunctional", tags="core")
def copy_functional(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Return ``src`` broadcast to the shape and converted to the dtype of ``self``."""
    return copy_(clone(self), src)


@copy_functional.derivative("self", "src")
def copy_functional_derivative(grad, output_mask):
    return (zeros_like(grad) if output_mask[0] else None), grad
