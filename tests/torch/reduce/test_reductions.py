"""Tests of reductions over any dimensions, compared with PyTorch's: values, dtypes, shapes and strides."""

from __future__ import annotations

import math
from itertools import chain, combinations
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some

import opdsl
from tests.torch.twins import DTYPES, FLOATING, agree, agree_or_fail, of
from tests.torch.values import layouts, ordinary, positive, special, strided

REDUCTIONS = ("sum", "nansum", "mean", "amax", "var", "any")
# PyTorch's structured operators check for missing dimensions before they check for repeated ones.
STRUCTURED = ("sum", "mean", "amax", "any")
EXACT = ("amax", "any")
# Additions in another order change results by rounding errors of the terms.
LOOSE = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 1e-5, torch.float64: 1e-13}


def loose(name: str, dtype: torch.dtype) -> float | None:
    return 0.0 if name in EXACT else LOOSE.get(dtype, LOOSE[torch.float32])


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
# The variance of equal numbers is a rounding error.
@pytest.mark.parametrize("name", [reduction for reduction in REDUCTIONS if reduction != "var"])
def test_layouts(name: str, layout: str, dims: Any, keepdim: bool) -> None:
    def call(lib: Any, x: Any) -> Any:
        return getattr(lib, name)(x, dims, keepdim)

    agree_or_fail(call, layouts()[layout], tolerance=loose(name, torch.float32))


@settings(max_examples=150)
@given(strided(), some.lists(some.integers(-4, 3), max_size=3), some.booleans(), some.sampled_from(STRUCTURED))
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
    agree(lambda lib, value: lib.sum(value), x, tolerance=5e-7)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 0.7], ids=repr)
@pytest.mark.parametrize("dim", [0, 1])
def test_equal_numbers_add_up_without_a_bias(value: float, dim: int) -> None:
    x = torch.full((3000, 3000), value)
    total = opdsl.from_numpy(x.numpy()).sum(dim).numpy().astype("f8")
    assert abs(total / x.double().sum(dim).numpy() - 1).max() < 4e-7


@pytest.mark.parametrize("offset", [0.0, 1e4, -1e6])
def test_a_large_mean_does_not_hide_the_variance(offset: float) -> None:
    x = torch.randn(100_000, dtype=torch.float64) + offset
    agree(lambda lib, value: lib.var(value), x, tolerance=1e-9)


@pytest.mark.parametrize("name", ["std", "var_mean", "std_mean"])
def test_squares_do_not_overflow(name: str) -> None:
    x = torch.tensor([[1e25, -1e25, 3e25], [1e-30, 3e-30, 2e-30]])
    agree(lambda lib, value: getattr(lib, name)(value, 1), x, tolerance=2e-6)


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("correction", [0, 1, 2, 3, 5, 0.5, -1, None])
@pytest.mark.parametrize("name", ["var", "std_mean"])
def test_corrections(name: str, correction: float | None) -> None:
    x = positive(torch.float32, (4, 3))
    for _ in range(2):
        agree(lambda lib, value: getattr(lib, name)(value, 1, correction=correction), x, tolerance=1e-6)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 2.5, -1, -2.5, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.complex64], ids=str)
def test_norms(order: float, dtype: torch.dtype) -> None:
    x = torch.randn(5, 70).to(dtype)
    agree(lambda lib, value: lib.linalg.vector_norm(value, order, 1), x, tolerance=loose("norm", dtype))


@pytest.mark.parametrize("value", [0.0, 1000.0, -1000.0, math.inf, -math.inf, math.nan], ids=repr)
def test_logarithms_of_sums_of_exponentials(value: float) -> None:
    exponents = torch.linspace(-3, 3, 200) + value
    agree(lambda lib, tensor: lib.logsumexp(tensor, 0), exponents, tolerance=1e-6)


@pytest.mark.parametrize("name", ["any", "all"])
@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8], ids=str)
def test_truth_is_written_as_bool_or_uint8(name: str, dtype: torch.dtype) -> None:
    def call(lib: Any, x: Any) -> Any:
        out = lib.empty(0, dtype=dtype if lib is torch else of(dtype))
        return getattr(lib, name)(x, 1, out=out)

    agree(call, torch.tensor([[0.0, 0.5], [1.0, 2.0], [0.0, 0.0]]).round())


@pytest.mark.parametrize("size", [5, 4096, 300_000])
def test_results_are_the_same_every_time(size: int) -> None:
    x = opdsl.from_numpy(positive(torch.float32, (size,)).numpy())
    assert len({opdsl.sum(x).item() for _ in range(20)}) == 1


def test_means_in_integers_are_refused_with_what_asked_for_them() -> None:
    for dtype, asked in (("int64", {}), ("float32", {"dtype": "int64"}), ("bool", {"dtype": "int32"})):
        texts = []
        for lib in (torch, opdsl):
            named = {name: getattr(lib, value) for name, value in asked.items()}
            with pytest.raises(RuntimeError) as caught:
                lib.ones(3, dtype=getattr(lib, dtype)).mean(**named)
            texts.append(str(caught.value).partition(": ")[2])
        assert texts[1].endswith(texts[0]), texts
