"""Tests of the loop IR: its interpreter against loops in Python, its rules, and the loops of operators against
the CPU.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opdsl
from opdsl.errors import KernelError
from opdsl.kernels.calls import Folding, OperandSpec, Scanning
from opdsl.kernels.loops.checking import check_program
from opdsl.kernels.loops.interpreter import interpret
from opdsl.kernels.loops.invariants import with_invariants_first
from opdsl.kernels.loops.lowering import lowered
from opdsl.kernels.loops.making import around, identity, pairwise
from opdsl.kernels.loops.model import Array, Bound, Compute, Fold, For, Inside, Load, Program, Store, Update, When
from opdsl.kernels.loops.schedules import in_parts, serial, shared, vectorised
from opdsl.kernels.loops.text import program_text
from opdsl.runtime import Device
from opdsl.runtime.dtype import float64, int64
from opdsl.scalar import read
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.intrinsics import row_max, row_sum
from tests.unit.kernels import interpreted_backend
from tests.unit.kernels.computations import folded, rows, scanned
from tests.unit.kernels.loop_programs import FLOAT64, INT64, Drawn, drawn_programs, expected
from tests.unit.kernels.sibling_law import problems

# ------------------------------------------------------------------------------------------------------ random programs


@settings(max_examples=60)
@given(drawn_programs())
def test_a_program_gives_what_loops_in_python_give(drawn: Drawn) -> None:
    hold_against_python(drawn)


@settings(max_examples=100)
@given(drawn_programs(for_places=True))
def test_a_program_of_places_gives_what_loops_in_python_give(drawn: Drawn) -> None:
    hold_against_python(drawn)


def hold_against_python(drawn: Drawn) -> None:
    check_program(drawn.program)
    copies = [array.copy() for array in drawn.arrays]
    interpret(drawn.program, [*copies, *drawn.numbers], drawn.words)
    for one, other in zip(copies, expected(drawn), strict=True):
        np.testing.assert_array_equal(one, other)


@settings(max_examples=30)
@given(drawn_programs(), st.sampled_from((2, 4, 8)))
def test_schedules_change_nothing(drawn: Drawn, lanes: int) -> None:
    schedules = (shared(drawn.program, lanes), serial(drawn.program), vectorised(drawn.program, lanes))
    for program in (*schedules, with_invariants_first(drawn.program)):
        check_program(program)
        copies = [array.copy() for array in drawn.arrays]
        interpret(program, [*copies, *drawn.numbers], drawn.words)
        for one, other in zip(copies, expected(drawn), strict=True):
            np.testing.assert_array_equal(one, other)


# ---------------------------------------------------------------------------------------------------------------- rules

A = Array("a", float64, ("n",), (1,))
OUT = Array("out", float64, ("n",), (1,))
X = Load("x", "a", ("i",), FLOAT64)
ADD = pairwise(("add",), (FLOAT64,))


def program(*body: Any, parameters: Sequence[Any] = (A, OUT)) -> Program:
    return Program("tried", tuple(parameters), ("n", "m"), body)


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ((For("i", "m", (X,)),), "the place i of a lies inside of n"),
        ((For("i", "n", (X, X)),), "x is given once"),
        ((For("i", "n", (Store("out", ("i",), "x"),)),), "x is given before it is stored"),
        ((For("i", "n", (Load("x", "a", ("i", "i"), FLOAT64),)),), "an element of a has 1 places"),
        ((For("i", "n", (X, Compute(("y",), pairwise(("add",), (INT64,)), ("x", "x")))),), "takes x as int64"),
        ((For("i", "k", (X,)),), "k is a word"),
        ((Inside("g", ("m",), ("m",)), Load("x", "a", ("m",), FLOAT64, "g", 0.0)), "the place m of a"),
        ((Inside("g", ("m",), ("n",)), Load("x", "a", ("m",), FLOAT64, "g")), "x has a value outside"),
        ((Fold(("s",), (), pairwise(("add",), (FLOAT64,)), (("i", "n"),), (X,), ("x",)),), "s have a neutral number"),
        ((Fold(("s",), (0,), pairwise(("add",), (INT64,)), (("i", "n"),), (X,), ("x",)),), "x are int64"),
        ((When("n", ()),), "n is a condition"),
        ((Update("a", (0,), pairwise(("add",), (FLOAT64,)), (None, None)),), "the place 0 of a"),
        ((For("i", "n", (X, Update("a", ("i",), ADD, (None, "x"), "x"))),), "x is given once"),
    ],
)  # fmt: skip
def test_a_program_that_breaks_a_rule_is_refused(body: tuple[Any, ...], rule: str) -> None:
    with pytest.raises(KernelError, match=rule):
        check_program(program(*body))


def test_guards_and_bounds_let_places_be_read_that_are_computed() -> None:
    total = pairwise(("add",), (INT64,))
    check_program(
        program(
            For(
                "i",
                "n",
                (
                    Compute(("p",), total, ("i", "m")),
                    Inside("g", ("p",), ("n",)),
                    Load("x", "a", ("p",), FLOAT64, "g", 0.0),
                    When("g", (Store("out", ("p",), "x"),)),
                    Bound("q", "p", "n", "circular"),
                    Store("out", ("q",), "x"),
                ),
            )
        )
    )


@pytest.mark.parametrize("how", ["replicate", "reflect", "circular"])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_out_of_bounds_indices_map_as_in_numpys_pad(how: str, size: int) -> None:
    """Out-of-bounds indices map to the elements that NumPy's ``pad`` maps them to, even if padding exceeds the
    array.
    """
    a, out = Array("a", int64, ("n",), (1,)), Array("out", int64, ("m",), (1,))
    shifted = pairwise(("subtract",), (INT64,))
    body = (
        Compute(("p",), shifted, ("i", "before")),
        Bound("q", "p", "n", how),
        Load("x", "a", ("q",), INT64),
        Store("out", ("i",), "x"),
    )
    output = Program("padded", (a, out), ("n", "m", "before"), around([("i", "m")], body))
    check_program(output)
    source, padded = np.arange(size), np.zeros(size + 14, np.int64)
    interpret(output, [source, padded], [size, size + 14, 7])
    mode = {"replicate": "edge", "reflect": "reflect", "circular": "wrap"}[how]
    np.testing.assert_array_equal(padded, np.pad(source, 7, mode=mode))  # type: ignore[call-overload]


def test_a_program_is_readable() -> None:
    add = pairwise(("add",), (FLOAT64,))
    whole = Array("out", float64, (), ())
    body = (Fold(("s",), (0,), add, (("i", "n"),), (X,), ("x",)), Store("out", (), "s"))
    assert program_text(shared(program(*body, parameters=(A, whole)), 8)) == (
        "kernel tried(a: float64[n | 1], out: float64[ | ]; n, m) by 8 lanes:\n"
        "    s = fold i < n of combine_0 from (0,):\n"
        "        x: float64 = a[i]\n"
        "        -> x\n"
        "    out[] = s\n"
        "\n"
        "def combine_0(a0: float64, b0: float64) -> float64:\n"
        "    t0: float64 = a0 + b0\n"
        "    return t0"
    )


# ------------------------------------------------------------------------------------------------- loops of operators


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    with interpreted_backend.installed() as interpreted:
        yield interpreted


# At least one operator for each kind of loop: pointwise, counted, complex, reductions in and out of order, rows, scans,
# recurrences, gathers, indices with padding, folded and added to, matrices.
OPERATORS = (
    "add.Tensor", "mul.out", "exp_", "where.self", "pow.Tensor_Scalar", "angle", "arange.start", "uniform_", "copy_",
    "_to_copy", "sum.dim_IntList", "var.correction", "argmax", "aminmax", "all.dim", "prod", "nansum",
    "linalg_vector_norm", "_softmax", "native_layer_norm", "logsumexp", "cumsum", "cumprod",
    "cummax", "logcumsumexp", "gather", "index_add",
    "scatter_reduce.two", "index.Tensor", "masked_fill.Scalar", "reflection_pad1d", "replication_pad2d",
    "reflection_pad1d_backward", "mm", "baddbmm", "tril", "flip",
    "max_pool2d_with_indices", "avg_pool1d", "sort.stable", "topk", "median.dim", "randperm.generator",
)  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_loops_of_an_operator_give_what_the_cpu_gives(name: str, device: Device) -> None:
    assert problems(name, device, most=4) == []


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("length", [0, 1, 5, 8, 33])
def test_a_network_sorts_and_keeps_ties_in_order(length: int, descending: bool, device: Device) -> None:
    random = np.random.default_rng(length)
    numbers = random.choice([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan], (3, length))
    for kind in (opdsl.float32, opdsl.float64):
        x = opdsl.from_numpy(numbers).to(kind)
        one, other = (opdsl.sort(side, 1, descending, stable=True) for side in (x, x.to(device)))
        np.testing.assert_array_equal(other[1].cpu().numpy(), one[1].numpy())
        np.testing.assert_array_equal(other[0].cpu().numpy(), one[0].numpy())


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(("length", "count"), [(9, 1), (33, 4), (300, 2), (700, 3)])
def test_the_first_elements_of_long_rows_are_those_of_a_sort(
    length: int, count: int, descending: bool, device: Device
) -> None:
    """``topk`` of rows that are divided into tiles (of eight elements here) returns the first elements of a stable
    sort.
    """
    x = opdsl.from_numpy(np.random.default_rng(length).choice([0.0, -0.0, 1.5, np.nan, -np.inf], (2, length)))
    expected = opdsl.sort(x, 1, descending, stable=True)
    largest = opdsl.topk(x.to(device), count, 1, descending)
    for one, other in zip(largest, expected, strict=True):
        np.testing.assert_array_equal(one.cpu().numpy(), other.numpy()[:, :count])


def test_gradients_are_loops_too(device: Device) -> None:
    points = opdsl.linspace(0.1, 1.0, 6).reshape(2, 3)
    grads = []
    for side in (points, points.to(device)):
        leaf = side.requires_grad_()
        (leaf.softmax(1) * leaf.cumsum(0)).exp().sum().backward()
        grads.append(leaf.grad.cpu().numpy())
    np.testing.assert_allclose(*grads, rtol=1e-6)


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize(("count", "size"), [(1, 12), (2, 7), (3, 4), (5, 3)])
def test_folds_in_parts_give_what_whole_ones_give(count: int, size: int, in_order: bool) -> None:
    maximum, none, same = pairwise(("maximum",), (FLOAT64,)), (-np.inf,), identity((FLOAT64,))
    builder = GraphBuilder()
    parameter, _ = builder.parameter("found", FLOAT64), builder.parameter("count", INT64)
    folds = Folding(none, same, maximum, builder.finish("found", [parameter]), in_order=in_order)
    specs = (OperandSpec(float64, (96, 32, 8)),), (OperandSpec(float64, (8,)),)
    source, out = np.random.default_rng(7).random((5, 3, 4)), np.zeros(5)
    partial = np.zeros((5, count))
    for part in in_parts(lowered(*folded(folds, (5,), (3, 4), *specs)), count, size):
        check_program(part.program)
        interpret(part.program, [source, out, partial], [word for word in part.words if isinstance(word, int)])
    np.testing.assert_array_equal(out, source.max((1, 2)))


@pytest.mark.parametrize("keep", [False, True])
def test_rows_that_keep_what_costs_much_give_what_others_give(keep: bool) -> None:
    graph = read(lambda x: math.exp(x - row_max(x)) / row_sum(math.exp(x - row_max(x))), rows=True)
    spec = OperandSpec(float64, (56, 8))
    softmax = graph.specialise({"x": "float64"}, results=["float64"])
    loops = lowered(*rows(softmax, (5,), 7, (spec,), (spec,)), keep=keep)
    check_program(loops.program)
    assert ("local b1_kept0: float64[j_n | 1]" in program_text(loops.program)) == keep
    source, out = np.random.default_rng(7).random((5, 7)), np.zeros((5, 7))
    interpret(loops.program, [source, out], [word for word in loops.words if isinstance(word, int)])
    expected = np.exp(source - source.max(1, keepdims=True))
    np.testing.assert_allclose(out, expected / expected.sum(1, keepdims=True), rtol=1e-12)


@pytest.mark.parametrize(("count", "size"), [(1, 12), (2, 7), (5, 3)])
def test_scans_in_parts_give_what_whole_ones_give(count: int, size: int) -> None:
    same, add = identity((FLOAT64,)), pairwise(("add",), (FLOAT64,))
    spec = OperandSpec(float64, (96, 8))
    loops = lowered(*scanned(Scanning((0,), same, add, same), (5,), 12, (spec,), (spec,)))
    source, out = np.random.default_rng(7).integers(-9, 9, (5, 12)).astype(float), np.zeros((5, 12))
    partial = np.zeros((5, count))
    for part in in_parts(loops, count, size):
        check_program(part.program)
        interpret(part.program, [source, out, partial], [word for word in part.words if isinstance(word, int)])
    np.testing.assert_array_equal(out, source.cumsum(1))
