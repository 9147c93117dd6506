"""Equations with triangular matrices."""

from __future__ import annotations

from typing import NamedTuple

from opdsl.aten.linalg.decompositions import (
    Array,
    by_column,
    flat,
    in_columns,
    require_numbers,
    require_same_dtype,
    require_solvable,
    stack,
    with_batch,
)
from opdsl.declare import Out, op
from opdsl.kernels import check, copy_, step
from opdsl.runtime import Tensor


def solve_triangles(
    triangle: Tensor, out: Tensor, *, upper: bool, left: bool = True, transpose: bool = False, unitriangular: bool
) -> None:
    """Solve ``A X = B`` or ``X A = B`` in place.

    Args:
        triangle: ``A``, of which one triangle is read.
        out: ``B``, which becomes ``X``; column by column, of the same batch.
        upper: whether the upper triangle of ``A`` counts.
        left: whether ``A`` stands to the left.
        transpose: whether ``A`` is transposed.
        unitriangular: whether its diagonal counts as ones.
    """
    solve_in_place(triangle, out, upper, left, transpose, unitriangular)


@step
def solve_in_place(triangle: Array, out: Array, upper: bool, left: bool, transpose: bool, unitriangular: bool) -> None:
    """Write the solutions in place of the right-hand sides, see ``solve_triangles``."""
    from opdsl.backends.cpu import lapack

    if not out.size:
        return
    matrices = flat(triangle)
    if matrices.strides[2] == matrices.itemsize:  # by rows: the transposed matrices lie as LAPACK reads them
        matrices, upper, transpose = matrices.swapaxes(1, 2), not upper, not transpose
    matrices = in_columns(matrices)
    letters = "U" if upper else "L", "T" if transpose else "N", "U" if unitriangular else "N"
    lapack.trsm("L" if left else "R", *letters, matrices, stack(out))


@op(
    "aten::linalg_solve_triangular",
    variants="function",
    python_module="linalg",
    structured=False,
    out=Out(explicit=True),
)
def linalg_solve_triangular(
    self: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """The solution of ``A X = B``, or ``X A = B``, for a triangular ``A``.

    Args:
        self: ``A``, (..., n, n), of which one triangle is read.
        B: (..., n, k), or (..., k, n) where ``A`` stands to the right.
        upper: whether the upper triangle of ``A`` counts.
        left: whether ``A`` stands to the left.
        unitriangular: whether its diagonal counts as ones.
    """
    ...


@linalg_solve_triangular.meta
def linalg_solve_triangular_meta(ctx, self, B, left):
    name = "linalg.solve_triangular"
    require_solvable(name, self, B, left)
    require_same_dtype(name, self, B)
    require_numbers(name, self)
    shape = with_batch(self, B)[1].shape
    ctx.set_output(0, shape, by_column(shape), like=self)


@linalg_solve_triangular.out_kernel("CPU", compiled=False)
def linalg_solve_triangular_cpu(self, B, upper, left, unitriangular, out):
    triangle, right = with_batch(self, B)
    copy_(out, right)
    solve_triangles(triangle, out, upper=upper, left=left, unitriangular=unitriangular)


@linalg_solve_triangular.derivative("self", "B")
def linalg_solve_triangular_derivative(grad, self, B, result, upper, left, unitriangular, output_mask):
    of_right = linalg_solve_triangular(self.adjoint(), grad, upper=not upper, left=left, unitriangular=unitriangular)
    found = None
    if output_mask[0]:
        product = of_right @ result.adjoint() if left else result.adjoint() @ of_right
        found = (-product).triu(int(unitriangular)) if upper else (-product).tril(-int(unitriangular))
    return found, of_right


class TriangularSolution(NamedTuple):
    """The solution, and the matrix that it was found with."""

    solution: Tensor
    cloned_coefficient: Tensor


@op("aten::triangular_solve", variants="method, function", out=Out("triangular_solve.X", args=("X", "M")))
def triangular_solve(
    self: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> TriangularSolution:
    """The solution of ``A X = B`` for a triangular ``A``, and a copy of ``A``. Use ``linalg.solve_triangular``."""
    ...


@triangular_solve.meta
def triangular_solve_meta(ctx, self, A):
    for name, each in (("b", self), ("A", A)):
        check(
            each.ndim >= 2,
            f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has {each.ndim} dimensions "
            "instead",
        )
    require_system("triangular_solve", self, A)
    require_numbers("triangular_solve", self)
    for index, each in enumerate(with_batch(self, A)):
        ctx.set_output(index, each.shape, by_column(each.shape), like=self)


def require_system(name: str, self: Tensor, matrix: Tensor) -> None:
    """That ``A X = B`` makes sense (``linearSolveCheckInputs``).

    Raises:
        DTypeError, ShapeError: it does not.
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


@triangular_solve.out_kernel("CPU", compiled=False)
def triangular_solve_cpu(self, A, upper, transpose, unitriangular, X, M):
    right, triangle = with_batch(self, A)
    copy_(X, right)
    copy_(M, triangle)
    solve_triangles(M, X, upper=upper, transpose=transpose, unitriangular=unitriangular)


@triangular_solve.derivative("self", "A")
def triangular_solve_derivative(grads, self, A, solution, upper, transpose, unitriangular, output_mask):
    of_right = triangular_solve(grads[0], A.conj(), upper, not transpose, unitriangular)[0]
    found = None
    if output_mask[1]:
        product = solution.conj() @ of_right.transpose(-2, -1) if transpose else of_right @ solution.adjoint()
        found = (-product).triu(int(unitriangular)) if upper else (-product).tril(-int(unitriangular))
        found = found + grads[1]
    return of_right, found
