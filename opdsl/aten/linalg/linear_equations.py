"""Systems of linear equations with square matrices (``solve``), and inverses of matrices (``inv``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from opdsl.aten.linalg.decompositions import (
    _linalg_check_errors,
    by_column,
    is_vector,
    raise_failure,
    require_numbers,
    require_same_dtype,
    require_solvable,
    require_square,
    with_batch,
)
from opdsl.aten.linalg.lu_factors import factor_by_rows, linalg_lu_solve, set_info, set_pivots
from opdsl.aten.linalg.matrix_products import matmul
from opdsl.declare import Out, forward, op
from opdsl.dispatch import is_grad_enabled
from opdsl.kernels import check, copy_, fill_, linear_algebra
from opdsl.runtime import Tensor, int32, wrap_dimension

# -------------------------------------------------------------------------------------------------------------- solving


class Solution(NamedTuple):
    """Solutions, the LU factors that gave them, and LAPACK's info number of each matrix."""

    result: Tensor
    LU: Tensor
    pivots: Tensor
    info: Tensor


class CheckedSolution(NamedTuple):
    """Solutions, and for each matrix 0, or another number if it is singular."""

    result: Tensor
    info: Tensor


@op("aten::_linalg_solve_ex", out=Out("_linalg_solve_ex.result", args=("result", "LU", "pivots", "info")))
def _linalg_solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Solution:
    """Return the solution of ``A X = B``, or of ``X A = B`` if not ``left``, and the LU factors of ``A``.

    Args:
        A: (..., n, n).
        B: (..., n, k), (..., k, n) if not ``left``, or vectors: (n) or (..., n).
        left: whether ``A`` is the left factor.
        check_errors: whether a singular matrix is an error.
    """
    ...


@_linalg_solve_ex.meta
def _linalg_solve_ex_meta(ctx, A, B, left):
    operator = "linalg.solve"
    require_numbers(operator, A)
    require_same_dtype(operator, A, B)
    vectors = A.ndim > 0 and is_vector(A, B)
    right = B.unsqueeze(-1) if vectors else B
    require_solvable(operator, A, right, left)
    check(
        left or not vectors,
        "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case "
        "linalg.solve is equivalent to B / A.squeeze(-1)",
    )
    shape = with_batch(right, A)[0].shape
    shape = shape[:-1] if vectors else shape
    ctx.set_output(0, shape, by_column(shape, left), like=B)
    ctx.set_output(1, A.shape, by_column(A.shape), like=A)
    set_pivots(ctx, 2, A)
    set_info(ctx, 3, A)


@_linalg_solve_ex.out_kernel
def _linalg_solve_ex_kernel(A, B, left, check_errors, result, LU, pivots, info):
    factor_by_rows(A, LU, pivots, info)
    if check_errors:
        raise_failure(info, "torch.linalg.solve_ex", A.ndim == 2)
    vectors = is_vector(A, B)
    out, right = (operand.unsqueeze(-1) if vectors else operand for operand in (result, B))
    right, factors = with_batch(right, LU)
    copy_(out, right)
    linear_algebra(out).lu_solve(factors, pivots.expand(factors.shape[:-1]), out, left, False)


def solved_adjoint(A: Tensor, LU: Tensor, pivots: Tensor, B: Tensor, left: bool = True) -> Tensor:
    """Solve with the adjoint of ``A``: by its LU factors, or by the differentiable ``linalg_solve`` if gradients are
    enabled.
    """
    if is_grad_enabled():
        return linalg_solve(A.adjoint(), B, left=left)
    return linalg_lu_solve(LU, pivots, B, left=left, adjoint=True)


@_linalg_solve_ex.derivative("A", "B")
def _linalg_solve_ex_derivative(grad, A, B, result, LU, pivots, left, output_mask):
    vectors = is_vector(A, B)
    gradient, solution = (operand.unsqueeze(-1) if vectors else operand for operand in (grad, result))
    of_right = solved_adjoint(A, LU, pivots, gradient, left)
    of_matrix = None
    if output_mask[0]:
        outer = matmul(of_right, solution.adjoint()) if left else matmul(solution.adjoint(), of_right)
        of_matrix = -outer
    return of_matrix, of_right.squeeze(-1) if vectors else of_right


@op("aten::linalg_solve_ex", python_module="linalg", out=Out(args=("result", "info")))
@forward(_linalg_solve_ex, result=(0, 3))
def linalg_solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> CheckedSolution:
    """Return the solution of ``A X = B``, or of ``X A = B`` if not ``left``, and for each matrix whether it is
    singular.
    """


