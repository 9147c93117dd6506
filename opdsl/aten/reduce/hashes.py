"""Operator ``hash_tensor``: one number for a set of elements, independent of their order."""

from __future__ import annotations

from opdsl import primitives
from opdsl.aten._shared.checks import require_kernel
from opdsl.declare import Library, formula, op
from opdsl.kernels import check
from opdsl.runtime import Tensor, float64, int64, uint16, uint32, uint64
from opdsl.schema.vocabulary import Ints

lib = Library("opdsl")

exclusive_ors = primitives.fold(lambda a, b: a ^ b, init=0)


@lib.op
@formula
def exclusive_or(self: Tensor, dim: Ints[1] = (), keepdim: bool = False) -> Tensor:
    """Return the bitwise exclusive or of the elements along dimensions, along all by default."""
    return exclusive_ors(self, dim, keepdim)


@op("aten::hash_tensor", variants="function, method", out=True)
def hash_tensor(self: Tensor, dim: Ints[1] = (), *, keepdim: bool = False, mode: int = 0) -> Tensor:
    """Return a uint64 hash of the elements along dimensions, along all by default: the exclusive or of their 64-bit
    patterns.

    Args:
        self: real numbers, which are converted to float64 or int64 first.
        dim: the dimensions.
        keepdim: whether to keep them with size 1.
        mode: must be 0.
    """
    ...


@hash_tensor.kernel
def hash_tensor_kernel(self, dim, keepdim, mode):
    check(mode == 0, f"Unknown hash_tensor mode: {mode}")
    is_wide = self.dtype in (uint16, uint32, uint64)
    require_kernel(not (self.dtype.is_complex or is_wide), "xor_sum_cpu", self.dtype)
    check(
        self.numel() > 0 or len(dim) > 0,
        "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
        "the 'dim' argument.",
    )
    bits = self.to(float64).view(int64) if self.dtype.is_floating_point else self.to(int64)
    return exclusive_or(bits, dim, keepdim).view(uint64)


hash_tensor.non_differentiable("self")
