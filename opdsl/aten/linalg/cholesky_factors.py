"""Cholesky decomposition of positive definite matrices, and solving and inverting with its factors."""

from __future__ import annotations

from typing import NamedTuple

from opdsl.aten.create.triangles import keep, lower_scalar_function, upper_scalar_function
from opdsl.aten.linalg.decompositions import (
    _linalg_check_errors,
    by_column,
    given_out,
    raise_failure,
    require_numbers,
    require_square,
    with_batch,
)
from opdsl.aten.linalg.matrix_products import matmul
from opdsl.aten.linalg.triangular_systems import linalg_solve_triangular, require_system
from opdsl.declare import Out, op
from opdsl.kernels import check, copy_, linear_algebra
from opdsl.runtime import Tensor, contiguous_strides, int32


class CheckedFactor(NamedTuple):
    """Cholesky factors, and for each matrix 0 or the order of the first leading minor that is not positive definite."""

    L: Tensor
    info: Tensor


def factor_by_cholesky(self: Tensor, upper: bool, factor: Tensor, info: Tensor) -> None:
    """Write the Cholesky factors of matrices, of which one triangle is read, and LAPACK's info number of each."""
    copy_(factor, self)
    linear_algebra(factor).cholesky(factor, info, upper)
    keep(factor, upper_scalar_function if upper else lower_scalar_function, 0, factor)


@op("aten::linalg_cholesky_ex", python_module="linalg", out=Out("linalg_cholesky_ex.L", args=("L", "info")))
def linalg_cholesky_ex(self: Tensor, *, upper: bool = False, check_errors: bool = False) -> CheckedFactor:
    """Return the Cholesky factor: the lower triangular ``L`` with ``L @ L.mH == self``, or ``L.mH`` for ``upper``.

    Args:
        self: (..., n, n) Hermitian, of which one triangle is read.
        upper: whether to read the upper triangle and return the upper triangular factor.
        check_errors: whether a matrix that is not positive definite is an error.

    Returns:
        The factors, and int32 (...), see ``CheckedFactor``.
    """
    ...


@linalg_cholesky_ex.meta
def linalg_cholesky_ex_meta(ctx, self):
    require_square("linalg.cholesky", self)
    require_numbers("linalg.cholesky", self)
    ctx.set_output(0, self.shape, by_column(self.shape), like=self)
    ctx.set_output(1, self.shape[:-2], contiguous_strides(self.shape[:-2]), like=self, dtype=int32)


linalg_cholesky_ex.sharding(rows=2)


@linalg_cholesky_ex.out_kernel
def linalg_cholesky_ex_kernel(self, upper, check_errors, L, info):
    factor_by_cholesky(self, upper, L, info)
    if check_errors:
        raise_failure(info, "torch.linalg.cholesky_ex", self.ndim == 2)


def cholesky_gradient(grad: Tensor, factor: Tensor, upper: bool) -> Tensor:
    """Return the gradient of a matrix from that of its Cholesky factor (``cholesky_backward``)."""
    lower, of_lower = (factor.adjoint(), grad.adjoint()) if upper else (factor, grad)
    gradient = matmul(lower.adjoint(), of_lower).tril()
    gradient = 0.5 * (gradient + gradient.tril(-1).adjoint())
    gradient = linalg_solve_triangular(lower.adjoint(), gradient, upper=True)
    return linalg_solve_triangular(lower, gradient, upper=False, left=False)


linalg_cholesky_ex.derivative(self=lambda grad, L, upper: cholesky_gradient(grad, L, upper))


@op("aten::linalg_cholesky", python_module="linalg", out=True)
def linalg_cholesky(self: Tensor, *, upper: bool = False) -> Tensor:
    """Return the Cholesky factor: the lower triangular ``L`` with ``L @ L.mH == self``, or ``L.mH`` for ``upper``.

    Raises:
        LinearAlgebraError: a matrix is not positive definite.
    """
    factor, info = linalg_cholesky_ex(self, upper=upper)
    _linalg_check_errors(info, "linalg.cholesky", is_matrix=self.ndim == 2)
    return factor


