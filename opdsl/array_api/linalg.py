"""Extension ``linalg`` of the array API: linear algebra. Matrices are the last two axes of a tensor."""

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
    """Result of ``eigh``.

    eigenvalues: in ascending order.
    eigenvectors: as columns of matrices.

    >>> from opdsl import array_api as xp
    >>> xp.linalg.eigh(xp.asarray([[2.0]])).eigenvalues
    tensor([2.])
    """

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """Result of ``qr``.

    Q: the factor with orthonormal columns.
    R: the upper triangular factor.

    >>> from opdsl import array_api as xp
    >>> xp.linalg.qr(xp.asarray([[2.0]])).R.abs()
    tensor([[2.]])
    """

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """Result of ``slogdet``.

    sign: of each determinant.
    logabsdet: the logarithm of its absolute value.

    >>> from opdsl import array_api as xp
    >>> xp.linalg.slogdet(xp.asarray([[-1.0]])).sign
    tensor(-1.)
    """

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """Result of ``svd``.

    U, Vh: with orthonormal columns and rows, respectively.
    S: the singular values, the largest first.

    >>> from opdsl import array_api as xp
    >>> xp.linalg.svd(xp.asarray([[-2.0]])).S
    tensor([2.])
    """

    U: Tensor
    S: Tensor
    Vh: Tensor


