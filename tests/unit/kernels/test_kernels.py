"""Tests of kernels: random ones computed by the interpreter, by their loops, and by backends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings

import opdsl
from opdsl.errors import KernelError
from opdsl.kernels.building import KernelBuilder
from opdsl.kernels.checking import check_kernel
from opdsl.kernels.compiler import compiler_for
from opdsl.kernels.interpreter import interpret_kernel
from opdsl.kernels.kernel import SKIP, Kernel, Range
from opdsl.kernels.loops.checking import check_program
from opdsl.kernels.loops.interpreter import interpret
from opdsl.kernels.loops.lowering import lowered
from opdsl.kernels.loops.making import Loops, identity
from opdsl.kernels.loops.model import locals_of
from opdsl.kernels.outputs import array_of
from opdsl.kernels.text import kernel_text
from tests.emulation.driver import EmulatedDriver
from tests.pocl import INSTALLED, name_processor
from tests.unit.kernels.drawn_kernels import INT64, DrawnKernel, combine, drawn_kernels


def interpreted(drawn: DrawnKernel) -> dict[str, Any]:
    operands = drawn.copied()
    interpret_kernel(drawn.kernel, operands, drawn.sizes)
    return {name: operands[name] for name in drawn.kernel.outputs}


def nested(drawn: DrawnKernel, *, keep: bool = False) -> Loops:
    """Return the loops of a kernel that is a single nest of loops; others are drawn again."""
    try:
        return lowered(drawn.kernel, drawn.layout, keep=keep)
    except KernelError as error:
        assert "no single nest" in str(error)
        reject()


@settings(max_examples=200, suppress_health_check=list(HealthCheck), deadline=None)
@given(drawn_kernels())
def test_loops_compute_what_their_kernel_means(drawn: DrawnKernel) -> None:
    check_kernel(drawn.kernel)
    assert kernel_text(drawn.kernel)
    for keep in (False, True):
        loops = nested(drawn, keep=keep)
        check_program(loops.program)
        operands = drawn.copied()
        memory = [operands[operand.name] for operand in drawn.kernel.operands]
        flat = [value.reshape(-1) if isinstance(value, np.ndarray) else value for value in memory]
        interpret(loops.program, flat, list(loops.words))
        for name, expected in interpreted(drawn).items():
            np.testing.assert_array_equal(operands[name], expected)


@settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
@given(drawn_kernels())
def test_the_cpu_computes_what_a_kernel_means(drawn: DrawnKernel) -> None:
    nested(drawn)
    operands = drawn.copied()
    compiler_for("cpu").compile(drawn.kernel, drawn.layout)(
        *(operands[operand.name] for operand in drawn.kernel.operands)
    )
    for name, expected in interpreted(drawn).items():
        np.testing.assert_array_equal(operands[name], expected)


def test_an_element_that_no_value_needs_leaves_iterations_out() -> None:
    """The sum of 1 over a window whose elements are in bounds is their number."""
    points, turns = Range("i"), Range("j")
    builder = KernelBuilder("inside", (points, turns))
    place = builder.graph.node("add", (builder.index(points), builder.index(turns)), INT64)
    element = builder.read(builder.array("x", (), 1), INT64, [place], SKIP)
    one = builder.graph.constant(1, INT64)
    (count,) = builder.fold((turns,), (one,), (0,), combine("add"), guards=[element])
    builder.write(builder.array("out", (points,)), count)
    operands = {"x": np.zeros(5, np.int64), "out": np.zeros(4, np.int64)}
    drawn = DrawnKernel(builder.finish(), {"i": (4,), "j": (3,)}, operands)
    copied = drawn.copied()
    compiler_for("cpu").compile(drawn.kernel, drawn.layout)(copied["x"], copied["out"])
    assert copied["out"].tolist() == interpreted(drawn)["out"].tolist() == [3, 3, 3, 2]


def test_a_value_is_added_in_each_iteration_that_it_is_written_over() -> None:
    points, turns = Range("i"), Range("j")
    builder = KernelBuilder("counted", (points, turns))
    old = builder.old(0, INT64)
    element = builder.read(builder.array("x", (points,)), INT64)
    (total,) = builder.computed(combine("add"), (old, element))
    builder.write(builder.array("out", (), 1), total, [builder.index(points)], over=(points, turns))
    operands = {"x": np.arange(4), "out": np.zeros(4, np.int64)}
    drawn = DrawnKernel(builder.finish(), {"i": (4,), "j": (7,)}, operands)
    copied = drawn.copied()
    compiler_for("cpu").compile(drawn.kernel, drawn.layout)(copied["x"], copied["out"])
    assert copied["out"].tolist() == interpreted(drawn)["out"].tolist() == [0, 7, 14, 21]


def computed_by_the_cpu(drawn: DrawnKernel) -> dict[str, Any]:
    operands = drawn.copied()
    run = compiler_for("cpu").compile(drawn.kernel, drawn.layout)
    run(*(operands[operand.name] for operand in drawn.kernel.operands))
    return {name: operands[name] for name in drawn.kernel.outputs}


def test_ranges_of_a_fold_have_any_names() -> None:
    points, turns = Range("rows", is_pack=True), Range("columns", is_pack=True)
    builder = KernelBuilder("total", (points, turns))
    element = builder.read(builder.array("x", (points, turns)), INT64)
    (total,) = builder.fold((turns,), (element,), (0,), combine("add"))
    builder.write(builder.array("out", (points,)), total)
    table = np.arange(6).reshape(2, 3)
    drawn = DrawnKernel(builder.finish(), {"rows": (2,), "columns": (3,)}, {"x": table, "out": np.zeros(2, np.int64)})
    assert computed_by_the_cpu(drawn)["out"].tolist() == [3, 12]


def test_ranges_of_a_long_fold_have_any_names() -> None:
    """A fold of many elements is cut into chunks, whose results a second kernel folds."""
    points, turns = Range("rows", is_pack=True), Range("columns", is_pack=True)
    builder = KernelBuilder("total", (points, turns))
    element = builder.read(builder.array("x", (points, turns)), INT64)
    (total,) = builder.fold((turns,), (element,), (0,), combine("add"))
    builder.write(builder.array("out", (points,)), total)
    size = 1 << 18
    drawn = DrawnKernel(
        builder.finish(), {"rows": (), "columns": (size,)}, {"x": np.arange(size), "out": np.zeros((), np.int64)}
    )
    assert computed_by_the_cpu(drawn)["out"].tolist() == size * (size - 1) // 2


def test_ranges_of_rows_have_any_names() -> None:
    points, row = Range("rows", is_pack=True), Range("columns")
    builder = KernelBuilder("most", (points, row))
    element = builder.read(builder.array("x", (points, row)), INT64)
    (most,) = builder.fold((row,), (element,), (-9,), combine("maximum"))
    (both,) = builder.computed(combine("add"), (element, most))
    builder.write(builder.array("most", (points,)), most)
    builder.write(builder.array("out", (points, row)), both)
    operands = {"x": np.array([[1, 2], [4, 3]]), "most": np.zeros(2, np.int64), "out": np.zeros((2, 2), np.int64)}
    computed = computed_by_the_cpu(DrawnKernel(builder.finish(), {"rows": (2,), "columns": (2,)}, operands))
    assert computed["most"].tolist() == [2, 4]
    assert computed["out"].tolist() == [[3, 4], [8, 7]]


@pytest.mark.parametrize("size", [(), (3,), (2, 9)])
def test_elements_beside_a_scan_need_not_depend_on_it(size: tuple[int, ...]) -> None:
    points, row = Range("rows", is_pack=True), Range("columns")
    builder = KernelBuilder("sums", (points, row))
    element = builder.read(builder.array("x", (points, row)), INT64)
    (total,) = builder.scan(row, (element,), (0,), combine("add"), is_associative=True)
    builder.write(builder.array("sums", (points, row)), total)
    builder.write(builder.array("copy", (points, row)), element)
    x = np.random.default_rng(0).integers(-9, 9, (*size, 5))
    operands = {"x": x, "sums": np.zeros_like(x), "copy": np.zeros_like(x)}
    computed = computed_by_the_cpu(DrawnKernel(builder.finish(), {"rows": size, "columns": (5,)}, operands))
    np.testing.assert_array_equal(computed["sums"], x.cumsum(-1))
    np.testing.assert_array_equal(computed["copy"], x)


def test_points_may_be_marked_as_inner() -> None:
    """The mark is a hint for writes at computed indices; other writes are made for all points."""
    points, inner = Range("i"), Range("j", is_inner=True)
    builder = KernelBuilder("moved", (points, inner))
    element = builder.read(builder.array("x", (), 1), INT64, [builder.index(inner)], "circular")
    builder.write(builder.array("out", (points, inner)), element)
    operands = {"x": np.arange(3), "out": np.zeros((2, 4), np.int64)}
    computed = computed_by_the_cpu(DrawnKernel(builder.finish(), {"i": (2,), "j": (4,)}, operands))
    assert computed["out"].tolist() == [[0, 1, 2, 0]] * 2


def test_a_fold_at_computed_indices_may_be_over_a_range_without_dimensions() -> None:
    points, turns = Range("t"), Range("i", is_pack=True)
    builder = KernelBuilder("one", (turns, points))
    element = builder.read(builder.array("x", (turns,), 1), INT64, [builder.index(points)], SKIP)
    (total,) = builder.fold((turns,), (element,), (0,), combine("add"))
    builder.write(builder.array("out", (points,)), total)
    operands = {"x": np.array([5, 7]), "out": np.zeros(3, np.int64)}
    computed = computed_by_the_cpu(DrawnKernel(builder.finish(), {"i": (), "t": (3,)}, operands))
    assert computed["out"].tolist() == [5, 7, 0]


def test_a_single_element_that_no_iteration_writes_is_kept() -> None:
    turns = Range("j")
    builder = KernelBuilder("kept", (turns,))
    place = builder.graph.constant(4, INT64)
    element = builder.read(builder.array("x", (), 1), INT64, [place], SKIP)
    builder.write(builder.array("out", ()), element)
    operands = {"x": np.arange(3), "out": np.array(7)}
    drawn = DrawnKernel(builder.finish(), {"j": (2,)}, operands)
    assert interpreted(drawn)["out"] == computed_by_the_cpu(drawn)["out"] == 7


def with_fold(kernel: Kernel, **fields: Any) -> Kernel:
    """Return a kernel with another first fold."""
    return attrs.evolve(kernel, loops=(attrs.evolve(kernel.loops[0], **fields), *kernel.loops[1:]))


@pytest.mark.parametrize(
    ("break_it", "rule"),
    [
        (lambda kernel: attrs.evolve(kernel, ranges=kernel.ranges[:1]), "are the kernel's"),
        (lambda kernel: attrs.evolve(kernel, operands=kernel.operands[::-1]), "outputs are the last operands"),
        (lambda kernel: attrs.evolve(kernel, sources=kernel.sources[:1]), "its sources are its graph's parameters"),
        (lambda kernel: attrs.evolve(kernel, loops=()), "there is a loop 0"),
        (lambda kernel: with_fold(kernel, init=()), "a value of no iterations"),
        (lambda kernel: with_fold(kernel, over=("i", "i")), "is over ranges of the kernel"),
        (lambda kernel: with_fold(kernel, combine=identity((INT64,))), "combines what it folds"),
    ],
)  # fmt: skip
def test_a_kernel_that_breaks_a_rule_is_refused(break_it: Callable[[Kernel], Kernel], rule: str) -> None:
    points, turns = Range("i"), Range("j")
    builder = KernelBuilder("total", (points, turns))
    element = builder.read(builder.array("x", (points, turns)), INT64)
    (total,) = builder.fold((turns,), (element,), (0,), combine("add"))
    builder.write(builder.array("out", (points,)), total)
    kernel = builder.finish()
    check_kernel(kernel)
    with pytest.raises(KernelError, match=rule):
        check_kernel(break_it(kernel))


@pytest.mark.skipif(not INSTALLED, reason="pyopencl is not installed (it is one of the extra dev)")
@settings(max_examples=8, suppress_health_check=list(HealthCheck), deadline=None)
@given(drawn_kernels())
def test_opencl_computes_what_a_kernel_means(drawn: DrawnKernel) -> None:
    name_processor()
    hold_on("opencl:0", drawn)


@settings(max_examples=8, suppress_health_check=list(HealthCheck), deadline=None)
@given(drawn_kernels())
def test_an_emulated_gpu_computes_what_a_kernel_means(emulated_driver: EmulatedDriver, drawn: DrawnKernel) -> None:
    with emulated_driver.installed():
        hold_on("cuda", drawn)


def hold_on(device: str, drawn: DrawnKernel) -> None:
    """Compare a kernel on a device with the interpreter; those that keep results of scans are drawn again."""
    if locals_of(nested(drawn).program.body):
        reject()
    operands = {
        name: opdsl.from_numpy(value).to(device) if isinstance(value, np.ndarray) else value
        for name, value in drawn.copied().items()
    }
    arguments = [operands[operand.name] for operand in drawn.kernel.operands]
    run = compiler_for(device.partition(":")[0]).compile(drawn.kernel, drawn.layout)
    run(*(array_of(value) if isinstance(value, opdsl.Tensor) else value for value in arguments))
    for name, expected in interpreted(drawn).items():
        np.testing.assert_array_equal(operands[name].cpu().numpy(), expected)
