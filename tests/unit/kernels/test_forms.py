"""Tests that loops built for a form equal those built for each call, for any sizes and strides."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opdsl.kernels.calls import Folding, IndirectCall, OperandSpec, PointwiseCall, ReductionCall, RowCall
from opdsl.kernels.loops import elementwise, folding, rows
from opdsl.kernels.loops.forms import by_form
from opdsl.kernels.loops.making import identity, pairwise
from opdsl.runtime.dtype import float32, float64, int64
from opdsl.scalar import read
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.intrinsics import row_max
from opdsl.scalar.types import ScalarType
from tests.unit.backends.test_opencl_texts import ADD

FLOAT64, INT64 = ScalarType.FLOAT64, ScalarType.INT64
CENTRED = read(lambda x: x - row_max(x), rows=True).specialise({"x": "float32"}, results=["float32"])
SIZES = st.tuples(st.integers(0, 3), st.integers(1, 3))
STEPS = st.sampled_from((-8, 0, 4, 8, 40))


def found() -> Folding:
    """Return a fold that receives the indices of elements."""
    builder = GraphBuilder()
    element, _ = builder.parameter("element", FLOAT64), builder.parameter("index", INT64)
    lift = builder.finish("lift", [element])
    builder = GraphBuilder()
    best, _ = builder.parameter("best", FLOAT64), builder.parameter("count", INT64)
    return Folding((0.0,), lift, pairwise(("maximum",), (FLOAT64,)), builder.finish("best", [best]), with_index=True)


FOUND = found()
POINTWISE, INDIRECT = by_form(elementwise.pointwise), by_form(elementwise.indirect)
REDUCTION, ROW = by_form(folding.reduction), by_form(rows.row)


@st.composite
def specs(draw: Any, dtype: Any, count: int = 2) -> OperandSpec:
    """Draw the memory layout of an operand."""
    return OperandSpec(dtype, tuple(draw(STEPS) // 4 * dtype.itemsize for _ in range(count)))


@settings(max_examples=200)
@given(SIZES, specs(float32), specs(float32), specs(float32))
def test_pointwise_loops(sizes: tuple[int, ...], one: OperandSpec, other: OperandSpec, out: OperandSpec) -> None:
    for second in (other, OperandSpec(float32, None)):
        call = PointwiseCall(sizes, (one, second), (out,), (None,))
        assert POINTWISE(ADD, call) == elementwise.pointwise(ADD, call)


@settings(max_examples=100)
@given(SIZES, specs(float32), specs(float32), specs(int64), st.booleans())
def test_loops_with_positions(
    sizes: tuple[int, ...], one: OperandSpec, out: OperandSpec, places: OperandSpec, writes: bool
) -> None:
    for reads in (0, 1, None):
        call = IndirectCall(sizes, (one, out), out, (places,), reads, writes)
        assert INDIRECT(ADD, call) == elementwise.indirect(ADD, call)


@settings(max_examples=100)
@given(SIZES, SIZES, specs(float64, 4), specs(float64))
def test_reductions(kept: tuple[int, ...], reduced: tuple[int, ...], source: OperandSpec, out: OperandSpec) -> None:
    call = ReductionCall(kept, reduced, (source,), (out,), (None,))
    assert REDUCTION(FOUND, call) == folding.reduction(FOUND, call)


@settings(max_examples=100)
@given(SIZES, specs(float32), specs(float32), st.booleans())
def test_rows(sizes: tuple[int, int], source: OperandSpec, out: OperandSpec, keep: bool) -> None:
    call = RowCall(sizes[:1], sizes[1], (source,), (out,), (None,))
    assert ROW(CENTRED, call, keep=keep) == rows.row(CENTRED, call, keep=keep)


def test_calls_of_a_form_have_one_program() -> None:
    spec = [OperandSpec(float32, (4 * n, 4)) for n in (5, 6)]
    one, other = (POINTWISE(ADD, PointwiseCall((9, 3), (operand, operand), (operand,), (None,))) for operand in spec)
    assert one.program is other.program
    assert one.words != other.words


@pytest.mark.parametrize("chosen", [lambda n: 5 if n > 3 else n, lambda n: n % 2 or 7, lambda n: -n // 2])
def test_guards_on_numbers_are_checked_for_each_call(chosen: Any) -> None:
    def make(what: object, call: PointwiseCall) -> Any:
        return elementwise.pointwise(identity((FLOAT64,)), call._replace(sizes=(chosen(call.sizes[0]),)))

    output = by_form(make)
    spec = OperandSpec(float64, (8,))
    for n in (1, 9, 2, 4, 3, 8, 6):
        call = PointwiseCall((n,), (spec,), (spec,), (None,))
        assert output(None, call) == make(None, call)
