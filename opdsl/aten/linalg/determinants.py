"""Determinants of matrices (``det``) and their signs and logarithms (``slogdet``, ``logdet``)."""

from __future__ import annotations

import math
from typing import NamedTuple

from opdsl.aten.linalg.decompositions import by_column, epsilon, require_numbers, require_square
from opdsl.aten.linalg.linear_equations import solved_adjoint
from opdsl.aten.linalg.lu_factors import factor_by_rows, set_pivots
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.shape.complex_views import imag
from opdsl.declare import Out, forward, op
from opdsl.dispatch import is_grad_enabled
from opdsl.kernels import linear_algebra
from opdsl.runtime import Tensor, contiguous_strides


class Determinant(NamedTuple):
    """Determinants, and the LU factors of the matrices."""

    result: Tensor
    LU: Tensor
    pivots: Tensor


class LogarithmAndFactors(NamedTuple):
    """Signs of determinants, logarithms of their magnitudes, and the LU factors of the matrices."""

    sign: Tensor
    logabsdet: Tensor
    LU: Tensor
    pivots: Tensor


class Logarithm(NamedTuple):
    """Signs of determinants, and logarithms of their magnitudes."""

    sign: Tensor
    logabsdet: Tensor


@op("aten::_linalg_det", out=Out("_linalg_det.result", args=("result", "LU", "pivots")))
def _linalg_det(A: Tensor) -> Determinant:
    """Return the determinants of matrices, (..., n, n), and their LU factors."""
    ...


@_linalg_det.meta
def _linalg_det_meta(ctx, A):
    require_square("linalg.det", A)
    require_numbers("linalg.det", A)
    ctx.set_output(0, A.shape[:-2], contiguous_strides(A.shape[:-2]), like=A)
    ctx.set_output(1, A.shape, by_column(A.shape), like=A)
    set_pivots(ctx, 2, A)


_linalg_det.sharding(rows=2)


@_linalg_det.out_kernel
def _linalg_det_kernel(A, result, LU, pivots):
    factor_by_rows(A, LU, pivots)
    linear_algebra(A).determinant(LU, pivots, result)


@_linalg_det.derivative("A")
def _linalg_det_derivative(grad, A, result, LU, pivots):
    """Return ``grad * det.conj() * A.inverse().mH``; zeros on the diagonal of U are shifted, so that singular matrices
    work.
    """
    spread = (grad * result.conj()).unsqueeze(-1).expand(pivots.shape).diag_embed()
    if not is_grad_enabled():
        diagonal = LU.diagonal(0, -2, -1)
        shifted = LU + where(diagonal == 0, epsilon(A), 0.0).to(A.dtype).diag_embed()
        return solved_adjoint(A, shifted, pivots, spread)
    return solved_adjoint(A, LU, pivots, spread)


@op("aten::linalg_det", variants="function", python_module="linalg", out=True)
@forward(_linalg_det, result=0)
def linalg_det(A: Tensor) -> Tensor:
    """Return the determinants of matrices, (..., n, n)."""


det = linalg_det.alias("aten::det", names={"A": "self"}, variants="function, method", out=False)


@op("aten::_linalg_slogdet", out=Out("_linalg_slogdet.sign", args=("sign", "logabsdet", "LU", "pivots")))
def _linalg_slogdet(A: Tensor) -> LogarithmAndFactors:
    """Return the signs of determinants, the logarithms of their magnitudes, and the LU factors of the matrices."""
    ...


@_linalg_slogdet.meta
def _linalg_slogdet_meta(ctx, A):
    require_square("linalg.slogdet", A)
    require_numbers("linalg.slogdet", A)
    batch = A.shape[:-2]
    ctx.set_output(0, batch, contiguous_strides(batch), like=A)
    ctx.set_output(1, batch, contiguous_strides(batch), like=A, dtype=A.dtype.to_real())
    ctx.set_output(2, A.shape, by_column(A.shape), like=A)
    set_pivots(ctx, 3, A)


_linalg_slogdet.sharding(rows=2)


@_linalg_slogdet.out_kernel
def _linalg_slogdet_kernel(A, sign, logabsdet, LU, pivots):
    factor_by_rows(A, LU, pivots)
    linear_algebra(A).log_determinant(LU, pivots, sign, logabsdet)


@_linalg_slogdet.derivative("A", output_differentiability=[True, True, False, False])
def _linalg_slogdet_derivative(grads, A, sign, LU, pivots):
    slope = grads[1].to(A.dtype)
    if A.is_complex():
        slope = slope - imag(grads[0].conj() * sign).to(A.dtype) * 1j
    return solved_adjoint(A, LU, pivots, slope.unsqueeze(-1).expand(pivots.shape).diag_embed())


@op("aten::linalg_slogdet", python_module="linalg", out=Out(args=("sign", "logabsdet")))
@forward(_linalg_slogdet, result=(0, 1))
def linalg_slogdet(A: Tensor) -> Logarithm:
    """Return the signs of determinants and the logarithms of their magnitudes: 0 and -inf for a singular matrix."""


slogdet = linalg_slogdet.alias(
    "aten::slogdet",
    names={"A": "self"},
    variants="function, method",
    out=Out(args=("sign", "logabsdet")),
)


@op("aten::logdet", variants="function, method")
def logdet(self: Tensor) -> Tensor:
    """Return the logarithms of determinants; NaN for real matrices with a negative determinant."""
    require_square("logdet", self)
    sign, logarithm = linalg_slogdet(self)
    return sign.log() + logarithm if self.is_complex() else where(sign == -1, math.nan, logarithm)