# ------------------------------------------------------------------------------------------------------------ products


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the products of matrices; a vector is a row on the left and a column on the right.

    Args:
        x1, x2: of shapes (..., M, K) and (..., K, N), or (K).

    >>> from opdsl import array_api as xp
    >>> xp.matmul(xp.asarray([[1, 2], [3, 4]]), xp.asarray([1, 10]))
    tensor([21, 43])
    """
    return aten.matmul(*promoted(x1, x2))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """Return a view of matrices with rows and columns exchanged.

    Args:
        x: the matrices.

    >>> from opdsl import array_api as xp
    >>> xp.matrix_transpose(xp.asarray([[1, 2], [3, 4]]))
    tensor([[1, 3],
            [2, 4]])
    """
    return x.transpose(-2, -1)


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
    """Return the sums of products over axes of both tensors.

    Args:
        x1, x2: the tensors.
        axes: their number: the last of ``x1`` and the first of ``x2``; or the axes of each tensor.

    >>> from opdsl import array_api as xp
    >>> xp.tensordot(xp.ones((2, 3)), xp.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    left, right = promoted(x1, x2)
    return aten.tensordot(left, right, axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the dot products of vectors along an axis; the first vector is conjugated.

    Args:
        x1, x2: of shapes that broadcast.
        axis: the axis of the vectors.

    Raises:
        ShapeError: the vectors have different numbers of elements.

    >>> from opdsl import array_api as xp
    >>> xp.vecdot(xp.asarray([[1, 2], [3, 4]]), xp.asarray([1, 10]))
    tensor([21, 43])
    """
    left, right = promoted(x1, x2)
    if left.shape[axis] != right.shape[axis]:
        raise ShapeError(f"vecdot: vectors of {left.shape[axis]} and {right.shape[axis]} elements have no product")
    return aten.sum(left.conj() * right, axis, dtype=left.dtype)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the products of each element of one vector with each element of another.

    Args:
        x1, x2: the vectors.

    >>> from opdsl import array_api as xp
    >>> xp.linalg.outer(xp.asarray([1, 2]), xp.asarray([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    return aten.outer(*promoted(x1, x2))


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the cross products of vectors of three elements along an axis.

    Args:
        x1, x2: of shapes that broadcast.
        axis: the axis of the vectors.

    >>> from opdsl import array_api as xp
    >>> xp.linalg.cross(xp.asarray([1.0, 0.0, 0.0]), xp.asarray([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    left, right = aten.broadcast_tensors(*promoted(x1, x2))
    return aten.linalg_cross(left, right, dim=axis)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Return the ``n``-th power of a square matrix; of its inverse for negative ``n``.

    Args:
        x: the matrices.
        n: the exponent.

    Raises:
        LinearAlgebraError: ``n`` is negative, and a matrix is singular.

    >>> from opdsl import array_api as xp
    >>> xp.linalg.matrix_power(xp.asarray([[1.0, 1.0], [0.0, 1.0]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    base = inv(x) if n < 0 else x
    power: Tensor | None = None
    for bit in reversed(f"{abs(n):b}"):
        if bit == "1":
            power = base if power is None else power @ base
        base = base @ base
    return aten.eye(x.shape[-1], dtype=x.dtype, device=x.device).expand(x.shape).clone() if power is None else power


# ------------------------------------------------------------------------------------------------------------ diagonals


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """Return a view of the diagonals of matrices.

    Args:
        x: the matrices.
        offset: the diagonal: above the main one if positive, below it if negative.

    >>> from opdsl import array_api as xp
    >>> xp.linalg.diagonal(xp.asarray([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return aten.diagonal(x, offset, -2, -1)


def trace(x: Tensor, /, *, offset: int = 0, dtype: DType | None = None) -> Tensor:
    """Return the sums along diagonals of matrices; integers are summed in 64 bits by default.

    Args:
        x: the matrices.
        offset: the diagonal; see ``diagonal``.
        dtype: dtype of the sum.

    >>> from opdsl import array_api as xp
    >>> xp.linalg.trace(xp.asarray([[1, 2], [3, 4]]))
    tensor(5)
    """
    return aten.sum(diagonal(x, offset=offset), -1, dtype=dtype or sum_dtype(x.dtype))


# ----------------------------------------------------------------------------------------------------------- equations


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """Return the Cholesky factors (triangular matrices) of Hermitian positive-definite matrices.

    Args:
        x: the matrices.
        upper: whether to return the upper triangular factor.

    Raises:
        LinearAlgebraError: a matrix is not positive-definite.

    >>> from opdsl import array_api as xp
    >>> xp.linalg.cholesky(xp.asarray([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    return aten.linalg_cholesky(x, upper=upper)


def det(x: Tensor, /) -> Tensor:
    """Return the determinants of square matrices.

    Args:
        x: the matrices.

    >>> from opdsl import array_api as xp
    >>> xp.linalg.det(xp.asarray([[1.0, 2.0], [3.0, 4.0]]))
    tensor(-2.0000)
    """
    return aten.linalg_det(x)


def inv(x: Tensor, /) -> Tensor:
    """Return the inverses of square matrices.

    Args:
        x: the matrices.

    Raises:
        LinearAlgebraError: a matrix is singular.

    >>> from opdsl import array_api as xp
    >>> xp.linalg.inv(xp.asarray([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return aten.linalg_inv(x)


def slogdet(x: Tensor, /) -> SlogdetResult:
    """Return the signs of determinants, and the logarithms of their absolute values.

    Args:
        x: square matrices.

    >>> from opdsl import array_api as xp
    >>> xp.linalg.slogdet(xp.asarray([[0.0, 1.0], [1.0, 0.0]]))
    SlogdetResult(sign=tensor(-1.), logabsdet=tensor(0.))
    """
    return SlogdetResult(*aten.linalg_slogdet(x))


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the solution of ``x1 @ x = x2``; ``x2`` is a vector if it has one axis, else matrices.

    Args:
        x1: square matrices.
        x2: a vector, or matrices.

    Raises:
        LinearAlgebraError: a matrix is singular.

    >>> from opdsl import array_api as xp
    >>> xp.linalg.solve(xp.asarray([[2.0, 0.0], [0.0, 4.0]]), xp.asarray([1.0, 2.0]))
    tensor([0.5000, 0.5000])
    """
    left, right = promoted(x1, x2)
    if right.ndim == 1:
        return aten.linalg_solve(left, right.unsqueeze(-1)).squeeze(-1)
    batch = broadcast_all((left.shape[:-2], right.shape[:-2]))
    return aten.linalg_solve(left.expand(*batch, *left.shape[-2:]), right.expand(*batch, *right.shape[-2:]))


# ------------------------------------------------------------------------------------------------------ decompositions


def eigh(x: Tensor, /) -> EighResult:
    """Return the eigenvalues of Hermitian matrices in ascending order, and their eigenvectors as columns.

    Args:
        x: the matrices; only the lower triangle is read.

    >>> from opdsl import array_api as xp
    >>> xp.linalg.eigh(xp.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    return EighResult(*aten.linalg_eigh(x))


def eigvalsh(x: Tensor, /) -> Tensor:
    """Return the eigenvalues of Hermitian matrices in ascending order.

    Args:
        x: the matrices; only the lower triangle is read.

    >>> from opdsl import array_api as xp
    >>> xp.linalg.eigvalsh(xp.asarray([[0.0, 1.0], [1.0, 0.0]]))
    tensor([-1.,  1.])
    """
    return aten.linalg_eigvalsh(x)


def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Return the QR decompositions of matrices: a factor with orthonormal columns, and an upper triangular one.

    Args:
        x: the matrices.
        mode: number of orthonormal columns: the smaller size for ``"reduced"``, the number of rows for
            ``"complete"``.

    >>> from opdsl import array_api as xp
    >>> xp.linalg.qr(xp.ones((3, 2)), mode="complete").Q.shape
    (3, 3)
    """
    return QRResult(*aten.linalg_qr(x, mode=mode))


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult:
    """Return the singular value decompositions ``U * S @ Vh`` of matrices.

    Args:
        x: the matrices.
        full_matrices: whether ``U`` and ``Vh`` are square.

    >>> from opdsl import array_api as xp
    >>> xp.linalg.svd(xp.asarray([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
    return SVDResult(*aten.linalg_svd(x, full_matrices=full_matrices))


def svdvals(x: Tensor, /) -> Tensor:
    """Return the singular values of matrices, the largest first.

    Args:
        x: the matrices.

    >>> from opdsl import array_api as xp
    >>> xp.linalg.svdvals(xp.asarray([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4., 3.])
    """
    return aten.linalg_svdvals(x)


def _threshold(x: Tensor, singular: Tensor, rtol: float | Tensor | None) -> Tensor:
    """Return for each matrix the threshold at or below which singular values count as 0."""
    if rtol is None:
        rtol = max(x.shape[-2:]) * finfo(x.dtype).eps
    largest = singular.amax(-1)
    return (largest * rtol).unsqueeze(-1)


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Return the number of singular values of each matrix that are above ``rtol`` times the largest one.

    Args:
        x: the matrices.
        rtol: one number, or one for each matrix; by default the larger size times the dtype's ``eps``.

    Raises:
        ShapeError: there are fewer than two dimensions.

    >>> from opdsl import array_api as xp
    >>> xp.linalg.matrix_rank(xp.ones((2, 2)))
    tensor(1)
    """
    if x.ndim < 2:
        raise ShapeError(f"matrix_rank: matrices have two dimensions or more (got {x.ndim})")
    singular = svdvals(x)
    if singular.shape[-1] == 0:
        return aten.sum(singular != 0, -1)
    return aten.sum(singular > _threshold(x, singular, rtol), -1)


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Return the Moore-Penrose pseudo-inverses of matrices.

    Args:
        x: the matrices.
        rtol: singular values up to this fraction of the largest one count as 0, see ``matrix_rank``.

    >>> from opdsl import array_api as xp
    >>> xp.linalg.pinv(xp.asarray([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    if 0 in x.shape[-2:]:
        return x.transpose(-2, -1).clone()
    u, singular, vh = svd(x, full_matrices=False)
    kept = singular > _threshold(x, singular, rtol)
    inverses = aten.where(kept, 1 / aten.where(kept, singular, 1), 0)
    return (vh.adjoint() * inverses.unsqueeze(-2)) @ u.adjoint()


# --------------------------------------------------------------------------------------------------------------- norms


def vector_norm(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False, ord: float = 2) -> Tensor:
    """Return the norms of vectors along axes, or of all elements if ``axis`` is None.

    Args:
        x: the vectors.
        axis: the axes of the vectors; several are treated as one.
        keepdims: whether the axes are kept, with size 1.
        ord: 2 for the Euclidean norm, 1 for the sum of absolute values, inf and -inf for the largest and the smallest
            absolute value, 0 for the number of nonzero elements, others for the root of the sum of powers.

    >>> from opdsl import array_api as xp
    >>> xp.linalg.vector_norm(xp.asarray([3.0, 4.0]))
    tensor(5.)
    """
    if axis == ():
        return reduced("linalg_vector_norm", x, axis, keepdims, ord=ord)
    return aten.linalg_vector_norm(x, ord, axis, keepdims)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro") -> Tensor:
    """Return the norms of matrices.

    Args:
        x: the matrices.
        keepdims: whether the axes of matrices are kept, with size 1.
        ord: ``"fro"`` (or None), the root of the sum of squares; ``"nuc"``, the sum of the singular values; 2 and -2,
            the largest and the smallest of them; 1 and -1, the largest and the smallest sum of absolute values of a
            column; inf and -inf, those of a row.

    Raises:
        OptionError: there is no such norm.

    >>> from opdsl import array_api as xp
    >>> xp.linalg.matrix_norm(xp.asarray([[3.0, 0.0], [4.0, 0.0]]))
    tensor(5.)
    """
    if ord is None or ord == "fro":
        return aten.linalg_vector_norm(x, 2, (-2, -1), keepdims)
    if ord == "nuc" or ord in (2, -2):
        values = svdvals(x)
        output = aten.sum(values, -1) if ord == "nuc" else values.amax(-1) if ord == 2 else values.amin(-1)
    elif isinstance(ord, str) or abs(ord) not in (1, math.inf):
        raise OptionError(f"no norm of matrices is {ord!r}. Use one of: 'fro', 'nuc', 1, -1, 2, -2, inf, -inf.")
    else:
        sums = aten.sum(x.abs(), -2 if abs(ord) == 1 else -1)
        output = sums.amax(-1) if ord > 0 else sums.amin(-1)
    return output.unsqueeze(-1).unsqueeze(-1) if keepdims else output
