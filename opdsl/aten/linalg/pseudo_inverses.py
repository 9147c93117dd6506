"""Pseudo-inverses, ranks and integer powers of matrices: ``pinv``, ``matrix_rank``, ``matrix_power``."""

from __future__ import annotations

from typing import Any

from opdsl.aten.create.triangles import eye
from opdsl.aten.linalg.decompositions import epsilon, require_matrix, require_numbers, require_square
from opdsl.aten.linalg.linear_equations import linalg_inv
from opdsl.aten.linalg.matrix_products import matmul
from opdsl.aten.linalg.spectral_factors import linalg_eigh, linalg_eigvalsh, linalg_svd, linalg_svdvals
from opdsl.aten.pointwise.clamping import maximum
from opdsl.aten.pointwise.comparison import where
from opdsl.declare import Out, forward, op
from opdsl.errors import DTypeError
from opdsl.runtime import MemoryFormat, Tensor, float64, int64

# --------------------------------------------------------------------------------------------------------------- powers


def power(name: str, self: Tensor, n: int) -> Tensor:
    """Return the ``n``-th power of matrices by repeated squaring. Raises ShapeError: they are not square."""
    require_square(name, self)
    if n == 0:
        one = eye(self.shape[-1], self.shape[-1], dtype=self.dtype, device=self.device)
        return self.clone(memory_format=MemoryFormat.contiguous_format).zero_() + one
    base = linalg_inv(self) if n < 0 else self
    if n == 1:
        return base.clone(memory_format=MemoryFormat.contiguous_format)
    product, rest = None, abs(n)
    while rest:
        if rest % 2:
            product = base if product is None else matmul(product, base)
        rest //= 2
        base = matmul(base, base) if rest else base
    assert product is not None, "n is not 0"
    return product


@op("aten::linalg_matrix_power", python_module="linalg", out=Out(contiguous=True))
def linalg_matrix_power(self: Tensor, n: int) -> Tensor:
    """Return the ``n``-th power of square matrices, or that of their inverses if ``n`` is negative."""
    return power("linalg.matrix_power", self, n)


matrix_power = linalg_matrix_power.alias("aten::matrix_power", variants="function, method", out=Out(contiguous=True))


# ----------------------------------------------------------------------------------------------------------- tolerances


def require_real(name: str, **tolerances: Tensor | None) -> None:
    """Check that tolerances are real. Raises DTypeError: a tolerance is complex."""
    for key, value in tolerances.items():
        if value is not None and value.dtype.is_complex:
            raise DTypeError(f"{name}: {key} tensor of complex type is not supported. Got {value.dtype.scalar_type}")


