"""Operators on vectors along a dimension: ``cross``, ``vecdot``, ``bilinear``, ``dist``, ``renorm``."""

from __future__ import annotations

import math
from typing import Any

from opdsl.aten._shared.checks import real
from opdsl.aten.linalg.matrix_products import bmm, matmul
from opdsl.aten.linalg.norms import norm_all
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.reduce.norms import linalg_vector_norm, norm_gradient
from opdsl.aten.shape.complex_views import real as real_parts
from opdsl.declare import Inplace, op
from opdsl.errors import DTypeError
from opdsl.kernels import check, copy_
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.runtime import (
    Category,
    DType,
    Tensor,
    bfloat16,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    wrap_dimension,
)
from opdsl.schema.vocabulary import Scalar

# ------------------------------------------------------------------------------------------------------- cross products


@op("aten::linalg_cross", python_module="linalg", out=True)
def linalg_cross(self: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Return the cross products of vectors of three elements along a dimension."""
    ...


@linalg_cross.meta
def linalg_cross_meta(ctx, self, other, dim):
    check(self.ndim == other.ndim, "linalg.cross: inputs must have the same number of dimensions.")
    sizes = (factor.size(dim) for factor in (self, other))
    ours, theirs = sizes
    check(ours == theirs == 3, f"linalg.cross: inputs dimension {dim} must have length 3. Got {ours} and {theirs}")
    if self.dtype is not other.dtype:
        raise DTypeError(
            f"expected scalar type {self.dtype.scalar_type} but found {other.dtype.scalar_type}. Convert one of them."
        )
    ctx.set_output(0, broadcast_all((self.shape, other.shape)), like=self)


@linalg_cross.out_kernel
def linalg_cross_kernel(self, other, dim, out):
    dimension = wrap_dimension(dim, out.ndim)
    ours, theirs = (factor.expand(out.shape).unbind(dimension) for factor in (self, other))
    for at in range(3):
        one, two = (at + 1) % 3, (at + 2) % 3
        copy_(out.select(dimension, at), ours[one] * theirs[two] - ours[two] * theirs[one])


linalg_cross.derivative(
    self=lambda grad, self, other, dim: linalg_cross(other.conj().expand(grad.shape), grad, dim=dim),
    other=lambda grad, self, other, dim: linalg_cross(grad, self.conj().expand(grad.shape), dim=dim),
)


@op("aten::cross", variants="method, function", out=True)
def cross(self: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the cross products of vectors of three elements along ``dim``, or along the first dimension of size 3 for
    None.
    """
    return linalg_cross(self, other, dim=first_of_three(self, other) if dim is None else dim, out=out)


def first_of_three(self: Tensor, other: Tensor) -> int:
    """Return the first dimension of size 3. Raises ShapeError: no dimension has size 3."""
    check(self.ndim == other.ndim, "linalg.cross: inputs must have the same number of dimensions.")
    number = next((dim for dim, size in enumerate(self.shape) if size == 3), -1)
    check(number >= 0, "no dimension of size 3 in input")
    return number


@op("aten::linalg_vecdot", python_module="linalg", out=True)
def linalg_vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """``(x.conj() * y).sum(dim)``"""
    require_numbers(x)
    require_same(x, y)
    return (x.conj() * y).sum([dim])


def require_numbers(x: Tensor) -> None:
    """Check that elements are floating-point or complex. Raises DTypeError: they are not."""
    if x.dtype.category < Category.FLOAT:
        raise DTypeError(
            f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {x.dtype.scalar_type}"
        )


def require_same(x: Tensor, y: Tensor) -> None:
    """Check that two tensors have the same dtype. Raises DTypeError: they do not."""
    if x.dtype is not y.dtype:
        raise DTypeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but got x of type {x.dtype.scalar_type} and y of "
            f"type {y.dtype.scalar_type} instead"
        )


# ------------------------------------------------------------------------------------------------------- bilinear forms


