"""Tests of row kernels for functions with rare arguments: the fast loop is vectorized, and results do not depend on the
loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from opdsl.backends.cpu import engine, pool
from opdsl.backends.cpu.forms import Form
from opdsl.backends.cpu.operands import Operand
from opdsl.backends.cpu.pointwise import text_of
from opdsl.runtime.dtype import bfloat16, float32, float64, to_dtype
from tests.unit.kernels.computations import elements

from .plans import Array, graph_of, plan

pytestmark = pytest.mark.usefixtures("plans_at_once")


def sin(x):  # type: ignore[no-untyped-def]
    return math.sin(x)


def cos(x):  # type: ignore[no-untyped-def]
    return math.cos(x)


def tan(x):  # type: ignore[no-untyped-def]
    return math.tan(x)


def fmod(x, y):  # type: ignore[no-untyped-def]
    return math.fmod(x, y)


def remainder(x, y):  # type: ignore[no-untyped-def]
    return x % y


def floor_divide(x, y):  # type: ignore[no-untyped-def]
    return x // y


def exp(x):  # type: ignore[no-untyped-def]
    return math.exp(x)


def two_rare_results(x, y):  # type: ignore[no-untyped-def]
    return math.sin(x) + y, x % y


RARE = (sin, cos, tan, fmod, remainder, floor_divide)
FLOATS = ("float32", "float64")
# Most blocks of elements, but not all, contain a rare one with this spacing.
SIZE, RARE_EVERY = 20_000, 1700


def operands(function: Callable[..., Any], kind: str) -> list[Array]:
    """Return common arguments of a function."""
    random = numpy.random.default_rng(0)
    x = random.normal(0, 100, SIZE).astype(kind)
    y = random.normal(0, 3, SIZE).astype(kind)
    return [x, y][: len(graph_of(function, *(kind,) * function.__code__.co_argcount).parameters)]


def with_rare_ones(arrays: list[Array]) -> tuple[list[Array], Array]:
    """Return copies in which a few elements are huge, and a mask of the others."""
    changed = [array.copy() for array in arrays]
    changed[0][500::RARE_EVERY] = 1e30
    common = numpy.ones(SIZE, bool)
    common[500::RARE_EVERY] = False
    return changed, common


def kernel(function: Callable[..., Any], arrays: list[Array], output: Any = None) -> Callable[..., Any]:
    dtype = to_dtype(arrays[0].dtype)
    graph = graph_of(function, *(dtype.name for _ in arrays))
    return plan(graph, arrays[0].shape, tuple(arrays), (dtype if output is None else output,))


def bits(array: Array) -> Array:
    return array.view(f"u{array.itemsize}")


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("function", RARE)
def test_both_loops_give_common_arguments_the_same_bits(function: Any, kind: str) -> None:
    arrays = operands(function, kind)
    changed, common = with_rare_ones(arrays)
    swift, slow = kernel(function, arrays)(*arrays), kernel(function, changed)(*changed)
    numpy.testing.assert_array_equal(bits(swift)[common], bits(slow)[common])


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("function", RARE)
def test_results_do_not_depend_on_the_position_of_an_element(function: Any, kind: str) -> None:
    arrays, _ = with_rare_ones(operands(function, kind))
    whole = kernel(function, arrays)(*arrays)
    for start, stop in ((1, SIZE), (3, 1030), (499, 501), (7, 8), (1023, 2050)):
        parts = [array[start:stop] for array in arrays]
        numpy.testing.assert_array_equal(bits(kernel(function, parts)(*parts)), bits(whole[start:stop]))


@pytest.mark.parametrize("function", [sin, remainder])
def test_every_layout_agrees(function: Any) -> None:
    arrays, _ = with_rare_ones(operands(function, "float32"))
    whole = kernel(function, arrays)(*arrays)
    spread = [numpy.repeat(array, 3)[::3] for array in arrays]
    numpy.testing.assert_array_equal(bits(kernel(function, spread)(*spread)), bits(whole))
    backwards = numpy.empty((SIZE, 2), "f4")[:, 1]
    kernel(function, spread, backwards)(*spread, backwards)
    numpy.testing.assert_array_equal(backwards, whole)


@pytest.mark.parametrize("divisor", [0.7, 1e-30])
def test_one_divisor_for_all_elements(divisor: float) -> None:
    """A divisor that all elements share, as an array of one element or as a number, gives the same bits as an array."""
    (x, _), _ = with_rare_ones(operands(remainder, "float32"))
    y = numpy.full(SIZE, divisor, "f4")
    whole = kernel(remainder, [x, y])(x, y)
    graph = graph_of(remainder, "float32", "float32")
    single = y[:1]
    numpy.testing.assert_array_equal(bits(plan(graph, (SIZE,), (x, single), (float32,))(x, single)), bits(whole))
    number = plan(graph, (SIZE,), (x, float32), (float32,))(x, float(numpy.float32(divisor)))
    numpy.testing.assert_array_equal(bits(number), bits(whole))


@pytest.mark.parametrize("kind", FLOATS)
def test_rare_arguments_are_right(kind: str) -> None:
    arrays, common = with_rare_ones(operands(fmod, kind))
    expected = numpy.fmod(*(array[~common] for array in arrays))
    numpy.testing.assert_array_equal(kernel(fmod, arrays)(*arrays)[~common], expected)


def test_output_may_be_a_rare_input() -> None:
    (x,), _ = with_rare_ones(operands(sin, "float32"))
    expected = kernel(sin, [x])(x)
    kernel(sin, [x], x)(x, x)
    numpy.testing.assert_array_equal(bits(x), bits(expected))


def test_several_results_with_rare_arguments() -> None:
    (x, y), _ = with_rare_ones(operands(remainder, "float64"))
    graph = graph_of(two_rare_results, "float64", "float64")
    first, second = plan(graph, x.shape, (x, y), (float64, float64))(x, y)
    numpy.testing.assert_array_equal(first, kernel(sin, [x])(x) + y)
    numpy.testing.assert_array_equal(second, kernel(remainder, [x, y])(x, y))


def test_rare_arguments_in_sixteen_bits() -> None:
    words = numpy.arange(1 << 16, dtype="u2")
    result = plan(graph_of(sin, "float32"), words.shape, ((words, bfloat16),), (float32,))(words)
    wide = (words.astype("u4") << 16).view("f4")
    numpy.testing.assert_array_equal(result, kernel(sin, [wide])(wide))


def test_number_of_threads_changes_nothing_about_rare_ones() -> None:
    x = numpy.random.default_rng(0).normal(0, 100, 300_001).astype("f4")
    x[::5003] = 1e30
    run, before = kernel(sin, [x]), pool.get_num_threads()
    try:
        results = []
        for count in (1, 2, 3):
            pool.set_num_threads(count)
            results.append(bits(run(x)))
    finally:
        pool.set_num_threads(before)
    assert all((result == results[0]).all() for result in results)


def assembly(function: Callable[..., Any], kind: str, layout: str) -> str:
    inputs = (kind,) * (len(layout) - 1)
    graph = graph_of(function, *inputs)
    form = Form(tuple(Operand(input, input) for input in inputs), (Operand(kind, kind),), layout)
    return engine.assembly(text_of(elements(graph, (), form.specs[:-1], form.specs[-1:])[0], form))


def vectors(text: str) -> bool:
    """Return whether assembly has vector instructions."""
    return "zmm" in text or "ymm" in text or "xmm" not in text


# Calls of the C library for single elements, in the loop for blocks with rare elements.
CALLS_OF_ONE_LOOP = 2


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("function", RARE)
def test_the_loop_for_common_arguments_vectorises(function: Any, kind: str) -> None:
    text = assembly(function, kind, "c" * (function.__code__.co_argcount + 1))
    assert vectors(text)
    assert text.count("call") <= CALLS_OF_ONE_LOOP


@pytest.mark.parametrize("layout", ["xxx", "csc", "scc", "cnc", "ncc"])
def test_it_vectorises_in_every_layout(layout: str) -> None:
    text = assembly(remainder, "float32", layout)
    assert vectors(text)
    assert text.count("call") <= CALLS_OF_ONE_LOOP


@pytest.mark.parametrize("layout", ["cc", "xx"])
def test_a_function_without_rare_arguments_has_one_loop(layout: str) -> None:
    text = assembly(exp, "float32", layout)
    assert vectors(text)
    assert "call" not in text
