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
    rows, inner, columns = call.rows, call.inner, call.columns
    lines = [
        _lines(call.first, rows, inner),
        _lines(call.second, inner, columns),
        _lines(call.out, rows, columns),
    ]
    # One line or column is a product with a vector, for which NumPy finds a better function.
    if min(rows, columns) == 1 or 0 in (call.batch, rows, inner, columns) or None in lines:
        return None
    first, second, out = (each for each in lines if each is not None)
    by_columns = columns > rows
    if out.operation == _TRANSPOSED:
        order = _COLUMN_MAJOR
        first, second = _turned(first), _turned(second)
    else:
        order = _ROW_MAJOR
    left, right, ways = (second, first, (1, 0)) if by_columns else (first, second, (0, 1))
    if by_columns:  # the transposed product: what is a row for one order is a column for the other
        order = _COLUMN_MAJOR if order == _ROW_MAJOR else _ROW_MAJOR
    split = columns if by_columns else rows
    matrices = (call.first, call.second)
    size = call.dtype.itemsize
    left_step = matrices[ways[0]].column if by_columns else matrices[ways[0]].row
    out_step = call.out.column if by_columns else call.out.row
    details = [
        found.products[LETTERS[call.dtype.name]],
        split,
        rows if by_columns else columns,
        inner,
        order,
        16 * (1 + ways[0]),
        16 * (1 + ways[1]),
        left.operation,
        right.operation,
        left.leading,
        right.leading,
        out.leading,
        left_step * size,
        out_step * size,
        matrices[ways[0]].batch * size,
        matrices[ways[1]].batch * size,
        call.out.batch * size,
    ]
    cost = rows * inner * columns
    is_large = call.batch * cost > _SINGLE_UP_TO
    elements = call.batch * split
    grain = max(math.ceil(elements / native.usable_processors()), _SINGLE_UP_TO // (cost // split)) if is_large else 0
    loop = _code(call.dtype.name, found.integer)
    number = builtin.COMPLEX if call.dtype.is_complex else builtin.FLOAT
    plan = builtin.builtin(
        "product_cpu",
        Work(loop.address("product"), elements, grain, _UNIT, details=details),
        [builtin.ARRAY, builtin.ARRAY, number, number],
        [builtin.Given()],
        [loop],
    )
    return _alone(plan, found.controller) if cost > _SINGLE_UP_TO else plan


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


def _text(dtype: str, integer: str) -> str:
    """A share of the products: rows [begin, end) of the left factors, counted through the batch.

    The operands are the two factors, what their product is multiplied by, what the result is multiplied by before the
    product is added, and the result. The words of the plan are those of ``_through_blas``.
    """
    words = ("product", "rows", "columns", "inner", "order", "left_slot", "right_slot", "left_operation",
             "right_operation", "left_leading", "right_leading", "out_leading", "left_row", "out_row", "left_matrix",
             "right_matrix", "out_matrix")  # fmt: skip
    is_complex, is_single = dtype.startswith("complex"), dtype in ("float32", "complex64")
    part = "float" if is_single else "double"
    lines = ["define void @product(ptr %frame, i64 %begin, i64 %end) {", "entry:", "  %plan = load ptr, ptr %frame"]
    for place, word in enumerate(words):
        kind = "ptr" if word == "product" else "i64"
        lines.append(f"  %{word}_at = getelementptr i64, ptr %plan, i64 {builtin.HEADER + place}")
        lines.append(f"  %{word} = load {kind}, ptr %{word}_at")
    for name in ("left", "right"):
        lines.append(f"  %{name}_operand = getelementptr i8, ptr %frame, i64 %{name}_slot")
        lines.append(f"  %{name}_data = load ptr, ptr %{name}_operand")
    lines.append(f"  %out_operand = getelementptr i8, ptr %frame, i64 {16 * 5}")
    lines.append("  %out_data = load ptr, ptr %out_operand")
    scales = [_number(lines, name, slot, part, is_complex) for name, slot in (("alpha", 3), ("beta", 4))]
    narrow = {}
    for name in ("columns", "inner", "left_leading", "right_leading", "out_leading"):
        narrow[name] = _as(lines, f"%{name}", integer, name)
    for name in ("order", "left_operation", "right_operation"):
        narrow[name] = _as(lines, f"%{name}", "i32", name)
    lines.append("""  br label %next
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
  %count_64 = sub i64 %limit, %at""")
    count = _as(lines, "%count_64", integer, "count")
    for name, moves in (("left", True), ("right", False), ("out", True)):
        lines.append(f"  %{name}_in_batch = mul i64 %matrix, %{name}_matrix")
        lines.append(f"  %{name}_in_rows = mul i64 %row, {f'%{name}_row' if moves else 0}")
        lines.append(f"  %{name}_offset = add i64 %{name}_in_batch, %{name}_in_rows")
        lines.append(f"  %{name}_place = getelementptr i8, ptr %{name}_data, i64 %{name}_offset")
    arguments = ", ".join(
        [
            *(f"i32 {narrow[name]}" for name in ("order", "left_operation", "right_operation")),
            *(f"{integer} {value}" for value in (count, narrow["columns"], narrow["inner"])),
            scales[0],
            f"ptr %left_place, {integer} {narrow['left_leading']}",
            f"ptr %right_place, {integer} {narrow['right_leading']}",
            scales[1],
            f"ptr %out_place, {integer} {narrow['out_leading']}",
        ]
    )
    lines.append(f"  call void %product({arguments})")
    lines.append("  br label %next\ndone:\n  ret void\n}\ndeclare i64 @llvm.smin.i64(i64, i64)")
    return "\n".join(lines)


def _as(lines: list[str], value: str, kind: str, name: str) -> str:
    """An i64 as an integer of the BLAS."""
    if kind == "i64":
        return value
    lines.append(f"  %{name}_narrow = trunc i64 {value} to {kind}")
    return f"%{name}_narrow"


def _number(lines: list[str], name: str, slot: int, part: str, is_complex: bool) -> str:
    """A number of the frame as the BLAS takes it: real ones by value, complex ones by address."""
    parts = []
    for place, word in enumerate(("real", "imaginary")[: 1 + is_complex]):
        lines.append(f"  %{name}_{word}_at = getelementptr i8, ptr %frame, i64 {16 * slot + 8 * place}")
        lines.append(f"  %{name}_{word}_wide = load double, ptr %{name}_{word}_at")
        if part == "float":
            lines.append(f"  %{name}_{word} = fptrunc double %{name}_{word}_wide to float")
        parts.append(f"%{name}_{word}" + ("" if part == "float" else "_wide"))
    if not is_complex:
        return f"{part} {parts[0]}"
    lines.append(f"  %{name} = alloca [2 x {part}]")
    lines.append(f"  store {part} {parts[0]}, ptr %{name}")
    lines.append(f"  %{name}_second = getelementptr {part}, ptr %{name}, i64 1")
    lines.append(f"  store {part} {parts[1]}, ptr %{name}_second")
    return f"ptr %{name}"
