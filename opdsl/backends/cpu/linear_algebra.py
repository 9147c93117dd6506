"""Linear algebra by LAPACK, see ``opdsl.kernels.libraries.LinearAlgebra``: batches of arrays are passed as stacks."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy

from opdsl.backends.cpu import lapack
from opdsl.errors import LinearAlgebraError
from opdsl.kernels.steps import step

Array: TypeAlias = numpy.ndarray[Any, Any]

# ------------------------------------------------------------------------------------------------------------- layouts


def stack(array: Array, dims: int = 2) -> Array:
    """Return a batch of matrices, or of vectors with ``dims=1``, as a view with a single batch dimension.

    The view shares memory with the array, whose batch dimensions have to be contiguous.
    """
    return flat(array, dims, copy=False)


def readable(array: Array, dims: int = 2) -> Array:
    """Return a batch as a stack of column-major matrices that LAPACK can read, copied if necessary."""
    return in_columns(flat(array, dims))


def flat(array: Array, dims: int = 2, *, copy: bool | None = None) -> Array:
    """Return an array with its batch dimensions merged into one; ``copy`` is as in ``numpy.reshape``."""
    split = array.ndim - dims
    if split < 2:
        return array if split else array[None]
    return array.reshape((math.prod(array.shape[:split]), *array.shape[split:]), copy=copy)


def in_columns(array: Array) -> Array:
    """Return a stack in column-major order: the stack itself, or a copy."""
    rows, lines = array.shape[1], array.strides[1:]
    lies_right = rows < 2 or lines[0] == array.itemsize
    if lies_right and (len(lines) < 2 or array.shape[2] < 2 or lines[1] >= rows * array.itemsize):
        return array
    return numpy.array(array.swapaxes(1, -1), order="C").swapaxes(1, -1)


def _triangle(upper: bool) -> str:
    return "U" if upper else "L"


# ------------------------------------------------------------------------------------------------------------- solving


@step
def solve_triangular(
    triangles: Array, right: Array, upper: bool, left: bool, transpose: bool, unitriangular: bool
) -> None:
    """See ``LinearAlgebra``."""
    if not right.size:
        return
    matrices = flat(triangles)
    if matrices.strides[2] == matrices.itemsize:  # row-major: the transposes are column-major
        matrices, upper, transpose = matrices.swapaxes(1, 2), not upper, not transpose
    matrices = in_columns(matrices)
    letters = _triangle(upper), "T" if transpose else "N", "U" if unitriangular else "N"
    lapack.trsm("L" if left else "R", *letters, matrices, stack(right))


@step
def least_squares(
    driver: str, matrices: Array, right: Array, rcond: float, rank: Array, values: Array, info: Array
) -> None:
    """See ``LinearAlgebra``."""
    if not matrices.size or not right.size:
        right[...] = 0
        return
    a, b, ranks = stack(matrices), stack(right), stack(rank, 0)[:, None]
    if driver == "gels":
        failed = lapack.gels(a, b)
    elif driver == "gelsy":
        failed = lapack.gelsy(a, b, rcond, ranks)
    else:
        routine = lapack.gelsd if driver == "gelsd" else lapack.gelss
        failed = routine(a, b, rcond, ranks, stack(values, 1))
    stack(info, 0)[...] = failed


# -------------------------------------------------------------------------------------------------- triangular factors


@step
def cholesky(matrices: Array, info: Array, upper: bool) -> None:
    """See ``LinearAlgebra``."""
    stack(info, 0)[...] = lapack.potrf(_triangle(upper), stack(matrices))


@step
def cholesky_solve(factors: Array, right: Array, upper: bool) -> None:
    """See ``LinearAlgebra``."""
    if right.size:
        lapack.potrs(_triangle(upper), readable(factors), stack(right))


@step
def cholesky_inverse(factors: Array, info: Array, upper: bool) -> None:
    """See ``LinearAlgebra``."""
    matrices = stack(factors)
    stack(info, 0)[...] = lapack.potri(_triangle(upper), matrices)
    half = numpy.triu(matrices) if upper else numpy.tril(matrices)
    other = numpy.triu(matrices, 1) if upper else numpy.tril(matrices, -1)
    matrices[...] = half + other.conj().swapaxes(1, 2)


@step
def lu_factor(matrices: Array, pivots: Array, info: Array | None) -> None:
    """See ``LinearAlgebra``."""
    failed = lapack.getrf(stack(matrices), stack(pivots, 1))
    if info is not None:
        stack(info, 0)[...] = failed


@step
def lu_solve(factors: Array, pivots: Array, right: Array, left: bool, adjoint: bool) -> None:
    """See ``LinearAlgebra``."""
    if not right.size:
        return
    array = right if left else right.swapaxes(-1, -2)
    solution = in_columns(flat(array if left else array.conj()))
    lapack.getrs("C" if adjoint == left else "N", readable(factors), readable(pivots, 1), solution)
    if not numpy.may_share_memory(solution, array):
        array[...] = (solution if left else solution.conj()).reshape(array.shape)


@step
def lu_permutation(pivots: Array, out: Array) -> None:
    """See ``LinearAlgebra``."""
    rows, exchanges = out.shape[-1], readable(pivots, 1)
    exchanged = numpy.zeros((len(exchanges), rows, rows), numpy.float32)
    exchanged[:, range(rows), range(rows)] = 1
    # Exchanging rows of the identity gives the inverse of the permutation matrix, which is its transpose.
    lapack.laswp(exchanged.swapaxes(1, 2), exchanges)
    stack(out)[...] = exchanged


@step
def determinant(factors: Array, pivots: Array, out: Array) -> None:
    """See ``LinearAlgebra``."""
    diagonal, sign = _diagonals(factors, pivots)
    out[...] = diagonal.prod(-1) * sign


@step
def log_determinant(factors: Array, pivots: Array, sign: Array, logarithm: Array) -> None:
    """See ``LinearAlgebra``."""
    diagonal, parity = _diagonals(factors, pivots)
    sign[...] = numpy.sign(diagonal).prod(-1) * parity
    logarithm[...] = numpy.log(numpy.abs(diagonal)).sum(-1)


def _diagonals(factors: Array, pivots: Array) -> tuple[Array, Array]:
    """Return the diagonals of LU factors, whose product is the determinant up to its sign, and that sign."""
    exchanges = (pivots != numpy.arange(1, pivots.shape[-1] + 1)).sum(-1)
    return factors.diagonal(0, -2, -1), 1 - 2 * (exchanges % 2)


@step
def ldl_factor(matrices: Array, pivots: Array, info: Array, hermitian: bool) -> None:
    """See ``LinearAlgebra``."""
    routine = _symmetric(matrices, hermitian)
    stack(info, 0)[...] = lapack.sytrf(f"{routine}trf", "L", stack(matrices), stack(pivots, 1))


@step
def ldl_solve(factors: Array, pivots: Array, right: Array, hermitian: bool) -> None:
    """See ``LinearAlgebra``."""
    if right.size:
        routine = _symmetric(factors, hermitian)
        lapack.sytrs(f"{routine}trs", "L", readable(factors), readable(pivots, 1), stack(right))


def _symmetric(matrices: Array, hermitian: bool) -> str:
    """Return the prefix of LAPACK's routines for symmetric or Hermitian matrices."""
    return "he" if hermitian and numpy.iscomplexobj(matrices) else "sy"


