"""Eigenvalues and eigenvectors of Hermitian matrices (``eigh``), and singular value decomposition (``svd``)."""

from __future__ import annotations

from typing import NamedTuple

from opdsl.aten.linalg.decompositions import by_column, raise_failure, require_matrix, require_numbers, require_square
from opdsl.aten.linalg.matrix_products import matmul
from opdsl.aten.pointwise.comparison import where
from opdsl.declare import Out, forward, op
from opdsl.kernels import check, copy_, linear_algebra
from opdsl.runtime import Tensor, contiguous_strides, int32


def quotient(over: Tensor, values: Tensor) -> Tensor:
    """Divide each element by the difference of two values, that of its column minus that of its row; return 0 if they
    are equal.

    PyTorch divides by 0 there. The eigenvectors of equal eigenvalues are not unique and have no gradients, but sums of
    the eigenvalues have.

    Args:
        over: (..., n, n).
        values: (..., n).
    """
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
    return over * where(gaps == 0, 0.0, 1 / where(gaps == 0, 1.0, gaps))


class Spectrum(NamedTuple):
    """Eigenvalues, the smallest first if they are real, and eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


@op("aten::_linalg_eigh", out=Out("_linalg_eigh.eigenvalues", args=("eigenvalues", "eigenvectors")))
def _linalg_eigh(A: Tensor, UPLO: str = "L", compute_v: bool = True) -> Spectrum:
    """Return the eigenvalues and eigenvectors of Hermitian matrices.

    Args:
        A: (..., n, n), of which one triangle is read.
        UPLO: which triangle: "L" or "U".
        compute_v: whether to compute eigenvectors; otherwise they are empty.
    """
    ...


@_linalg_eigh.meta
def _linalg_eigh_meta(ctx, A, UPLO, compute_v):
    require_square("linalg.eigh", A)
    require_numbers("linalg.eigh", A)
    check(UPLO.upper() in ("L", "U"), f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    ctx.set_output(0, A.shape[:-1], contiguous_strides(A.shape[:-1]), like=A, dtype=A.dtype.to_real())
    shape = A.shape if compute_v else (0,)
    ctx.set_output(1, shape, by_column(shape), like=A)


_linalg_eigh.sharding(rows=2)


@_linalg_eigh.out_kernel
def _linalg_eigh_kernel(A, UPLO, compute_v, eigenvalues, eigenvectors):
    vectors = eigenvectors if compute_v else A.new_empty_strided(A.shape, by_column(A.shape))
    copy_(vectors, A)
    info = A.new_zeros(A.shape[:-2], dtype=int32)
    linear_algebra(A).eigh(vectors, eigenvalues, info, UPLO.upper() == "U", compute_v)
    raise_failure(info, "linalg.eigh", A.ndim == 2)


@_linalg_eigh.derivative("A")
def _linalg_eigh_derivative(grads, eigenvalues, eigenvectors, compute_v):
    """Return the gradient ``V (diag(gL) + skew(V^H gV) / E) V^H`` (``linalg_eig_backward``)."""
    check(compute_v, "linalg_eigh_backward: gradients need eigenvectors: pass compute_v=True")
    turned = eigenvectors.adjoint()
    inner = matmul(turned, grads[1])
    inner = quotient(0.5 * (inner - inner.adjoint()), eigenvalues)
    inner = inner.diagonal_scatter(grads[0].to(inner.dtype), 0, -2, -1)
    return matmul(eigenvectors, matmul(inner, turned))


@op("aten::linalg_eigh", python_module="linalg", out=Out("linalg_eigh.eigvals", args=("eigvals", "eigvecs")))
@forward(_linalg_eigh, "self")
def linalg_eigh(self: Tensor, UPLO: str = "L") -> Spectrum:
    """Return the eigenvalues of Hermitian matrices, the smallest first, and their eigenvectors as columns."""


@op("aten::linalg_eigvalsh", python_module="linalg", out=True)
@forward(_linalg_eigh, "self", compute_v=lambda self: self.requires_grad, result=0)
def linalg_eigvalsh(self: Tensor, UPLO: str = "L") -> Tensor:
    """Return the eigenvalues of Hermitian matrices, the smallest first."""


class Singular(NamedTuple):
    """Singular value decomposition: left vectors as columns, values, the largest first, and conjugate right vectors as
    rows.
    """

    U: Tensor
    S: Tensor
    Vh: Tensor


@op("aten::_linalg_svd", variants="function", out=Out("_linalg_svd.U", args=("U", "S", "Vh")))
def _linalg_svd(
    A: Tensor, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None
) -> Singular:
    """Return the singular values and singular vectors of matrices.

    Args:
        A: (..., m, n).
        full_matrices: whether to return all left and right vectors, or only as many as there are values.
        compute_uv: whether to compute singular vectors; otherwise they are empty.
        driver: must be None, as only CUDA has a choice of drivers.
    """
    ...


@_linalg_svd.meta
def _linalg_svd_meta(ctx, A, full_matrices, compute_uv, driver):
    require_matrix("linalg.svd", A)
    require_numbers("linalg.svd", A)
    check(driver is None, "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs.")
    *batch, m, n = A.shape
    least = min(m, n)
    left, right = ((m, n) if full_matrices else (least, least)) if compute_uv else (0, 0)
    shapes = ((*batch, m, left), (*batch, right, n)) if compute_uv else ((0,), (0,))
    ctx.set_output(0, shapes[0], by_column(shapes[0]), like=A)
    values = (*batch, least)
    ctx.set_output(1, values, contiguous_strides(values), like=A, dtype=A.dtype.to_real())
    ctx.set_output(2, shapes[1], by_column(shapes[1]), like=A)


_linalg_svd.sharding(rows=2)


@_linalg_svd.out_kernel
def _linalg_svd_kernel(A, full_matrices, compute_uv, U, S, Vh):
    info = A.new_zeros(A.shape[:-2], dtype=int32)
    overwritten = A.new_empty_strided(A.shape, by_column(A.shape))
    copy_(overwritten, A)
    left, right = (U, Vh) if compute_uv else (None, None)
    linear_algebra(A).svd(overwritten, left, S, right, info, full_matrices)
    raise_failure(info, "linalg.svd", A.ndim == 2)


@_linalg_svd.derivative("A")
def _linalg_svd_derivative(grads, U, S, Vh, full_matrices, compute_uv):
    """Return the gradient as ``svd_backward`` in FunctionsManual.cpp; vectors beyond the singular values have none."""
    check(compute_uv, "svd_backward: gradients need singular vectors: pass compute_uv=True")
    least = S.shape[-1]
    if full_matrices:
        U, Vh = U.narrow(-1, 0, least), Vh.narrow(-2, 0, least)
        grads = grads[0].narrow(-1, 0, least), grads[1], grads[2].narrow(-2, 0, least)
    of_left, of_values, of_right = grads
    m, n = U.shape[-2], Vh.shape[-1]
    left, right = matmul(U.adjoint(), of_left), matmul(Vh, of_right.adjoint())
    left, right = left - left.adjoint(), right - right.adjoint()
    rows, columns = S.unsqueeze(-1), S.unsqueeze(-2)
    inner = quotient(left * columns + rows * right, S * S)
    diagonal = of_values.to(inner.dtype)
    if U.is_complex():
        diagonal = diagonal + left.diagonal(0, -2, -1) / (2 * S)
    inner = inner.diagonal_scatter(diagonal, 0, -2, -1)
    if m > n:
        scaled = of_left / columns
        return matmul(matmul(U, inner) + scaled - matmul(U, matmul(U.adjoint(), scaled)), Vh)
    if m < n:
        scaled = of_right / rows
        return matmul(U, matmul(inner, Vh) + scaled - matmul(matmul(scaled, Vh.adjoint()), Vh))
    return matmul(U, matmul(inner, Vh))


@op(
    "aten::linalg_svd",
    variants="function",
    python_module="linalg",
    out=Out("linalg_svd.U", args=("U", "S", "Vh")),
)
@forward(_linalg_svd, compute_uv=True)
def linalg_svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Singular:
    """Return the singular value decomposition of matrices: ``A = U @ diag(S) @ Vh``."""


@op("aten::linalg_svdvals", variants="function", python_module="linalg", out=True)
@forward(_linalg_svd, compute_uv=lambda A: A.requires_grad, result=1)
def linalg_svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """Return the singular values of matrices, the largest first."""


class OlderSingular(NamedTuple):
    """Result of ``torch.svd``: left vectors as columns, singular values, the largest first, and right vectors as
    columns.
    """

    U: Tensor
    S: Tensor
    V: Tensor


@op("aten::svd", variants="function, method", out=Out("svd.U", args=("U", "S", "V")))
def svd(self: Tensor, some: bool = True, compute_uv: bool = True) -> OlderSingular:
    """Return ``linalg.svd`` with the right singular vectors as columns; without ``compute_uv`` the vectors
    are zeros.
    """
    require_matrix("linalg.svd", self)
    if compute_uv:
        left, values, right = linalg_svd(self, not some)
        return OlderSingular(left, values, right.adjoint())
    *batch, m, n = self.shape
    return OlderSingular(self.new_zeros((*batch, m, m)), linalg_svdvals(self), self.new_zeros((*batch, n, n)))
