"""Tests of plans as built-in functions: arguments, reference counts, lifetimes."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import tracemalloc
from typing import Any

import numpy
import pytest

from opdsl.collecting import without_collecting
from opdsl.runtime.dtype import bool_, float32, float64, int8, int32, int64, uint8

from .plans import add, graph_of, plan

pytestmark = pytest.mark.usefixtures("plans_at_once")

X = numpy.arange(4, dtype="f4")


def float_kernel() -> Any:
    return plan(graph_of(add, "float32", "float32"), (4,), (X, float32), (float32,))


def integer_kernel(dtype: Any) -> Any:
    x = numpy.zeros(1, dtype.numpy)
    return lambda number: plan(graph_of(add, dtype.name, dtype.name), (1,), (x, dtype), (dtype,))(x, number).item()


@pytest.mark.parametrize("number", [1, 1.0, True, numpy.float32(1), numpy.int64(1)])
def test_number(number: Any) -> None:
    assert float_kernel()(X, number).tolist() == [1, 2, 3, 4]


def test_number_in_double_precision() -> None:
    x = numpy.zeros(1)
    assert plan(graph_of(add, "float64", "float64"), (1,), (x, float64), (float64,))(x, 0.1).item() == 0.1


@pytest.mark.parametrize("number", ["1", None, [1.0], 1j])
def test_no_number(number: object) -> None:
    with pytest.raises(TypeError):
        float_kernel()(X, number)


def test_integer_too_large_for_a_float() -> None:
    with pytest.raises(OverflowError):
        float_kernel()(X, 10**400)


@pytest.mark.parametrize(
    ("dtype", "number"), [(int64, -(2**63)), (int32, 2**31 - 1), (int8, -128), (uint8, 255), (int32, -1), (bool_, 1)]
)
def test_integer_that_fits(dtype: Any, number: int) -> None:
    assert integer_kernel(dtype)(number) == number


def test_negative_number_for_an_unsigned_dtype_wraps() -> None:
    assert integer_kernel(uint8)(-1) == 255


@pytest.mark.parametrize(("dtype", "number"), [(int64, 2**63), (int32, 2**31), (int8, -129), (uint8, 256)])
def test_integer_that_does_not_fit(dtype: Any, number: int) -> None:
    with pytest.raises(OverflowError):
        integer_kernel(dtype)(number)


def test_float_for_an_integer() -> None:
    with pytest.raises(TypeError):
        integer_kernel(int32)(1.5)


@pytest.mark.parametrize("arguments", [(), (X,), (X, 1, X), (1, X), (X, X)])
def test_wrong_arguments(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        float_kernel()(*arguments)


def test_given_output_that_is_no_array() -> None:
    with pytest.raises(TypeError):
        plan(graph_of(add, "float32", "float32"), (4,), (X, X), (X,))(X, X, [0.0] * 4)


def test_no_reference_is_lost_or_kept() -> None:
    x, y, out = X.copy(), X.copy(), X.copy()
    graph = graph_of(add, "float32", "float32")
    fresh = plan(graph, (4,), (x, y), (float32,))
    inputs = plan(graph, (4,), (x, y), (out,))
    watched = (x, y, out, fresh, inputs, float32.numpy, numpy.ndarray, None)
    gc.collect()  # garbage of other tests refers to some of the watched objects
    with without_collecting():
        before = [sys.getrefcount(referent) for referent in watched]
        for _ in range(500):
            fresh(x, y)
            inputs(x, y, out)
            for bad in ((x,), (x, 1)):
                with pytest.raises(TypeError):
                    fresh(*bad)
        del bad
        after = [sys.getrefcount(referent) for referent in watched]
    assert after[:-1] == before[:-1]
    assert abs(after[-1] - before[-1]) < 100  # None is immortal from Python 3.12 on, and other code changes its count


def test_no_memory_is_kept() -> None:
    kernel = float_kernel()
    kernel(X, 1.0)
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(2000):
            kernel(X, 1.0)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 2000


def test_plan_that_only_its_call_holds() -> None:
    size = 1 << 20
    x = numpy.ones(size, "f4")
    holder = [plan(graph_of(add, "float32", "float32"), (size,), (x, x), (float32,)) for _ in range(8)]
    results: list[Any] = []

    def work() -> None:
        while holder:
            results.append(holder.pop()(x, x)[-1])

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [2] * 8


COLLECTED = """
import ctypes, functools, gc, weakref
import numpy
from opdsl.backends.cpu.builtin import builtin_over

taken, blank = [], b"\\xff" * 31
for _ in range(20):
    # Where functions come to lie, and what their definitions have left, holds what cannot be taken for anything else.
    partials = [functools.partial(print) for _ in range(2000)]
    del partials
    last = numpy.empty(0)
    freed = weakref.ref(last, lambda _: taken.extend(ctypes.create_string_buffer(blank, 32) for _ in range(9999)))
    function = builtin_over("in_a_cycle", "array_address", [0], [last])
    function.__self__.itself = function
    del last, function
    gc.collect()
print(len(taken))
"""


def test_plan_that_is_collected_before_its_function() -> None:
    ran = subprocess.run([sys.executable, "-c", COLLECTED], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "199980\n"), ran.stderr
