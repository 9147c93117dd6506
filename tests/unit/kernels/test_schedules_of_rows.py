"""Tests of schedules of rows and scans, against NumPy: tiles and parts of rows, kept values, prefetches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from opdsl.errors import KernelError
from opdsl.kernels.calls import OperandSpec, Recurring, Scanning
from opdsl.kernels.loops.checking import check_program
from opdsl.kernels.loops.distribution import Folds, across
from opdsl.kernels.loops.interpreter import interpret
from opdsl.kernels.loops.invariants import with_invariants_first
from opdsl.kernels.loops.lowering import lowered
from opdsl.kernels.loops.making import Loops, identity, pairwise
from opdsl.kernels.loops.model import Array, Compute, Fetch, For, Load, Local, Part, Parts, Program, Store, Update
from opdsl.kernels.loops.row_schedules import PART_LENGTH, fetching, scans_in_parts
from opdsl.kernels.loops.schedules import ordered, staged, threaded, vectorised
from opdsl.kernels.loops.text import program_text
from opdsl.runtime.dtype import float32, float64, int64
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.types import ScalarType
from tests.unit.kernels.computations import Specs, elements, gathered, recurring, rows, scanned

FLOAT64, INT64 = ScalarType.FLOAT64, ScalarType.INT64


def softmax() -> TypedGraph:
    builder = GraphBuilder()
    x = builder.parameter("x", FLOAT64)
    shifted = builder.node("subtract", (x, builder.node("row_max", (x,), FLOAT64)), FLOAT64)
    raised = builder.node("exp", (shifted,), FLOAT64)
    return builder.finish(
        "softmax", [builder.node("divide", (raised, builder.node("row_sum", (raised,), FLOAT64)), FLOAT64)]
    )


def lying(count: int, length: int) -> tuple[tuple[int], int, Specs, Specs]:
    """Return the sizes and operands of rows that are two elements apart."""
    spec = OperandSpec(float64, (length * 8 + 16, 8))
    return (count,), length, (spec,), (spec,)


def ran(program: Program, loops: Loops, arrays: Sequence[Any], *more: int) -> None:
    check_program(program)
    words = [word for word in loops.words if isinstance(word, int)]
    interpret(program, arrays, [*words, *more])


def room(count: int, length: int) -> Any:
    """Return memory of rows that are two elements apart."""
    return np.random.default_rng(count * 100 + length).standard_normal((count, length + 2))


SIZES = {
    "count": st.integers(1, 9),
    "length": st.integers(1, 40),
    "lanes": st.integers(1, 5),
    "block": st.integers(1, 9),
}


@given(**SIZES, keep=st.booleans())
def test_rows_in_tiles_give_what_rows_give(count: int, length: int, lanes: int, block: int, keep: bool) -> None:
    loops = lowered(*rows(softmax(), *lying(count, length)), keep=keep)
    source, target = room(count, length), np.zeros((count, length + 2))
    ran(across(loops.program, lanes, Folds((block,))), loops, [source, target])
    raised = np.exp(source[:, :length] - source[:, :length].max(1, keepdims=True))
    np.testing.assert_allclose(target[:, :length], raised / raised.sum(1, keepdims=True), rtol=1e-12)
    assert not target[:, length:].any()


@pytest.mark.parametrize("keep", [False, True])
def test_what_a_stage_keeps_is_not_computed_again(keep: bool) -> None:
    program = lowered(*rows(softmax(), *lying(3, 4)), keep=keep).program
    assert program_text(program).count(": float64 = exp(") == (1 if keep else 2)
    source, target = room(3, 4), np.zeros((3, 6))
    ran(program, lowered(*rows(softmax(), *lying(3, 4)), keep=keep), [source, target])
    raised = np.exp(source[:, :4] - source[:, :4].max(1, keepdims=True))
    np.testing.assert_allclose(target[:, :4], raised / raised.sum(1, keepdims=True), rtol=1e-12)


def normalised() -> TypedGraph:
    """Return the graph of a row divided by the square root of its sum of squares."""
    builder = GraphBuilder()
    x = builder.parameter("x", ScalarType.FLOAT32)
    square = builder.node("multiply", (x, x), ScalarType.FLOAT32)
    total = builder.node("row_sum", (square,), ScalarType.FLOAT32)
    root = builder.node("sqrt", (total,), ScalarType.FLOAT32)
    return builder.finish("normalised", [builder.node("divide", (x, root), ScalarType.FLOAT32)])


@pytest.mark.parametrize("reciprocals", [False, True])
def test_what_a_loop_does_not_change_is_computed_before_it(reciprocals: bool) -> None:
    specs = (OperandSpec(float32, (24, 4)),)
    loops = lowered(*rows(normalised(), (3,), 4, specs, specs))
    program = with_invariants_first(threaded(loops.program, 1), reciprocals=reciprocals)
    _, (*_, early, loop) = program.points
    assert isinstance(early, Compute) and isinstance(loop, For)
    assert [node.op for node in early.graph.nodes].count("sqrt") == 1
    inner = [node.op for compute in loop.body if isinstance(compute, Compute) for node in compute.graph.nodes]
    assert inner.count("divide") == (0 if reciprocals else 1) and "sqrt" not in inner
    source = np.random.default_rng(0).standard_normal((3, 6)).astype(np.float32)
    source[0] *= 1e-30  # the sum of squares is denormal
    source[1, 0] = np.inf
    target = np.zeros((3, 6), np.float32)
    ran(program, loops, [source, target])
    with np.errstate(all="ignore"):
        expected = source[:, :4] / np.sqrt((source[:, :4] ** 2).sum(1, keepdims=True))
    np.testing.assert_allclose(target[:, :4], expected, rtol=3e-7)


@pytest.mark.parametrize("divisor", [1e-38, 3e-40, 1e-20, 1.0, 1e20, 3e38, np.inf, 0.0, np.nan])
def test_products_with_reciprocals_overflow_where_quotients_do(divisor: float) -> None:
    builder = GraphBuilder()
    x, total = (builder.parameter(name, ScalarType.FLOAT32) for name in ("x", "total"))
    graph = builder.finish("quotient", [builder.node("divide", (x, total), ScalarType.FLOAT32)])
    compute = Compute(("y",), graph, ("x", "sum"))
    load = Load("x", "a", ("i",), ScalarType.FLOAT32)
    body = (Load("sum", "s", (0,), ScalarType.FLOAT32), For("i", "n", (load, compute, Store("out", ("i",), "y"))))
    arrays = (Array("a", float32, ("n",), (1,)), Array("s", float32, (1,), (1,)), Array("out", float32, ("n",), (1,)))
    program = with_invariants_first(Program("p", arrays, ("n",), body), reciprocals=True)
    values = np.array([0.0, 1e-45, 1e-38, 1e-20, 0.5, -3.0, 1e20, 3e38, np.inf, np.nan], np.float32)
    results = np.zeros_like(values)
    with np.errstate(all="ignore"):
        interpret(program, [values, np.array([divisor], np.float32), results], [len(values)])
        expected = values / np.float32(divisor)
    np.testing.assert_allclose(results, expected, rtol=4e-7, atol=2e-45)


def scanning(op: str, neutral: float) -> Scanning:
    same = identity((FLOAT64,))
    return Scanning((neutral,), same, pairwise((op,), (FLOAT64,)), same)


SCANS: dict[str, tuple[float, Callable[..., Any]]] = {
    "maximum": (-math.inf, np.maximum.accumulate),
    "add": (0.0, np.cumsum),
}


@pytest.mark.parametrize("op", SCANS)
@given(**SIZES)
def test_scans_in_tiles_give_what_scans_give(op: str, count: int, length: int, lanes: int, block: int) -> None:
    loops = lowered(*scanned(scanning(op, SCANS[op][0]), *lying(count, length)))
    source, target = room(count, length), np.zeros((count, length + 2))
    ran(across(loops.program, lanes, Folds((block,))), loops, [source, target])
    np.testing.assert_allclose(target[:, :length], SCANS[op][1](source[:, :length], axis=1), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("op", SCANS)
@given(count=st.integers(1, 4), parts=st.integers(1, 5), part=st.integers(1, 9), rest=st.integers(0, 9))
@example(count=2, parts=3, part=4, rest=0)
@example(count=1, parts=8, part=3, rest=3)
def test_scans_in_parts_give_what_scans_give(op: str, count: int, parts: int, part: int, rest: int) -> None:
    length = parts * part + min(rest, part)
    loops = lowered(*scanned(scanning(op, SCANS[op][0]), *lying(count, length)))
    source, target = room(count, length), np.zeros((count, length + 2))
    ran(scans_in_parts(loops.program, parts), loops, [source, target], part)
    np.testing.assert_allclose(target[:, :length], SCANS[op][1](source[:, :length], axis=1), rtol=1e-12, atol=1e-12)


def test_the_word_of_parts_is_the_last() -> None:
    program = lowered(*scanned(scanning("add", 0.0), *lying(2, 9))).program
    assert scans_in_parts(program, 3).words == (*program.words, PART_LENGTH)


@pytest.mark.parametrize("is_reverse", [False, True])
@given(**SIZES)
def test_recurrences_in_tiles_go_their_way(is_reverse: bool, count: int, length: int, lanes: int, block: int) -> None:
    builder = GraphBuilder()
    carried, x = builder.parameter("carried", FLOAT64), builder.parameter("x", FLOAT64)
    half = builder.node("multiply", (carried, builder.constant(0.5, FLOAT64)), FLOAT64)
    output = builder.node("add", (half, x), FLOAT64)
    decay = Recurring((1.0,), builder.finish("decay", [output, output]), is_reverse)
    loops = lowered(*recurring(decay, *lying(count, length)))
    source, target = room(count, length), np.zeros((count, length + 2))
    ran(across(loops.program, lanes, Folds((block,))), loops, [source, target])
    for row, result in zip(source, target, strict=True):
        state = 1.0
        for turn in reversed(range(length)) if is_reverse else range(length):
            state = state * 0.5 + row[turn]
            assert result[turn] == state


def test_only_neighbours_are_fetched_ahead() -> None:
    near = lying(3, 4)
    far = (*near[:2], (OperandSpec(float64, (8, 24)),), near[3])
    fetched = []
    for layout in (near, far):
        program = fetching(lowered(*rows(softmax(), *layout)).program)
        check_program(program)
        (loop,) = program.body
        assert isinstance(loop, For)
        fetched.append([statement.array for statement in loop.body if isinstance(statement, Fetch)])
    assert fetched == [["a0"], []]


def test_what_is_fetched_changes_nothing() -> None:
    loops = lowered(*rows(softmax(), *lying(3, 4)))
    outputs = [np.zeros((3, 6)), np.zeros((3, 6))]
    for program, out in zip((loops.program, fetching(loops.program)), outputs, strict=True):
        ran(program, loops, [room(3, 4), out])
    np.testing.assert_array_equal(*outputs)


@given(size=st.integers(1, 40), stretch=st.integers(1, 9), gap=st.integers(2, 4))
def test_staged_strided_elements_are_written_back(size: int, stretch: int, gap: int) -> None:
    builder = GraphBuilder()
    x, y = builder.parameter("x", FLOAT64), builder.parameter("y", FLOAT64)
    graph = builder.finish("difference", [builder.node("subtract", (x, y), FLOAT64)])
    near, far = OperandSpec(float64, (8,)), OperandSpec(float64, (8 * gap,))
    loops = lowered(*elements(graph, (size,), (far, near), (far,)))
    program = staged(loops.program, ("a0", "out0"), stretch)
    one, other = np.random.default_rng(size).standard_normal((2, size * gap))
    result = np.zeros(size * gap)
    ran(program, loops, [one, other, result])
    np.testing.assert_array_equal(result[::gap], one[::gap] - other[:size])
    assert np.count_nonzero(result) == np.count_nonzero(result[::gap])


def test_updates_of_one_place_in_order_take_all_turns() -> None:
    there, operand_spec = OperandSpec(int64, (0,)), OperandSpec(int64, (8,))
    total = pairwise(("add",), (INT64,))
    loops = lowered(*gathered(total, (5,), (there, operand_spec), there, (operand_spec,), 0, writes=True))
    program = ordered(loops.program)
    check_program(program)
    places, counts = np.array([0, 2, 0, -1, 2]), np.zeros(3, np.int64)
    words = {"i0_n": 5, "step0": 1, "size0": 3}
    interpret(program, [counts, np.arange(1, 6), places, counts], [words.get(word, 0) for word in program.words])
    np.testing.assert_array_equal(counts, [4, 0, 11])


# ---------------------------------------------------------------------------------------------------------- the nodes

OUT = Array("out", int64, ("n",), (1,))


def interpreted(*body: Any, n: int) -> Any:
    program = Program("tried", (OUT,), ("n",), body)
    check_program(program)
    result = np.full(n, -1)
    interpret(program, [result], [n])
    return result


@pytest.mark.parametrize("n", [0, 1, 4, 5])
def test_parts_of_a_loop_cover_it(n: int) -> None:
    inner = For("i", "n", (Store("out", ("i",), "place"),), part=Part("part", 2), place="place")
    np.testing.assert_array_equal(interpreted(For("part", Parts("n", 2), (inner,)), n=n), np.arange(n) % 2)


@pytest.mark.parametrize("is_reverse", [False, True])
def test_turns_in_order_see_what_was_written_before(is_reverse: bool) -> None:
    one = pairwise(("add",), (INT64,))
    memory = Local(Array("seen", int64, (1,), (1,)))
    body = (Load("here", "seen", (0,), INT64), Store("out", ("i",), "here"), Update("seen", (0,), one, (None, "n")))
    result = interpreted(memory, For("i", "n", body, in_order=True, is_reverse=is_reverse), n=3)
    np.testing.assert_array_equal(result, [6, 3, 0] if is_reverse else [0, 3, 6])


def test_each_point_has_its_own_memory() -> None:
    memory = Local(Array("own", int64, (1,), (1,)))
    body = (memory, Store("own", (0,), "i"), Load("mine", "own", (0,), INT64), Store("out", ("i",), "mine"))
    np.testing.assert_array_equal(interpreted(For("i", "n", body), n=4), np.arange(4))


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ((For("i", "n", (Store("out", ("i",), "at"),), place="at"),), "at is a place within a part"),
        ((For("i", "n", (Store("out", ("i",), "i"),), part=Part("k", 2)),), "k is a whole number"),
        ((For("i", Parts("k", 2), ()),), "k is a word"),
        ((Fetch("out", ("i",), "i", ("j", "n")),), "the place i of out"),
    ],
)
def test_a_program_that_breaks_a_rule_is_refused(body: tuple[Any, ...], rule: str) -> None:
    with pytest.raises(KernelError, match=rule):
        check_program(Program("tried", (OUT,), ("n",), body))


def test_a_schedule_is_readable() -> None:
    loops = lowered(*scanned(scanning("add", 0.0), *lying(6, 5)))
    assert program_text(across(loops.program, 4, Folds())).split("\n\n")[0] == SCAN_IN_TILES


SCAN_IN_TILES = """\
kernel combine(a0: float64[i0_n, j_n | a0_s0, 1], out0: float64[i0_n, j_n | out0_s0, 1]; i0_n, j_n, a0_s0, out0_s0):
    for tile < ((i0_n + 4 - 1) / 4):
        local part0_lanes: float64[4 | 1]
        for i0 < i0_n in part tile of 4 each at lane:
            part0_lanes_first = numbers_0()
            part0_lanes[lane] = part0_lanes_first
        for j < j_n in order:
            for i0 < i0_n in part tile of 4 each at lane:
                r0: float64 = a0[i0, j]
                part0_lanes_before: float64 = part0_lanes[lane]
                part0 = combine_1(part0_lanes_before, r0)
                part0_lanes[lane] = part0
                out0[i0, j] = part0"""


def test_neighbours_of_a_schedule_are_an_annotation() -> None:
    program = lowered(*scanned(scanning("add", 0.0), *lying(6, 5))).program
    assert "for i0 < i0_n by 4:" in program_text(vectorised(program, 4))
