"""Older names of conversions, and copies that tracers and older programs name."""

from __future__ import annotations

from opdsl.aten._shared.entries import documented
from opdsl.aten.create.ranges import arange
from opdsl.declare import op
from opdsl.kernels import check, clone
from opdsl.runtime import DType, Tensor, bool_, float16, float32, float64, int8, int16, int32, int64, uint8
from opdsl.schema.vocabulary import SymInt


def declare_cast(name: str, dtype: DType) -> None:
    """Declare a copy in a dtype by PyTorch's old name of it."""

    @op(f"aten::_cast_{name}")
    @documented(f"A copy in {dtype.name}.")
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
    """The positions along a dimension."""
    return arange(like.size(dim), dtype=int64, device=like.device)


@op("aten::lift", kernel="CompositeExplicitAutograd", autogen="lift.out")
def lift(self: Tensor) -> Tensor:
    """The tensor itself, which transforms take as one of theirs."""
    return clone(self)


@op("aten::_lazy_clone", kernel="CompositeExplicitAutograd", variants="function, method")
def _lazy_clone(self: Tensor) -> Tensor:
    """A copy; PyTorch's is not made before one of the two is written."""
    return clone(self)


for _copy in (lift, _lazy_clone):
    _copy.derivative(self=lambda grad: grad.clone())


@op("aten::_reshape_copy", kernel="CompositeExplicitAutograd")
def _reshape_copy(self: Tensor, size: list[SymInt]) -> Tensor:
    """A copy with other sizes."""
    return self.reshape(size).clone()


_reshape_copy.derivative(self=lambda grad, self: grad.reshape(self.shape))


@op("aten::_masked_scale", dispatch={"CUDA": "masked_scale_cuda"}, autogen="_masked_scale.out")
def _masked_scale(self: Tensor, mask: Tensor, scale: float) -> Tensor:
    """The elements where a mask is 1, times a number."""
    return (self * mask * scale).to(self.dtype)


@op("aten::_is_all_true", variants="function, method", dispatch={"CompositeExplicitAutograd": "_is_all_true"})
def _is_all_true(self: Tensor) -> Tensor:
    """Return whether all elements are true."""
    check(self.dtype is bool_, "expected a tensor of bools")
    return self.all()


_is_all_true.non_differentiable("self")


@op("aten::_is_any_true", variants="function, method", dispatch={"CompositeExplicitAutograd": "_is_any_true"})
def _is_any_true(self: Tensor) -> Tensor:
    """Return whether an element is true."""
    check(self.dtype is bool_, "expected a tensor of bools")
    return self.any()


_is_any_true.non_differentiable("self")
