"""Older names of conversions, and copies that tracers and older programs name."""

from __future__ import annotations

from opdsl.aten.create.ranges import arange
from opdsl.declare import op
from opdsl.kernels import check
from opdsl.runtime import Tensor, bool_, float16, float32, float64, int8, int16, int32, int64, uint8
from opdsl.schema.vocabulary import SymInt


@op("aten::_cast_Byte")
def _cast_Byte(self: Tensor, non_blocking: bool = False) -> Tensor:
    """A copy in uint8."""
    return self.to(uint8, non_blocking, True)


@op("aten::_cast_Char")
def _cast_Char(self: Tensor, non_blocking: bool = False) -> Tensor:
    """A copy in int8."""
    return self.to(int8, non_blocking, True)


@op("aten::_cast_Short")
def _cast_Short(self: Tensor, non_blocking: bool = False) -> Tensor:
    """A copy in int16."""
    return self.to(int16, non_blocking, True)


@op("aten::_cast_Int")
def _cast_Int(self: Tensor, non_blocking: bool = False) -> Tensor:
    """A copy in int32."""
    return self.to(int32, non_blocking, True)


@op("aten::_cast_Long")
def _cast_Long(self: Tensor, non_blocking: bool = False) -> Tensor:
    """A copy in int64."""
    return self.to(int64, non_blocking, True)


@op("aten::_cast_Half")
def _cast_Half(self: Tensor, non_blocking: bool = False) -> Tensor:
    """A copy in float16."""
    return self.to(float16, non_blocking, True)


@op("aten::_cast_Float")
def _cast_Float(self: Tensor, non_blocking: bool = False) -> Tensor:
    """A copy in float32."""
    return self.to(float32, non_blocking, True)


@op("aten::_cast_Double")
def _cast_Double(self: Tensor, non_blocking: bool = False) -> Tensor:
    """A copy in float64."""
    return self.to(float64, non_blocking, True)


@op("aten::_dim_arange")
def _dim_arange(like: Tensor, dim: int) -> Tensor:
    """The positions along a dimension."""
    return arange(like.size(dim), dtype=int64, device=like.device)


@op("aten::lift", kernel="CompositeExplicitAutograd", autogen="lift.out")
def lift(self: Tensor) -> Tensor:
    """The tensor itself, which transforms take as one of theirs."""
    return self.clone()


lift.derivative(self=lambda grad: grad.clone())


@op("aten::_lazy_clone", kernel="CompositeExplicitAutograd", variants="function, method")
def _lazy_clone(self: Tensor) -> Tensor:
    """A copy; PyTorch's is not made before one of the two is written."""
    return self.clone()


_lazy_clone.derivative(self=lambda grad: grad.clone())


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
    """Whether all elements are true."""
    check(self.dtype is bool_, "expected a tensor of bools")
    return self.all()


_is_all_true.non_differentiable("self")


@op("aten::_is_any_true", variants="function, method", dispatch={"CompositeExplicitAutograd": "_is_any_true"})
def _is_any_true(self: Tensor) -> Tensor:
    """Whether an element is true."""
    check(self.dtype is bool_, "expected a tensor of bools")
    return self.any()


_is_any_true.non_differentiable("self")
