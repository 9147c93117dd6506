"""Tests of schedules of reductions, against NumPy: lanes, blocks of iterations, order, indices, chunks."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdsl.errors import KernelError
from opdsl.kernels.calls import Folding, OperandSpec
from opdsl.kernels.loops.checking import check_program
from opdsl.kernels.loops.distribution import Folds, across, along
from opdsl.kernels.loops.interpreter import interpret
from opdsl.kernels.loops.lowering import lowered
from opdsl.kernels.loops.making import Loops, evaluated, identity, pairwise
from opdsl.kernels.loops.model import Array, Bound, For, Length, Part, Parts, Program, Store
from opdsl.kernels.loops.schedules import chunked
from opdsl.kernels.loops.text import program_text
from opdsl.runtime.dtype import int64
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.types import ScalarType
from tests.unit.kernels.computations import folded

INT64 = ScalarType.INT64


def without_count(count: int) -> TypedGraph:
    """Return a graph that maps accumulators and the number of elements to the accumulators."""
    builder = GraphBuilder()
    parameters = [builder.parameter(f"a{k}", INT64) for k in range(count + 1)]
    return builder.finish("finish", parameters[:count])


def composed() -> TypedGraph:
    """Return a graph that composes two maps ``x -> scale * x + shift``: associative, and not commutative."""
    builder = GraphBuilder()
    scale, shift, times, more = (builder.parameter(name, INT64) for name in ("scale", "shift", "times", "more"))
    moved = builder.node("multiply", (times, shift), INT64)
    both = builder.node("multiply", (scale, times), INT64)
    return builder.finish("composed", [both, builder.node("add", (moved, more), INT64)])


SUM = Folding((0,), identity((INT64,)), pairwise(("add",), (INT64,)), without_count(1))
MAPS = Folding((1, 0), identity((INT64, INT64)), composed(), without_count(2), in_order=True)
# Sums of elements and of their indices, which differ if an element is counted twice or at another index.
PLACED = Folding((0, 0), identity((INT64, INT64)), pairwise(("add", "add"), (INT64, INT64)), without_count(2), True)

KEPT = st.integers(1, 7)
SIZES = st.lists(st.integers(0, 40), min_size=1, max_size=2)
FOLDS = st.builds(
    Folds,
    st.sampled_from([(), (2,), (3, 2)]),
    st.sampled_from([(1,), (4, 1), (8, 2, 1), (4, 2, 1)]),
    st.sampled_from([(), (3,)]),
    st.booleans(),
)


def loops_of(fold: Folding, kept: int, sizes: Sequence[int], sources: int, results: int) -> Loops:
    steps = [int(np.prod(sizes[k + 1 :], dtype=int)) * 8 for k in range(len(sizes))]
    source = OperandSpec(int64, (int(np.prod(sizes, dtype=int)) * 8, *steps))
    outputs = (OperandSpec(int64, (8,)),) * results
    return lowered(*folded(fold, (kept,), tuple(sizes), (source,) * sources, outputs))


def elements(kept: int, sizes: Sequence[int], seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(-9, 9, (kept, *sizes))


def ran(program: Program, loops: Loops, arrays: Sequence[Any]) -> None:
    check_program(program)
    interpret(program, [array.reshape(-1) if array.size else np.zeros(1, int) for array in arrays], loops.words)


@given(kept=KEPT, sizes=SIZES, lanes=st.integers(1, 5), folds=FOLDS)
def test_tiles_of_kept_elements_give_their_sums(kept: int, sizes: list[int], lanes: int, folds: Folds) -> None:
    loops, source, sums = loops_of(SUM, kept, sizes, 1, 1), elements(kept, sizes), np.zeros(kept, int)
    ran(across(loops.program, lanes, folds), loops, [source, sums])
    np.testing.assert_array_equal(sums, source.reshape(kept, -1).sum(1))


@given(kept=KEPT, sizes=SIZES, lanes=st.sampled_from([1, 2, 4, 8]), folds=FOLDS)
def test_lanes_that_share_elements_give_their_sums(kept: int, sizes: list[int], lanes: int, folds: Folds) -> None:
    loops, source, sums = loops_of(SUM, kept, sizes, 1, 1), elements(kept, sizes), np.zeros(kept, int)
    ran(along(loops.program, lanes, folds), loops, [source, sums])
    np.testing.assert_array_equal(sums, source.reshape(kept, -1).sum(1))


@pytest.mark.parametrize("schedule", [across, along])
@given(kept=KEPT, sizes=SIZES, folds=FOLDS)
def test_lanes_know_where_their_elements_are(schedule: Any, kept: int, sizes: list[int], folds: Folds) -> None:
    loops, source = loops_of(PLACED, kept, sizes, 1, 2), elements(kept, sizes)
    result = np.zeros((2, kept), int)
    ran(schedule(loops.program, 4, folds), loops, [source, *result])
    count = int(np.prod(sizes, dtype=int))
    np.testing.assert_array_equal(result, [source.reshape(kept, -1).sum(1), [count * (count - 1) // 2] * kept])


@pytest.mark.parametrize("schedule", [across, along])
@given(size=st.integers(0, 40), folds=FOLDS.filter(lambda folds: folds.gathers))
def test_elements_that_lie_apart_are_brought_together(schedule: Any, size: int, folds: Folds) -> None:
    strides = (size * 8, 8) if schedule is across else (8, 3 * 8)
    source, outputs = OperandSpec(int64, strides), (OperandSpec(int64, (8,)),) * 2
    loops = lowered(*folded(PLACED, (3,), (size,), (source,), outputs))
    program, sums = schedule(loops.program, 4, folds), np.zeros((2, 3), int)
    assert size < 2 or "r0_near_1[0, lane] = r0" in program_text(program)
    rows = elements(3, [size])
    ran(program, loops, [rows if schedule is across else rows.T.copy(), *sums])
    np.testing.assert_array_equal(sums, [rows.sum(1), [size * (size - 1) // 2] * 3])


def maps_of(scales: Any, shifts: Any) -> list[tuple[int, int]]:
    def both(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
        return one[0] * other[0], other[0] * one[1] + other[1]

    return [
        functools.reduce(both, zip(*(row.reshape(-1).tolist() for row in rows), strict=True), (1, 0))
        for rows in zip(scales, shifts, strict=True)
    ]


@given(kept=KEPT, sizes=SIZES, lanes=st.integers(1, 5), folds=FOLDS)
def test_tiles_of_kept_elements_fold_in_order(kept: int, sizes: list[int], lanes: int, folds: Folds) -> None:
    scales, shifts = np.sign(elements(kept, sizes)), elements(kept, sizes, 1)
    loops, composition = loops_of(MAPS, kept, sizes, 2, 2), np.zeros((2, kept), int)
    ran(across(loops.program, lanes, folds), loops, [scales, shifts, *composition])
    np.testing.assert_array_equal(composition.T, maps_of(scales, shifts))


@given(kept=KEPT, lanes=st.sampled_from([1, 2, 4]), more=st.integers(0, 40), folds=FOLDS)
def test_lanes_in_order_take_a_part_each(kept: int, lanes: int, more: int, folds: Folds) -> None:
    size = lanes**2 + more
    scales, shifts = np.sign(elements(kept, [size])), elements(kept, [size], 1)
    loops, composition = loops_of(MAPS, kept, [size], 2, 2), np.zeros((2, kept), int)
    ran(along(loops.program, lanes, folds), loops, [scales, shifts, *composition])
    np.testing.assert_array_equal(composition.T, maps_of(scales, shifts))


@pytest.mark.parametrize("schedule", [across, along])
@given(sizes=SIZES, length=st.integers(1, 20), folds=FOLDS, data=st.data())
def test_chunks_are_parts_of_a_range(schedule: Any, sizes: list[int], length: int, folds: Folds, data: Any) -> None:
    at = data.draw(st.integers(0, len(sizes) - 1))
    loops, source = chunked(loops_of(PLACED, 3, sizes, 1, 2), at, length), elements(3, sizes)
    program, sums = schedule(loops.program, 4, folds), np.zeros((2, 3), int)
    check_program(program)
    places = np.broadcast_to(np.arange(int(np.prod(sizes, dtype=int))).reshape(sizes), (3, *sizes))
    for chunk in range(-(-sizes[at] // length)):
        words = [chunk if not isinstance(word, int) else word for word in loops.words]
        interpret(program, [source.reshape(-1) if source.size else np.zeros(1, int), *sums], words)
        part = [slice(None)] * (at + 1) + [slice(chunk * length, (chunk + 1) * length)]
        expected = [operand[tuple(part)].reshape(3, -1).sum(1) for operand in (source, places)]
        np.testing.assert_array_equal(sums, expected)


# ---------------------------------------------------------------------------------------------------------- the nodes


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (Parts("n", 4), 3),
        (Parts("n", 4, are_whole=True), 2),
        (Parts(Parts("n", 4), 2, are_whole=True), 1),
        (Length("n", 1, 4), 4),
        (Length("n", 2, 4), 2),
    ],
)
def test_sizes_are_computed_of_words(size: Any, expected: int) -> None:
    assert evaluated(size, {"n": 10}.__getitem__) == expected


def test_a_place_may_be_counted_from_a_part() -> None:
    out = Array("out", int64, ("n",), (1,))
    place = Bound("there", "i", "n", "trusted", Part(2, 3))
    program = Program("tried", (out,), ("n",), (For("i", 3, (place, Store("out", ("there",), "i"))),))
    check_program(program)
    result = np.full(9, -1)
    interpret(program, [result], [9])
    np.testing.assert_array_equal(result, [-1] * 6 + [0, 1, 2])


def test_a_place_of_a_larger_range_is_refused() -> None:
    out = Array("out", int64, (4,), (1,))
    with pytest.raises(KernelError, match="the place i of out"):
        check_program(Program("tried", (out,), (), (For("i", 5, (Store("out", ("i",), "i"),)),)))


def test_a_schedule_is_readable() -> None:
    program = along(loops_of(SUM, 6, [50], 1, 1).program, 4, Folds((), (2, 1)))
    assert program_text(program).split("\n\n")[0] == SUM_OF_LANES


SUM_OF_LANES = """\
kernel combine(a0: int64[i0_n, j0_n | a0_s0, 1], out0: int64[i0_n | 1]; i0_n, j0_n, a0_s0):
    for i0 < i0_n:
        local acc0_lanes: int64[4 | 1]
        for lane < 4:
            acc0_lanes_first = numbers_0()
            acc0_lanes[lane] = acc0_lanes_first
        for j0_step_by_2 < ((j0_n / 4) / 2) in order:
            for lane < 4:
                acc0_step = fold j0_step_turn < 2 of combine_1 from (0,):
                    j0_step = trusted(j0_step_turn in part j0_step_by_2 of 2 each, (j0_n / 4))
                    j0 = trusted(lane in part j0_step of 4 each, j0_n)
                    r0: int64 = a0[i0, j0]
                    -> r0
                acc0_lanes_before: int64 = acc0_lanes[lane]
                acc0_made = combine_1(acc0_lanes_before, acc0_step)
                acc0_lanes[lane] = acc0_made
        for j0_step < (j0_n / 4) in order in part ((j0_n / 4) / 2) of 2 each:
            for lane < 4:
                j0 = trusted(lane in part j0_step of 4 each, j0_n)
                r0: int64 = a0[i0, j0]
                acc0_lanes_before: int64 = acc0_lanes[lane]
                acc0_made = combine_1(acc0_lanes_before, r0)
                acc0_lanes[lane] = acc0_made
        for j0 < j0_n in part (j0_n / 4) of 4 each at lane:
            r0: int64 = a0[i0, j0]
            acc0_lanes_before: int64 = acc0_lanes[lane]
            acc0_made = combine_1(acc0_lanes_before, r0)
            acc0_lanes[lane] = acc0_made
        acc0 = fold lane < 4 of combine_1 from (0,):
            acc0_lane: int64 = acc0_lanes[lane]
            -> acc0_lane
        out0[i0] = acc0"""