@op("aten::linalg_solve", python_module="linalg", out=True)
def linalg_solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """Return the solution of ``A X = B``, or of ``X A = B`` if not ``left``; for the shapes see ``_linalg_solve_ex``.

    Raises:
        LinearAlgebraError: a matrix is singular.
    """
    solution = _linalg_solve_ex(A, B, left=left)
    _linalg_check_errors(solution[3], "torch.linalg.solve", is_matrix=A.ndim == 2)
    return solution[0]


# ------------------------------------------------------------------------------------------------------------- inverses


class CheckedInverse(NamedTuple):
    """Inverses, and for each matrix 0, or another number if it is singular."""

    inverse: Tensor
    info: Tensor


@op("aten::linalg_inv_ex", python_module="linalg", out=Out("linalg_inv_ex.inverse", args=("inverse", "info")))
def linalg_inv_ex(A: Tensor, *, check_errors: bool = False) -> CheckedInverse:
    """Return the inverses of matrices, (..., n, n), and for each matrix whether it is singular.

    Args:
        A: the matrices.
        check_errors: whether a singular matrix is an error.
    """
    ...


@linalg_inv_ex.meta
def linalg_inv_ex_meta(ctx, A):
    require_square("linalg.inv", A)
    require_numbers("linalg.inv", A)
    ctx.set_output(0, A.shape, by_column(A.shape), like=A)
    set_info(ctx, 1, A)


linalg_inv_ex.sharding(rows=2)


@linalg_inv_ex.out_kernel
def linalg_inv_ex_kernel(A, check_errors, inverse, info):
    factors = A.new_empty_strided(A.shape, by_column(A.shape))
    pivots = A.new_empty(A.shape[:-1], dtype=int32)
    factor_by_rows(A, factors, pivots, info)
    if check_errors:
        raise_failure(info, "torch.linalg.inv_ex", A.ndim == 2)
    fill_(inverse, 0)
    fill_(inverse.diagonal(0, -2, -1), 1)
    linear_algebra(A).lu_solve(factors, pivots, inverse, True, False)


@linalg_inv_ex.derivative("A")
def linalg_inv_ex_derivative(grad, inverse):
    turned = inverse.adjoint()
    return -matmul(turned, matmul(grad, turned))


@op("aten::linalg_inv", python_module="linalg", out=True)
def linalg_inv(A: Tensor) -> Tensor:
    """Return the inverses of matrices.

    Raises:
        LinearAlgebraError: a matrix is singular.
    """
    inverse, info = linalg_inv_ex(A)
    _linalg_check_errors(info, "linalg.inv", is_matrix=A.ndim == 2)
    return inverse


inverse = linalg_inv.alias("aten::inverse", names={"A": "self"}, variants="function, method", out=True)


# ----------------------------------------------------------------------------------------- tensors in place of matrices


@op(
    "aten::linalg_tensorinv",
    variants="function",
    python_module="linalg",
    out=Out(cast="safe", contiguous=True),
)
def linalg_tensorinv(self: Tensor, ind: int = 2) -> Tensor:
    """Return the inverse of a tensor as a linear map from its last dimensions to its first ``ind`` dimensions."""
    check(ind > 0, "Expected a strictly positive integer for 'ind'")
    first, last = self.shape[:ind], self.shape[ind:]
    check(
        math.prod(first) == math.prod(last),
        f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
        f"{math.prod(last)} != {math.prod(first)}",
    )
    return linalg_inv(self.reshape((math.prod(last), math.prod(first)))).reshape((*last, *first))


@op(
    "aten::linalg_tensorsolve",
    variants="function",
    python_module="linalg",
    out=Out(cast="safe", contiguous=True),
)
def linalg_tensorsolve(self: Tensor, other: Tensor, dims: list[int] | None = None) -> Tensor:
    """Return the tensor whose product with ``self``, summed over the last dimensions of ``self``, is ``other``.

    Args:
        self: its first dimensions are those of ``other``.
        other: any.
        dims: dimensions of ``self`` that are moved to its end first.
    """
    moved = self if dims is None else to_end(self, dims)
    shape = moved.shape[other.ndim :]
    size = math.prod(other.shape)
    check(
        math.prod(shape) == size,
        "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but "
        f"got {math.prod(shape)} != {size}",
    )
    return linalg_solve(moved.reshape((size, size)), other.reshape((size,))).reshape(shape)


def to_end(self: Tensor, dims: Sequence[int]) -> Tensor:
    """Move the given dimensions of a tensor to its end."""
    last = [wrap_dimension(dim, self.ndim) for dim in dims]
    return self.permute((*(index for index in range(self.ndim) if index not in last), *last))
