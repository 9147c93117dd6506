"""Tests of reductions against NumPy and PyTorch: memory layouts, order of elements, rounding errors, several
accumulators.
"""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from opdsl.backends.cpu import pool
from opdsl.backends.cpu.reduction import reduction
from opdsl.kernels.calls import Folding, NewArray, OperandSpec
from opdsl.runtime.dtype import DType, bfloat16, bool_, complex128, float32, float64, int64, to_dtype
from tests.unit.kernels.computations import folded

from .plans import graph_of, same

Array = numpy.ndarray[Any, Any]


def add(a, b):  # type: ignore[no-untyped-def]
    return a + b


def larger(a, b):  # type: ignore[no-untyped-def]
    return max(a, b)


def first(a, count):  # type: ignore[no-untyped-def]
    return a


def mean(a, count):  # type: ignore[no-untyped-def]
    return a / count


def with_index(x, index):  # type: ignore[no-untyped-def]
    return x, index


def earlier_of_largest(a, i, b, j):  # type: ignore[no-untyped-def]
    keep = a >= b
    return (a if keep else b), (i if keep else j)


def its_index(a, i, count):  # type: ignore[no-untyped-def]
    return i


def value_and_index(a, i, count):  # type: ignore[no-untyped-def]
    return a, i


def scaled(a, count, factor):  # type: ignore[no-untyped-def]
    return a * factor


def folding(combine: Any, kind: str, init: Any = 0, finish: Any = first, *numbers: str) -> Folding:
    return Folding(
        (init,), graph_of(same, kind), graph_of(combine, kind, kind), graph_of(finish, kind, "int64", *numbers)
    )


def arg_folding(finish: Any = its_index) -> Folding:
    pair = ("float32", "int64")
    return Folding(
        (-math.inf, 0),
        graph_of(with_index, *pair),
        graph_of(earlier_of_largest, *pair, *pair),
        graph_of(finish, *pair, "int64"),
        with_index=True,
        in_order=True,
    )


SUM = folding(add, "float32")
LARGEST = folding(larger, "float32", -math.inf)


def run(
    fold: Folding, x: Array, dims: tuple[int, ...], *outputs: DType, dtype: DType | None = None, numbers: Any = ()
) -> Any:
    kept = [dim for dim in range(x.ndim) if dim not in dims]
    shape = tuple(x.shape[dim] for dim in kept)
    strides = tuple(math.prod(shape[k + 1 :]) for k in range(len(shape)))
    computation = folded(
        fold,
        shape,
        tuple(x.shape[dim] for dim in dims),
        (OperandSpec(dtype or to_dtype(x.dtype), tuple(x.strides[dim] for dim in (*kept, *dims))),),
        tuple(OperandSpec(output, tuple(step * output.itemsize for step in strides)) for output in outputs),
        tuple(NewArray(shape, strides) for _ in outputs),
        tuple(to_dtype(type(number)) for number in numbers),
    )
    return reduction(*computation)(x, *numbers)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Array, tuple[int, ...]]:
    """Draw arrays of small integers (sums are exact in any order) with all kinds of strides, and dimensions to fold."""
    ndim = draw(st.integers(1, 4))
    shape = [draw(st.sampled_from((1, 2, 3, 7, 40))) for _ in range(ndim)]
    if draw(st.integers(0, 3)) == 0:
        shape[draw(st.integers(0, ndim - 1))] = draw(st.sampled_from((0, 300, 3000)))
    assume(math.prod(shape) <= 100_000)
    order = draw(st.permutations(range(ndim)))
    memory = numpy.arange(math.prod(shape), dtype="f4") % 101 - 50
    x = memory.reshape([shape[dim] for dim in order]).transpose(numpy.argsort(order))
    dims = draw(st.sets(st.integers(0, ndim - 1), min_size=1))
    return x[tuple(slice(None, None, draw(st.sampled_from((1, 1, 2)))) for _ in shape)], tuple(sorted(dims))


@settings(max_examples=120)
@given(cases())
def test_sum_of_any_layout(case: tuple[Array, tuple[int, ...]]) -> None:
    x, dims = case
    numpy.testing.assert_array_equal(run(SUM, x, dims, float32), x.sum(axis=dims))


@settings(max_examples=80)
@given(cases().filter(lambda case: case[0].size > 0))
def test_first_of_the_largest_in_any_layout(case: tuple[Array, tuple[int, ...]]) -> None:
    x, dims = case
    folded = numpy.moveaxis(x, dims, range(-len(dims), 0))
    flat = folded.reshape([*folded.shape[: x.ndim - len(dims)], -1])
    numpy.testing.assert_array_equal(run(arg_folding(), x, dims, int64), flat.argmax(-1))


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0)])
def test_no_elements(shape: tuple[int, ...]) -> None:
    x = numpy.empty(shape, "f4")
    numpy.testing.assert_array_equal(run(SUM, x, (0,), float32), x.sum(axis=0))
    assert run(LARGEST, numpy.empty((0, 2), "f4"), (0,), float32).tolist() == [-math.inf] * 2


@pytest.mark.parametrize("shape", [(1 << 20,), (1 << 18, 4), (1000, 1000)])
def test_rounding_errors_are_like_torchs(shape: tuple[int, ...]) -> None:
    x = torch.rand(shape, generator=torch.Generator().manual_seed(0))
    exact = x.double().sum(0)
    ours = (torch.from_numpy(numpy.asarray(run(SUM, x.numpy(), (0,), float32))) - exact).abs().max()
    theirs = (x.sum(0) - exact).abs().max()
    assert ours <= 2 * theirs + 1e-6 * exact.abs().max()


