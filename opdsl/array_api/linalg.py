"""Linear algebra: the standard's extension ``linalg``. Matrices are the last two axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from opdsl._attributes import aten
from opdsl.array_api.data_types import promoted, sum_dtype
from opdsl.array_api.manipulation import Axes
from opdsl.array_api.statistics import reduced
from opdsl.errors import OptionError, ShapeError
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.runtime import DType, Tensor
from opdsl.runtime.limits import finfo


class EighResult(NamedTuple):
    """What ``eigh`` gives."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """What ``qr`` gives."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """What ``slogdet`` gives."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """What ``svd`` gives."""

    U: Tensor
    S: Tensor
    Vh: Tensor


# ------------------------------------------------------------------------------------------------------------ products


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The products of matrices; a vector stands for a row on the left and for a column on the right."""
    return aten.matmul(*promoted(x1, x2))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """A view of matrices with rows and columns exchanged."""
    return x.transpose(-2, -1)


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
    """The sums of products over axes of both.

    Args:
        x1, x2: the tensors.
        axes: how many, the last of ``x1`` and the first of ``x2``; or which ones of each.
    """
    left, right = promoted(x1, x2)
    return aten.tensordot(left, right, axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The sums of products of vectors along an axis; the first is conjugated."""
    left, right = promoted(x1, x2)
    if left.shape[axis] != right.shape[axis]:
        raise ShapeError(f"vecdot: vectors of {left.shape[axis]} and {right.shape[axis]} elements have no product")
    return aten.sum(left.conj() * right, axis, dtype=left.dtype)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The products of each element of a vector and each of another."""
    return aten.outer(*promoted(x1, x2))


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The cross products of vectors of three elements along an axis."""
    left, right = aten.broadcast_tensors(*promoted(x1, x2))
    return aten.linalg_cross(left, right, dim=axis)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """The product of ``n`` times a square matrix, of its inverse for negative numbers."""
    base = inv(x) if n < 0 else x
    made: Tensor | None = None
    for bit in reversed(f"{abs(n):b}"):
        if bit == "1":
            made = base if made is None else made @ base
        base = base @ base
    return aten.eye(x.shape[-1], dtype=x.dtype, device=x.device).expand(x.shape).clone() if made is None else made


# ------------------------------------------------------------------------------------------------------------ diagonals


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """A view of the diagonals of matrices."""
    return aten.diagonal(x, offset, -2, -1)


def trace(x: Tensor, /, *, offset: int = 0, dtype: DType | None = None) -> Tensor:
    """The sums along diagonals of matrices; of integers in int64 unless a dtype is named."""
    return aten.sum(diagonal(x, offset=offset), -1, dtype=dtype or sum_dtype(x.dtype))


# ----------------------------------------------------------------------------------------------------------- equations


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The triangular factors of Hermitian positive-definite matrices.

    Raises:
        LinearAlgebraError: a matrix is not positive-definite.
    """
    return aten.linalg_cholesky(x, upper=upper)


def det(x: Tensor, /) -> Tensor:
    """The determinants of square matrices."""
    return aten.linalg_det(x)


def inv(x: Tensor, /) -> Tensor:
    """The inverses of square matrices.

    Raises:
        LinearAlgebraError: a matrix is singular.
    """
    return aten.linalg_inv(x)


def slogdet(x: Tensor, /) -> SlogdetResult:
    """The signs of determinants, and the logarithms of their absolute values."""
    return SlogdetResult(*aten.linalg_slogdet(x))


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """What ``x1`` has to be multiplied by to give ``x2``, which is a vector if it has one axis, else matrices.

    Raises:
        LinearAlgebraError: a matrix is singular.
    """
    left, right = promoted(x1, x2)
    if right.ndim == 1:
        return aten.linalg_solve(left, right.unsqueeze(-1)).squeeze(-1)
    batch = broadcast_all((left.shape[:-2], right.shape[:-2]))
    return aten.linalg_solve(left.expand(*batch, *left.shape[-2:]), right.expand(*batch, *right.shape[-2:]))


# ------------------------------------------------------------------------------------------------------ decompositions


def eigh(x: Tensor, /) -> EighResult:
    """The eigenvalues of Hermitian matrices in order, and their eigenvectors as columns."""
    return EighResult(*aten.linalg_eigh(x))


def eigvalsh(x: Tensor, /) -> Tensor:
    """The eigenvalues of Hermitian matrices in order."""
    return aten.linalg_eigvalsh(x)


def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Matrices as products of one with orthonormal columns and an upper triangular one."""
    return QRResult(*aten.linalg_qr(x, mode=mode))


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult:
    """The singular value decompositions ``U * S @ Vh`` of matrices."""
    return SVDResult(*aten.linalg_svd(x, full_matrices=full_matrices))


def svdvals(x: Tensor, /) -> Tensor:
    """The singular values of matrices, the largest first."""
    return aten.linalg_svdvals(x)


def _threshold(x: Tensor, singular: Tensor, rtol: float | Tensor | None) -> Tensor:
    """Below which singular values of matrices count as 0, for each matrix."""
    if rtol is None:
        rtol = max(x.shape[-2:]) * finfo(x.dtype).eps
    largest = singular.amax(-1)
    return (largest * rtol).unsqueeze(-1)


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """How many singular values of each matrix are above ``rtol`` times the largest one.

    Args:
        x: the matrices.
        rtol: one for all matrices, or one for each; the larger size times the dtype's ``eps`` by default.
    """
    if x.ndim < 2:
        raise ShapeError(f"matrix_rank: matrices have two dimensions or more (got {x.ndim})")
    singular = svdvals(x)
    if singular.shape[-1] == 0:
        return aten.sum(singular != 0, -1)
    return aten.sum(singular > _threshold(x, singular, rtol), -1)


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """The Moore-Penrose pseudo-inverses of matrices.

    Args:
        x: the matrices.
        rtol: below which part of the largest one singular values count as 0, as of ``matrix_rank``.
    """
    if 0 in x.shape[-2:]:
        return x.transpose(-2, -1).clone()
    u, singular, vh = svd(x, full_matrices=False)
    kept = singular > _threshold(x, singular, rtol)
    inverses = aten.where(kept, 1 / aten.where(kept, singular, 1), 0)
    return (vh.adjoint() * inverses.unsqueeze(-2)) @ u.adjoint()


# --------------------------------------------------------------------------------------------------------------- norms


def vector_norm(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False, ord: float = 2) -> Tensor:
    """The norms of vectors along axes; of all elements for None."""
    if axis == ():
        return reduced("linalg_vector_norm", x, axis, keepdims, ord=ord)
    return aten.linalg_vector_norm(x, ord, axis, keepdims)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro") -> Tensor:
    """The norms of matrices.

    Args:
        x: the matrices.
        keepdims: whether the axes of matrices stay, with size 1.
        ord: ``"fro"`` (or None), the root of the sum of squares; ``"nuc"``, the sum of the singular values; 2 and -2,
            the largest and the least of them; 1 and -1, inf and -inf, those of the sums of columns, and of rows.

    Raises:
        OptionError: there is no such norm.
    """
    if ord is None or ord == "fro":
        return aten.linalg_vector_norm(x, 2, (-2, -1), keepdims)
    if ord == "nuc" or ord in (2, -2):
        values = svdvals(x)
        made = aten.sum(values, -1) if ord == "nuc" else values.amax(-1) if ord == 2 else values.amin(-1)
    elif isinstance(ord, str) or abs(ord) not in (1, math.inf):
        raise OptionError(f"no norm of matrices is {ord!r}. Use one of: 'fro', 'nuc', 1, -1, 2, -2, inf, -inf.")
    else:
        sums = aten.sum(x.abs(), -2 if abs(ord) == 1 else -1)
        made = sums.amax(-1) if ord > 0 else sums.amin(-1)
    return made.unsqueeze(-1).unsqueeze(-1) if keepdims else made
