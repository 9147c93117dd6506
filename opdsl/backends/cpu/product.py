"""Matrix products: shares of a batch's rows go through the BLAS that NumPy brings, one thread for each share.

What the BLAS has no types or layouts for is computed by ``numpy.matmul``.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from opdsl.backends.cpu import builtin, engine, native
from opdsl.backends.cpu.blas import LETTERS, Blas, blas, on_one_thread
from opdsl.backends.cpu.builtin import Kernel, Work

if TYPE_CHECKING:
    from opdsl.kernels.calls import MatrixLayout, ProductCall

_ROW_MAJOR, _COLUMN_MAJOR = 101, 102
_PLAIN, _TRANSPOSED = 111, 112

# Up to so many multiplications OpenBLAS stays on the calling thread anyway (interface/gemm.c,
# SMP_THRESHOLD_MIN * GEMM_MULTITHREAD_THRESHOLD).
_SINGLE_UP_TO = 65_536 * 4
# Rows that the BLAS's innermost kernels take at a time are powers of two up to this.
_UNIT = 16


class _Lines(NamedTuple):
    """A matrix as the BLAS reads it.

    operation: as its lines lie, or transposed.
    leading: elements between neighbouring lines.
    """

    operation: int
    leading: int


class _Words(NamedTuple):
    """What the loop reads of its plan. The left factor is the one whose rows are shared out.

    product: the address of the BLAS's function.
    rows, columns, inner: sizes; rows are of the left factor, columns of the right one.
    order: row-major or column-major, for all three matrices.
    left_slot, right_slot: bytes from the frame to the addresses of the factors.
    left_operation, ...: see ``_Lines``.
    left_row, out_row: bytes between neighbouring rows.
    left_matrix, ...: bytes between neighbouring matrices of the batch.
    """

    product: int
    rows: int
    columns: int
    inner: int
    order: int
    left_slot: int
    right_slot: int
    left_operation: int
    right_operation: int
    left_leading: int
    right_leading: int
    out_leading: int
    left_row: int
    out_row: int
    left_matrix: int
    right_matrix: int
    out_matrix: int


def product(call: ProductCall) -> Kernel:
    """Plan the products of two batches of matrices, see ``Compiler.product``."""
    found = blas() if call.dtype.name in LETTERS else None
    planned = None if found is None else _through_blas(found, call)
    return _through_numpy if planned is None else planned


def _through_numpy(first: Any, second: Any, alpha: complex, beta: complex, out: Any) -> None:
    if beta == 0:
        numpy.matmul(first, second, out=out)
        if alpha != 1:
            numpy.multiply(out, _as_element(alpha, out), out=out)
    else:
        scaled = numpy.matmul(first, second) * _as_element(alpha, out)
        numpy.add(scaled, out * _as_element(beta, out), out=out)


def _as_element(number: complex, array: Any) -> Any:
    return numpy.asarray(number).astype(array.dtype)


def _through_blas(found: Blas, call: ProductCall) -> Kernel | None:
    """The plan, or None where the BLAS cannot read or write the matrices as they lie."""
    # One line or column is a product with a vector, for which NumPy finds a better function.
    if min(call.rows, call.columns) == 1 or 0 in (call.batch, call.rows, call.inner, call.columns):
        return None
    first = _lines(call.first, call.rows, call.inner)
    second = _lines(call.second, call.inner, call.columns)
    out = _lines(call.out, call.rows, call.columns)
    if first is None or second is None or out is None:
        return None
    words = _words(found.products[LETTERS[call.dtype.name]], call, first, second, out)
    cost = call.rows * call.inner * call.columns
    elements = call.batch * words.rows
    is_large = call.batch * cost > _SINGLE_UP_TO
    share = max(math.ceil(elements / native.usable_processors()), _SINGLE_UP_TO // (cost // words.rows))
    loop = _code(call.dtype.name, found.integer)
    number = builtin.COMPLEX if call.dtype.is_complex else builtin.FLOAT
    plan = builtin.builtin(
        "product_cpu",
        Work(loop.address("product"), elements, share if is_large else 0, _UNIT, details=words),
        [builtin.ARRAY, builtin.ARRAY, number, number],
        [builtin.Given()],
        [loop],
    )
    return _alone(plan, found.controller) if cost > _SINGLE_UP_TO else plan


def _words(product: int, call: ProductCall, first: _Lines, second: _Lines, out: _Lines) -> _Words:
    """The loop's words. Where there are more columns than rows, they are shared out: of the transposed product."""
    by_columns = call.columns > call.rows
    is_turned = out.operation == _TRANSPOSED
    if is_turned:
        first, second = _turned(first), _turned(second)
    # What is a row for one order is a column for the other.
    order = _ROW_MAJOR if is_turned == by_columns else _COLUMN_MAJOR
    sides = [(first, call.first, 16), (second, call.second, 32)]
    (left, left_matrix, left_slot), (right, right_matrix, right_slot) = sides[::-1] if by_columns else sides
    size = call.dtype.itemsize
    return _Words(
        product=product,
        rows=call.columns if by_columns else call.rows,
        columns=call.rows if by_columns else call.columns,
        inner=call.inner,
        order=order,
        left_slot=left_slot,
        right_slot=right_slot,
        left_operation=left.operation,
        right_operation=right.operation,
        left_leading=left.leading,
        right_leading=right.leading,
        out_leading=out.leading,
        left_row=size * (left_matrix.column if by_columns else left_matrix.row),
        out_row=size * (call.out.column if by_columns else call.out.row),
        left_matrix=size * left_matrix.batch,
        right_matrix=size * right_matrix.batch,
        out_matrix=size * call.out.batch,
    )