@op("aten::cholesky", kernel=True, variants="method, function", out=Out(cast="safe", contiguous=True))
def cholesky(self: Tensor, upper: bool = False) -> Tensor:
    """Return ``linalg.cholesky(self)``, under its older name.

    Raises:
        LinearAlgebraError: a matrix is not positive definite.
    """
    require_square("cholesky", self)
    require_numbers("cholesky", self)
    if not self.numel():
        return self.new_empty(self.shape)
    factor = self.new_empty_strided(self.shape, by_column(self.shape))
    if self.device.type != "meta":
        info = self.new_empty(self.shape[:-2], dtype=int32)
        factor_by_cholesky(self, upper, factor, info)
        raise_failure(info, "cholesky", self.ndim == 2)
    return factor


cholesky.derivative(self=lambda grad, result, upper: cholesky_gradient(grad, result, upper))


# -------------------------------------------------------------------------------------------------------------- solving


@op("aten::_cholesky_solve_helper", variants="function")
def _cholesky_solve_helper(self: Tensor, A: Tensor, upper: bool) -> Tensor:
    """Return ``cholesky_solve`` of tensors with equal batch dimensions."""
    ...


@_cholesky_solve_helper.kernel("CPU", "CUDA")
def _cholesky_solve_helper_kernel(self, A, upper):
    require_system("cholesky_solve", self, A)
    require_numbers("cholesky_solve", self)
    check(
        self.shape[:-2] == A.shape[:-2], "cholesky_solve: both batches must have one shape", got=(self.shape, A.shape)
    )
    helper_kernel = self.new_empty_strided(self.shape, by_column(self.shape))
    copy_(helper_kernel, self)
    linear_algebra(helper_kernel).cholesky_solve(A, helper_kernel, upper)
    return helper_kernel


_cholesky_solve_helper.kernel("Meta")(lambda self: self.new_empty_strided(self.shape, by_column(self.shape)))


@op(
    "aten::cholesky_solve",
    kernel="CompositeExplicitAutograd",
    variants="method, function",
    out=Out(cast="safe", contiguous=True),
)
def cholesky_solve(self: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """Return the solution ``X`` of ``L @ L.mH @ X = self`` for the Cholesky factor ``L``.

    Args:
        self: (..., n, k).
        input2: ``L``, or for ``upper`` its adjoint: (..., n, n), of which one triangle is read.
        upper: see above.
    """
    for name, operand in (("b", self), ("u", input2)):
        check(operand.ndim >= 2, f"{name} should have at least 2 dimensions, but has {operand.ndim} dimensions instead")
    require_system("cholesky_solve", self, input2)
    return _cholesky_solve_helper(*with_batch(self, input2), upper)


@cholesky_solve.derivative("self", "input2")
def cholesky_solve_derivative(grad, input2, result, upper, output_mask):
    of_right = cholesky_solve(grad, input2, upper)
    if not output_mask[1]:
        return of_right, None
    common = matmul(of_right, result.adjoint())
    common = common + common.adjoint()
    return of_right, -matmul(input2, common) if upper else -matmul(common, input2)


@op("aten::cholesky_inverse", kernel=True, variants="method, function", out=True)
def cholesky_inverse(self: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of the matrix whose Cholesky factor is ``self``, of which one triangle is read."""
    require_square("cholesky_inverse", self)
    require_numbers("cholesky_inverse", self)
    inverse = self.new_empty_strided(self.shape, by_column(self.shape))
    if self.device.type != "meta":
        invert_by_cholesky(self, upper, inverse)
    return given_out("cholesky_inverse", inverse, out)


def invert_by_cholesky(self: Tensor, upper: bool, out: Tensor) -> None:
    """Write the inverses of the matrices with the given Cholesky factors."""
    copy_(out, self)
    info = self.new_zeros(self.shape[:-2], dtype=int32)
    linear_algebra(out).cholesky_inverse(out, info, upper)
    raise_failure(info, "cholesky_inverse", self.ndim == 2)


@cholesky_inverse.derivative("self")
def cholesky_inverse_derivative(grad, self, result, upper):
    common = matmul(result, matmul(grad + grad.adjoint(), result))
    return -matmul(self, common) if upper else -matmul(common, self)
