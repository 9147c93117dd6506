"""QR decomposition of matrices."""

from __future__ import annotations

from typing import NamedTuple

from opdsl.aten.create.triangles import keep, upper_scalar_function
from opdsl.aten.linalg.decompositions import by_column, require_matrix, require_numbers
from opdsl.aten.linalg.matrix_products import matmul
from opdsl.aten.linalg.triangular_systems import linalg_solve_triangular
from opdsl.aten.shape.joining import cat
from opdsl.declare import Out, forward, op
from opdsl.kernels import check, copy_, linear_algebra
from opdsl.runtime import Tensor
from opdsl.schema.spelling import spelled

MODES = ("reduced", "complete", "r")


class Orthogonal(NamedTuple):
    """QR factors: a matrix with orthonormal columns, and an upper triangular matrix."""

    Q: Tensor
    R: Tensor


@op("aten::linalg_qr", variants="function", python_module="linalg", out=Out(args=("Q", "R")))
def linalg_qr(A: Tensor, mode: str = spelled("reduced", "'reduced'")) -> Orthogonal:
    """Return the QR decomposition of matrices: ``A = Q @ R``.

    Args:
        A: (..., m, n).
        mode: "reduced": Q has min(m, n) columns; "complete": Q has m columns; "r": Q is empty.
    """
    ...


@linalg_qr.meta
def linalg_qr_meta(ctx, A, mode):
    require_matrix("linalg.qr", A)
    require_numbers("linalg.qr", A)
    check(
        mode in MODES,
        f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'",
    )
    *batch, m, n = A.shape
    columns = m if mode == "complete" else min(m, n)
    shape = (0,) if mode == "r" else (*batch, m, columns)
    ctx.set_output(0, shape, by_column(shape), like=A)
    shape = (*batch, columns, n)
    ctx.set_output(1, shape, by_column(shape), like=A)


linalg_qr.sharding(rows=2)


@linalg_qr.out_kernel
def linalg_qr_kernel(A, mode, Q, R):
    factored = A.new_empty_strided(A.shape, by_column(A.shape))
    copy_(factored, A)
    linear_algebra(A).qr(factored, Q if mode != "r" else None)
    keep(factored.narrow(-2, 0, R.shape[-2]), upper_scalar_function, 0, R)


@linalg_qr.derivative("A")
def linalg_qr_derivative(grads, Q, R, mode):
    """Return the gradient as ``linalg_qr_backward`` in FunctionsManual.cpp."""
    check(
        mode != "r",
        "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, "
        "mode='reduced') if you are going to differentiate through linalg.qr.",
    )
    m, n = Q.shape[-2], R.shape[-1]
    check(
        mode == "reduced" or m <= n,
        "The QR decomposition is not differentiable when mode='complete' and nrows > ncols.",
    )
    of_q, of_r = grads
    inner = matmul(of_r, R.adjoint()) - matmul(Q.adjoint(), of_q)
    if m >= n:
        upper = inner.triu()
        diagonal = upper.diagonal(0, -2, -1)
        kept = (diagonal + diagonal.conj()) * 0.5
        symmetric = (upper + upper.adjoint()).diagonal_scatter(kept, 0, -2, -1)
        return linalg_solve_triangular(R.adjoint(), matmul(Q, symmetric) + of_q, upper=False, left=False)
    skew = (inner.adjoint() - inner).tril()
    skew = skew.diagonal_scatter(skew.diagonal(0, -2, -1) * 0.5, 0, -2, -1)
    first = linalg_solve_triangular(R.narrow(-1, 0, m).adjoint(), matmul(Q, skew), upper=False, left=False)
    rest = first.new_zeros((*first.shape[:-1], n - m))
    return cat([first, rest], -1) + matmul(Q, of_r)


@op("aten::qr", variants="method, function", out=Out("qr.Q", args=("Q", "R")))
@forward(linalg_qr, "self", mode=lambda some: "reduced" if some else "complete")
def qr(self: Tensor, some: bool = True) -> Orthogonal:
    """Return ``linalg.qr(self)``, under an older name."""
