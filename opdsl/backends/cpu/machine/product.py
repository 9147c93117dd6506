"""Kernel of matrix products by the BLAS: one call for each matrix of a batch that a thread has rows of."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from opdsl.backends.cpu.machine.call import Plan
from opdsl.backends.cpu.machine.language import (
    Address,
    Constant,
    Int32,
    Library,
    Pointer,
    Records,
    Struct,
    Words,
    address_of,
    exported,
    internal,
    local,
    unrolled,
)
from opdsl.backends.cpu.machine.vectors import SIZE, Real, Reals, rounded

PARTS = 1
"""Number of real parts of a number: 1, or 2 for complex numbers."""


class Blas(Library):
    """BLAS routines with Fortran's interface, in which every argument is an address.

    Their 32-bit sizes are the lower halves of 64-bit words.
    """

    gemm: Callable[
        [Words, Words, Words, Words, Words, Reals, Address, Words, Address, Words, Reals, Address, Words], None
    ]
    gemv: Callable[[Words, Words, Words, Reals, Address, Words, Address, Words, Reals, Address, Words], None]
    blas_enter: Callable[[Int32], None]
    blas_leave: Callable[[], None]


class Matrix(Struct):
    """Matrix as an argument of the BLAS.

    slot: words from the frame to its address.
    operation: the BLAS's letter that says whether it is transposed.
    leading: the leading dimension, in elements.
    row: bytes between the rows that are divided among threads; 0 for a matrix without them.
    matrix: bytes between matrices of the batch.
    """

    slot: int
    operation: int
    leading: int
    row: int
    matrix: int


class ProductPlan(Plan):
    """Plan of a product, in which threads divide the rows of the left factor.

    matrices: the factors in the order in which the BLAS takes them, and the result.
    rows: of the left factor.
    other: the second size that the BLAS takes with them; for a product with a vector the columns of the left factor.
    inner: the size that is summed over.
    is_turned: whether the rows are the second of these sizes.
    """

    matrices: Records[Matrix]
    rows: int
    other: int
    inner: int
    is_turned: int


blas = Blas()


@exported
def product(frame: Pointer[ProductPlan], begin: int, end: int) -> None:
    """Compute the products of rows [begin, end) of the left factors, counted over the batch.

    The operands are the two factors, the factor of their product, the factor of the old result that is added, and the
    result.
    """
    share(frame, begin, end, False)


@exported
def product_with_vector(frame: Pointer[ProductPlan], begin: int, end: int) -> None:
    """Compute the products of rows [begin, end) of the left factors with a vector, as ``product``."""
    share(frame, begin, end, True)


@internal("alwaysinline")
def share(frame: Pointer[ProductPlan], begin: int, end: int, is_vector: Constant) -> None:
    """Compute the products of rows [begin, end) by the BLAS, as ``product``."""
    plan = frame[0]
    operands = cast(Pointer[Address], frame)
    count = local(int, 1)
    alpha = local(Real, PARTS)
    beta = local(Real, PARTS)
    for part in unrolled(range(PARTS)):
        alpha[part] = number(frame, 6 + part)
        beta[part] = number(frame, 8 + part)
    m = count if plan.is_turned == 0 else address_of(plan.other)
    n = address_of(plan.other) if plan.is_turned == 0 else count
    one = plan.matrices[0]
    two = plan.matrices[1]
    step1 = address_of(one.leading)
    step2 = address_of(two.leading)
    step3 = address_of(plan.matrices[2].leading)
    blas.blas_enter(1)
    at = begin
    while at < end:
        matrix = at // plan.rows
        row = at % plan.rows
        count[0] = min(plan.rows - row, end - at)
        places = local(Address, 3)
        for k in unrolled(range(3)):
            operand = plan.matrices[k]
            places[k] = operands[operand.slot] + matrix * operand.matrix + row * operand.row
        kind1 = address_of(one.operation)
        kind2 = address_of(two.operation)
        x = places[0]
        y = places[1]
        z = places[2]
        if is_vector:
            blas.gemv(kind1, m, n, alpha, x, step1, y, step2, beta, z, step3)
        else:
            blas.gemm(kind1, kind2, m, n, address_of(plan.inner), alpha, x, step1, y, step2, beta, z, step3)
        at += count[0]
    blas.blas_leave()


@internal("alwaysinline")
def number(frame: Pointer[ProductPlan], word: int) -> Real:
    """Return a number of the frame in the BLAS's precision."""
    value = cast(Pointer[float], frame)[word]
    return rounded(value) if SIZE == 4 else cast(Real, value)
