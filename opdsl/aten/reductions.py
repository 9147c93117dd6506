"""Sums, means and largest elements."""

from __future__ import annotations

import math
from typing import Annotated

from opdsl.declare import Out, op, traceable
from opdsl.errors import DTypeError
from opdsl.runtime import DType, Tensor, can_cast, wrap_dimension
from opdsl.schema import Alias
from opdsl.schema.vocabulary import IntList, Size


def restore_dims(reduced: Tensor, ndim: int, dim: tuple[int, ...] | None, keepdim: bool) -> Tensor:
    """The result of a reduction with its dimensions back, of size 1, so that it broadcasts to what was reduced.

    Args:
        reduced: the result, or its gradient.
        ndim: number of dimensions of what was reduced.
        dim: the dimensions that were; None or none stand for all.
        keepdim: whether they are there already.
    """
    if keepdim:
        return reduced
    for each in sorted(wrap_dimension(each, ndim) for each in dim or range(ndim)):
        reduced = reduced.unsqueeze(each) if ndim else reduced
    return reduced


# ---------------------------------------------------------------------------------------------------------------- sum


@op(
    "aten::sum.dim_IntList",
    variants="function, method",
    tags=("core", "reduction"),
    device_check="NoCheck",
    out=Out("sum.IntList_out"),
)
def sum_dim(
    self: Tensor, dim: Annotated[IntList, Size(1)] | None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """The sum along dimensions, along all for ``dim=None``; integers are summed as int64."""
    ...


@sum_dim.reduction(init=0, promote="sum")
def sum_combine(a, b):
    return a + b


@sum_dim.derivative("self")
def sum_dim_derivative(grad, self, dim, keepdim):
    return restore_dims(grad, self.ndim, dim, keepdim).expand(self.shape)


@sum_dim.overload("", variants="function, method", tags="reduction", device_check="NoCheck", autogen="sum.out")
def sum_all(self: Tensor, *, dtype: DType | None = None) -> Tensor:
    """The sum of all elements."""
    ...


@sum_all.kernel("CompositeExplicitAutograd")
@traceable
def sum_all_kernel(self, dtype):
    return sum_dim(self, None, dtype=dtype)


@sum_all.derivative("self")
def sum_all_derivative(grad, self):
    return grad.expand(self.shape)


# --------------------------------------------------------------------------------------------------------------- mean


@op(
    "aten::mean.dim",
    variants="function, method",
    tags=("core", "reduction"),
    device_check="NoCheck",
    out=Out("mean.out"),
)
def mean_dim(
    self: Tensor, dim: Annotated[IntList, Size(1)] | None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """The mean along dimensions, along all for ``dim=None``."""
    ...


def mean_finish(total, count):
    return total / count


@mean_dim.reduction(init=0, promote="float", finish=mean_finish)
def mean_combine(a, b):
    return a + b


@mean_dim.derivative("self")
def mean_dim_derivative(grad, self, dim, keepdim):
    spread = restore_dims(grad, self.ndim, dim, keepdim).expand(self.shape)
    return spread / (self.numel() // max(grad.numel(), 1))


@mean_dim.overload("", variants="function, method", tags=("core", "reduction"), device_check="NoCheck")
def mean_all(self: Tensor, *, dtype: DType | None = None) -> Tensor:
    """The mean of all elements."""
    ...


@mean_all.kernel("CompositeExplicitAutograd")
@traceable
def mean_all_kernel(self, dtype):
    return mean_dim(self, None, dtype=dtype)


@mean_all.derivative("self")
def mean_all_derivative(grad, self):
    return grad.expand(self.shape) / self.numel()


@mean_all.out_variant("mean.dtype_out", tags="reduction", device_check="NoCheck")
def mean_all_out(
    self: Tensor, *, dtype: DType | None = None, out: Tensor[Alias("a", write=True)]
) -> Tensor[Alias("a", write=True)]:
    """The mean of all elements into a given tensor."""
    ...


@mean_all_out.kernel("CompositeExplicitAutograd")
def mean_all_out_kernel(self, dtype, out):
    if not can_cast(self.dtype, out.dtype):
        raise DTypeError(f"input types can't be cast to the desired output type {out.dtype.scalar_type}")
    return mean_dim.variants["out"](self, None, dtype=dtype, out=out)


# --------------------------------------------------------------------------------------------------------------- amax


@op("aten::amax", variants="function, method", tags=("core", "reduction"), out=True)
def amax(self: Tensor, dim: Annotated[IntList, Size(1)] = (), keepdim: bool = False) -> Tensor:
    """The largest element along dimensions, along all for none given; NaN where there is one."""
    ...


@amax.reduction(init=-math.inf, needs_elements=True)
def amax_combine(a, b):
    return max(a, b)