def _alone(plan: Kernel, controller: Any) -> Kernel:
    """The plan, for products that the BLAS would give to threads of its own."""

    def product(*arguments: Any) -> None:
        with on_one_thread(controller):
            plan(*arguments)

    return product


def _lines(matrix: MatrixLayout, rows: int, columns: int) -> _Lines | None:
    """How the BLAS reads a matrix whose lines are rows or columns; None where neither are lines in memory."""
    if (columns == 1 or matrix.column == 1) and (rows == 1 or matrix.row >= max(columns, 1)):
        return _Lines(_PLAIN, max(matrix.row if rows > 1 else columns, 1))
    if (rows == 1 or matrix.row == 1) and (columns == 1 or matrix.column >= max(rows, 1)):
        return _Lines(_TRANSPOSED, max(matrix.column if columns > 1 else rows, 1))
    return None


def _turned(lines: _Lines) -> _Lines:
    return _Lines(_PLAIN if lines.operation == _TRANSPOSED else _TRANSPOSED, lines.leading)


# ------------------------------------------------------------------------------------------------------------ the loop


@functools.cache
def _code(dtype: str, integer: str) -> engine.Code:
    return engine.compile_ir(f"product {dtype} {integer}", lambda: _text(dtype, integer), ["product"])


_SHARE = """  br label %next
next:
  %at = phi i64 [ %begin, %entry ], [ %limit, %share ]
  %any = icmp slt i64 %at, %end
  br i1 %any, label %share, label %done
share:
  %matrix = udiv i64 %at, %rows
  %row = urem i64 %at, %rows
  %rest = sub i64 %rows, %row
  %stop = add i64 %at, %rest
  %limit = call i64 @llvm.smin.i64(i64 %stop, i64 %end)
  %count = sub i64 %limit, %at"""

_END = """  br label %next
done:
  ret void
}
declare i64 @llvm.smin.i64(i64, i64)"""


def _text(dtype: str, integer: str) -> str:
    """A share of the products: rows [begin, end) of the left factors, counted through the batch.

    The operands are the two factors, what their product is multiplied by, what the result is multiplied by before the
    product is added, and the result.
    """
    lines = ["define void @product(ptr %frame, i64 %begin, i64 %end) {", "entry:", "  %plan = load ptr, ptr %frame"]
    for place, word in enumerate(_Words._fields):
        lines.append(f"  %{word}_at = getelementptr i64, ptr %plan, i64 {builtin.HEADER + place}")
        lines.append(f"  %{word} = load {'ptr' if word == 'product' else 'i64'}, ptr %{word}_at")
    for name, slot in (("left", "%left_slot"), ("right", "%right_slot"), ("out", 16 * 5)):
        lines.append(f"  %{name}_operand = getelementptr i8, ptr %frame, i64 {slot}")
        lines.append(f"  %{name}_data = load ptr, ptr %{name}_operand")
    alpha, beta = (_number(lines, name, slot, dtype) for name, slot in (("alpha", 3), ("beta", 4)))
    flags = [_as(lines, name, "i32") for name in ("order", "left_operation", "right_operation")]
    sizes = {each: _as(lines, each, integer) for each in ("columns", "inner", *_LEADING)}
    lines.append(_SHARE)
    count = _as(lines, "count", integer)
    for name, row in (("left", "%left_row"), ("right", 0), ("out", "%out_row")):
        lines.append(f"  %{name}_in_batch = mul i64 %matrix, %{name}_matrix")
        lines.append(f"  %{name}_in_rows = mul i64 %row, {row}")
        lines.append(f"  %{name}_offset = add i64 %{name}_in_batch, %{name}_in_rows")
        lines.append(f"  %{name}_place = getelementptr i8, ptr %{name}_data, i64 %{name}_offset")
    left, right, out = (f"ptr %{name.partition('_')[0]}_place, {sizes[name]}" for name in _LEADING)
    arguments = [*flags, count, sizes["columns"], sizes["inner"], alpha, left, right, beta, out]
    return "\n".join([*lines, f"  call void %product({', '.join(arguments)})", _END])


_LEADING = ("left_leading", "right_leading", "out_leading")


def _as(lines: list[str], name: str, kind: str) -> str:
    """An i64 as an argument of an integer type."""
    if kind == "i64":
        return f"i64 %{name}"
    lines.append(f"  %{name}_narrow = trunc i64 %{name} to {kind}")
    return f"{kind} %{name}_narrow"


def _number(lines: list[str], name: str, slot: int, dtype: str) -> str:
    """A number of the frame as the BLAS takes it: real ones by value, complex ones by address."""
    is_complex = dtype.startswith("complex")
    part = "float" if dtype in ("float32", "complex64") else "double"
    values = []
    for place, word in enumerate(("real", "imaginary")[: 1 + is_complex]):
        value = f"%{name}_{word}"
        lines.append(f"  {value}_at = getelementptr i8, ptr %frame, i64 {16 * slot + 8 * place}")
        lines.append(f"  {value}_wide = load double, ptr {value}_at")
        if part == "float":
            lines.append(f"  {value} = fptrunc double {value}_wide to float")
        values.append(value if part == "float" else f"{value}_wide")
    if not is_complex:
        return f"{part} {values[0]}"
    lines.append(f"  %{name} = alloca [2 x {part}]")
    for place, value in enumerate(values):
        lines.append(f"  %{name}_part{place} = getelementptr {part}, ptr %{name}, i64 {place}")
        lines.append(f"  store {part} {value}, ptr %{name}_part{place}")
    return f"ptr %{name}"
