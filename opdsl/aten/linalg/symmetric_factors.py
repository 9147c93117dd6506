"""LDL decomposition of symmetric or Hermitian matrices that need not be definite."""

from __future__ import annotations

from typing import NamedTuple

import numpy

from opdsl.aten.linalg.decompositions import (
    Array,
    _linalg_check_errors,
    by_column,
    raise_failure,
    require_matrix,
    require_numbers,
    require_same_dtype,
    require_solvable,
    require_square,
    with_batch,
)
from opdsl.declare import Out, op
from opdsl.errors import DTypeError, PositionError
from opdsl.kernels import check, copy_, linear_algebra, step
from opdsl.runtime import Category, Tensor, contiguous_strides, int32


class Factors(NamedTuple):
    """LDL factors: L below the diagonal and D on and next to it; and the exchanged rows, from 1, negative for 2x2
    blocks of D.
    """

    LD: Tensor
    pivots: Tensor


class CheckedFactors(NamedTuple):
    """LDL factors and pivots as in ``Factors``, and for each matrix 0 or the first 0 on the diagonal of D, counted from
    1.
    """

    LD: Tensor
    pivots: Tensor
    info: Tensor


@op("aten::linalg_ldl_factor_ex", python_module="linalg", out=Out(args=("LD", "pivots", "info")))
def linalg_ldl_factor_ex(self: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> CheckedFactors:
    """Return the LDL factors of matrices: ``A = L @ D @ L.T`` with rows and columns exchanged (Bunch and Kaufman).

    Args:
        self: (..., n, n), of which the lower triangle is read.
        hermitian: whether complex matrices are Hermitian instead of symmetric.
        check_errors: whether a 0 on the diagonal of D is an error.
    """
    ...


@linalg_ldl_factor_ex.meta
def linalg_ldl_factor_ex_meta(ctx, self):
    require_square("torch.linalg.ldl_factor_ex", self)
    require_numbers("torch.linalg.ldl_factor_ex", self)
    ctx.set_output(0, self.shape, by_column(self.shape), like=self)
    for place, shape in ((1, self.shape[:-1]), (2, self.shape[:-2])):
        ctx.set_output(place, shape, contiguous_strides(shape), like=self, dtype=int32)


linalg_ldl_factor_ex.sharding(rows=2)


@linalg_ldl_factor_ex.out_kernel
def linalg_ldl_factor_ex_kernel(self, hermitian, check_errors, LD, pivots, info):
    copy_(LD, self.tril())
    linear_algebra(self).ldl_factor(LD, pivots, info, hermitian)
    if check_errors:
        raise_failure(info, "torch.linalg.ldl_factor_ex", self.ndim == 2)


@op("aten::linalg_ldl_factor", python_module="linalg", out=Out(args=("LD", "pivots")))
def linalg_ldl_factor(self: Tensor, *, hermitian: bool = False) -> Factors:
    """Return the LDL factors of matrices in one matrix, and the rows that were exchanged.

    Raises:
        LinearAlgebraError: the diagonal of D has a 0.
    """
    factors, pivots, info = linalg_ldl_factor_ex(self, hermitian=hermitian)
    _linalg_check_errors(info, "torch.linalg.ldl_factor", is_matrix=self.ndim == 2)
    return Factors(factors, pivots)


@op("aten::linalg_ldl_solve", python_module="linalg", out=True)
def linalg_ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """Return the solution of ``A X = B`` from the LDL factors of ``A``.

    Args:
        LD, pivots: results of ``linalg.ldl_factor``.
        B: (..., n, k).
        hermitian: the argument of the call of ``linalg.ldl_factor``.
    """
    ...


@linalg_ldl_solve.meta
def linalg_ldl_solve_meta(ctx, LD, pivots, B):
    operator = "torch.linalg.ldl_solve"
    require_square(operator, LD)
    require_numbers(operator, LD)
    require_matrix(operator, B, "B")
    require_solvable(operator, LD, B, True)
    check(
        LD.shape[:-1] == pivots.shape,
        f"{operator}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
        f"{list(pivots.shape)} instead",
    )
    if pivots.dtype.category is not Category.INT:
        raise DTypeError(f"{operator}: Expected pivots to be integers. Got {pivots.dtype.scalar_type}")
    require_same_dtype(operator, LD, B, ("LD", "B"))
    shape = with_batch(B, LD)[0].shape
    ctx.set_output(0, shape, by_column(shape), like=B)


@linalg_ldl_solve.out_kernel
def linalg_ldl_solve_kernel(LD, pivots, B, hermitian, out):
    rows = pivots.to(int32)
    require_exchanges(rows.cpu())
    right, factors = with_batch(B, LD)
    copy_(out, right)
    linear_algebra(out).ldl_solve(factors, rows.expand(factors.shape[:-1]), out, hermitian)


@step
def require_exchanges(pivots: Array) -> None:
    """Check that pivots are row numbers, counted from 1, and negative ones come in pairs.

    Raises:
        PositionError: they do not.
    """
    edge = numpy.zeros((*pivots.shape[:-1], 1), bool)
    changes = numpy.diff(numpy.concatenate([edge, pivots < 0, edge], -1).astype(numpy.int8), axis=-1).reshape(-1)
    lengths = numpy.flatnonzero(changes < 0) - numpy.flatnonzero(changes > 0)
    rows = abs(pivots.astype(numpy.int64))
    if rows.size and (rows.min() < 1 or rows.max() > rows.shape[-1] or any(lengths % 2)):
        raise PositionError(
            "torch.linalg.ldl_solve: pivots must be rows, counted from 1, as linalg.ldl_factor gives them"
        )
