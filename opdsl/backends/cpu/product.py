"""Matrix products: shares of a batch's rows go through the BLAS, one thread for each share.

What the BLAS has no types or layouts for is computed by ``numpy.matmul``.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from opdsl.backends.cpu import builtin, engine, native
from opdsl.backends.cpu.blas import LARGEST, LETTERS, blas, on_one_thread
from opdsl.backends.cpu.builtin import Kernel, Work
from opdsl.backends.cpu.narrow_product import multiplies, narrow_product
from opdsl.kernels.steps import step
from opdsl.runtime.symbol import largest

if TYPE_CHECKING:
    from opdsl.kernels.calls import MatrixLayout, ProductCall

_PLAIN, _TRANSPOSED = ord("N"), ord("T")

# Multiplications that are worth a thread of their own.
_SINGLE_UP_TO = 65_536 * 4
# Rows that the BLAS's innermost kernels take at a time are powers of two up to this.
_UNIT = 16


class _Lines(NamedTuple):
    """A matrix as the BLAS reads it, whose matrices lie column by column.

    operation: transposed where its rows are lines in memory, plain where its columns are.
    leading: elements between neighbouring lines.
    """

    operation: int
    leading: int


class _Words(NamedTuple):
    """What the loop reads of its plan. The left factor is the one whose rows are shared out.

    rows, columns, inner: sizes; rows are of the left factor, columns of the right one.
    is_turned: whether the BLAS computes the transposed product, since the result's rows are lines.
    left_slot, right_slot: bytes from the frame to the addresses of the factors.
    left_operation, ...: see ``_Lines``; of the factors, or of the transposed ones.
    left_row, out_row: bytes between neighbouring rows.
    left_matrix, ...: bytes between neighbouring matrices of the batch.
    """

    rows: int
    columns: int
    inner: int
    is_turned: int
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
    if multiplies(call):
        return narrow_product(call)
    return _through_blas(call) or (_through_numpy if call.dtype.name not in LETTERS else _copied)


@step
def _through_numpy(first: Any, second: Any, alpha: complex, beta: complex, out: Any) -> None:
    if beta == 0:
        numpy.matmul(first, second, out=out)
        if alpha != 1:
            numpy.multiply(out, _as_element(alpha, out), out=out)
    elif not first.shape[-1]:  # products of nothing
        if beta != 1:
            numpy.multiply(out, _as_element(beta, out), out=out)
    else:
        scaled = numpy.matmul(first, second) * _as_element(alpha, out)
        numpy.add(scaled, out * _as_element(beta, out), out=out)


@step
def _copied(first: Any, second: Any, alpha: complex, beta: complex, out: Any) -> None:
    """Matrices of which neither rows nor columns are lines: NumPy gives their copies to its BLAS."""
    with on_one_thread():
        _through_numpy(numpy.ascontiguousarray(first), numpy.ascontiguousarray(second), alpha, beta, out)


def _as_element(number: complex, array: Any) -> Any:
    return numpy.asarray(number).astype(array.dtype)


def _through_blas(call: ProductCall) -> Kernel | None:
    """The plan, or None where the BLAS cannot read or write the matrices as they lie."""
    if call.dtype.name not in LETTERS or 0 in (call.batch, call.rows, call.inner, call.columns):
        return None
    words = _words(call)
    if words is None or largest(*words[:3], *words[8:11]) > LARGEST:
        return None
    cost = call.rows * call.inner * call.columns
    elements = call.batch * words.rows
    is_large = call.batch * cost > _SINGLE_UP_TO
    share = largest(-(-elements // native.usable_processors()), _SINGLE_UP_TO // (cost // words.rows))
    loop = _code(call.dtype.name, words.columns == 1)
    number = builtin.COMPLEX if call.dtype.is_complex else builtin.FLOAT
    return builtin.builtin(
        "product_cpu",
        Work(loop.address("product"), elements, share if is_large else 0, _UNIT, details=words),
        [builtin.ARRAY, builtin.ARRAY, number, number],
        [builtin.Given()],
        [loop],
    )


def _words(call: ProductCall) -> _Words | None:
    """The loop's words. Where there are more columns than rows, they are shared out: of the transposed product."""
    by_columns = call.columns > call.rows
    first, second, out = call.first, call.second, call.out
    rows, columns = call.rows, call.columns
    if by_columns:
        first, second, out = _turned(second), _turned(first), _turned(out)
        rows, columns = columns, rows
    left = _lines(first, rows, call.inner)
    if columns == 1:  # a product with a vector, whose elements may be apart
        right = _Lines(_PLAIN, second.row if call.inner > 1 else 1)
        result = _Lines(_PLAIN, out.row if rows > 1 else 1)
        if left is None or right.leading < 1 or result.leading < 1:
            return None
    else:
        factor, written = _lines(second, call.inner, columns), _lines(out, rows, columns)
        if left is None or factor is None or written is None:
            return None
        right, result = factor, written
    size = call.dtype.itemsize
    slots = (32, 16) if by_columns else (16, 32)
    return _Words(
        rows=rows,
        columns=columns,
        inner=call.inner,
        is_turned=result.operation == _TRANSPOSED,
        left_slot=slots[0],
        right_slot=slots[1],
        left_operation=left.operation,
        right_operation=right.operation,
        left_leading=left.leading,
        right_leading=right.leading,
        out_leading=result.leading,
        left_row=size * first.row,
        out_row=size * out.row,
        left_matrix=size * first.batch,
        right_matrix=size * second.batch,
        out_matrix=size * out.batch,
    )


