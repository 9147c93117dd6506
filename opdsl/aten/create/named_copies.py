"""Conversions under PyTorch's older names (``_cast_Float``), and copies that appear in traces and older programs."""

from __future__ import annotations

from opdsl.aten._shared.entries import documented
from opdsl.aten.create.ranges import arange
from opdsl.declare import op
from opdsl.kernels import check, clone
from opdsl.runtime import DType, Tensor, bool_, float16, float32, float64, int8, int16, int32, int64, uint8
from opdsl.schema.vocabulary import SymInt


def declare_cast(name: str, dtype: DType) -> None:
    """Declare the operator ``_cast_NAME``, PyTorch's older name of a copy that is converted to a dtype."""

    @op(f"aten::_cast_{name}")
    @documented(f"Return a copy converted to {dtype.name}.")
    def cast(self: Tensor, non_blocking: bool = False) -> Tensor:
        return self.to(dtype, non_blocking, True)


CASTS = {
    "Byte": uint8,
    "Char": int8,
    "Short": int16,
    "Int": int32,
    "Long": int64,
    "Half": float16,
    "Float": float32,
    "Double": float64,
}
for _name, _dtype in CASTS.items():
    declare_cast(_name, _dtype)


@op("aten::_dim_arange")
def _dim_arange(like: Tensor, dim: int) -> Tensor:
    """Return the indices along a dimension: ``arange(like.size(dim))``."""
    return arange(like.size(dim), dtype=int64, device=like.device)


@op("aten::lift", kernel="CompositeExplicitAutograd")
def lift(self: Tensor) -> Tensor:
    """Return a copy of the tensor; in PyTorch function transforms replace this operator by one that wraps
    the tensor.
    """
    return clone(self)


@op("aten::_lazy_clone", kernel="CompositeExplicitAutograd", variants="function, method")
def _lazy_clone(self: Tensor) -> Tensor:
    """Return a copy. It is made at once; PyTorch's is copy-on-write."""
    return clone(self)


for _copy in (lift, _lazy_clone):
    _copy.derivative(self=lambda grad: grad.clone())


@op("aten::_reshape_copy", kernel="CompositeExplicitAutograd")
def _reshape_copy(self: Tensor, size: list[SymInt]) -> Tensor:
    """Return a copy of the tensor with another shape."""
    return self.reshape(size).clone()


_reshape_copy.derivative(self=lambda grad, self: grad.reshape(self.shape))


@op("aten::_masked_scale")
def _masked_scale(self: Tensor, mask: Tensor, scale: float) -> Tensor:
    """``self * mask * scale``, in the dtype of ``self``."""
    return (self * mask * scale).to(self.dtype)


@op("aten::_is_all_true", variants="function, method")
def _is_all_true(self: Tensor) -> Tensor:
    """Return whether all elements are true."""
    check(self.dtype is bool_, "expected a tensor of bools")
    return self.all()


_is_all_true.non_differentiable("self")


@op("aten::_is_any_true", variants="function, method")
def _is_any_true(self: Tensor) -> Tensor:
    """Return whether at least one element is true."""
    check(self.dtype is bool_, "expected a tensor of bools")
    return self.any()


_is_any_true.non_differentiable("self")