# -------------------------------------------------------------------------------------------------- orthogonal factors


@step
def qr(matrices: Array, orthogonal: Array | None) -> None:
    """See ``LinearAlgebra``."""
    factors = stack(matrices)
    m, n = factors.shape[1:]
    tau = numpy.empty((len(factors), min(m, n)), factors.dtype)
    lapack.geqrf(factors, tau)
    if orthogonal is not None:
        reflectors = stack(orthogonal)
        if tau.size:
            shared = min(n, reflectors.shape[2])
            reflectors[:, :, :shared] = factors[:, :, :shared]
            lapack.orgqr(reflectors, tau)  # fills in the columns beyond those of the factors
        else:
            reflectors[...] = numpy.eye(*reflectors.shape[1:])


@step
def geqrf(matrices: Array, tau: Array) -> None:
    """See ``LinearAlgebra``."""
    lapack.geqrf(stack(matrices), stack(tau, 1))


@step
def householder_product(matrices: Array, tau: Array) -> None:
    """See ``LinearAlgebra``."""
    columns = stack(matrices)
    if tau.size:
        lapack.orgqr(columns, readable(tau, 1))
    elif columns.size:
        columns[...] = numpy.eye(*columns.shape[1:])


@step
def ormqr(reflectors: Array, tau: Array, other: Array, left: bool, adjoint: bool) -> None:
    """See ``LinearAlgebra``."""
    if other.size and tau.size:
        lapack.ormqr("L" if left else "R", adjoint, readable(reflectors), readable(tau, 1), stack(other))


# ------------------------------------------------------------------------------------------------------------- spectra


@step
def eigh(matrices: Array, values: Array, info: Array, upper: bool, with_vectors: bool) -> None:
    """See ``LinearAlgebra``."""
    job = "V" if with_vectors else "N"
    stack(info, 0)[...] = lapack.syevd(job, _triangle(upper), stack(matrices), stack(values, 1))


@step
def eig(matrices: Array, values: Array, vectors: Array | None, info: Array) -> None:
    """See ``LinearAlgebra``."""
    if not numpy.isfinite(matrices).all():
        raise LinearAlgebraError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    stacked, eigenvalues = stack(matrices), stack(values, 1)
    columns = None if vectors is None else stack(vectors)
    if numpy.iscomplexobj(stacked):
        stack(info, 0)[...] = lapack.geev(stacked, [eigenvalues], columns)
        return
    real, imaginary = numpy.empty_like(eigenvalues.real), numpy.empty_like(eigenvalues.real)
    parts = None if columns is None else numpy.empty_like(stacked)
    stack(info, 0)[...] = lapack.geev(stacked, [real, imaginary], parts)
    eigenvalues.real, eigenvalues.imag = real, imaginary
    if columns is not None and parts is not None:
        sign = numpy.sign(imaginary)[:, None]
        columns.real = numpy.where(sign < 0, numpy.roll(parts, 1, 2), parts)
        columns.imag = numpy.where(sign > 0, numpy.roll(parts, -1, 2), numpy.where(sign < 0, -parts, 0))


@step
def svd(
    matrices: Array, left: Array | None, values: Array, right: Array | None, info: Array, full_matrices: bool
) -> None:
    """See ``LinearAlgebra``."""
    vectors = [None if side is None else stack(side) for side in (left, right)]
    if matrices.size:
        job = "N" if left is None else "A" if full_matrices else "S"
        whole = stack(matrices)
        whole[~numpy.isfinite(whole).all((1, 2))] = numpy.nan  # LAPACK may not terminate on infinities
        stack(info, 0)[...] = lapack.gesdd(job, whole, vectors[0], stack(values, 1), vectors[1])
        return
    for vector in vectors:
        if vector is not None:
            vector[...] = numpy.eye(*vector.shape[1:])
