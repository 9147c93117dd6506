"""Tests that CUDA C++ of pointwise loops, run by an emulated grid, computes the bits of the CPU's kernels.

Each operator is tried with two of the dtypes, with ``OPDSL_TEST_FULL=1`` with all; tests/gpu tries it with one of all
dtypes.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import opdsl
from opdsl.backends.cpu import compiler as cpu
from opdsl.backends.cuda.layouts import divider, is_narrow
from opdsl.backends.cuda.schedules import pointwise
from opdsl.kernels.calls import OperandSpec
from opdsl.runtime import DType
from opdsl.runtime.dtype import complex64
from opdsl.scalar import TypedGraph, lower, read
from opdsl.scalar.mathematics.coarse import has_steps
from opdsl.scalar.operations import LIBM
from tests.emulation import programs as emulation
from tests.emulation.libraries import needs_compiler
from tests.unit.backends.recording import Recorded, Recorder, copies, differs, distinct, operators_of, recorded
from tests.unit.kernels.computations import elements

pytestmark = needs_compiler

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
          "complex128")  # fmt: skip

FULL = "OPDSL_TEST_FULL" in os.environ
TURNS = 6


def operators_in_turn(dtype: str) -> list[Any]:
    """Return every sixth operator, starting at an index that depends on the dtype, so that each meets several kinds of
    dtypes.
    """
    index = DTYPES.index(dtype)
    first = (index + index // TURNS) % TURNS
    operators = list(operators_of("pointwise"))
    return operators if FULL else operators[first::TURNS]


def is_contiguous(record: Recorded) -> bool:
    specs = [spec for spec in (*record.layout.inputs, *record.layout.outputs) if spec.strides is not None]
    return len(record.layout.sizes[0]) == 1 and all(spec.strides == (spec.dtype.itemsize,) for spec in specs)


def uses_library(graph: TypedGraph) -> bool:
    """Return whether a graph calls the math library, whose last digits differ on a GPU."""
    return any(node.op in LIBM for node in lower(graph).nodes)


def is_approximated(record: Recorded) -> bool:
    """Return whether results of 16 bits may be off by a unit in the last place, since functions are approximated."""
    graph = record.kernel.graph
    is_short = all(spec.dtype.name in ("float16", "bfloat16") for spec in record.layout.outputs)
    return is_short and not has_steps(graph) and lower(graph, coarse=True) != lower(graph)


def edges(dtype: DType) -> np.ndarray:
    """Return numbers at the limits of a dtype and some between."""
    kind = np.dtype(dtype.numpy)
    if dtype.is_complex:
        parts = edges(opdsl.float32 if dtype is complex64 else opdsl.float64)
        return np.array([complex(one, other) for one in parts for other in parts], kind)
    if kind.kind == "f":
        limits = np.finfo(kind)
        plain = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 7.25, 600.0, np.inf, -np.inf, np.nan]
        return np.array([*plain, limits.max, limits.min, limits.tiny, limits.smallest_subnormal, 1.5, -0.5], kind)
    if kind.kind in "iu" and dtype.is_floating_point:  # bfloat16, as bits
        return np.array([0, 0x8000, 0x3F80, 0xBF80, 0x4049, 0x7F80, 0xFF80, 0x7FC0, 0x7F7F, 1, 0x0080, 0x4416], kind)
    if kind.kind == "b":
        return np.array([False, True])
    limits = np.iinfo(kind)
    return np.array([limits.min, limits.max, 0, 1, 2, 3, 5, 7, limits.max // 2, limits.max - 1, limits.min + 1], kind)


def on_edges(record: Recorded) -> Recorded:
    """Return a record of the same loop over all combinations of numbers at the limits, with the CPU kernel's
    results.
    """
    columns = np.meshgrid(*(edges(spec.dtype) for spec in record.layout.inputs if spec.strides), indexing="ij")
    # All combinations of three complex operands would be millions.
    flat = iter([np.ascontiguousarray(column.ravel()[:: 1 + column.size // 20_000]) for column in columns])
    inputs = zip(record.layout.inputs, record.values, strict=False)
    values = [value if spec.strides is None else next(flat) for spec, value in inputs]
    count = next(value.size for value in values if isinstance(value, np.ndarray))
    outputs = [np.empty(count, result.dtype) for result in record.results]
    layout = record.layout._replace(sizes=((count,),), allocate=(None,) * len(outputs))
    before = [*values, *copies(outputs)]
    cpu.compile(record.kernel, layout)(*values, *outputs)
    return record._replace(layout=layout, values=tuple(before), results=tuple(outputs))


UNSIGNED = ("mul.Tensor", "add.Tensor", "lt.Tensor", "maximum", "floor_divide", "sqrt", "bitwise_right_shift.Tensor")


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
def test_unsigned_integers_agree_with_the_cpu(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few operators agree with the CPU for unsigned integers, whose loops are those of other integers."""
    chosen = [operator for operator in operators_of("pointwise") if operator.name.removeprefix("aten::") in UNSIGNED]
    assert len(chosen) == len(UNSIGNED)
    records = distinct(recorded(chosen, getattr(opdsl, dtype), ["pointwise"], monkeypatch))
    assert disagreements(records) == []


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_operator_agrees_with_the_cpu(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    records = distinct(recorded(operators_in_turn(dtype), getattr(opdsl, dtype), ["pointwise"], monkeypatch))
    assert records
    assert disagreements(records) == []


def disagreements(records: list[Recorded]) -> list[str]:
    """Return descriptions of the records whose CUDA results differ from the CPU's, on recorded operands and on
    limits.
    """
    runs = [*records, *(on_edges(record) for record in records if is_contiguous(record))]
    emulation.build(run.program for run in runs)
    wrong = []
    for run in runs:
        approximated = is_approximated(run)
        exact = not (approximated or uses_library(run.kernel.graph))
        for variant in range(len(run.program.variants)):
            operands = run.operands
            emulation.run(run.program, operands, variant)
            outputs = operands[len(run.layout.inputs) :]
            relative = 2.0**-7 if approximated else None
            if any(differs(*pair, exact=exact, relative=relative) for pair in zip(outputs, run.results, strict=True)):
                wrong.append(f"{run.operator} {variant}: {outputs} for {run.results} of {run.values}")
    return wrong


def test_a_stretch_of_memory_beyond_32_bits() -> None:
    def twice(x):
        return x + x

    graph = read(twice).specialise({"x": "int8"}, results=["int8"], default_float="float32")
    far = np.zeros((1 << 31) + 4096, np.int8)  # the system allocates only the touched pages
    step = (1 << 30) + 7
    far[::step] = [3, 5, 7]
    spec = OperandSpec(opdsl.int8, (step,))
    program = pointwise(*elements(graph, (3,), (spec,), (OperandSpec(opdsl.int8, (1,)),)))
    result = np.zeros(3, np.int8)
    emulation.run(program, [far, result])
    assert result.tolist() == [6, 10, 14]


@pytest.mark.parametrize(
    ("sizes", "strides", "narrow"),
    [
        ((2,), (4,), True),
        ((1 << 31,), (0,), False),
        (((1 << 31) - 1,), (1,), True),
        ((1 << 20, 2), (1 << 12, 1 << 30), False),
        ((1 << 20, 2), (-(1 << 11), -1), True),
        ((1 << 20, 3), (-(1 << 11), -1025), False),
    ],
)
def test_offsets_of_32_bits(sizes: tuple[int, ...], strides: tuple[int, ...], narrow: bool) -> None:
    assert is_narrow(sizes, [strides]) is narrow


@given(st.integers(1, 1 << 31), st.integers(0, (1 << 32) - 1))
def test_division_by_a_known_number(divisor: int, value: int) -> None:
    _, multiplier, shift = divider(divisor)
    high = value * multiplier >> 32
    assert (high + ((value - high) >> min(shift, 1))) >> max(shift - 1, 0) == value // divisor


@pytest.mark.parametrize("count", [1, 3, 4, 5, 255, 256, 1023, 1025])
def test_tails_of_vectors(count: int) -> None:
    def negative(x):
        return -x

    graph = read(negative).specialise({"x": "float32"}, results=["float32"], default_float="float32")
    values = np.arange(count + 8, dtype=np.float32)
    spec = OperandSpec(opdsl.float32, (4,))
    program = pointwise(*elements(graph, (count,), (spec,), (spec,)))
    result = np.full(count + 8, -1, np.float32)
    emulation.run(program, [values, result], 0)
    assert result.tolist() == [*(-values[:count]), *[-1] * 8]


def test_an_address_that_is_not_even_has_no_vectors() -> None:
    def same(x):
        return x

    graph = read(same).specialise({"x": "float32"}, results=["float32"], default_float="float32")
    spec = OperandSpec(opdsl.float32, (4,))
    program = pointwise(*elements(graph, (8,), (spec,), (spec,)))
    entries = [program.variant(addresses).launches[0].entry for addresses in ((64, 128), (64, 132))]
    assert entries == ["vectors", "strided"]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(40, 33), (64, 100), (5, 70, 45)])
