"""LU decomposition with partial pivoting, and solving systems of equations with its factors."""

from __future__ import annotations

from typing import Any, NamedTuple

from opdsl.aten.linalg.decompositions import (
    Array,
    _linalg_check_errors,
    by_column,
    raise_failure,
    require_numbers,
    require_solvable,
    require_square,
    with_batch,
)
from opdsl.aten.linalg.matrix_products import matmul
from opdsl.aten.linalg.triangular_systems import linalg_solve_triangular
from opdsl.aten.shape.joining import cat
from opdsl.declare import Out, forward, op
from opdsl.errors import DTypeError, PositionError
from opdsl.kernels import check, copy_, fill_, linear_algebra, step
from opdsl.runtime import Tensor, contiguous_strides, int32


class Factors(NamedTuple):
    """Both LU factors in one matrix, without the ones of L, and for each row the row it was exchanged with, counted
    from 1.
    """

    LU: Tensor
    pivots: Tensor


class CheckedFactors(NamedTuple):
    """LU factors and pivots as in ``Factors``, and for each matrix 0 or the first 0 on the diagonal of U, counted from
    1.
    """

    LU: Tensor
    pivots: Tensor
    info: Tensor


class Unpacked(NamedTuple):
    """Permutation and LU factors as separate matrices: ``A = P @ L @ U``."""

    P: Tensor
    L: Tensor
    U: Tensor


def factor_by_rows(self: Tensor, factors: Tensor, pivots: Tensor, info: Tensor | None = None) -> None:
    """Write the LU factors of matrices, their pivots and LAPACK's info number of each matrix.

    Args:
        self: (..., m, n).
        factors: of the same shape, column by column.
        pivots: int32 (..., min(m, n)).
        info: int32 (...).
    """
    copy_(factors, self)
    linear_algebra(factors).lu_factor(factors, pivots, info)


@step
def require_pivots(pivots: Array, rows: int, fault: str) -> None:
    """Check that pivots are row numbers, counted from 1. Raises PositionError: one is not."""
    if pivots.size and not (pivots.min() >= 1 and pivots.max() <= rows):
        raise PositionError(f"pivots {fault}")


# -------------------------------------------------------------------------------------------------------- factorization


@op("aten::linalg_lu_factor_ex", variants="function", python_module="linalg", out=Out(args=("LU", "pivots", "info")))
def linalg_lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> CheckedFactors:
    """Return the LU factors of matrices, with rows exchanged so that the largest elements become pivots.

    Args:
        A: (..., m, n).
        pivot: must be True, as the CPU has no factorization without pivots.
        check_errors: whether a 0 on the diagonal of U is an error.
    """
    ...