def _turned(matrix: MatrixLayout) -> MatrixLayout:
    return matrix._replace(row=matrix.column, column=matrix.row)


def _lines(matrix: MatrixLayout, rows: int, columns: int) -> _Lines | None:
    """How the BLAS reads a matrix whose lines are rows or columns; None where neither are lines in memory."""
    if (columns == 1 or matrix.column == 1) and (rows == 1 or matrix.row >= max(columns, 1)):
        return _Lines(_TRANSPOSED, max(matrix.row if rows > 1 else columns, 1))
    if (rows == 1 or matrix.row == 1) and (columns == 1 or matrix.column >= max(rows, 1)):
        return _Lines(_PLAIN, max(matrix.column if columns > 1 else rows, 1))
    return None


# ------------------------------------------------------------------------------------------------------------ the loop


@functools.cache
def _code(dtype: str, is_vector: bool) -> engine.Code:
    found = blas()
    routine = f"{LETTERS[dtype]}{'gemv' if is_vector else 'gemm'}"
    imports = {**found.imports, "routine": found.address(routine)}
    return engine.compile_ir(f"product {dtype} {is_vector}", lambda: _text(dtype, is_vector), ["product"], imports)


_SHARE = """  call void @blas_enter(i32 1)
  br label %next
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
  call void @blas_leave()
  ret void
}
declare i64 @llvm.smin.i64(i64, i64)
declare void @blas_enter(i32)
declare void @blas_leave()"""

# What the BLAS takes by address: words of the plan, and what is computed of them.
_PASSED = ("columns", "inner", "left_operation", "right_operation", "left_leading", "right_leading", "out_leading")


def _text(dtype: str, is_vector: bool) -> str:
    """A share of the products: rows [begin, end) of the left factors, counted through the batch.

    The operands are the two factors, what their product is multiplied by, what the result is multiplied by before the
    product is added, and the result.
    """
    lines = ["define void @product(ptr %frame, i64 %begin, i64 %end) {", "entry:", "  %plan = load ptr, ptr %frame"]
    for index, word in enumerate(_Words._fields):
        lines.append(f"  %{word}_at = getelementptr i64, ptr %plan, i64 {builtin.HEADER + index}")
        lines.append(f"  %{word} = load i64, ptr %{word}_at")
    for name, slot in (("left", "%left_slot"), ("right", "%right_slot"), ("out", 16 * 5)):
        lines.append(f"  %{name}_operand = getelementptr i8, ptr %frame, i64 {slot}")
        lines.append(f"  %{name}_data = load ptr, ptr %{name}_operand")
    for name, slot in (("alpha", 3), ("beta", 4)):
        _number(lines, name, slot, dtype)
    lines += [f"  %{name}_memory = alloca i32" for name in (*_PASSED, "count")]
    for name in _PASSED:
        lines += _stored(name)
    lines += ["  %swaps = icmp ne i64 %is_turned, 0", _SHARE, *_stored("count")]
    for name, row in (("left", "%left_row"), ("right", 0), ("out", "%out_row")):
        lines.append(f"  %{name}_in_batch = mul i64 %matrix, %{name}_matrix")
        lines.append(f"  %{name}_in_rows = mul i64 %row, {row}")
        lines.append(f"  %{name}_offset = add i64 %{name}_in_batch, %{name}_in_rows")
        lines.append(f"  %{name}_place = getelementptr i8, ptr %{name}_data, i64 %{name}_offset")
    arguments = _with_vector(lines) if is_vector else _with_matrix(lines)
    declared = ", ".join(["ptr"] * len(arguments))
    called = ", ".join(f"ptr %{each}" for each in arguments)
    return "\n".join([*lines, f"  call void @routine({called})", _END, f"declare void @routine({declared})"])


