"""Helpers that matrix decompositions share: argument checks, column-major strides, batch broadcasting, LAPACK's
errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy

from opdsl.declare import op
from opdsl.errors import DTypeError, LinearAlgebraError, UnsupportedDTypeError
from opdsl.kernels import check, resize, resize_output, step, write_out
from opdsl.kernels.iteration.broadcasting import broadcast
from opdsl.runtime import Category, Tensor, complex64, complex128, contiguous_strides, float32, float64
from opdsl.runtime.promotion import can_cast

Array: TypeAlias = numpy.ndarray[Any, Any]

# --------------------------------------------------------------------------------------------------------------- checks


def require_matrix(name: str, self: Tensor, argument: str = "A") -> None:
    """Check that a tensor is a matrix or a batch of matrices. Raises ShapeError: it is not."""
    check(self.ndim >= 2, f"{name}: The input tensor {argument} must have at least 2 dimensions.")


def require_square(name: str, self: Tensor, argument: str = "A") -> None:
    """Check that a tensor is a square matrix or a batch of them. Raises ShapeError: it is not."""
    require_matrix(name, self, argument)
    rows, columns = self.shape[-2:]
    check(
        rows == columns,
        f"{name}: {argument} must be batches of square matrices, but they are {rows} by {columns} matrices",
    )


def require_numbers(name: str, self: Tensor) -> None:
    """Check that LAPACK supports the dtype of a tensor.

    Raises:
        DTypeError: the tensor has integers.
        UnsupportedDTypeError: the tensor has 16-bit numbers.
    """
    if self.dtype.category < Category.FLOAT:
        raise DTypeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {self.dtype.scalar_type}. "
            "Convert first: x.to(float32)."
        )
    if self.dtype not in (float32, float64, complex64, complex128):
        raise UnsupportedDTypeError(
            f"{name}: Low precision dtypes not supported. Got {self.dtype.scalar_type}. Convert first: x.to(float32)."
        )


def require_same_dtype(name: str, first: Tensor, second: Tensor, names: tuple[str, str] = ("A", "B")) -> None:
    """Check that two tensors have the same dtype. Raises DTypeError: they do not."""
    if first.dtype is not second.dtype:
        raise DTypeError(
            f"{name}: Expected {names[0]} and {names[1]} to have the same dtype, but found {names[0]} of type "
            f"{first.dtype.scalar_type} and {names[1]} of type {second.dtype.scalar_type} instead"
        )


def require_solvable(name: str, first: Tensor, second: Tensor, left: bool) -> None:
    """Check that the shapes fit the equation ``A X = B``, or ``X A = B`` if not ``left``.

    Raises:
        ShapeError: they do not.
    """
    require_square(name, first)
    require_matrix(name, second, "B")
    place = -2 if left else -1
    check(
        first.shape[place] == second.shape[place],
        f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
        f"({first.shape[-2]}x{first.shape[-1]} and {second.shape[-2]}x{second.shape[-1]})",
    )


def is_vector(self: Tensor, other: Tensor) -> bool:
    """Return whether the right-hand side is a vector, or a batch of them (``linalg_solve_is_vector_rhs``)."""
    return other.ndim == 1 or (self.ndim - 1 == other.ndim and other.shape == self.shape[:-1])


# -------------------------------------------------------------------------------------------------------------- layouts


def by_column(shape: Sequence[int], is_by_column: bool = True) -> tuple[int, ...]:
    """Return the strides of matrices that are stored column by column, as LAPACK needs them
    (``batched_matrix_contiguous_strides``).

    >>> by_column((2, 3, 4))
    (12, 1, 3)
    """
    strides = contiguous_strides(shape)
    return (*strides[:-2], 1, max(shape[-2], 1)) if is_by_column and len(shape) >= 2 else strides


def with_batch(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Broadcast two batches of matrices to one batch shape. Raises ShapeError: their batch shapes do not broadcast."""
    batch = broadcast(first.shape[:-2], second.shape[:-2])
    return first.expand((*batch, *first.shape[-2:])), second.expand((*batch, *second.shape[-2:]))


def epsilon(tensor: Tensor) -> float:
    """Return the distance from 1 to the next larger number of a tensor's real dtype."""
    return float(numpy.finfo(numpy.float32 if tensor.dtype in (float32, complex64) else numpy.float64).eps)


def given_out(name: str, tensor: Tensor, out: Tensor | None) -> Tensor:
    """Return a result, or write it into ``out`` and return that; an ``out`` without elements also gets the result's
    strides.

    Args:
        name: of the operator, without its namespace.
        tensor: the result.
        out: the tensor to write, if any.

    Raises:
        DTypeError: the result cannot be cast to the dtype of ``out``.
    """
    if out is None:
        return tensor
    if not can_cast(tensor.dtype, out.dtype):
        raise DTypeError(
            f"{name}: Expected result to be safely castable from {tensor.dtype.scalar_type} dtype, but got "
            f"result with dtype {out.dtype.scalar_type}"
        )
    if not out.numel() and out.dtype is tensor.dtype:
        resize(out, tensor.shape, tensor.strides)
    resize_output(out, tensor.shape)
    return write_out(f"aten::{name}.out", out, tensor.to(out.dtype))


# ------------------------------------------------------------------------------------------------------------- failures

# Messages for the first info number that is not 0, keyed by a word in the function's name.
_FAILURES = {
    "inv": "The diagonal element {} is zero, the inversion could not be completed because the input matrix is "
    "singular.",
    "solve": "The solver failed because the input matrix is singular.",
    "cholesky": "The factorization could not be completed because the input is not positive-definite (the leading "
    "minor of order {} is not positive-definite).",
    "svd": "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated "
    "singular values (error code: {}).",
    "eig": "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated "
    "eigenvalues (error code: {}).",
    "lstsq": "The least squares solution could not be computed because the input matrix does not have full rank (error "
    "code: {}).",
    "lu_factor": "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want to "
    "perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)",
    "": "The factorization failed (error code: {}).",
}


def raise_failure(info: Tensor, name: str, is_matrix: bool) -> None:
    """Raise an error if LAPACK reports a failure for a matrix.

    Args:
        info: int32, LAPACK's info number of each matrix: 0 for success.
        name: of the function, ``"linalg.inv"``.
        is_matrix: whether the input was a single matrix, so that the message need not name a batch index.

    Raises:
        LinearAlgebraError: a number is not 0.
    """
    if info.device.type != "meta":
        _raise_failure(info.cpu(), name, is_matrix)


@step
def _raise_failure(info: Array, name: str, is_matrix: bool) -> None:
    numbers = info.reshape(-1)
    failed = numpy.flatnonzero(numbers)
    if len(failed):
        number = int(numbers[failed[0]])
        text = next(text for word, text in _FAILURES.items() if word in name)
        if number < 0:
            text = "The algorithm failed to converge because the input matrix contained non-finite values."
        which = "" if is_matrix else f": (Batch element {failed[0]})"
        raise LinearAlgebraError(f"{name}{which}: {text.format(number)}")


@op("aten::_linalg_check_errors", kernel="CompositeExplicitAutograd")
def _linalg_check_errors(info: Tensor, api_name: str, *, is_matrix: bool) -> None:
    """Raise an error if LAPACK reports a failure for a matrix, see ``raise_failure``."""
    if info.dtype.category is not Category.INT:
        raise DTypeError(f"{api_name}: expected info to be a tensor of integers, but got {info.dtype.scalar_type}")
    raise_failure(info, api_name, is_matrix)