@pytest.mark.parametrize(
    ("shape", "dims"), [((1_000_003,), (0,)), ((3, 200_001), (1,)), ((200_001, 3), (0,)), ((5000, 100), (0,))]
)
def test_number_of_threads_changes_nothing(shape: tuple[int, ...], dims: tuple[int, ...]) -> None:
    x = numpy.random.default_rng(0).standard_normal(shape, dtype="f4")
    before = pool.get_num_threads()
    results = []
    try:
        for count in (1, 2, 3):
            pool.set_num_threads(count)
            results.append(run(SUM, x, dims, float32))
    finally:
        pool.set_num_threads(before)
    numpy.testing.assert_array_equal(results[1], results[0])
    numpy.testing.assert_array_equal(results[2], results[0])


def test_alignment_changes_nothing() -> None:
    memory = numpy.zeros(4 * 5000 + 1, "u1")
    x = numpy.random.default_rng(0).standard_normal(5000, dtype="f4")
    shifted = numpy.frombuffer(memory, "f4", 5000, 1)
    shifted[...] = x
    assert run(SUM, x, (0,), float32) == run(SUM, shifted, (0,), float32)


@pytest.mark.parametrize("place", [0, 63, 64, 4095, 4999])
def test_nan_is_found_anywhere(place: int) -> None:
    x = numpy.zeros(5000, "f4")
    x[place] = numpy.nan
    assert numpy.isnan(run(LARGEST, x, (0,), float32))


def test_mean() -> None:
    array = numpy.arange(12, dtype="f4").reshape(3, 4)
    assert run(folding(add, "float32", 0, mean), array, (1,), float32).tolist() == [1.5, 5.5, 9.5]


@pytest.mark.parametrize("name", ["bool", "uint8", "int8", "int16", "int32", "int64"])
def test_integers_are_summed_as_int64(name: str) -> None:
    x = (numpy.arange(1000) % 200).astype(to_dtype(name).numpy)
    assert run(folding(add, "int64"), x, (0,), int64).item() == x.sum(dtype="i8")


def test_sixteen_bit_elements_are_summed_as_float32() -> None:
    ones = torch.full((100_000,), 1.0).bfloat16()
    bits = ones.view(torch.uint16).numpy()
    assert run(SUM, bits, (0,), float32, dtype=bfloat16).item() == 100_000


def test_truth() -> None:
    x = numpy.zeros((2, 100), "f4")
    x[1, 70] = 3
    assert run(folding(larger, "bool", False), x, (1,), bool_).tolist() == [False, True]


def test_several_results() -> None:
    x = numpy.array([[1, 5, 5], [7, 2, 3]], "f4")
    values, indices = run(arg_folding(value_and_index), x, (1,), float32, int64)
    assert (values.tolist(), indices.tolist()) == ([5, 7], [1, 0])


def test_numbers_of_finish() -> None:
    x = numpy.ones((2, 3))
    fold = folding(add, "float64", 0, scaled, "float64")
    assert run(fold, x, (1,), float64, numbers=(0.5,)).tolist() == [1.5, 1.5]


def test_given_output() -> None:
    x, out = numpy.ones((2, 3), "f4"), numpy.empty(2, "f4")
    computation = folded(SUM, (2,), (3,), (OperandSpec(float32, (12, 4)),), (OperandSpec(float32, (4,)),))
    assert reduction(*computation)(x, out) is out
    assert out.tolist() == [3, 3]


def log_of_factorial(x):  # type: ignore[no-untyped-def]
    return math.lgamma(x + 1.0)


def test_calls_of_the_c_library_cause_no_warnings(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls of the C library cause no warnings on stderr, which LLVM prints if it cannot vectorize a loop as
    requested.
    """
    monkeypatch.setenv("OPDSL_CACHE", "0")  # a cached kernel would print nothing
    lift = graph_of(log_of_factorial, "float64")
    fold = SUM._replace(
        lift=lift, combine=graph_of(add, "float64", "float64"), finish=graph_of(first, "float64", "int64")
    )
    rows = numpy.arange(1.0, 10.0)[:, None] * numpy.ones(40)
    for array, dims in ((rows, (0,)), (rows, (1,)), (rows, (0, 1)), (rows.T.copy(), (1,))):
        actual = run(fold, array, dims, float64)
        kept = [dim for dim in range(2) if dim not in dims]
        expected = numpy.vectorize(math.lgamma)(array + 1.0).sum(dims)
        numpy.testing.assert_allclose(numpy.asarray(actual).reshape([array.shape[dim] for dim in kept]), expected)
    assert capfd.readouterr() == ("", "")


def with_size(x):  # type: ignore[no-untyped-def]
    return x, abs(x), abs(x) + 1.0


def all_added(a, n, i, b, m, j):  # type: ignore[no-untyped-def]
    return a + b, n + m, i + j


def sum_of_elements(a, n, i, count):  # type: ignore[no-untyped-def]
    return a


def test_complex_zeros_cause_no_warnings(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPDSL_CACHE", "0")
    kinds = ("complex128", "float64", "float64")
    lift, combine = graph_of(with_size, "complex128"), graph_of(all_added, *kinds, *kinds)
    fold = Folding((0j, 0.0, 0.0), lift, combine, graph_of(sum_of_elements, *kinds, "int64"))
    numbers = numpy.arange(1480) * (1 + 2j)
    assert numpy.asarray(run(fold, numbers, (0,), complex128)).item() == numbers.sum()
    assert capfd.readouterr() == ("", "")