def _with_matrix(lines: list[str]) -> list[str]:
    """The arguments of ``gemm``: of the transposed product, the transposed factors in the other order."""
    # Lines that are columns of a matrix are rows of the transposed one.
    for name in ("left", "right"):
        lines.append(f"  %{name}_is_plain = icmp eq i64 %{name}_operation, {_PLAIN}")
        lines.append(f"  %{name}_flips = select i1 %{name}_is_plain, i32 {_TRANSPOSED}, i32 {_PLAIN}")
        lines.append(f"  %{name}_as_is = trunc i64 %{name}_operation to i32")
        lines.append(f"  %{name}_says = select i1 %swaps, i32 %{name}_flips, i32 %{name}_as_is")
        lines.append(f"  store i32 %{name}_says, ptr %{name}_operation_memory")
    for kind in ("operation_memory", "leading_memory", "place"):
        lines.append(f"  %first_{kind} = select i1 %swaps, ptr %right_{kind}, ptr %left_{kind}")
        lines.append(f"  %second_{kind} = select i1 %swaps, ptr %left_{kind}, ptr %right_{kind}")
    lines.append("  %m_memory = select i1 %swaps, ptr %columns_memory, ptr %count_memory")
    lines.append("  %n_memory = select i1 %swaps, ptr %count_memory, ptr %columns_memory")
    operations = ["first_operation_memory", "second_operation_memory"]
    factors = ["first_place", "first_leading_memory", "second_place", "second_leading_memory"]
    sizes = ["m_memory", "n_memory", "inner_memory"]
    return [*operations, *sizes, "alpha", *factors, "beta", "out_place", "out_leading_memory"]


def _with_vector(lines: list[str]) -> list[str]:
    """The arguments of ``gemv``: sizes are of the matrix as it lies."""
    lines.append(f"  %is_plain = icmp eq i64 %left_operation, {_PLAIN}")
    lines.append("  %m_memory = select i1 %is_plain, ptr %count_memory, ptr %inner_memory")
    lines.append("  %n_memory = select i1 %is_plain, ptr %inner_memory, ptr %count_memory")
    matrix = ["left_operation_memory", "m_memory", "n_memory", "alpha", "left_place", "left_leading_memory"]
    return [*matrix, "right_place", "right_leading_memory", "beta", "out_place", "out_leading_memory"]


def _stored(name: str) -> list[str]:
    """An i64 in the memory of an i32."""
    return [f"  %{name}_narrow = trunc i64 %{name} to i32", f"  store i32 %{name}_narrow, ptr %{name}_memory"]


def _number(lines: list[str], name: str, slot: int, dtype: str) -> None:
    """A number of the frame in memory, as the BLAS takes it."""
    part = "float" if dtype in ("float32", "complex64") else "double"
    lines.append(f"  %{name} = alloca [2 x {part}]")
    for index, word in enumerate(("real", "imaginary")[: 1 + dtype.startswith("complex")]):
        value = f"%{name}_{word}"
        lines.append(f"  {value}_at = getelementptr i8, ptr %frame, i64 {16 * slot + 8 * index}")
        lines.append(f"  {value}_wide = load double, ptr {value}_at")
        if part == "float":
            lines.append(f"  {value} = fptrunc double {value}_wide to float")
        lines.append(f"  %{name}_part{index} = getelementptr {part}, ptr %{name}, i64 {index}")
        lines.append(f"  store {part} {value if part == 'float' else f'{value}_wide'}, ptr %{name}_part{index}")
