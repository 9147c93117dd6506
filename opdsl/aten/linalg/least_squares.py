"""Least-squares solutions of systems of linear equations: ``lstsq``."""

from __future__ import annotations

from typing import NamedTuple

from opdsl.aten.linalg.decompositions import (
    by_column,
    epsilon,
    is_vector,
    raise_failure,
    require_matrix,
    require_numbers,
    require_same_dtype,
)
from opdsl.aten.linalg.matrix_products import matmul
from opdsl.aten.linalg.pseudo_inverses import linalg_pinv, pseudo_inverse_gradient
from opdsl.declare import Out, op
from opdsl.errors import OptionError
from opdsl.kernels import check, copy_, fill_, linear_algebra
from opdsl.kernels.iteration.broadcasting import broadcast
from opdsl.runtime import Tensor, int32, int64

BY_VALUES = ("gelsd", "gelss")
DRIVERS = ("gels", "gelsy", *BY_VALUES)


class LeastSquares(NamedTuple):
    """Least-squares solutions, the squared residual norm of each column, ranks and singular values.

    Results that a driver does not compute are empty.
    """

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


@op(
    "aten::linalg_lstsq",
    kernel="CompositeExplicitAutograd",
    tags=["dynamic_output_shape"],
    python_module="linalg",
    out=Out(args=("solution", "residuals", "rank", "singular_values")),
)
def linalg_lstsq(self: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None) -> LeastSquares:
    """Return the least-squares solution: the ``X`` that minimizes the norm of ``A X - B``, with the smallest norm
    itself.

    Args:
        self: ``A``, (..., m, n).
        b: ``B``, (..., m, k), or vectors, (..., m).
        rcond: singular values up to this fraction of the largest count as 0; by default epsilon times ``max(m, n)``.
        driver: LAPACK's routine: "gelsy" (the default), "gels" for full ranks, "gelsd" or "gelss".

    Raises:
        OptionError: there is no such driver.
        LinearAlgebraError: the rank is not full, which "gels" needs.
    """
    operator = "torch.linalg.lstsq"
    require_matrix(operator, self, "input")
    check(b.ndim >= 1, f"{operator}: other must have at least 1 dimension.")
    require_same_dtype(operator, self, b, ("input", "other"))
    require_numbers(operator, self)
    check(
        0 <= self.ndim - b.ndim <= 1,
        f"{operator}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1",
    )
    is_one = is_vector(self, b)
    right = b.unsqueeze(-1) if is_one else b
    check(
        self.shape[-2] == right.shape[-2], f"{operator}: input.size(-2) should match other.size({-1 if is_one else -2})"
    )
    if driver not in (None, *DRIVERS):
        raise OptionError(f"{operator}: parameter `driver` should be one of {', '.join(DRIVERS)}, not {driver!r}.")
    solved = least_squares(self, right, rcond, driver or "gelsy")
    return LeastSquares(solved.solution.squeeze(-1), *solved[1:]) if is_one else solved


def least_squares(self: Tensor, b: Tensor, rcond: float | None, driver: str) -> LeastSquares:
    """Compute ``linalg.lstsq`` for arguments that are checked."""
    m, n = self.shape[-2:]
    batch = broadcast(self.shape[:-2], b.shape[:-2])
    rows, columns = max(m, n), b.shape[-1]
    # LAPACK overwrites right-hand sides by solutions, so the buffer has the larger number of rows.
    room = self.new_empty_strided((*batch, rows, columns), by_column((*batch, rows, columns)))
    fill_(room, 0)
    copy_(room.narrow(-2, 0, m), b.expand((*batch, m, columns)))
    factors = self.new_empty_strided((*batch, m, n), by_column((*batch, m, n)))
    copy_(factors, self.expand((*batch, m, n)))
    rank = self.new_zeros(batch, dtype=int32)
    values = self.new_zeros((*batch, min(m, n)), dtype=self.dtype.to_real())
    if self.device.type != "meta":
        info = self.new_zeros(batch, dtype=int32)
        bound = epsilon(self) * rows if rcond is None else rcond
        linear_algebra(self).least_squares(driver, factors, room, bound, rank, values, info)
        raise_failure(info, "torch.linalg.lstsq", not batch)
    solution = self.new_empty_strided((*batch, n, columns), room.strides)
    copy_(solution, room.narrow(-2, 0, n))
    residuals = values.new_empty((0,))
    is_full = driver == "gels" or self.device.type == "meta" or bool((rank == n).all())
    if m > n and driver != "gelsy" and is_full:
        rest = room.narrow(-2, n, m - n).abs()
        residuals = (rest * rest).sum(-2)
    # A matrix that is broadcast to several right-hand sides has one rank.
    own = tuple(slice(None) if size == whole else slice(1) for size, whole in zip(self.shape[:-2], batch, strict=True))
    ranks = self.new_empty((0,), dtype=int64) if driver == "gels" else rank[own].to(int64).expand(self.shape[:-2])
    return LeastSquares(solution, residuals, ranks, values[own] if driver in BY_VALUES else values.new_empty((0,)))


@linalg_lstsq.derivative("self", "b", output_differentiability=[True, True, False, False])
def linalg_lstsq_derivative(grads, self, b, solution):
    """Return the gradients as ``linalg_lstsq_backward`` in FunctionsManual.cpp."""
    is_one = is_vector(self, b)
    of_solution, right, result = (operand.unsqueeze(-1) if is_one else operand for operand in (grads[0], b, solution))
    inverse = linalg_pinv(self)
    of_right = matmul(inverse.adjoint(), of_solution)
    of_matrix = pseudo_inverse_gradient(matmul(of_solution, right.adjoint()), self, inverse)
    if grads[1].numel():  # the residual is minimal, so its derivative by the solution is 0
        rest = 2 * grads[1].unsqueeze(-2) * (matmul(self, result) - right)
        of_right = of_right - rest
        of_matrix = of_matrix + matmul(rest, result.adjoint())
    return of_matrix, of_right.squeeze(-1) if is_one else of_right
