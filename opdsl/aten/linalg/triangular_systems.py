"""Systems of linear equations with triangular matrices."""

from __future__ import annotations

from typing import NamedTuple

from opdsl.aten.linalg.decompositions import (
    by_column,
    require_numbers,
    require_same_dtype,
    require_solvable,
    with_batch,
)
from opdsl.declare import Out, op
from opdsl.kernels import check, copy_, linear_algebra
from opdsl.runtime import Tensor


@op("aten::linalg_solve_triangular", variants="function", python_module="linalg", out=True)
def linalg_solve_triangular(
    self: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """Return the solution of ``A X = B``, or of ``X A = B`` if not ``left``, for a triangular ``A``.

    Args:
        self: ``A``, (..., n, n), of which one triangle is read.
        B: (..., n, k), or (..., k, n) if not ``left``.
        upper: whether to read the upper triangle of ``A``.
        left: whether ``A`` is the left factor.
        unitriangular: whether the diagonal of ``A`` counts as ones.
    """
    ...


@linalg_solve_triangular.meta
def linalg_solve_triangular_meta(ctx, self, B, left):
    operator = "linalg.solve_triangular"
    require_solvable(operator, self, B, left)
    require_same_dtype(operator, self, B)
    require_numbers(operator, self)
    shape = with_batch(self, B)[1].shape
    ctx.set_output(0, shape, by_column(shape), like=self)


@linalg_solve_triangular.out_kernel
def linalg_solve_triangular_kernel(self, B, upper, left, unitriangular, out):
    triangle, right = with_batch(self, B)
    copy_(out, right)
    linear_algebra(out).solve_triangular(triangle, out, upper, left, False, unitriangular)


@linalg_solve_triangular.derivative("self", "B")
def linalg_solve_triangular_derivative(grad, self, B, result, upper, left, unitriangular, output_mask):
    of_right = linalg_solve_triangular(self.adjoint(), grad, upper=not upper, left=left, unitriangular=unitriangular)
    of_matrix = None
    if output_mask[0]:
        product = of_right @ result.adjoint() if left else result.adjoint() @ of_right
        of_matrix = (-product).triu(int(unitriangular)) if upper else (-product).tril(-int(unitriangular))
    return of_matrix, of_right


class TriangularSolution(NamedTuple):
    """Solution of triangular equations, and a copy of the matrix."""

    solution: Tensor
    cloned_coefficient: Tensor


@op("aten::triangular_solve", variants="method, function", out=Out("triangular_solve.X", args=("X", "M")))
def triangular_solve(
    self: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> TriangularSolution:
    """Return the solution of ``A X = B`` for a triangular ``A``, and a copy of ``A``. Prefer
    ``linalg.solve_triangular``.
    """
    ...


@triangular_solve.meta
def triangular_solve_meta(ctx, self, A):
    for name, tensor in (("b", self), ("A", A)):
        check(
            tensor.ndim >= 2,
            f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has {tensor.ndim} "
            "dimensions instead",
        )
    require_system("triangular_solve", self, A)
    require_numbers("triangular_solve", self)
    for index, tensor in enumerate(with_batch(self, A)):
        ctx.set_output(index, tensor.shape, by_column(tensor.shape), like=self)


def require_system(name: str, self: Tensor, matrix: Tensor) -> None:
    """Check that the shapes and dtypes fit ``A X = B`` (``linearSolveCheckInputs``).

    Raises:
        DTypeError, ShapeError: they do not.
    """
    require_same_dtype(name, self, matrix, ("b", "A"))
    rows, columns = matrix.size(-2), matrix.size(-1)
    check(rows == columns, f"A must be batches of square matrices, but they are {rows} by {columns} matrices")
    check(
        rows == self.size(-2),
        f"Incompatible matrix sizes for {name}: each A matrix is {rows} by {rows} but each b matrix is "
        f"{self.size(-2)} by {self.size(-1)}",
    )


triangular_solve.sharding(rows=2)


@triangular_solve.out_kernel
def triangular_solve_kernel(self, A, upper, transpose, unitriangular, X, M):
    right, triangle = with_batch(self, A)
    copy_(X, right)
    copy_(M, triangle)
    linear_algebra(X).solve_triangular(M, X, upper, True, transpose, unitriangular)


@triangular_solve.derivative("self", "A")
def triangular_solve_derivative(grads, self, A, solution, upper, transpose, unitriangular, output_mask):
    of_right = triangular_solve(grads[0], A.conj(), upper, not transpose, unitriangular)[0]
    of_matrix = None
    if output_mask[1]:
        product = solution.conj() @ of_right.transpose(-2, -1) if transpose else of_right @ solution.adjoint()
        of_matrix = (-product).triu(int(unitriangular)) if upper else (-product).tril(-int(unitriangular))
        of_matrix = of_matrix + grads[1]
    return of_right, of_matrix
