"""Protocols of a backend's linear algebra and Fourier libraries, and functions that find a backend's implementation.

All arguments of one method are on one device. Tensors have dtype float32, float64 or the complex dtypes of these unless
a method says otherwise; results are written into arguments. Matrices are batches (..., rows, columns), all arguments
with the same batch shape ``...``; they are contiguous and in column-major order unless a method says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Protocol, cast

from opdsl.errors import MissingKernelError
from opdsl.runtime.device import backends
from opdsl.runtime.tensor import Tensor

__all__ = ["Fourier", "LinearAlgebra", "fourier", "linear_algebra"]


class LinearAlgebra(Protocol):
    """Protocol of LAPACK-like routines, implemented by the module ``linear_algebra`` of a backend's package.

    ``info`` (int32, one element for each matrix) becomes 0, or the error code that LAPACK's routine of the same name
    returns (https://www.netlib.org/lapack/lug/). ``pivots`` are int32 and count from 1; each matrix has a row of them.
    """

    # ---------------------------------------------------------------------------------------------------- solving

    def solve_triangular(
        self, triangles: Tensor, right: Tensor, upper: bool, left: bool, transpose: bool, unitriangular: bool
    ) -> None:
        """Solve ``A X = B``, or ``X A = B``, for a triangular ``A``, in place of ``B``.

        Args:
            triangles: ``A``, of any strides; only one triangle of it is read.
            right: ``B``, which becomes ``X``.
            upper: whether the upper triangle of ``A`` is read.
            left: whether ``A`` is the left factor (``A X = B``).
            transpose: whether to use the transpose of ``A``.
            unitriangular: whether the diagonal of ``A`` counts as ones.
        """

    def least_squares(
        self, driver: str, matrices: Tensor, right: Tensor, rcond: float, rank: Tensor, values: Tensor, info: Tensor
    ) -> None:
        """Compute the ``X`` of minimal norm among those that minimize the norm of ``A X - B``, in place of ``B``.

        Args:
            driver: LAPACK's driver: ``gels`` for matrices of full rank, ``gelsy``, ``gelsd``, ``gelss``.
            matrices: ``A``, which is overwritten.
            right: ``B``, with as many rows as the larger side of ``A``.
            rcond: singular values up to this fraction of the largest one count as 0.
            rank: int32, the rank of each matrix; not written for ``gels``.
            values: the singular values, written for ``gelsd`` and ``gelss``.
            info: see the class.
        """

    # -------------------------------------------------------------------------------------------- triangular factors

    def cholesky(self, matrices: Tensor, info: Tensor, upper: bool) -> None:
        """Compute Cholesky factors in place of one triangle of each matrix; the other triangle stays unchanged."""

    def cholesky_solve(self, factors: Tensor, right: Tensor, upper: bool) -> None:
        """Solve linear systems by their Cholesky factors, in place of ``right``; ``factors`` have any strides, and only
        one triangle of them is read.
        """

    def cholesky_inverse(self, factors: Tensor, info: Tensor, upper: bool) -> None:
        """Compute the inverses of matrices from their Cholesky factors, in place of ``factors``."""

    def lu_factor(self, matrices: Tensor, pivots: Tensor, info: Tensor | None) -> None:
        """Compute the LU factors in place of ``matrices``, and into ``pivots`` for each row the row that it was
        exchanged with.
        """

    def lu_solve(self, factors: Tensor, pivots: Tensor, right: Tensor, left: bool, adjoint: bool) -> None:
        """Solve ``A X = B``, or ``X A = B``, in place of ``B``; the factors and pivots of ``A`` have any strides.

        Args:
            factors, pivots: results of ``lu_factor``, expanded to the batch of ``right``.
            right: ``B``, of any strides, which becomes ``X``.
            left: whether ``A`` is the left factor (``A X = B``).
            adjoint: whether to use the adjoint of ``A``.
        """

    def lu_permutation(self, pivots: Tensor, out: Tensor) -> None:
        """Write the permutation matrices that the row exchanges ``pivots`` describe into ``out``, which is in row-major
        order.
        """

    def determinant(self, factors: Tensor, pivots: Tensor, out: Tensor) -> None:
        """Compute the determinants of matrices from their ``lu_factor`` results, into ``out``."""

    def log_determinant(self, factors: Tensor, pivots: Tensor, sign: Tensor, logarithm: Tensor) -> None:
        """Compute the signs of determinants and the logarithms of their absolute values (real) from ``lu_factor``
        results.
        """

    def ldl_factor(self, matrices: Tensor, pivots: Tensor, info: Tensor, hermitian: bool) -> None:
        """Compute L and D of symmetric or Hermitian matrices in place of their lower triangle (Bunch-Kaufman)."""

    def ldl_solve(self, factors: Tensor, pivots: Tensor, right: Tensor, hermitian: bool) -> None:
        """Solve linear systems by their ``ldl_factor`` results, in place of ``right``; factors and pivots have any
        strides.
        """

    # -------------------------------------------------------------------------------------------- orthogonal factors

    def qr(self, matrices: Tensor, orthogonal: Tensor | None) -> None:
        """Compute R in the upper triangle of ``matrices`` and, if ``orthogonal`` is given, the first columns of Q."""

    def geqrf(self, matrices: Tensor, tau: Tensor) -> None:
        """Compute R in the upper triangle of ``matrices``, the Householder reflectors of Q below it, and their factors
        in ``tau``.
        """

    def householder_product(self, matrices: Tensor, tau: Tensor) -> None:
        """Compute the first columns of the products of Householder reflections in place of their reflectors; ``tau``
        has any strides.
        """

    def ormqr(self, reflectors: Tensor, tau: Tensor, other: Tensor, left: bool, adjoint: bool) -> None:
        """Multiply ``other`` by Q, or by its adjoint, in place; reflectors and ``tau`` have any strides."""

    # ------------------------------------------------------------------------------------------------------- spectra

    def eigh(self, matrices: Tensor, values: Tensor, info: Tensor, upper: bool, with_vectors: bool) -> None:
        """Compute the eigenvalues of Hermitian matrices in ascending order and, if ``with_vectors``, the eigenvectors
        as columns in place of ``matrices``.
        """

    def eig(self, matrices: Tensor, values: Tensor, vectors: Tensor | None, info: Tensor) -> None:
        """Compute the complex eigenvalues of ``matrices``, which are overwritten, and, unless ``vectors`` is None, the
        complex eigenvectors as columns.

        Raises:
            LinearAlgebraError: an element is not finite.
        """

    def svd(
        self,
        matrices: Tensor,
        left: Tensor | None,
        values: Tensor,
        right: Tensor | None,
        info: Tensor,
        full_matrices: bool,
    ) -> None:
        """Compute the singular values of ``matrices``, which are overwritten, in descending order; NaN where an element
        is not finite.

        Args:
            left, right: the singular vectors, as columns and as adjoint rows; None if they are not wanted.
            full_matrices: whether all singular vectors are computed, or only as many as there are values.
        """


class Fourier(Protocol):
    """Protocol of Fourier transforms, implemented by the module ``fourier`` of a backend's package; ``out`` has any
    strides.

    ``normalization`` 0 divides by nothing, 1 by the root of the number of points, 2 by the number of points.
    """

    def c2c(self, array: Tensor, dims: Sequence[int], normalization: int, forward: bool, out: Tensor) -> None:
        """Compute the Fourier transform of complex or real numbers along ``dims``, or the inverse transform unless
        ``forward``.
        """

    def r2c(self, array: Tensor, dims: Sequence[int], normalization: int, out: Tensor) -> None:
        """Compute the Fourier transform of real numbers; the last of ``dims`` has only the frequencies that do not
        follow by symmetry (one-sided).
        """

    def c2r(self, array: Tensor, dims: Sequence[int], normalization: int, out: Tensor) -> None:
        """Compute the inverse of ``r2c``: real numbers from one-sided frequencies; missing frequencies are zeros."""


def linear_algebra(tensor: Tensor) -> LinearAlgebra:
    """Return the linear algebra library of the backend that a tensor is on.

    Raises:
        MissingKernelError: the backend has none.
    """
    return cast("LinearAlgebra", _library(tensor.device.type, "linear_algebra"))


def fourier(tensor: Tensor) -> Fourier:
    """Return the Fourier transform library of the backend that a tensor is on.

    Raises:
        MissingKernelError: the backend has none.
    """
    return cast("Fourier", _library(tensor.device.type, "fourier"))


_LACK = {"linear_algebra": "there is no linear algebra", "fourier": "there are no Fourier transforms"}


@cache
def _library(device_type: str, part: str) -> object:
    """Return a backend's module with a name; raise MissingKernelError where the backend has none."""
    if backends.has(device_type, part):
        return backends.load(device_type, part)
    have = ", ".join(kind for kind in backends.device_types() if backends.has(kind, part))
    raise MissingKernelError(f"{_LACK[part]} on {device_type} (have {have}). Move the tensors to the CPU: x.cpu().")
