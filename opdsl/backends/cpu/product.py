"""Matrix products: the rows of a batch are divided into shares, and each share is a BLAS call on one thread.

Dtypes and memory layouts that the BLAS does not support are computed by ``numpy.matmul``.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from opdsl.backends.cpu import builtin, engine, native
from opdsl.backends.cpu.blas import LARGEST, LETTERS, Blas, blas, on_one_thread
from opdsl.backends.cpu.builtin import Kernel, Table, Work
from opdsl.backends.cpu.machine import product as kernels
from opdsl.backends.cpu.machine.language import exports, words
from opdsl.backends.cpu.narrow_product import multiplies, narrow_product, turned
from opdsl.kernels.steps import step
from opdsl.runtime.permanent import kept_forever
from opdsl.runtime.symbol import largest

if TYPE_CHECKING:
    from opdsl.kernels.calls import MatrixLayout, ProductCall

_PLAIN, _TRANSPOSED = ord("N"), ord("T")

# The number of multiplications that is worth a thread.
_SINGLE_UP_TO = 65_536 * 4
# A multiple of the number of rows that the BLAS's innermost kernels process at a time, a power of two.
_UNIT = 16


class _Lines(NamedTuple):
    """Matrix as an argument of the BLAS, which expects column-major matrices.

    operation: transposed for a row-major matrix, plain for a column-major one.
    leading: the leading dimension, the elements between neighboring rows or columns.
    """

    operation: int
    leading: int

    def turned(self) -> _Lines:
        """Return the transposed matrix."""
        return _Lines(_PLAIN if self.operation == _TRANSPOSED else _TRANSPOSED, self.leading)


def product(call: ProductCall) -> Kernel:
    """Plan the products of two batches of matrices, see ``Compiler.product``."""
    if multiplies(call):
        return narrow_product(call)
    return _through_blas(call) or (_through_numpy if call.dtype.name not in LETTERS else _copied)


@step
def _through_numpy(first: Any, second: Any, alpha: complex, beta: complex, out: Any) -> None:
    if beta == 0:
        numpy.matmul(first, second, out=out)
        if alpha != 1:
            numpy.multiply(out, _as_element(alpha, out), out=out)
    elif not first.shape[-1]:  # sums of no products are 0
        if beta != 1:
            numpy.multiply(out, _as_element(beta, out), out=out)
    else:
        scaled = numpy.matmul(first, second) * _as_element(alpha, out)
        numpy.add(scaled, out * _as_element(beta, out), out=out)


@step
def _copied(first: Any, second: Any, alpha: complex, beta: complex, out: Any) -> None:
    """Multiply matrices whose rows and columns are not contiguous: they are copied first, and NumPy calls its BLAS."""
    with on_one_thread():
        _through_numpy(_in_lines(first), _in_lines(second), alpha, beta, out)


def _in_lines(matrices: Any) -> Any:
    """Return matrices with contiguous rows or columns, copied if neither are; vectors are made contiguous."""
    if matrices.ndim < 2:
        return numpy.ascontiguousarray(matrices)
    (rows, columns), (row, column), size = matrices.shape[-2:], matrices.strides[-2:], matrices.itemsize
    is_by_rows = column == size and row >= columns * size
    is_by_columns = row == size and column >= rows * size
    return matrices if is_by_rows or is_by_columns else numpy.ascontiguousarray(matrices)


def _as_element(number: complex, array: Any) -> Any:
    return numpy.asarray(number).astype(array.dtype)


def _through_blas(call: ProductCall) -> Kernel | None:
    """Return the plan of a product by the BLAS, or None if it does not support the dtype or the memory layouts."""
    if call.dtype.name not in LETTERS or 0 in (call.batch, call.rows, call.inner, call.columns):
        return None
    # If there are more columns than rows, threads divide the rows of the transposed product.
    by_columns = call.columns > call.rows
    shared = turned(call) if by_columns else call
    details = _words(shared, (4, 2) if by_columns else (2, 4))
    if details is None:
        return None
    elements, cost = call.batch * shared.rows, call.inner * shared.columns
    share = largest(-(-elements // native.usable_processors()), _SINGLE_UP_TO // cost)
    loop = _code(call.dtype.name, blas())
    number = builtin.COMPLEX if call.dtype.is_complex else builtin.FLOAT
    return builtin.builtin(
        "product_cpu",
        Work(
            loop.address("product_with_vector" if shared.columns == 1 else "product"),
            elements,
            share if elements * cost > _SINGLE_UP_TO else 0,
            _UNIT,
            details=details,
            keeps_pieces=True,
        ),
        [builtin.ARRAY, builtin.ARRAY, number, number],
        [builtin.Given()],
        [loop],
    )


def _words(call: ProductCall, slots: tuple[int, int]) -> list[int | Table] | None:
    """Return the words of a ``ProductPlan`` that divides rows among threads, or None if the BLAS does not support the
    layouts.
    """
    first, second, out, size = call.first, call.second, call.out, call.dtype.itemsize
    left, is_vector = _lines(first, call.rows, call.inner), call.columns == 1
    if is_vector:  # the BLAS takes vectors with any stride
        right: _Lines | None = _Lines(_PLAIN, second.row if call.inner > 1 else 1)
        target: _Lines | None = _Lines(_PLAIN, out.row if call.rows > 1 else 1)
    else:
        right, target = _lines(second, call.inner, call.columns), _lines(out, call.rows, call.columns)
    if left is None or right is None or target is None or right.leading < 1 or target.leading < 1:
        return None
    if largest(call.rows, call.columns, call.inner, left.leading, right.leading, target.leading) > LARGEST:
        return None
    factors = [(slots[0], left, size * first.row, size * first.batch), (slots[1], right, 0, size * second.batch)]
    is_turned = left.operation == _TRANSPOSED
    if not is_vector:
        is_turned = target.operation == _TRANSPOSED
        if is_turned:  # the product is computed transposed, from the transposed factors
            factors = [(slot, lines.turned(), row, matrix) for slot, lines, row, matrix in reversed(factors)]
    matrices = [*factors, (10, target, size * out.row, size * out.batch)]
    return words(
        kernels.ProductPlan,
        matrices=Table([word for slot, lines, *steps in matrices for word in (slot, *lines, *steps)]),
        rows=call.rows,
        other=call.inner if is_vector else call.columns,
        inner=call.inner,
        is_turned=int(is_turned),
    )


def _lines(matrix: MatrixLayout, rows: int, columns: int) -> _Lines | None:
    """Return a matrix as an argument of the BLAS, or None if neither rows nor columns are contiguous."""
    if (columns == 1 or matrix.column == 1) and (rows == 1 or matrix.row >= max(columns, 1)):
        return _Lines(_TRANSPOSED, max(matrix.row if rows > 1 else columns, 1))
    if (rows == 1 or matrix.row == 1) and (columns == 1 or matrix.column >= max(rows, 1)):
        return _Lines(_PLAIN, max(matrix.column if columns > 1 else rows, 1))
    return None


@kept_forever
def _code(dtype: str, library: Blas) -> engine.Code:
    routines = {routine: library.address(f"{LETTERS[dtype]}{routine}") for routine in ("gemm", "gemv")}
    imports = {**library.imports, **routines}
    make = functools.partial(_text, dtype)
    return engine.compile_ir(f"product {dtype}", make, exports([kernels]), imports, has_long_loops=False)


def _text(dtype: str) -> str:
    from opdsl.backends.cpu.machine.text import module_text
    from opdsl.backends.cpu.machine.vectors import given

    element = "float" if dtype in ("float32", "complex64") else "double"
    return module_text([kernels], given(element, 1, PARTS=1 + dtype.startswith("complex")))
