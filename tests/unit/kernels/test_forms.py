"""Tests that loops built for a form equal those built for each call, for any sizes and strides."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opdsl.kernels.calls import Folding, Layout, OperandSpec, Recurring, Scanning
from opdsl.kernels.kernel import Kernel
from opdsl.kernels.loops.forms import by_form
from opdsl.kernels.loops.lowering import loops_of, lowered
from opdsl.kernels.loops.making import identity, pairwise
from opdsl.runtime.dtype import float32, float64, int64
from opdsl.scalar import read
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.intrinsics import row_max
from opdsl.scalar.types import ScalarType
from tests.unit.backends.test_opencl_texts import ADD, SAME
from tests.unit.kernels.computations import elements, folded, gathered, recurring, rows, scanned

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


@st.composite
def specs(draw: Any, dtype: Any, count: int = 2) -> OperandSpec:
    """Draw the memory layout of an operand."""
    return OperandSpec(dtype, tuple(draw(STEPS) // 4 * dtype.itemsize for _ in range(count)))


@settings(max_examples=200)
@given(SIZES, specs(float32), specs(float32), specs(float32))
def test_pointwise_loops(sizes: tuple[int, ...], one: OperandSpec, other: OperandSpec, out: OperandSpec) -> None:
    for second in (other, OperandSpec(float32, None)):
        computation = elements(ADD, sizes, (one, second), (out,))
        assert loops_of(*computation) == lowered(*computation)


@settings(max_examples=100)
@given(SIZES, specs(float32), specs(float32), specs(int64), st.booleans())
def test_loops_with_positions(
    sizes: tuple[int, ...], one: OperandSpec, out: OperandSpec, places: OperandSpec, writes: bool
) -> None:
    for reads in (0, 1, None):
        computation = gathered(ADD, sizes, (one, out), out, (places,), reads, writes=writes)
        assert loops_of(*computation) == lowered(*computation)


@settings(max_examples=100)
@given(SIZES, SIZES, specs(float64, 4), specs(float64))
def test_reductions(kept: tuple[int, ...], reduced: tuple[int, ...], source: OperandSpec, out: OperandSpec) -> None:
    computation = folded(FOUND, kept, reduced, (source,), (out,))
    assert loops_of(*computation) == lowered(*computation)


@settings(max_examples=100)
@given(SIZES, specs(float32), specs(float32), st.booleans())
def test_rows(sizes: tuple[int, int], source: OperandSpec, out: OperandSpec, keep: bool) -> None:
    computation = rows(CENTRED, sizes[:1], sizes[1], (source,), (out,))
    assert loops_of(*computation, keep=keep) == lowered(*computation, keep=keep)


def test_calls_of_a_form_have_one_program() -> None:
    spec = [OperandSpec(float32, (4 * n, 4)) for n in (5, 6)]
    loops = by_form(lowered)
    one, other = (loops(*elements(ADD, (9, 3), (operand, operand), (operand,))) for operand in spec)
    assert one.program is other.program
    assert one.words != other.words


@pytest.mark.parametrize("chosen", [lambda n: 5 if n > 3 else n, lambda n: n % 2 or 7, lambda n: -n // 2])
def test_guards_on_numbers_are_checked_for_each_call(chosen: Any) -> None:
    def make(kernel: Kernel, layout: Layout) -> Any:
        return lowered(kernel, layout._replace(sizes=((chosen(layout.sizes[0][0]),),)))

    form = by_form(make)
    spec = OperandSpec(float64, (8,))
    for n in (1, 9, 2, 4, 3, 8, 6):
        computation = elements(identity((FLOAT64,)), (n,), (spec,), (spec,))
        assert form(*computation) == make(*computation)


def test_options_of_equal_values_are_told_apart() -> None:
    spec = OperandSpec(float64, (8,))
    computation = elements(identity((FLOAT64,)), (3,), (spec,), (spec,))
    calls: list[dict[str, bool]] = []

    def make(kernel: Kernel, layout: Layout, **options: bool) -> Any:
        calls.append(options)
        return lowered(kernel, layout)

    form = by_form(make)
    form(*computation, keep=True)
    form(*computation, trusted=True)
    assert {"trusted": True} in calls


def test_kernels_are_named_after_their_own_functions() -> None:
    spec = OperandSpec(float32, (4,))
    named = [TypedGraph(name, ADD.nodes, ADD.results) for name in ("first_name", "second_name")]
    for make in (
        lambda graph: elements(graph, (3,), (spec, spec), (spec,)),
        lambda graph: gathered(graph, (3,), (spec, spec), spec, (OperandSpec(int64, (8,)),), 0, writes=False),
        lambda graph: scanned(Scanning((0.0,), SAME, graph, SAME), (), 3, (spec,), (spec,)),
        lambda graph: recurring(
            Recurring((0.0,), TypedGraph(graph.name, graph.nodes, graph.results * 2), False), (), 3, (spec,), (spec,)
        ),
    ):
        kernels = [make(graph)[0] for graph in named]
        assert kernels[0] == kernels[1]
        assert [kernel.name for kernel in kernels] == ["first_name", "second_name"]
