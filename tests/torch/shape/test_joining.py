"""Tests of cat and stack, compared with PyTorch's: shapes, dtypes, memory formats and errors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some

import opdsl
from tests.torch.twins import DTYPES, agree, agree_or_fail
from tests.torch.values import layouts, ordinary

FULL = ("contiguous", "channels_last", "permuted", "transposed", "sliced", "offset", "expanded")


@pytest.mark.parametrize("dim", [0, 1, 3, -1, -4])
@pytest.mark.parametrize("second", FULL)
@pytest.mark.parametrize("first", FULL)
def test_layouts(first: str, second: str, dim: int) -> None:
    laid_out = layouts()
    agree(lambda lib, x, y: lib.cat((x, y), dim), laid_out[first], laid_out[second])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes(dtype: torch.dtype) -> None:
    x, y = ordinary(dtype, (2, 3)), ordinary(dtype, (4, 3), 1)
    agree(lambda lib, a, b: lib.cat([a, b]), x, y)


@pytest.mark.parametrize("count", [1, 2, 3, 20])
def test_numbers_of_tensors(count: int) -> None:
    agree(
        lambda lib, *tensors: lib.cat(tensors, 1), *[ordinary(torch.float32, (2, index + 1)) for index in range(count)]
    )


@settings(max_examples=150)
@given(
    some.lists(some.lists(some.integers(0, 3), max_size=3), min_size=1, max_size=3),
    some.integers(-3, 3),
)
def test_any_shapes(shapes: list[list[int]], dim: int) -> None:
    tensors = [ordinary(torch.float32, shape, seed) for seed, shape in enumerate(shapes)]
    agree_or_fail(lambda lib, *inputs: lib.cat(inputs, dim), *tensors)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0), (1, 0, 2)], ids=str)
def test_empty_tensors_beside_full_ones(shape: tuple[int, ...]) -> None:
    empty, full = torch.empty(shape), ordinary(torch.float32, (2, 3))
    agree_or_fail(lambda lib, x, y: lib.cat((x, y)), empty, full)
    agree_or_fail(lambda lib, x, y: lib.cat((y, x)), empty, full)


def test_one_tensor_is_copied() -> None:
    x = ordinary(torch.float32, (2, 3))
    joined = torch.cat((x,))
    assert joined.data_ptr() != x.data_ptr()
    agree(lambda lib, value: lib.cat((value,)).add_(1), x)
    agree(lambda lib, value: lib.neg(value), x)


def test_no_tensors() -> None:
    agree_or_fail(lambda lib: lib.cat([]))


def test_a_plan_takes_lists_and_tuples_alike() -> None:
    x, y = ordinary(torch.float32, (2, 3)), ordinary(torch.float32, (2, 3), 1)
    agree(lambda lib, a, b: lib.cat(lib.cat([a, b]).unbind(0)), x, y)
    agree(lambda lib, a, b: lib.cat((a, b, a)), x, y)


NUMBERS = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "complex64"])
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("name", ["cat", "stack"])
@pytest.mark.parametrize("count", [1, 3, 4, 9, 30])
def test_lists_of_any_length_are_joined_as_pytorch_joins_them(count: int, name: str, dim: int, dtype: str) -> None:
    def joined(lib: Any) -> list[Any]:
        parts = [lib.from_numpy(NUMBERS + index).to(getattr(lib, dtype)) for index in range(count)]
        lists = (parts, [part.t() for part in parts], [*parts[1:], parts[0].t().contiguous().t()])
        return [getattr(lib, name)(listed, dim).to(lib.complex128) for listed in lists]

    for ours, theirs in zip(joined(opdsl), joined(torch), strict=True):
        assert (tuple(ours.shape), tuple(ours.stride())) == (tuple(theirs.shape), tuple(theirs.stride()))
        numpy.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_a_stack_is_written_where_its_tensors_lie_without_views_of_them(tmp_path: Path) -> None:
    parts = [opdsl.from_numpy(NUMBERS + index) for index in range(9)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("OPDSL_DUMP", str(tmp_path))
        for _ in range(4):
            assert opdsl.stack(parts)[8].tolist() == parts[8].tolist()
    (plan,) = tmp_path.glob("*plan-stack*")
    assert re.search(r"view\d+ = \w+\(tensors", plan.read_text()) is None
