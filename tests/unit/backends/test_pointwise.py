"""Tests of pointwise kernels against NumPy and PyTorch: memory layouts, dtypes, conversions, outputs."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import opdsl
from opdsl.backends.cpu import pool
from opdsl.runtime.dtype import bfloat16, bool_, float16, float32, float64, int32, to_dtype

from .plans import add, graph_of, plan, same

pytestmark = pytest.mark.usefixtures("plans_at_once")

ADD = graph_of(add, "float32", "float32")
NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
SCALARS = {"float16": "float32", "bfloat16": "float32"}


def two_results(x, y):  # type: ignore[no-untyped-def]
    return x + y, x - y


def as_torch(array: numpy.ndarray[Any, Any], name: str) -> torch.Tensor:
    converted = torch.from_numpy(array)
    return converted.view(torch.bfloat16) if name == "bfloat16" else converted


def as_numpy(tensor: torch.Tensor) -> numpy.ndarray[Any, Any]:
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()


@st.composite
def layouts(draw: st.DrawFn) -> tuple[tuple[int, ...], list[numpy.ndarray[Any, Any]]]:
    """Draw a shape, and arrays with all kinds of strides that broadcast to it."""
    shape = tuple(draw(st.lists(st.sampled_from((1, 2, 3, 17)), max_size=4)))
    if draw(st.integers(0, 5)) == 0:
        shape = (*shape, 1500)
    return shape, [draw_array(draw, shape) for _ in range(3)]


def draw_array(draw: st.DrawFn, shape: tuple[int, ...]) -> numpy.ndarray[Any, Any]:
    order = draw(st.permutations(range(len(shape))))
    sizes = [1 if draw(st.integers(0, 3)) == 0 else size for size in shape]
    steps = [draw(st.sampled_from((1, 1, 2))) for _ in shape]
    memory = numpy.arange(numpy.prod([sizes[d] * steps[d] for d in order], dtype=int), dtype="f4")
    spread = memory.reshape([sizes[d] * steps[d] for d in order]).transpose(numpy.argsort(order))
    return spread[tuple(slice(None, None, step) for step in steps)] if shape else spread


@settings(max_examples=150)
@given(layouts())
def test_any_layout(case: tuple[tuple[int, ...], list[numpy.ndarray[Any, Any]]]) -> None:
    shape, (x, y, _) = case
    result = plan(ADD, shape, (x, y), (float32,))(x, y)
    numpy.testing.assert_array_equal(result, numpy.broadcast_to(x, shape) + y, strict=True)


@settings(max_examples=60)
@given(layouts())
def test_any_layout_of_a_given_output(case: tuple[tuple[int, ...], list[numpy.ndarray[Any, Any]]]) -> None:
    shape, (x, y, z) = case
    target = z.copy("K") if z.shape == shape else numpy.empty(shape, "f4")
    assert plan(ADD, shape, (x, y), (target,))(x, y, target) is target
    numpy.testing.assert_array_equal(target, numpy.broadcast_to(x, shape) + y)


def test_no_elements() -> None:
    x = numpy.empty((0, 3), "f4")
    assert plan(ADD, (0, 3), (x, x), (float32,))(x, x).shape == (0, 3)


def test_output_may_be_an_input() -> None:
    array = numpy.arange(100, dtype="f4")
    y = array.copy()
    plan(ADD, (100,), (array, array), (array,))(array, array, array)
    numpy.testing.assert_array_equal(array, 2 * y)


def test_several_results() -> None:
    x, y = numpy.arange(5, dtype="f4"), numpy.ones(5, "f4")
    graph = graph_of(two_results, "float32", "float32")
    first, second = plan(graph, (5,), (x, y), (float32, float64))(x, y)
    numpy.testing.assert_array_equal(first, x + y, strict=True)
    numpy.testing.assert_array_equal(second, (x - y).astype("f8"), strict=True)


def test_unaligned_operands() -> None:
    memory = numpy.zeros(4 * 101 + 1, "u1")
    x = numpy.frombuffer(memory, "f4", 100, 1)
    y = numpy.arange(100, dtype="f4")
    numpy.testing.assert_array_equal(plan(ADD, (100,), (x, y), (float32,))(x, y), y)


def test_any_byte_but_zero_is_true() -> None:
    x = numpy.array([0, 1, 2, 128, 255], "u1").view("?")
    result = plan(graph_of(same, "int32"), (5,), ((x, bool_),), (int32,))(x)
    assert result.tolist() == [0, 1, 1, 1, 1]


@pytest.mark.parametrize("target", NAMES)
@pytest.mark.parametrize("source", NAMES)
def test_cast(source: str, target: str) -> None:
    values = torch.tensor([0.0, 1.0, -1.0, 2.5, -3.5, 100.0, 65.25, 1e-8]).to(getattr(torch, source))
    x = as_numpy(values)
    out = to_dtype(target)
    graph = graph_of(same, SCALARS.get(target, target))
    actual = plan(graph, x.shape, ((x, to_dtype(source)),), (out,))(x)
    expected = as_numpy(values.to(getattr(torch, target)))
    numpy.testing.assert_array_equal(actual, expected, strict=True)


@pytest.mark.parametrize("target", ["uint8", "int8", "int16", "int32", "int64"])
def test_float_that_does_not_fit_an_integer(target: str) -> None:
    """Floats out of an integer dtype's range convert to the bits that PyTorch returns on x86."""
    x = numpy.array([300.0, -300.0, 70000.0, 3e9, -3e9, 1e10, 1e19, -1e19, numpy.inf, -numpy.inf, numpy.nan], "f4")
    result = plan(graph_of(same, target), x.shape, (x,), (to_dtype(target),))(x)
    wide = {"uint8": "int64", "int64": "int64"}.get(target, "int32")
    limit = 2.0**63 if wide == "int64" else 2.0**31
    smallest = numpy.iinfo(wide).min
    whole = [int(number) if abs(number) < limit else smallest for number in x]
    assert result.tolist() == numpy.array(whole, wide).astype(target).tolist()


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_sixteen_bit_rounding(name: str) -> None:
    bits = numpy.random.default_rng(0).integers(0, 1 << 32, 100_000, dtype="u4")
    x = numpy.concatenate([bits.view("f4"), numpy.linspace(-70000, 70000, 50_000, dtype="f4")])
    actual = plan(graph_of(same, "float32"), x.shape, (x,), (to_dtype(name),))(x)
    expected = torch.from_numpy(x).to(getattr(torch, name))
    torch.testing.assert_close(as_torch(actual, name), expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [float16, bfloat16])
