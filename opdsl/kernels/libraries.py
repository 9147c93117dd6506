"""What libraries compute for a backend, linear algebra and Fourier transforms: the protocols, and where they are found.

All that a function of these takes is on one device, and is tensors of float32, float64 or their complex dtypes unless
it says otherwise; results are written into what it is given. Matrices are batches (..., rows, columns) of one shape
``...`` that lie column by column, one behind the other, unless a function says otherwise.
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
    """Implemented by the module ``linear_algebra`` of a backend's package.

    ``info`` (int32, one for each matrix) becomes 0, or what LAPACK's routine of that name says of a failure
    (https://www.netlib.org/lapack/lug/). ``pivots`` are int32, counted from 1, a row of them for each matrix.
    """

    # ---------------------------------------------------------------------------------------------------- solving

    def solve_triangular(
        self, triangles: Tensor, right: Tensor, upper: bool, left: bool, transpose: bool, unitriangular: bool
    ) -> None:
        """Solves ``A X = B``, or ``X A = B``, in place of ``B``.

        Args:
            triangles: ``A``, of any strides; one triangle of it is read.
            right: ``B``, which becomes ``X``.
            upper: whether the upper triangle of ``A`` counts.
            left: whether ``A`` stands to the left.
            transpose: whether ``A`` is transposed.
            unitriangular: whether its diagonal counts as ones.
        """

    def least_squares(
        self, driver: str, matrices: Tensor, right: Tensor, rcond: float, rank: Tensor, values: Tensor, info: Tensor
    ) -> None:
        """The shortest ``X`` for which ``A X - B`` is shortest, in place of ``B``.

        Args:
            driver: ``gels`` for matrices of full rank, ``gelsy``, ``gelsd``, ``gelss``.
            matrices: ``A``, which is overwritten.
            right: ``B``, with as many rows as the larger side of ``A``.
            rcond: up to which part of the largest a singular value counts as 0.
            rank: int32; not written for ``gels``.
            values: the singular values, written for ``gelsd`` and ``gelss``.
            info: see above.
        """

    # -------------------------------------------------------------------------------------------- triangular factors

    def cholesky(self, matrices: Tensor, info: Tensor, upper: bool) -> None:
        """Cholesky's factors in place of a triangle of matrices; the other triangle stays."""

    def cholesky_solve(self, factors: Tensor, right: Tensor, upper: bool) -> None:
        """The solutions in place of the right-hand sides; factors have any strides, one triangle is read."""

    def cholesky_inverse(self, factors: Tensor, info: Tensor, upper: bool) -> None:
        """The inverses of the matrices that have these factors, in place of these."""

    def lu_factor(self, matrices: Tensor, pivots: Tensor, info: Tensor | None) -> None:
        """L and U in place of matrices, and for each row the one that it was exchanged with."""

    def lu_solve(self, factors: Tensor, pivots: Tensor, right: Tensor, left: bool, adjoint: bool) -> None:
        """Solves ``A X = B``, or ``X A = B``, in place of ``B``; the factors and pivots of ``A`` have any strides.

        Args:
            factors, pivots: of ``lu_factor``, expanded to the batch of ``right``.
            right: of any strides.
            left: whether ``A`` stands to the left.
            adjoint: whether its adjoint is meant.
        """

    def lu_permutation(self, pivots: Tensor, out: Tensor) -> None:
        """The matrices of the permutations that the exchanges of rows make; ``out`` lies row by row."""

    def determinant(self, factors: Tensor, pivots: Tensor, out: Tensor) -> None:
        """The determinants of the matrices that have these factors of ``lu_factor``."""

    def log_determinant(self, factors: Tensor, pivots: Tensor, sign: Tensor, logarithm: Tensor) -> None:
        """The signs of determinants, and the logarithms of their magnitudes, which are real."""

    def ldl_factor(self, matrices: Tensor, pivots: Tensor, info: Tensor, hermitian: bool) -> None:
        """L and D in the lower triangle of symmetric or Hermitian matrices (Bunch and Kaufman)."""

    def ldl_solve(self, factors: Tensor, pivots: Tensor, right: Tensor, hermitian: bool) -> None:
        """The solutions in place of the right-hand sides; factors and pivots have any strides."""

    # -------------------------------------------------------------------------------------------- orthogonal factors

    def qr(self, matrices: Tensor, orthogonal: Tensor | None) -> None:
        """R in the upper triangle of matrices, and the first columns of Q where they are asked for."""

    def geqrf(self, matrices: Tensor, tau: Tensor) -> None:
        """R in the upper triangle of matrices, beneath it the reflectors of Q, whose factors ``tau`` becomes."""

    def householder_product(self, matrices: Tensor, tau: Tensor) -> None:
        """The first columns of products of reflections in place of the reflectors; ``tau`` has any strides."""

    def ormqr(self, reflectors: Tensor, tau: Tensor, other: Tensor, left: bool, adjoint: bool) -> None:
        """Products of Q, or its adjoint, with ``other``, in place of it; reflectors and ``tau`` have any strides."""

    # ------------------------------------------------------------------------------------------------------- spectra

    def eigh(self, matrices: Tensor, values: Tensor, info: Tensor, upper: bool, with_vectors: bool) -> None:
        """The eigenvalues of Hermitian matrices, the smallest first; in place of these, perhaps, vectors as columns."""

    def eig(self, matrices: Tensor, values: Tensor, vectors: Tensor | None, info: Tensor) -> None:
        """The eigenvalues of matrices, which are overwritten, and the vectors as columns; both are complex.

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
        """The singular values of matrices, which are overwritten, the largest first; NaN where one is not finite.

        Args:
            left, right: the vectors, as columns and as adjoint rows; None where they are not asked for.
            full_matrices: whether all vectors are, or as many as there are values.
        """


class Fourier(Protocol):
    """Implemented by the module ``fourier`` of a backend's package; ``out`` has any strides.

    ``normalization`` 0 divides by nothing, 1 by the root of the number of points, 2 by that number.
    """

    def c2c(self, array: Tensor, dims: Sequence[int], normalization: int, forward: bool, out: Tensor) -> None:
        """The transform of complex or real numbers along dimensions, or its inverse, which is not ``forward``."""

    def r2c(self, array: Tensor, dims: Sequence[int], normalization: int, out: Tensor) -> None:
        """The transform of real numbers; the last of the dimensions ends where the rest follows by symmetry."""

    def c2r(self, array: Tensor, dims: Sequence[int], normalization: int, out: Tensor) -> None:
        """The inverse of what has real numbers as its result; frequencies that are missing count as zeros."""


def linear_algebra(tensor: Tensor) -> LinearAlgebra:
    """The linear algebra of the backend that a tensor is on.

    Raises:
        MissingKernelError: the backend has none.
    """
    return cast("LinearAlgebra", _library(tensor.device.type, "linear_algebra"))


def fourier(tensor: Tensor) -> Fourier:
    """The Fourier transforms of the backend that a tensor is on.

    Raises:
        MissingKernelError: the backend has none.
    """
    return cast("Fourier", _library(tensor.device.type, "fourier"))


_LACK = {"linear_algebra": "there is no linear algebra", "fourier": "there are no Fourier transforms"}


@cache
def _library(device_type: str, part: str) -> object:
    """A backend's module of that name."""
    if backends.has(device_type, part):
        return backends.load(device_type, part)
    have = ", ".join(kind for kind in backends.device_types() if backends.has(kind, part))
    raise MissingKernelError(f"{_LACK[part]} on {device_type} (have {have}). Move the tensors to the CPU: x.cpu().")