@linalg_lu_factor_ex.meta
def linalg_lu_factor_ex_meta(ctx, A, pivot):
    check(A.ndim >= 2, f"torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    check(pivot, "linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    require_numbers("torch.lu_factor", A)
    ctx.set_output(0, A.shape, by_column(A.shape), like=A)
    set_pivots(ctx, 1, A)
    set_info(ctx, 2, A)


def set_pivots(ctx: Any, place: int, A: Tensor) -> None:
    """Set the shape and dtype of output number ``place``, the pivots of the matrices ``A``."""
    shape = (*A.shape[:-2], min(A.shape[-2:]))
    ctx.set_output(place, shape, contiguous_strides(shape), like=A, dtype=int32)


def set_info(ctx: Any, place: int, A: Tensor) -> None:
    """Set the shape and dtype of output number ``place``, LAPACK's info numbers of the matrices ``A``."""
    ctx.set_output(place, A.shape[:-2], contiguous_strides(A.shape[:-2]), like=A, dtype=int32)


linalg_lu_factor_ex.sharding(rows=2)


@linalg_lu_factor_ex.out_kernel
def linalg_lu_factor_ex_kernel(A, check_errors, LU, pivots, info):
    factor_by_rows(A, LU, pivots, info)
    if check_errors:
        raise_failure(info, "torch.linalg.lu_factor_ex", A.ndim == 2)


@linalg_lu_factor_ex.derivative("A")
def linalg_lu_factor_ex_derivative(grad, LU, pivots, pivot):
    least = min(LU.shape[-2:])
    factors = lu_unpack(LU, pivots, True, pivot)
    return lu_gradient(grad.narrow(-1, 0, least), grad.narrow(-2, 0, least), *factors)


def lu_gradient(of_lower: Tensor, of_upper: Tensor, P: Tensor, L: Tensor, U: Tensor) -> Tensor:
    """Return the gradient of a matrix from those of its LU factors (``linalg_lu_backward``)."""
    m, n, least = L.shape[-2], U.shape[-1], L.shape[-1]

    def over_upper(tensor: Tensor) -> Tensor:
        return linalg_solve_triangular(U.narrow(-1, 0, least).adjoint(), tensor, upper=False, left=False)

    def over_lower(tensor: Tensor) -> Tensor:
        return linalg_solve_triangular(L.narrow(-2, 0, least).adjoint(), tensor, upper=True, unitriangular=True)

    if m == n:
        over = over_lower(over_upper(matmul(L.adjoint(), of_lower).tril(-1) + matmul(of_upper, U.adjoint()).triu()))
    elif m < n:
        inner = matmul(L.adjoint(), of_lower) - matmul(of_upper.triu(), U.adjoint())
        first = over_upper(inner.tril(-1)) + of_upper.narrow(-1, 0, least).triu()
        over = over_lower(cat([first, of_upper.narrow(-1, least, n - least)], -1))
    else:
        inner = matmul(of_upper, U.adjoint()) - matmul(L.adjoint(), of_lower.tril(-1))
        first = over_lower(inner.triu()) + of_lower.narrow(-2, 0, least).tril(-1)
        over = over_upper(cat([first, of_lower.narrow(-2, least, m - least)], -2))
    return matmul(P, over)


@op("aten::linalg_lu_factor", variants="function", python_module="linalg", out=Out(args=("LU", "pivots")))
def linalg_lu_factor(A: Tensor, *, pivot: bool = True) -> Factors:
    """Return the LU factors of matrices in one matrix, and the pivots: which rows were exchanged.

    Raises:
        LinearAlgebraError: the diagonal of U has a 0.
    """
    factors, pivots, info = linalg_lu_factor_ex(A, pivot=pivot)
    _linalg_check_errors(info, "torch.linalg.lu_factor", is_matrix=A.ndim == 2)
    return Factors(factors, pivots)


@op("aten::_lu_with_info", variants="function")
@forward(linalg_lu_factor_ex, "self")
def _lu_with_info(self: Tensor, pivot: bool = True, check_errors: bool = True) -> CheckedFactors:
    """Return ``linalg.lu_factor_ex(self)``, under an older name."""


# ------------------------------------------------------------------------------------------------------------ unpacking


@op("aten::lu_unpack", variants="function", out=Out(args=("P", "L", "U")))
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Unpacked:
    """Return the permutation and the LU factors as separate matrices, from the result of ``linalg.lu_factor``.

    Args:
        LU_data: (..., m, n).
        LU_pivots: int32 (..., min(m, n)).
        unpack_data: whether to return the factors; otherwise they are empty.
        unpack_pivots: whether to return the permutation; otherwise it is empty.
    """
    ...


def set_factors(ctx: Any, A: Tensor, permutation: bool, factors: bool) -> None:
    """Set the shapes of the permutation and the LU factors of matrices; those that are not requested are empty."""
    *batch, m, n = A.shape
    least = min(m, n)
    shapes = (m, m) if permutation else None, (m, least) if factors else None, (least, n) if factors else None
    for index, shape in enumerate(shapes):
        ctx.set_output(index, (0,) if shape is None else (*batch, *shape), like=A)


@lu_unpack.meta
def lu_unpack_meta(ctx, LU_data, LU_pivots, unpack_data, unpack_pivots):
    check(
        LU_data.ndim >= 2,
        f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {list(LU_data.shape)} instead",
    )
    if unpack_pivots:
        if LU_pivots.dtype is not int32:
            raise DTypeError(
                "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
                "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"
            )
        expected = (*LU_data.shape[:-2], min(LU_data.shape[-2:]))
        check(tuple(LU_pivots.shape) == expected, f"torch.lu_unpack: LU_pivots must be of shape {expected}")
    set_factors(ctx, LU_data, unpack_pivots, unpack_data)


def unpack(factors: Tensor, L: Tensor, U: Tensor) -> None:
    """Write the factors L and U that are stored in one matrix to separate matrices."""
    least = min(factors.shape[-2:])
    copy_(L, factors.narrow(-1, 0, least).tril(-1))
    fill_(L.diagonal(0, -2, -1), 1)
    copy_(U, factors.narrow(-2, 0, least).triu())


lu_unpack.sharding(rows=2)


@lu_unpack.out_kernel
def lu_unpack_kernel(LU_data, LU_pivots, unpack_data, unpack_pivots, P, L, U):
    if unpack_data:
        unpack(LU_data, L, U)
    if unpack_pivots:
        require_pivots(LU_pivots.cpu(), P.shape[-1], "passed to lu_unpack must be between 1 and LU.size(-2) inclusive")
        linear_algebra(P).lu_permutation(LU_pivots, P)


@lu_unpack.derivative("LU_data", output_differentiability=[False, True, True])
def lu_unpack_derivative(grads, LU_data, unpack_data):
    m, n = LU_data.shape[-2:]
    least = min(m, n)
    of_lower, of_upper = grads[1].tril(-1), grads[2].triu()
    if m == n:
        return of_lower + of_upper
    dim, taller, other = (-2, of_lower, of_upper) if m > n else (-1, of_upper, of_lower)
    rest = taller.narrow(dim, least, taller.shape[dim] - least)
    return cat([taller.narrow(dim, 0, least) + other, rest], dim)


lu_unpack.non_differentiable("LU_pivots")


@op("aten::linalg_lu", variants="function", python_module="linalg", out=Out(args=("P", "L", "U")))
def linalg_lu(A: Tensor, *, pivot: bool = True) -> Unpacked:
    """Return the permutation and the LU factors of matrices: ``A = P @ L @ U``."""
    ...


@linalg_lu.meta
def linalg_lu_meta(ctx, A, pivot):
    check(A.ndim >= 2, f"linalg.lu: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    check(pivot, "linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    require_numbers("linalg.lu", A)
    set_factors(ctx, A, True, True)


linalg_lu.sharding(rows=2)


@linalg_lu.out_kernel
def linalg_lu_kernel(A, P, L, U):
    factors, pivots, _ = linalg_lu_factor_ex(A)
    unpack(factors, L, U)
    linear_algebra(P).lu_permutation(pivots, P)


@linalg_lu.derivative("A", output_differentiability=[False, True, True])
def linalg_lu_derivative(grads, P, L, U):
    return lu_gradient(grads[1], grads[2], P, L, U)


# -------------------------------------------------------------------------------------------------------------- solving


@op("aten::linalg_lu_solve", variants="function", python_module="linalg", out=True)
def linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """Return the solution of ``A X = B``, or of ``X A = B`` if not ``left``, from the LU factors of ``A``.

    Args:
        LU, pivots: results of ``linalg.lu_factor``.
        B: (..., n, k), or (..., k, n) if not ``left``.
        left: whether ``A`` is the left factor.
        adjoint: whether to solve with the adjoint of ``A`` instead.
    """
    ...


@linalg_lu_solve.meta
def linalg_lu_solve_meta(ctx, LU, pivots, B, left):
    require_numbers("torch.linalg.lu_solve", LU)
    if LU.dtype is not B.dtype:
        raise DTypeError(
            f"linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type {LU.dtype.scalar_type} "
            f"and B of type {B.dtype.scalar_type} instead"
        )
    if pivots.dtype is not int32:
        raise DTypeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    require_square("torch.linalg.lu_solve", LU)
    require_solvable("linalg.lu_solve", LU, B, left)
    check(
        pivots.ndim and LU.shape[-1] == pivots.shape[-1],
        "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix",
    )
    check(
        LU.shape[:-1] == pivots.shape,
        "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
        f"{list(pivots.shape)} instead",
    )
    shape = with_batch(B, LU)[0].shape
    ctx.set_output(0, shape, by_column(shape, left), like=B)


@linalg_lu_solve.out_kernel
def linalg_lu_solve_kernel(LU, pivots, B, left, adjoint, out):
    require_pivots(pivots.cpu(), LU.shape[-1], "must be between 1 and the number of rows")
    right, factors = with_batch(B, LU)
    copy_(out, right)
    linear_algebra(out).lu_solve(factors, pivots.expand(factors.shape[:-1]), out, left, adjoint)


@linalg_lu_solve.derivative("LU")
def linalg_lu_solve_derivative(grad, LU, pivots, result, left, adjoint):
    P, L, U = lu_unpack(LU, pivots)
    gradient, solution = (grad, result) if left else (grad.adjoint(), result.adjoint())
    if left != adjoint:
        inner = linalg_solve_triangular(U.adjoint(), -matmul(gradient, solution.adjoint()), upper=False)
        of_lower = linalg_solve_triangular(L.adjoint(), matmul(inner, U.adjoint()), upper=True, unitriangular=True)
        return of_lower.tril(-1) + inner.triu()
    inner = -matmul(matmul(matmul(P.transpose(-2, -1), solution), gradient.adjoint()), P)
    inner = linalg_solve_triangular(L.adjoint(), inner, upper=True, left=False, unitriangular=True)
    of_upper = linalg_solve_triangular(U.adjoint(), matmul(L.adjoint(), inner), upper=False, left=False)
    return inner.tril(-1) + of_upper.triu()


linalg_lu_solve.derivative(
    B=lambda grad, LU, pivots, left, adjoint: linalg_lu_solve(LU, pivots, grad, left=left, adjoint=not adjoint)
)
linalg_lu_solve.non_differentiable("pivots")


@op("aten::lu_solve", variants="method, function", out=True)
@forward(linalg_lu_solve, "LU_data", "LU_pivots", "self")
def lu_solve(self: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """Return ``linalg.lu_solve(LU_data, LU_pivots, self)``, under an older name."""
