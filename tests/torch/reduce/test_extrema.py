"""Tests of largest and smallest elements and their indices, compared with PyTorch's: ties, NaN, named results,
outputs.
"""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some

import opdsl
from tests.torch.twins import DTYPES, agree_or_fail
from tests.torch.values import positive, special, strided

POSITIONS = ("argmax", "argmin")
BOTH = ("max", "min")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", [*POSITIONS, *BOTH])
def test_dtypes(name: str, dtype: torch.dtype) -> None:
    agree_or_fail(lambda lib, x: getattr(lib, name)(x, 1), positive(dtype, (3, 200)))


@pytest.mark.parametrize("name", [*POSITIONS, *BOTH])
def test_special_values(name: str) -> None:
    x = special(torch.float32)
    agree_or_fail(lambda lib, value: getattr(lib, name)(value, 0), torch.stack([x, x.flip(0)], 1))


@settings(max_examples=100)
@given(strided(), some.integers(-4, 3), some.booleans(), some.sampled_from([*POSITIONS, *BOTH]))
def test_any_layout_and_dimension(x: torch.Tensor, dim: int, keepdim: bool, name: str) -> None:
    agree_or_fail(lambda lib, value: getattr(lib, name)(value, dim, keepdim), x)


@settings(max_examples=100)
@given(
    some.lists(some.sampled_from([0.0, 1.0, -1.0, math.inf, -math.inf, math.nan]), min_size=1, max_size=300),
    some.sampled_from(POSITIONS),
)
def test_of_several_equal_ones_the_first_is_found(values: list[float], name: str) -> None:
    agree_or_fail(lambda lib, x: getattr(lib, name)(x), torch.tensor(values))


@pytest.mark.parametrize("place", [0, 1, 63, 64, 8191, 8192, 100_000, 299_999])
@pytest.mark.parametrize("name", POSITIONS)
def test_the_first_is_found_by_any_thread(name: str, place: int) -> None:
    x = torch.zeros(300_000)
    x[place:] = 1.0 if name == "argmax" else -1.0
    agree_or_fail(lambda lib, value: getattr(lib, name)(value), x)


@pytest.mark.parametrize("name", POSITIONS)
def test_positions_among_all_are_in_row_major_order(name: str) -> None:
    agree_or_fail(lambda lib, x: getattr(lib, name)(x.transpose(0, 1)), torch.randn(40, 50, 3))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), ()], ids=str)
@pytest.mark.parametrize("dim", [None, 0, -1])
@pytest.mark.parametrize("name", [*POSITIONS, "aminmax"])
def test_empty_and_zero_dim_tensors(name: str, shape: tuple[int, ...], dim: int | None) -> None:
    agree_or_fail(lambda lib, x: getattr(lib, name)(x, dim=dim), torch.ones(shape))


@pytest.mark.parametrize("name", BOTH)
def test_outputs_are_resized(name: str) -> None:
    x = opdsl.from_numpy(torch.randn(4, 5).numpy())
    out = opdsl.empty(0), opdsl.empty(0, dtype=opdsl.int64)
    values, indices = getattr(opdsl, name)(x, 1, out=out)
    assert (values, indices) == out
    assert values.shape == indices.shape == (4,)


def test_an_output_of_another_dtype_is_refused() -> None:
    def call(lib: Any, x: Any) -> Any:
        return lib.max(x, 1, out=(lib.empty(4), lib.empty(4, dtype=lib.int32)))

    agree_or_fail(call, torch.randn(4, 5))


@pytest.mark.parametrize("name", ["max", "min", "aminmax"])
def test_results_have_pytorchs_names(name: str) -> None:
    x = torch.randn(3, 4)
    expected = getattr(torch, name)(x, dim=1)
    actual = getattr(opdsl, name)(opdsl.from_numpy(x.numpy()), dim=1)
    fields = [
        field for field in type(actual)._fields if getattr(expected, field).tolist() == getattr(actual, field).tolist()
    ]
    assert len(fields) == 2


def test_results_have_names_when_a_call_is_repeated() -> None:
    x = opdsl.tensor([[1.0, 3.0], [5.0, 4.0]])
    assert [x.max(1).indices.tolist() for _ in range(3)] == [[1, 0]] * 3


def test_named_results_can_be_pickled() -> None:
    extrema = type(opdsl.aminmax(opdsl.tensor([1.0])))(1, 2)
    assert pickle.loads(pickle.dumps(extrema)) == extrema


def test_results_without_names_are_a_plain_tuple() -> None:
    assert type(opdsl.var_mean(opdsl.tensor([1.0, 2.0]))) is tuple