def test_transposed_operands_pass_through_tiles(
    shape: tuple[int, ...], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(["pointwise"])
    with recorder.installed(monkeypatch):
        one = opdsl.arange(math.prod(shape)).remainder(251).view(shape).to(getattr(opdsl, dtype))
        other = opdsl.arange(math.prod(shape)).remainder(241).view((*shape[:-2], shape[-1], shape[-2])).to(one.dtype)
        recorder.records.clear()
        one + other.transpose(-1, -2)
        other.transpose(-1, -2).contiguous()
        one.add_(other.transpose(-1, -2))
    entries = [launch.entry for run in recorder.records for launch in run.program.variants[0].launches]
    assert entries == ["tiled"] * 3
    assert disagreements(recorder.records) == []


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_broadcast_operands_are_read_together(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(["pointwise"])
    with recorder.installed(monkeypatch):
        one = opdsl.arange(6 * 5 * 24).remainder(13).view(6, 5, 24).to(getattr(opdsl, dtype))
        bias, column = one[0, 0].clone(), one[:, :, :1].clone()
        recorder.records.clear()
        for call in (lambda: one + bias, lambda: one * column, lambda: one[:, 1:] - bias, lambda: one[:, :, 4:] + 1):
            call()
    entries = [launch.entry for run in recorder.records for launch in run.program.variants[0].launches]
    assert entries == ["together"] * 4
    assert disagreements(recorder.records) == []
