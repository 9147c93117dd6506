"""Eigenvalues and eigenvectors of general square matrices: ``eig``, ``eigvals``."""

from __future__ import annotations

from opdsl.aten.linalg.decompositions import by_column, given_out, raise_failure, require_numbers, require_square
from opdsl.aten.linalg.linear_equations import linalg_solve
from opdsl.aten.linalg.matrix_products import matmul
from opdsl.aten.linalg.spectral_factors import Spectrum, quotient
from opdsl.aten.shape.complex_views import real
from opdsl.declare import Out, op
from opdsl.kernels import copy_, linear_algebra
from opdsl.runtime import Tensor, contiguous_strides, int32
from opdsl.schema import Alias


def require_spectrum(self: Tensor) -> None:
    """Check that a tensor is a batch of square matrices of a dtype that LAPACK supports."""
    require_square("linalg.eig", self)
    require_numbers("linalg.eig", self)


def diagonalise(self: Tensor, eigenvalues: Tensor, eigenvectors: Tensor | None) -> None:
    """Write the eigenvalues of matrices, and their eigenvectors if ``eigenvectors`` is not None.

    Raises:
        LinearAlgebraError: an element is not finite, or LAPACK does not converge.
    """
    overwritten = self.new_empty_strided(self.shape, by_column(self.shape))
    copy_(overwritten, self)
    info = self.new_zeros(self.shape[:-2], dtype=int32)
    linear_algebra(self).eig(overwritten, eigenvalues, eigenvectors, info)
    raise_failure(info, "torch.linalg.eig", self.ndim == 2)


@op("aten::linalg_eig", python_module="linalg", out=Out(args=("eigenvalues", "eigenvectors")))
def linalg_eig(self: Tensor) -> Spectrum:
    """Return the eigenvalues of matrices, in no particular order, and the eigenvectors as columns; both are complex.

    Args:
        self: (..., n, n).

    Raises:
        LinearAlgebraError: an element is not finite.
    """
    ...


@linalg_eig.meta
def linalg_eig_meta(ctx, self):
    require_spectrum(self)
    wide = self.dtype.to_complex()
    ctx.set_output(0, self.shape[:-1], contiguous_strides(self.shape[:-1]), like=self, dtype=wide)
    ctx.set_output(1, self.shape, by_column(self.shape), like=self, dtype=wide)


linalg_eig.sharding(rows=2)
linalg_eig.out_kernel(diagonalise)


@linalg_eig.derivative("self")
def linalg_eig_derivative(grads, self, eigenvalues, eigenvectors):
    """Return the gradient as ``linalg_eig_backward`` in FunctionsManual.cpp: eigenvectors have norm 1 and an arbitrary
    phase.
    """
    turned = eigenvectors.adjoint()
    inner = matmul(turned, grads[1])
    lengths = real(inner.diagonal(0, -2, -1)).to(inner.dtype).unsqueeze(-2)
    inner = quotient(inner - matmul(turned, eigenvectors * lengths), eigenvalues.conj())
    inner = inner.diagonal_scatter(grads[0], 0, -2, -1)
    gradient = linalg_solve(turned, matmul(inner, turned))
    return gradient if self.is_complex() else real(gradient)


@op("aten::_linalg_eigvals", kernel=True, python_module="linalg")
def _linalg_eigvals(self: Tensor) -> Tensor:
    """Return the eigenvalues of matrices; not differentiable."""
    require_spectrum(self)
    eigenvalues = self.new_empty(self.shape[:-1], dtype=self.dtype.to_complex())
    if self.device.type != "meta":
        diagonalise(self, eigenvalues, None)
    return eigenvalues


@op("aten::linalg_eigvals", python_module="linalg")
def linalg_eigvals(self: Tensor) -> Tensor:
    """Return the eigenvalues of matrices, in no particular order; they are complex."""
    return linalg_eig(self)[0] if self.requires_grad else _linalg_eigvals(self)


@linalg_eigvals.out_variant(python_module="linalg")
def linalg_eigvals_out(self: Tensor, *, out: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]:
    """Write the eigenvalues of matrices into ``out``."""
    return given_out("linalg_eigvals", _linalg_eigvals(self), out)