@op("aten::bilinear")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for each k, of vectors along the last dimensions.

    Args:
        input1: (..., N).
        input2: (..., M).
        weight: (K, N, M).
        bias: (K,).
    """
    if bias is not None and bias.dtype is not input1.dtype:
        raise DTypeError("All tensors must have the same dtype, got bias of another")
    check(input1.ndim == input2.ndim, f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    check(
        input1.shape[:-1] == input2.shape[:-1],
        f"bilinear(): input batch dimensions do not match: got {list(input1.shape[:-1])} and {list(input2.shape[:-1])}",
    )
    for index, input in enumerate((input1, input2), 1):
        check(
            input.size(-1) == weight.size(index),
            f"bilinear(): input{index} size does not match weight size: got {input.size(-1)} but expected "
            f"{weight.size(index)}",
        )
    check(bias is None or bias.size(0) == weight.size(0), "bilinear(): bias size does not match weight size")
    rows, others = (factor.reshape((math.prod(factor.shape[:-1]), factor.shape[-1])) for factor in (input1, input2))
    products = bmm(matmul(rows, weight).transpose(0, 1), others.unsqueeze(-1))
    products = products.reshape((*input1.shape[:-1], weight.shape[0]))
    return products if bias is None else products + bias


# ------------------------------------------------------------------------------------------------------------ distances


@op("aten::dist", kernel="CompositeExplicitAutograd", variants="method, function")
def dist(self: Tensor, other: Tensor, p: Scalar = 2) -> Tensor:
    """Return the ``p``-norm of ``self - other``."""
    return norm_all(self - other, p)


dist.derivative(
    self=lambda grad, self, other, result, p: norm_gradient(grad, self - other, result, p, (), False),
    other=lambda grad, self, other, result, p: -norm_gradient(grad, self - other, result, p, (), False),
)


# --------------------------------------------------------------------------------------------------------------- renorm

_EPSILON = 1e-7
_ACCUMULATED = {float16: float32, bfloat16: float32, float32: float64, complex64: complex128}


def norms_of(self: Tensor, p: float, dim: int, dtype: DType | None) -> Tensor:
    """Return the norms of all slices along a dimension."""
    dimension = wrap_dimension(dim, self.ndim)
    return linalg_vector_norm(self, p, [index for index in range(self.ndim) if index != dimension], True, dtype=dtype)


@op("aten::renorm", variants="method, function", inplace=Inplace(variants="method"), out=True)
def renorm(self: Tensor, p: Scalar, dim: int, maxnorm: Scalar) -> Tensor:
    """Return the slices along a dimension, with those whose ``p``-norm exceeds ``maxnorm`` scaled down to it."""
    ...


@renorm.meta
def renorm_meta(ctx, self, p, dim, maxnorm):
    check(not isinstance(p, complex), "renorm: p must be real-valued")
    check(real(p) > 0, "renorm: non-positive-norm not supported")
    check(not isinstance(maxnorm, complex), "renorm: maxnorm must be real-valued")
    check(real(maxnorm) >= 0, f"renorm: expected maxnorm to be >= 0 but got {real(maxnorm):g}")
    check(self.ndim > 1, f"renorm: input needs at least 2 dimensions, got {self.ndim}")
    wrap_dimension(dim, self.ndim)
    if self.dtype.category < Category.FLOAT:
        raise DTypeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {self.dtype.scalar_type}"
        )
    ctx.set_output(0, self.shape, like=self)


@renorm.out_kernel
def renorm_kernel(self, p, dim, maxnorm, out):
    norms = norms_of(self, real(p), dim, _ACCUMULATED.get(self.dtype))
    factors = where(norms > maxnorm, maxnorm / (norms + _EPSILON), 1.0)
    copy_(out, self * factors.to(self.dtype))


@renorm.derivative("self")
def renorm_derivative(grad, self, p, dim, maxnorm):
    dimension = wrap_dimension(dim, self.ndim)
    dims: Any = [index for index in range(self.ndim) if index != dimension]
    norms = norms_of(self, real(p), dim, None)
    product = real_parts(self.conj() * grad) if self.is_complex() else self * grad
    along = norm_gradient(product.sum(dims, True), self, norms, p, dims, True)
    inverse = 1 / (norms + _EPSILON)
    return where(norms > maxnorm, maxnorm * inverse * (grad - inverse * along), grad)
