"""sum, mean and amax: values, dtypes, shapes and strides against PyTorch."""

from __future__ import annotations

import math
from itertools import chain, combinations
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some

from tests.torch.twins import DTYPES, FLOATING, agree, agree_or_fail, of
from tests.torch.values import layouts, ordinary, positive, special, strided

REDUCTIONS = ("sum", "mean", "amax")
# Additions come in another order, so that results differ by what rounding leaves of the terms.
LOOSE = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 1e-5, torch.float64: 1e-13}


def loose(name: str, dtype: torch.dtype) -> float | None:
    return 0.0 if name == "amax" else LOOSE.get(dtype, LOOSE[torch.float32])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_values_and_dtypes(name: str, dtype: torch.dtype) -> None:
    x = positive(dtype, (3, 50))
    agree_or_fail(lambda lib, value: getattr(lib, name)(value), x, tolerance=loose(name, dtype))
    agree_or_fail(lambda lib, value: getattr(lib, name)(value, 1), x, tolerance=loose(name, dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_single_special_values(name: str, dtype: torch.dtype) -> None:
    agree_or_fail(
        lambda lib, value: getattr(lib, name)(value, 1), special(dtype)[:, None], tolerance=loose(name, dtype)
    )


@pytest.mark.parametrize("dtype", FLOATING, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf], ids=repr)
def test_one_special_value_among_many(name: str, dtype: torch.dtype, value: float) -> None:
    for place in (0, 7, 40, 99):
        x = positive(dtype, (100,))
        x[place] = value
        agree(lambda lib, tensor: getattr(lib, name)(tensor, 0), x, tolerance=loose(name, dtype))


def test_infinities_of_both_signs_have_no_sum() -> None:
    agree(lambda lib, x: lib.sum(x), torch.tensor([math.inf, 1.0, -math.inf]))


@pytest.mark.parametrize("dims", [*chain.from_iterable(combinations(range(4), n) for n in range(5))], ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_every_choice_of_dimensions(name: str, dims: tuple[int, ...]) -> None:
    x = layouts()["contiguous"]
    agree(lambda lib, value: getattr(lib, name)(value, dims), x, tolerance=loose(name, x.dtype))
    agree(lambda lib, value: getattr(lib, name)(value, dims, True), x, tolerance=loose(name, x.dtype))


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dims", [0, -1, (1, 3), (0, 2), ()], ids=str)
@pytest.mark.parametrize("layout", layouts(), ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_layouts(name: str, layout: str, dims: Any, keepdim: bool) -> None:
    def call(lib: Any, x: Any) -> Any:
        return getattr(lib, name)(x, dims, keepdim)

    agree_or_fail(call, layouts()[layout], tolerance=loose(name, torch.float32))


@settings(max_examples=150, deadline=None)
@given(strided(), some.lists(some.integers(-4, 3), max_size=3), some.booleans(), some.sampled_from(REDUCTIONS))
def test_any_layout_and_dimensions(x: torch.Tensor, dims: list[int], keepdim: bool, name: str) -> None:
    agree_or_fail(lambda lib, value: getattr(lib, name)(value, dims, keepdim), x, tolerance=loose(name, x.dtype))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3), ()], ids=str)
@pytest.mark.parametrize("dims", [None, 0, -1, (), (0, -1)], ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_empty_and_zero_dim_tensors(name: str, shape: tuple[int, ...], dims: Any) -> None:
    agree_or_fail(lambda lib, x: getattr(lib, name)(x, dims), ordinary(torch.float32, shape), tolerance=1e-6)


@pytest.mark.parametrize("to", DTYPES, ids=str)
@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int32, torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_results_of_another_dtype(name: str, dtype: torch.dtype, to: torch.dtype) -> None:
    def call(lib: Any, x: Any) -> Any:
        return getattr(lib, name)(x, 0, dtype=to if lib is torch else of(to))

    agree_or_fail(call, positive(dtype, (20, 3)), tolerance=loose(name, to))


@pytest.mark.parametrize("dims", [4, -5, (0, 0), (0, -4), (1, 9)], ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_dimensions_that_are_not_there(name: str, dims: Any) -> None:
    agree_or_fail(lambda lib, x: getattr(lib, name)(x, dims), layouts()["contiguous"])


@pytest.mark.parametrize("size", [1, 31, 32, 33, 1000, 100_003])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_sizes_around_vectors_and_threads(name: str, size: int) -> None:
    x = positive(torch.float32, (size,))
    agree(lambda lib, value: getattr(lib, name)(value, 0), x, tolerance=loose(name, x.dtype))


def test_a_sum_of_many_small_numbers_is_accurate() -> None:
    x = torch.full((1_000_000,), 0.1)
    agree(lambda lib, value: lib.sum(value), x, tolerance=5e-6)
