"""Norms of matrices (``linalg.matrix_norm``, ``linalg.norm``) and condition numbers (``linalg.cond``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opdsl.aten.linalg.decompositions import require_matrix, require_square
from opdsl.aten.linalg.linear_equations import linalg_inv, linalg_inv_ex
from opdsl.aten.linalg.spectral_factors import linalg_svdvals
from opdsl.aten.reduce.norms import check_norm_dtype, linalg_vector_norm
from opdsl.declare import Out, forward, op
from opdsl.errors import DTypeError
from opdsl.kernels import check
from opdsl.runtime import DType, Tensor, wrap_dimension
from opdsl.schema.spelling import spelled
from opdsl.schema.vocabulary import Ints, Scalar


def as_dims(dim: int | Sequence[int]) -> tuple[int, ...]:
    """Return dimensions as a tuple; an int becomes a tuple of one."""
    return (dim,) if isinstance(dim, int) else tuple(dim)


def require_norm(name: str, self: Tensor) -> None:
    """Check that a tensor has a floating-point or complex dtype. Raises DTypeError: it does not."""
    if not (self.dtype.is_floating_point or self.dtype.is_complex):
        raise DTypeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {self.dtype.scalar_type}. Convert "
            "first: x.to(float32)."
        )


def matrix_dims(name: str, self: Tensor, dim: Sequence[int], dtype: DType | None) -> tuple[int, int]:
    """Return the two dimensions of matrices, counted from the front, after checking the arguments of a matrix norm.

    Raises:
        ShapeError: they are not two different dimensions, or ``dtype`` does not fit the elements.
        DTypeError: the elements are integers.
    """
    require_matrix(name, self)
    require_norm(name, self)
    check(len(dim) == 2, f"{name}: dim must be a 2-tuple. Got {list(dim)}")
    rows, columns = (wrap_dimension(number, self.ndim) for number in dim)
    check(rows != columns, f"{name}: dims must be different. Got ({dim[0]}, {dim[1]})")
    check_norm_dtype(name, self.dtype, dtype)
    return rows, columns


def singular_values(self: Tensor, rows: int, columns: int, dtype: DType | None) -> Tensor:
    """Return the singular values of the matrices in dimensions ``rows`` and ``columns``, along the last dimension."""
    rest = [index for index in range(self.ndim) if index not in (rows, columns)]
    matrices = self if dtype is None else self.to(dtype)
    return linalg_svdvals(matrices.permute((*rest, rows, columns)))


def in_place_of(norm: Tensor, rows: int, columns: int, keepdim: bool) -> Tensor:
    """Reshape norms of matrices, (..., 1): drop the last dimension, or for ``keepdim`` put dimensions of size 1 at
    ``rows`` and ``columns``.
    """
    if not keepdim:
        return norm.squeeze(-1)
    order = [index for index in range(norm.ndim + 1) if index not in (rows, columns)] + [rows, columns]
    return norm.unsqueeze(-1).permute([order.index(index) for index in range(norm.ndim + 1)])


def largest(values: Tensor, dim: int, keepdim: bool) -> Tensor:
    """Return the largest value along a dimension; 0 if the dimension is empty."""
    if values.shape[dim]:
        return values.amax(dim, keepdim)
    return values.sum(dim, keepdim)


@op("aten::linalg_matrix_norm", python_module="linalg", out=True)
def linalg_matrix_norm(
    self: Tensor, ord: Scalar, dim: list[int] = (-2, -1), keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """Return the norm of matrices of the order ``ord``: 1, 2, ``inf`` or one of these negated.

    2 is the largest singular value, 1 the largest column sum of magnitudes, ``inf`` the largest row sum; negative
    orders are the smallest.
    """
    operator = "linalg.matrix_norm"
    number: Any = ord
    order = abs(number)
    check(not isinstance(number, complex) and order in (1, 2, math.inf), f"{operator}: Order {ord} not supported.")
    rows, columns = matrix_dims(operator, self, dim, dtype)
    if order == 2:
        values = singular_values(self, rows, columns, dtype)
        norms = largest(values, -1, True) if number > 0 else values.amin(-1, True)
        return in_place_of(norms, rows, columns, keepdim)
    if order == math.inf:
        rows, columns = columns, rows
    sums = linalg_vector_norm(self, 1, (rows,), keepdim, dtype=dtype)
    columns -= not keepdim and rows < columns
    return largest(sums, columns, keepdim) if number > 0 else sums.amin(columns, keepdim)


@linalg_matrix_norm.overload("str_ord", python_module="linalg", out=True)
def linalg_matrix_norm_str_ord(
    self: Tensor,
    ord: str = spelled("fro", "'fro'"),
    dim: list[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """Return the norm of matrices that ``ord`` names: "fro" or "nuc".

    "fro" is the root of the sum of squares, "nuc" the sum of the singular values.
    """
    operator = "linalg.matrix_norm"
    check(ord in ("fro", "nuc"), f"{operator}: Order {ord} not supported.")
    rows, columns = matrix_dims(operator, self, dim, dtype)
    if ord == "fro":
        return linalg_vector_norm(self, 2, (rows, columns), keepdim, dtype=dtype)
    return in_place_of(singular_values(self, rows, columns, dtype).sum(-1, True), rows, columns, keepdim)


def dims_of_norm(name: str, self: Tensor, dim: int | Sequence[int] | None) -> Sequence[int] | None:
    """Return the dimensions of a norm, or None for all dimensions of a vector or a matrix.

    Raises:
        ShapeError: there are not one or two dimensions.
    """
    if dim is not None:
        dim = as_dims(dim)
        check(len(dim) in (1, 2), f"{name}: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
        return dim
    check(
        self.ndim in (1, 2),
        f"{name}: If dim is not specified but ord is, the input must be 1D or 2D. Got {self.ndim}D.",
    )
    return None


@op("aten::linalg_norm", python_module="linalg", out=True)
def linalg_norm(
    self: Tensor,
    ord: Scalar | None = None,
    dim: Ints[1] | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """Return the norm of vectors or of matrices.

    Two dimensions have ``linalg.matrix_norm``, one has ``linalg.vector_norm``. Without ``ord`` and ``dim`` it is the
    root of the sum of all squares.
    """
    if ord is None:
        return linalg_vector_norm(self, 2, dim, keepdim, dtype=dtype)
    dims = dims_of_norm("linalg.norm", self, dim)
    if (self.ndim if dims is None else len(dims)) == 2:
        return linalg_matrix_norm(self, ord, (0, 1) if dims is None else dims, keepdim, dtype=dtype)
    return linalg_vector_norm(self, ord, dims, keepdim, dtype=dtype)


@linalg_norm.overload("ord_str", python_module="linalg", out=True)
@forward(linalg_matrix_norm_str_ord, dim=lambda self, dim: dims_of_norm("linalg.norm", self, dim) or (0, 1))
def linalg_norm_ord_str(
    self: Tensor, ord: str, dim: Ints[1] | None = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """Return ``linalg.matrix_norm`` of the order "fro" or "nuc"."""


@op("aten::linalg__powsum", tags=["reduction"], python_module="linalg")
def linalg__powsum(
    self: Tensor, ord: Scalar = 2, dim: Ints[1] | None = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """``abs(self) ** ord``, summed along dimensions"""
    return self.abs().pow(ord).sum(dim, keepdim, dtype=dtype)


@op("aten::frobenius_norm.dim", out=Out("frobenius_norm.out"))
@forward(linalg_vector_norm, ord=2)
def frobenius_norm(self: Tensor, dim: Ints[1], keepdim: bool = False) -> Tensor:
    """Return the root of the sum of squares along dimensions."""


@op("aten::nuclear_norm", out=True)
@forward(linalg_matrix_norm_str_ord, ord="nuc")
def nuclear_norm(self: Tensor, keepdim: bool = False) -> Tensor:
    """Return the sum of the singular values of a matrix."""


@nuclear_norm.overload("dim", out=True)
@forward(linalg_matrix_norm_str_ord, ord="nuc", dim=lambda dim: as_dims(dim))
def nuclear_norm_dim(self: Tensor, dim: Ints[2], keepdim: bool = False) -> Tensor:
    """Return the sum of the singular values of the matrices in two dimensions."""


@op("aten::norm_except_dim")
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """Return the norm of each slice along ``dim``, as weight normalization needs it; that of the whole
    tensor for -1.
    """
    if dim == -1:
        return v.norm(pow)
    rest = [index for index in range(v.ndim) if index != dim]
    return v.norm(pow, rest, True) if rest else v.norm(pow, (1,), True) if v.ndim > 1 else v.view((-1, 1)).norm(pow, 1)


# ----------------------------------------------------------------------------------------------------------- conditions


def norm_of_inverse(self: Tensor, order: Any) -> Tensor:
    """Return the norm of matrices times that of their inverses; infinite for singular matrices."""
    inverse, info = linalg_inv_ex(self)
    infinite = inverse.masked_fill((info > 0).unsqueeze(-1).unsqueeze(-1), math.inf)
    return linalg_matrix_norm(self, order) * linalg_matrix_norm(infinite, order)


def none(self: Tensor) -> Tensor:
    """Return the condition numbers of empty matrices: zeros."""
    return self.new_zeros(self.shape[:-2], dtype=self.dtype.to_real())


@op("aten::linalg_cond", python_module="linalg", out=Out(cast="safe"))
def linalg_cond(self: Tensor, p: Scalar | None = None) -> Tensor:
    """Return the condition numbers of matrices: a norm times that of the inverse, for order 2 the quotient of singular
    values.
    """
    require_matrix("linalg.cond", self)
    require_norm("linalg.cond", self)
    order: Any = 2 if p is None else p
    check(abs(order) in (1, 2, math.inf), f"linalg.cond got an invalid norm type: {order}")
    if abs(order) == 2:
        if not self.numel():
            return none(self)
        values = linalg_svdvals(self)
        largest, smallest = values.select(-1, 0), values.select(-1, -1)
        return largest / smallest if order > 0 else smallest / largest
    if not self.numel():
        return none(self)
    require_square(f"linalg.cond(ord={order})", self)
    return norm_of_inverse(self, order)


@linalg_cond.overload("p_str", python_module="linalg", out=Out(cast="safe"))
def linalg_cond_p_str(self: Tensor, p: str) -> Tensor:
    """Return the condition numbers of matrices for the norm "fro" or "nuc"."""
    check(p in ("fro", "nuc"), f"linalg.cond got an invalid norm type: {p}")
    require_square(f"linalg.cond(ord={p})", self)
    if not self.numel():
        return none(self)
    if p == "nuc":
        return linalg_matrix_norm_str_ord(self, p) * linalg_matrix_norm_str_ord(linalg_inv(self), p)
    inverse, info = linalg_inv_ex(self)
    infinite = inverse.masked_fill((info > 0).unsqueeze(-1).unsqueeze(-1), math.inf)
    return linalg_matrix_norm_str_ord(self, p) * linalg_matrix_norm_str_ord(infinite, p)
