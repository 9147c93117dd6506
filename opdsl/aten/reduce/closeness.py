"""How near tensors are to each other: elements within tolerances, distances and angles of vectors.

The rules are those of ATen/native/TensorCompare.cpp and Distance.cpp.
"""

from __future__ import annotations

from opdsl.aten.reduce.norms import linalg_vector_norm
from opdsl.declare import op, traceable
from opdsl.dispatch import get_default_dtype
from opdsl.errors import DTypeError
from opdsl.kernels import check
from opdsl.kernels.iteration.broadcasting import broadcast
from opdsl.runtime import Category, Tensor, bool_, result_type

# ------------------------------------------------------------------------------------------------- isclose, allclose


@op("aten::isclose", variants="function, method")
@traceable
def isclose(self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether ``abs(self - other) <= atol + rtol * abs(other)``; infinities are close to equal ones alone."""
    if self.dtype is not other.dtype:
        raise DTypeError(f"{self.dtype.scalar_type} did not match {other.dtype.scalar_type}")
    check(rtol >= 0, f"rtol must be greater than or equal to zero, but got {rtol}")
    check(atol >= 0, f"atol must be greater than or equal to zero, but got {atol}")
    close = self == other
    if equal_nan and self.dtype.category >= Category.FLOAT:
        close = close.logical_or(self.isnan().logical_and(other.isnan()))
    if rtol == 0 and atol == 0:
        return close
    # Differences of integers could wrap.
    first = self.to(get_default_dtype()) if self.dtype is bool_ else self
    second = other.to(get_default_dtype()) if other.dtype.category < Category.FLOAT else other
    allowed = (second * rtol).abs() + atol
    actual = (first - second).abs()
    return close.logical_or(actual.isfinite().logical_and(actual <= allowed))


@op("aten::allclose", kernel="CompositeExplicitAutograd", variants="function, method", tags="data_dependent_output")
def allclose(self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close (``isclose``)."""
    return bool(isclose(self, other, rtol, atol, equal_nan).all().item())


# ------------------------------------------------------------------------------------------------ distances and angles


@op("aten::pairwise_distance")
@traceable
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2, eps: float = 1e-06, keepdim: bool = False) -> Tensor:
    """The ``p``-norm of ``x1 - x2 + eps`` along the last dimension."""
    return (x1 - x2 + eps).norm(p, [max(x1.ndim, x2.ndim) - 1], keepdim)


@op("aten::cosine_similarity", variants="function")
@traceable
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor:
    """The cosine of the angle between vectors along a dimension; norms below ``eps`` count as ``eps``."""
    common = result_type((x1, x2), get_default_dtype())
    if not common.is_floating_point:
        raise DTypeError(f"expected common dtype to be floating point, yet common dtype is {common.scalar_type}")
    shape = broadcast(x1.shape, x2.shape)
    first, second = (each.expand(shape).to(common) for each in (x1, x2))
    return ((first / norm_from(first, dim, eps)) * (second / norm_from(second, dim, eps))).sum([dim])


def norm_from(vectors: Tensor, dim: int, least: float) -> Tensor:
    """The lengths of vectors, at least so much; the gradient is that of the length all the same."""
    length = linalg_vector_norm(vectors, 2, [dim], True)
    fixed = length.detach()
    return length + (fixed.clamp_min(least) - fixed)
