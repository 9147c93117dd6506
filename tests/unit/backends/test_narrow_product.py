"""Tests of bfloat16 products with instructions that few processors have, emulated here by LLVM code."""

from __future__ import annotations

import ctypes
import functools
import re

import numpy
import pytest

from opdsl.backends.cpu import builtin, engine, narrow_product
from opdsl.backends.cpu.machine.language import words
from opdsl.backends.cpu.machine.narrow import NarrowPlan

_INSTRUCTION = "@llvm.x86.avx512bf16.dpbf16ps.512"
_PRODUCTS = """
define internal <16 x float> @products(<16 x float> %sums, <32 x bfloat> %first, <32 x bfloat> %second) {
  %a = bitcast <32 x bfloat> %first to <16 x i32>
  %b = bitcast <32 x bfloat> %second to <16 x i32>
  %a_low = shl <16 x i32> %a, splat (i32 16)
  %b_low = shl <16 x i32> %b, splat (i32 16)
  %a_high = and <16 x i32> %a, splat (i32 -65536)
  %b_high = and <16 x i32> %b, splat (i32 -65536)
  %a0 = bitcast <16 x i32> %a_low to <16 x float>
  %b0 = bitcast <16 x i32> %b_low to <16 x float>
  %a1 = bitcast <16 x i32> %a_high to <16 x float>
  %b1 = bitcast <16 x i32> %b_high to <16 x float>
  %p0 = fmul <16 x float> %a0, %b0
  %p1 = fmul <16 x float> %a1, %b1
  %s0 = fadd <16 x float> %sums, %p0
  %s1 = fadd <16 x float> %s0, %p1
  ret <16 x float> %s1
}
define internal <16 x bfloat> @rounded(<16 x float> %value) {
  %bits = bitcast <16 x float> %value to <16 x i32>
  %high = lshr <16 x i32> %bits, splat (i32 16)
  %narrow = trunc <16 x i32> %high to <16 x i16>
  %result = bitcast <16 x i16> %narrow to <16 x bfloat>
  ret <16 x bfloat> %result
}
"""


@functools.cache
def _code() -> engine.Code:
    lines = narrow_product.text().splitlines()
    text = "\n".join(line for line in lines if not (line.startswith("declare") and _INSTRUCTION in line))
    text = text.replace(_INSTRUCTION, "@products") + _PRODUCTS
    # Replaced by a function for numbers that bfloat16 represents: a processor may lack this instruction, too.
    rounding = r"fptrunc <16 x float> (%\w+) to <16 x bfloat>"
    text = re.sub(rounding, r"call <16 x bfloat> @rounded(<16 x float> \1)", text)
    return engine.compile_ir(f"emulated {text}", lambda: text, ["narrow_product"])


def _bits(values):
    """Return whole numbers as bits of bfloat16, which is exact up to 256."""
    return (values.astype("f4").view("u4") >> 16).astype("u2")


@pytest.mark.parametrize("columns_lie", [False, True])
@pytest.mark.parametrize("beta", [0.0, 2.0])
@pytest.mark.parametrize(
    ("batch", "rows", "inner", "columns"), [(1, 9, 1, 1), (2, 10, 7, 30), (1, 8, 4, 150), (3, 13, 9, 65)]
)
def test_tiles_of_all_sizes(batch, rows, inner, columns, beta, columns_lie):
    random = numpy.random.default_rng(0)
    first = random.integers(-2, 3, (batch, rows, inner))
    second = random.integers(-2, 3, (batch, inner, columns))
    before = random.integers(-9, 10, (batch, rows, columns))
    expected = 3 * (first @ second) + beta * before
    out = _bits(before)
    if columns_lie:
        out = out.transpose(0, 2, 1).copy().transpose(0, 2, 1)
        second = second.transpose(0, 2, 1).copy().transpose(0, 2, 1)
    operands = [_bits(first), _bits(second), out]
    (_, first_row, _), (_, second_row, second_column), (_, out_row, out_column) = (
        [stride // 2 for stride in operand.strides] for operand in operands
    )
    plan = words(
        NarrowPlan,
        first_slot=2,
        second_slot=4,
        rows=rows,
        inner=inner,
        columns=columns,
        first_row=first_row,
        second_row=second_row,
        second_column=second_column,
        out_row=out_row,
        out_column=out_column,
        first_matrix=rows * inner,
        second_matrix=inner * columns,
        out_matrix=rows * columns,
    )
    plan_ = (ctypes.c_int64 * (builtin.HEADER + len(plan)))(*[0] * builtin.HEADER, *plan)
    frame = (ctypes.c_int64 * 12)()
    frame[0] = ctypes.addressof(plan_)
    for slot, operand in zip((2, 4, 10), operands, strict=True):
        frame[slot] = operand.ctypes.data
    for slot, number in ((6, 3.0), (8, beta)):
        ctypes.c_double.from_buffer(frame, 8 * slot).value = number
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(_code().address("narrow_product"))
    for begin, end in ((0, 5), (5, batch * rows)):
        run(ctypes.addressof(frame), begin, end)
    assert ((out.astype("u4") << 16).view("f4") == expected).all()