def tolerances_of(self: Tensor, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """Return the absolute and relative tolerances up to which singular values count as 0, with defaults
    (``get_atol_rtol``).
    """
    default = epsilon(self) * max(self.shape[-2:], default=0)  # the decomposition raises the error for vectors
    if rtol is not None:
        return 0.0 if atol is None else atol, rtol
    if atol is None:
        return 0.0, default
    if isinstance(atol, Tensor):
        return atol, where(atol > 0, 0.0, atol.new_full((), default, dtype=float64))
    return atol, 0.0 if atol > 0 else default


def bound(values: Tensor, largest: Tensor, atol: Any, rtol: Any) -> Tensor:
    """Return for each matrix the number up to which its singular values count as 0."""
    absolute, relative = (
        tolerance.unsqueeze(-1) if isinstance(tolerance, Tensor) else values.new_full((), tolerance, dtype=float64)
        for tolerance in (atol, rtol)
    )
    return maximum(absolute, relative * largest)


# ------------------------------------------------------------------------------------------------------ pseudo-inverses


def pseudo_inverse(self: Tensor, atol: Any, rtol: Any, hermitian: bool) -> Tensor:
    """Compute the pseudo-inverses of matrices by inverting the singular values that are not 0.

    Raises:
        DTypeError: the elements are integers.
        ShapeError: the tensor has fewer than two dimensions.
    """
    require_numbers("linalg.pinv", self)
    require_matrix("linalg.pinv", self)
    if not self.numel():
        return self.new_empty((*self.shape[:-2], self.shape[-1], self.shape[-2]))
    if hermitian:
        values, vectors = linalg_eigh(self)
        sizes = values.abs()
        kept = sizes > bound(sizes, sizes.amax(-1, True), atol, rtol)
        inverted = where(kept, values.reciprocal(), 0.0).to(self.dtype)
        return matmul(vectors * inverted.unsqueeze(-2), vectors.adjoint())
    left, values, right = linalg_svd(self, False)
    kept = values > bound(values, values.narrow(-1, 0, 1), atol, rtol)
    inverted = where(kept, values.reciprocal(), 0.0).to(self.dtype)
    return matmul(right.adjoint() * inverted.unsqueeze(-2), left.adjoint())


@op(
    "aten::linalg_pinv.atol_rtol_tensor",
    kernel="CompositeExplicitAutogradNonFunctional",
    python_module="linalg",
    out=Out(cast="safe"),
)
def linalg_pinv(
    self: Tensor, *, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: bool = False
) -> Tensor:
    """Return the Moore-Penrose pseudo-inverses of matrices.

    Args:
        self: (..., m, n).
        atol, rtol: a singular value counts as 0 up to ``max(atol, rtol * the largest one)``, for each matrix.
        hermitian: whether the matrices are Hermitian, so that eigenvalues can replace singular values.
    """
    require_real("torch.linalg.pinv", atol=atol, rtol=rtol)
    return pseudo_inverse(self, *tolerances_of(self, atol, rtol), hermitian)


def pseudo_inverse_gradient(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """Return the gradient of matrices from that of their pseudo-inverses (``pinv_backward`` in FunctionsManual.cpp)."""
    adjoint, gradient = result.adjoint(), grad.adjoint()
    if self.shape[-2] <= self.shape[-1]:
        inner = matmul(gradient, result)
        turned = matmul(inner, adjoint)
        rest = matmul(matmul(adjoint, result), gradient - matmul(inner, self))
        return turned - matmul(result, inner).adjoint() - matmul(matmul(self, result), turned) + rest
    inner = matmul(result, gradient)
    turned = matmul(adjoint, inner)
    rest = matmul(matmul(gradient - matmul(self, inner), result), adjoint)
    return rest - matmul(inner, result).adjoint() + turned - matmul(matmul(turned, result), self)


linalg_pinv.derivative(self=lambda grad, self, result: pseudo_inverse_gradient(grad, self, result))


@linalg_pinv.overload("atol_rtol_float", python_module="linalg", out=Out(cast="safe"))
def linalg_pinv_atol_rtol_float(
    self: Tensor, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False
) -> Tensor:
    """Return the pseudo-inverses of matrices, with the same tolerances for all."""
    bounds = (None if number is None else self.new_full((), number, dtype=float64) for number in (atol, rtol))
    absolute, relative = bounds
    return linalg_pinv(self, atol=absolute, rtol=relative, hermitian=hermitian)


@linalg_pinv.overload("", python_module="linalg", out=Out(cast="safe"))
@forward(linalg_pinv_atol_rtol_float, atol=0.0, rtol=lambda rcond: rcond)
def linalg_pinv_default(self: Tensor, rcond: float, hermitian: bool = False) -> Tensor:
    """Return the pseudo-inverses of matrices; singular values up to ``rcond`` times the largest count as 0."""


@linalg_pinv.overload("rcond_tensor", python_module="linalg", out=Out("linalg_pinv.out_rcond_tensor", cast="safe"))
@forward(linalg_pinv, atol=lambda rcond: rcond.new_zeros((), dtype=float64), rtol=lambda rcond: rcond)
def linalg_pinv_rcond_tensor(self: Tensor, rcond: Tensor, hermitian: bool = False) -> Tensor:
    """Return the pseudo-inverses of matrices; singular values up to the matrix's ``rcond`` times the largest count as
    0.
    """


@op("aten::pinverse", variants="function, method")
@forward(linalg_pinv_default)
def pinverse(self: Tensor, rcond: float = 1e-15) -> Tensor:
    """Return the pseudo-inverses of matrices; singular values up to ``rcond`` times the largest count as 0."""


# ---------------------------------------------------------------------------------------------------------------- ranks


def rank(self: Tensor, atol: Any, rtol: Any, hermitian: bool) -> Tensor:
    """Return the number of nonzero singular values of each matrix.

    Raises:
        ShapeError: the tensor has fewer than two dimensions.
    """
    require_matrix("linalg.matrix_rank", self)
    if not self.numel():
        return self.new_zeros(self.shape[:-2], dtype=int64)
    values = linalg_eigvalsh(self).abs() if hermitian else linalg_svdvals(self)
    return (values > bound(values, values.amax(-1, True), atol, rtol)).sum(-1)


@op("aten::linalg_matrix_rank.atol_rtol_tensor", python_module="linalg", out=Out(cast="safe"))
def linalg_matrix_rank(
    input: Tensor, *, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: bool = False
) -> Tensor:
    """Return the ranks of matrices; for the tolerances see ``linalg.pinv``."""
    require_real("torch.linalg.matrix_rank", atol=atol, rtol=rtol)
    return rank(input, *tolerances_of(input, atol, rtol), hermitian)


@linalg_matrix_rank.overload("atol_rtol_float", python_module="linalg", out=Out(cast="safe"))
def linalg_matrix_rank_atol_rtol_float(
    self: Tensor, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False
) -> Tensor:
    """Return the ranks of matrices, with the same tolerances for all."""
    return rank(self, *tolerances_of(self, atol, rtol), hermitian)


@linalg_matrix_rank.overload("", python_module="linalg", out=Out(cast="safe"))
@forward(linalg_matrix_rank_atol_rtol_float, atol=lambda tol: tol, rtol=0.0)
def linalg_matrix_rank_default(self: Tensor, tol: float, hermitian: bool = False) -> Tensor:
    """Return the ranks of matrices; singular values up to ``tol`` count as 0."""


@linalg_matrix_rank.overload(
    "tol_tensor", python_module="linalg", out=Out("linalg_matrix_rank.out_tol_tensor", cast="safe")
)
def linalg_matrix_rank_tol_tensor(input: Tensor, tol: Tensor, hermitian: bool = False) -> Tensor:
    """Return the ranks of matrices; singular values up to the matrix's ``tol`` count as 0."""
    require_real("torch.linalg.matrix_rank", tol=tol)
    return rank(input, tol, 0.0, hermitian)
