"""Integer and bool steps of programs are fused, with the results that PyTorch has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import opdsl

DTYPES = ("int64", "int32", "int16", "int8", "uint8")
BINARY: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    lambda x, y: x & y,
    lambda x, y: x | y,
    lambda x, y: x ^ y,
    lambda x, y: x.minimum(y),
    lambda x, y: x.maximum(y),
)
WITH_NUMBERS: tuple[Callable[[Any, int], Any], ...] = (
    lambda x, n: x + n,
    lambda x, n: x * n,
    lambda x, n: x >> (n & 3),
    lambda x, n: x << (n & 3),
    lambda x, n: x ^ n,
    lambda x, n: -x + n,
    lambda x, n: ~x,
    lambda x, n: x.clamp(-n, n),
)
COMPARED: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x < y,
    lambda x, y: x == y,
    lambda x, y: x >= y,
    lambda x, y: x != 3,
)
OF_TRUTHS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda p, q: p & q,
    lambda p, q: p | q,
    lambda p, q: p ^ q,
    lambda p, q: ~p,
    lambda p, q: p.logical_and(q),
    lambda p, q: p + q,
    lambda p, q: p * q,
    lambda p, q: (p + q) == p,
)


@st.composite
def expressions(draw: st.DrawFn) -> list[tuple[str, int, int, int]]:
    """Draw steps: a kind, a function of it, and the values that it reads."""
    kinds = st.sampled_from(("binary", "number", "compare", "truth", "choose"))
    small = st.integers(0, 7)
    return draw(st.lists(st.tuples(kinds, small, small, small), min_size=2, max_size=9))


def run(module: Any, steps: list[tuple[str, int, int, int]], x: Any, y: Any) -> tuple[Any, ...]:
    """Return the last integers and truth values that the steps compute."""
    numbers, truths = [x, y], [x > y]
    for kind, choice, first, second in steps:
        one, other = numbers[first % len(numbers)], numbers[second % len(numbers)]
        p, q = truths[first % len(truths)], truths[second % len(truths)]
        if kind == "binary":
            numbers.append(BINARY[choice](one, other))
        elif kind == "number":
            numbers.append(WITH_NUMBERS[choice](one, second))
        elif kind == "compare":
            truths.append(COMPARED[choice % len(COMPARED)](one, other))
        elif kind == "truth":
            truths.append(OF_TRUTHS[choice](p, q))
        else:
            numbers.append(module.where(p, one, other))
    return numbers[-1], truths[-1]


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=25, deadline=None)
@given(steps=expressions())
def test_random_steps(dtype: str, steps: list[tuple[str, int, int, int]]) -> None:
    limits = numpy.iinfo(dtype)
    x, y = numpy.random.default_rng(0).integers(limits.min, limits.max, (2, 40), dtype=dtype, endpoint=True)
    compiled = opdsl.compile(lambda a, b: run(opdsl, steps, a, b))
    wanted = run(torch, steps, torch.from_numpy(x), torch.from_numpy(y))
    for _ in range(2):
        computed = compiled(opdsl.from_numpy(x), opdsl.from_numpy(y))
        for mine, theirs in zip(computed, wanted, strict=True):
            assert str(mine.dtype).removeprefix("opdsl.") == str(theirs.dtype).removeprefix("torch.")
            numpy.testing.assert_array_equal(mine.numpy(), theirs.numpy())


def kernels(function: Callable[..., Any], *tensors: Any) -> int:
    """Return the number of steps of a function's program after fusion."""
    from opdsl.programs.fusion import with_fused_steps

    return len(with_fused_steps(opdsl.trace(function, *tensors)).steps)


def test_a_hash_is_one_kernel() -> None:
    def hashed(x: Any) -> Any:
        x = (x ^ (x >> 16)) * 0x45D9F3B
        return x ^ (x >> 16)

    assert kernels(hashed, opdsl.arange(8)) == 1


def test_truth_values_that_are_returned_are_results_of_the_same_kernel() -> None:
    def halves(x: Any) -> Any:
        is_odd = (x & 1) == 1
        return is_odd, ~is_odd, x >> 1

    assert kernels(halves, opdsl.arange(8)) == 1
    odd, even, half = opdsl.compile(halves)(opdsl.arange(3))
    assert (odd.tolist(), even.tolist(), half.tolist()) == ([False, True, False], [True, False, True], [0, 0, 1])


def test_truth_values_of_floats_that_are_returned_leave_the_rest_fused() -> None:
    def clipped(x: Any) -> Any:
        is_large = x.abs() > 1
        return is_large, opdsl.where(is_large, x.sin() * 2 + 1, x.cos() - 1)

    assert kernels(clipped, opdsl.ones(4)) == 3
    x = opdsl.tensor([0.5, -2.0])
    numpy.testing.assert_allclose(opdsl.compile(clipped)(x)[1].numpy(), clipped(x)[1].numpy(), rtol=1e-6)


def test_sizes_are_numbers_of_int64_alone() -> None:
    def moved(x: Any) -> Any:
        return (x + x.shape[0]) * 2 - x.shape[0]

    compiled = opdsl.compile(moved)
    for dtype, size in ((opdsl.int64, 3), (opdsl.int8, 100), (opdsl.int8, 90), (opdsl.int64, 5)):
        numbers = opdsl.arange(size).to(dtype)
        wanted = moved(torch.from_numpy(numbers.numpy()))
        numpy.testing.assert_array_equal(compiled(numbers).numpy(), wanted.numpy())


def test_integer_division_by_zero_raises() -> None:
    compiled = opdsl.compile(lambda x, y: (x + 1) // y + 1)
    with pytest.raises(opdsl.errors.DivisionError):
        compiled(opdsl.tensor([1, 2]), opdsl.tensor([1, 0]))


def test_masks_alone_are_fused() -> None:
    def together(p: Any, q: Any) -> Any:
        return ~(p & q) | (p ^ q)

    p, q = opdsl.tensor([True, True, False]), opdsl.tensor([True, False, False])
    assert kernels(together, p, q) == 1
    assert opdsl.compile(together)(p, q).tolist() == [False, True, True]


@pytest.mark.parametrize(("dtype", "number"), [("uint8", -3), ("int8", 300), ("int16", -40_000), ("int32", 2**31)])
def test_numbers_beyond_the_dtype_count_as_in_pytorch(dtype: str, number: int) -> None:
    def compared(x: Any) -> Any:
        return ((x > number) | (x == number)) & (x != 1)

    integers = numpy.arange(3).astype(dtype)
    computed = opdsl.compile(compared)(opdsl.from_numpy(integers))
    numpy.testing.assert_array_equal(computed.numpy(), compared(torch.from_numpy(integers)).numpy())


def test_numbers_beyond_the_dtype_raise_as_in_a_call() -> None:
    with pytest.raises(opdsl.errors.NumberError):
        opdsl.compile(lambda x: opdsl.clamp(x + 1, max=300) * 2)(opdsl.tensor([1, 2], dtype=opdsl.int8))


def test_numbers_of_a_call_may_be_too_large_for_int64() -> None:
    compiled = opdsl.compile(lambda x, n: (x > n) & (x != 1))
    x = opdsl.tensor([1, 2])
    assert [compiled(x, n).tolist() for n in (1, 2**63, 0)] == [[False, True], [False, True], [False, True]]