def test_every_sixteen_bit_value_comes_back(dtype: Any) -> None:
    bits = numpy.arange(1 << 16, dtype="u2")
    x = bits.view(dtype.numpy)
    result = plan(graph_of(same, "float32"), x.shape, ((x, dtype),), (dtype,))(x).view("u2")
    numbers = ~torch.isnan(as_torch(x, dtype.name)).numpy()
    numpy.testing.assert_array_equal(result[numbers], bits[numbers])
    assert torch.isnan(as_torch(result.view(dtype.numpy), dtype.name)).numpy()[~numbers].all()


def test_number_of_threads_changes_nothing() -> None:
    size = 300_001
    x = numpy.random.default_rng(0).standard_normal((size, 2), dtype="f4")
    kernel = plan(ADD, (size, 2), (x, x[:, :1]), (float32,))
    before = pool.get_num_threads()
    try:
        results = []
        for count in (1, 2, 3):
            pool.set_num_threads(count)
            results.append(kernel(x, x[:, :1]))
    finally:
        pool.set_num_threads(before)
    assert all((result == x + x[:, :1]).all() for result in results)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("order", [(1, 0), (2, 1, 0), (1, 2, 0), (0, 2, 1), (3, 1, 2, 0)])
@pytest.mark.parametrize("dtype", ["float32", "complex128", "int16"])
def test_operands_that_lie_along_other_dimensions(order: tuple[int, ...], dtype: str, threads: int) -> None:
    """Operands with transposed memory layouts are computed in tiles, the last of which are narrower."""
    shape = {2: (400, 333), 3: (35, 70, 65), 4: (5, 33, 67, 66)}[len(order)]
    x = (numpy.random.default_rng(0).normal(size=shape) * 100).astype(dtype)
    turned = x.transpose(order)
    before = pool.get_num_threads()
    try:
        pool.set_num_threads(threads)
        ours = opdsl.from_numpy(x).permute(*order)
        assert numpy.array_equal(ours.contiguous().numpy(), turned)
        like = numpy.ascontiguousarray(turned)[..., ::-1].copy()
        assert numpy.array_equal((ours + opdsl.from_numpy(like)).numpy(), turned + like)
        assert numpy.array_equal(
            (ours * 2 + opdsl.from_numpy(like[..., :1].copy())).numpy(), turned * 2 + like[..., :1]
        )
    finally:
        pool.set_num_threads(before)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("shape", [(60_000, 3), (331, 2, 5), (45_091, 3), (7, 3000, 7), (64, 8)])
@pytest.mark.parametrize("dtype", ["float32", "complex128", "int16"])
def test_rows_of_a_few_elements(shape: tuple[int, ...], dtype: str, threads: int) -> None:
    """Short rows are computed with the loop along another dimension, in blocks if that is long."""
    x = (numpy.random.default_rng(0).normal(size=shape) * 100).astype(dtype)
    column, turned = x[..., :1].copy(), numpy.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)
    before = pool.get_num_threads()
    try:
        pool.set_num_threads(threads)
        ours, ours_turned = opdsl.from_numpy(x.copy()), opdsl.from_numpy(turned)
        numpy.testing.assert_array_equal((ours + opdsl.from_numpy(column)).numpy(), x + column)
        numpy.testing.assert_array_equal((ours + ours_turned).numpy(), x + x)
        numpy.testing.assert_array_equal((opdsl.from_numpy(column).expand(*shape)).contiguous().numpy(), x * 0 + column)
        numpy.testing.assert_array_equal(ours.add_(opdsl.from_numpy(column)).numpy(), x + column)
    finally:
        pool.set_num_threads(before)
