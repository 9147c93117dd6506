"""Tests of conversions from and to float16 without the processor's instructions, for every half and every tie."""

from __future__ import annotations

import ctypes
from typing import Any

import llvmlite.binding as llvm
import numpy
import pytest

from opdsl.backends.cpu import engine

ALL = numpy.arange(1 << 16, dtype=numpy.uint16).view(numpy.float16)
LOOP = """define void @convert(ptr %from, ptr %to, i64 %count) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %source = getelementptr {source}, ptr %from, i64 %i
  %value = load {source}, ptr %source
  %converted = {instruction} {source} %value to {target}
  %place = getelementptr {target}, ptr %to, i64 %i
  store {target} %converted, ptr %place
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}"""
TYPES = {numpy.float16: "half", numpy.float32: "float", numpy.float64: "double"}


def converted(inputs: Any, target: Any, *, plain: bool = False) -> Any:
    """Convert elements by compiled code; with ``plain``, for any processor of this architecture."""
    instruction = "fptrunc" if inputs.itemsize > numpy.dtype(target).itemsize else "fpext"
    text = LOOP.format(instruction=instruction, source=TYPES[inputs.dtype.type], target=TYPES[target])
    code = engine.load_object(_of_any_processor(text) if plain else engine.compile_object(text), ["convert"])
    result = numpy.empty(inputs.shape, target)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(code.address("convert"))
    function(inputs.ctypes.data, result.ctypes.data, inputs.size)
    return result


def _of_any_processor(text: str) -> bytes:
    engine.compile_object(text)  # initializes LLVM
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(jit=True)
    emitted: bytes = machine.emit_object(llvm.parse_assembly(text))
    return emitted


def around_ties(kind: Any) -> Any:
    """Return all halves, the midpoints between neighbors, the next numbers on both sides of each, and limits of a
    dtype.
    """
    finite = numpy.sort(ALL[numpy.isfinite(ALL)].astype(numpy.float64))
    ties = numpy.concatenate([(finite[1:] + finite[:-1]) / 2, [65520, -65520]])
    numbers = numpy.concatenate([finite, ties]).astype(kind)
    info = numpy.finfo(kind)
    ends = numpy.array([info.max, info.tiny, info.smallest_subnormal, numpy.inf, 0, 65536, 131072], kind)
    beside = [numpy.nextafter(numbers, kind(sign) * info.max, dtype=kind) for sign in (1, -1)]
    return numpy.concatenate([numbers, *beside, ends, -ends, numpy.array([numpy.nan], kind)])


@pytest.mark.parametrize("plain", [False, True], ids=["this processor", "any processor"])
@pytest.mark.parametrize("kind", [numpy.float32, numpy.float64])
def test_numbers_are_rounded_once(kind: Any, plain: bool) -> None:
    inputs = around_ties(kind)
    with numpy.errstate(over="ignore", under="ignore"):
        expected = inputs.astype(numpy.float16)
    actual = converted(inputs, numpy.float16, plain=plain)
    assert (actual[:-1].view(numpy.uint16) == expected[:-1].view(numpy.uint16)).all()
    assert numpy.isnan(actual[-1])


@pytest.mark.parametrize("plain", [False, True], ids=["this processor", "any processor"])
@pytest.mark.parametrize("kind", [numpy.float32, numpy.float64])
def test_halves_are_widened(kind: Any, plain: bool) -> None:
    actual, expected = converted(ALL, kind, plain=plain), ALL.astype(kind)
    numbers = ~numpy.isnan(ALL)
    assert (actual[numbers].view(f"u{actual.itemsize}") == expected[numbers].view(f"u{actual.itemsize}")).all()
    assert numpy.isnan(actual[~numbers]).all()


def test_a_nan_keeps_what_the_processor_keeps() -> None:
    wide = converted(ALL, numpy.float32, plain=True)
    assert (wide.view(numpy.uint32) == converted(ALL, numpy.float32).view(numpy.uint32)).all()
    # A payload in the lower bits alone must not become the bits of an infinite number.
    nans = numpy.array([0x7F800001, 0xFF800001, 0x7FA00000, 0x7FC00000, 0xFFFFFFFF], numpy.uint32).view(numpy.float32)
    result = converted(nans, numpy.float16, plain=True).view(numpy.uint16)
    assert (result == converted(nans, numpy.float16).view(numpy.uint16)).all()
