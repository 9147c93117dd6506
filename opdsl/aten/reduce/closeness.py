"""Comparison of whole tensors: ``isclose``, ``allclose``, ``equal``, ``pairwise_distance``, ``cosine_similarity``.

The rules are those of ATen/native/TensorCompare.cpp and Distance.cpp.
"""

from __future__ import annotations

import math
from operator import not_
from typing import Any, cast

from opdsl import primitives
from opdsl.aten.create.conversions import like
from opdsl.declare import Library, formula, forward, op, traceable
from opdsl.dispatch import get_default_dtype
from opdsl.errors import DeviceError, DTypeError
from opdsl.kernels import check
from opdsl.kernels.iteration.broadcasting import broadcast
from opdsl.runtime import Category, Tensor, bool_, cpu, result_type
from opdsl.runtime.lowering import Unknown, lowering
from opdsl.scalar.intrinsics import row_sum

lib = Library("opdsl")


@op("aten::isclose", variants="function, method")
@traceable
def isclose(self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """``abs(self - other) <= atol + rtol * abs(other)``; an infinity is only close to an equal one."""
    if self.dtype is not other.dtype:
        raise DTypeError(f"{self.dtype.scalar_type} did not match {other.dtype.scalar_type}")
    check(rtol >= 0, f"rtol must be greater than or equal to zero, but got {rtol}")
    check(atol >= 0, f"atol must be greater than or equal to zero, but got {atol}")
    close = self == other
    if equal_nan and self.dtype.category >= Category.FLOAT:
        close = close.logical_or(self.isnan().logical_and(other.isnan()))
    if rtol == 0 and atol == 0:
        return close
    # Differences of integers could overflow.
    first = self.to(get_default_dtype()) if self.dtype is bool_ else self
    second = other.to(get_default_dtype()) if other.dtype.category < Category.FLOAT else other
    allowed = (second * rtol).abs() + atol
    actual = (first - second).abs()
    return close.logical_or(actual.isfinite().logical_and(actual <= allowed))


@op("aten::allclose", kernel="CompositeExplicitAutograd", variants="function, method", tags="data_dependent_output")
def allclose(self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Return whether all elements are close, see ``isclose``."""
    return bool(isclose(self, other, rtol, atol, equal_nan).all().item())


# ------------------------------------------------------------------------------------------------- distances and angles


@op("aten::pairwise_distance")
@traceable
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2, eps: float = 1e-06, keepdim: bool = False) -> Tensor:
    """``norm(x1 - x2 + eps, p)`` along the last dimension."""
    return (x1 - x2 + eps).norm(p, [max(x1.ndim, x2.ndim) - 1], keepdim)


@op("aten::cosine_similarity", variants="function")
@traceable
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor:
    """Return the cosine of the angle between vectors along a dimension; norms below ``eps`` count as ``eps``."""
    common = result_type((x1, x2), get_default_dtype())
    if not common.is_floating_point:
        raise DTypeError(f"expected common dtype to be floating point, yet common dtype is {common.scalar_type}")
    shape = broadcast(x1.shape, x2.shape)
    first, second = (vectors.expand(shape).to(common) for vectors in (x1, x2))
    return cosines(first, second, dim, eps)


def cosines_combine(
    product: float, first: float, second: float, more_product: float, more_first: float, more_second: float
) -> tuple[float, float, float]:
    return product + more_product, first + more_first, second + more_second


cosines_of_vectors = primitives.fold(
    cosines_combine,
    init=(0, 0, 0),
    lift=lambda x1, x2: (x1 * x2, x1 * x1, x2 * x2),
    finish=lambda product, first, second, count, eps: (
        product / (max(math.sqrt(first), eps) * max(math.sqrt(second), eps))
    ),
    accumulators=("double",) * 3,
    results=("value",),
    promote="floating",
)


@lib.op
@formula
def cosines(x1: Tensor, x2: Tensor, dim: int, eps: float) -> Tensor:
    """Return the scalar products of vectors divided by the product of their norms, which count as at least ``eps``."""
    return cosines_of_vectors(x1, x2, dim, eps)


@lib.op
def cosine_slopes(grad: Tensor, x1: Tensor, x2: Tensor, dim: int, eps: float) -> tuple[Tensor, Tensor]:
    """Return the gradients of ``cosines`` for both operands, given ``grad`` with size 1 along ``dim``."""
    ...


@cosine_slopes.meta
def cosine_slopes_meta(ctx, grad, x1, x2, dim):
    shape = broadcast(x1.shape, x2.shape)
    ctx.set_output(0, shape, like=x1)
    ctx.set_output(1, shape, like=x2)
    return (dim % len(shape),) if shape else ()


def cosine_slopes_row(grad: Any, x1: Any, x2: Any, eps: Any) -> Any:
    first, second = math.sqrt(row_sum(x1 * x1)), math.sqrt(row_sum(x2 * x2))
    least_first, least_second = max(first, eps), max(second, eps)
    share = grad / (least_first * least_second)
    product = row_sum(x1 * x2)
    of_first = product / (first * least_first) if first > 0 else 0.0
    of_second = product / (second * least_second) if second > 0 else 0.0
    return share * (x2 - x1 * of_first), share * (x1 - x2 * of_second)


slopes_of_rows = primitives.rows(cosine_slopes_row, promote="floating")


@cosine_slopes.formula
def slopes(grad: Tensor, x1: Tensor, x2: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    return cast("tuple[Tensor, Tensor]", slopes_of_rows(grad, x1, x2, eps))


@cosines.derivative("x1", "x2")
def cosines_gradient(grad, x1, x2, dim, eps):
    return cosine_slopes(grad.unsqueeze(dim) if x1.ndim else grad, x1, x2, dim, eps)


# ---------------------------------------------------------------------------------------------------------------- equal


@op("aten::equal", kernel=True, variants="method, function", tags=("data_dependent_output", "pointwise"))
def equal(self: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have the same shape and equal elements."""
    if self.device is not other.device:
        raise DeviceError(
            "Cannot compare two tensors on different devices. "
            f"Got: {self.device} and {other.device}. Move one of them: x.to(y.device)."
        )
    if self.shape != other.shape:
        return False
    differing = (self != other).sum()
    recorder = lowering.get()
    if recorder is None or self.device is not cpu:
        return not differing.item()
    (variable,) = recorder.run(not_, (differing.array,), ["truth"])
    return Unknown(variable)  # type: ignore[return-value]  # the plan gives the bool


@op("aten::is_same_size", kernel="CompositeExplicitAutograd", variants="function, method")
def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have the same shape."""
    return self.shape == other.shape


@op("aten::is_nonzero", variants="function, method")
def is_nonzero(self: Tensor) -> bool:
    """Return whether the only element of a tensor is nonzero."""
    count = "no values" if self.numel() == 0 else "more than one value"
    check(self.numel() == 1, f"Boolean value of Tensor with {count} is ambiguous")
    return bool(self.item())


@op("aten::type_as", variants="method", may_alias=True)
@forward(like)
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """Return the tensor converted to the dtype and device of another one."""
