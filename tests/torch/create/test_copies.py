"""Tests of copy_, clone, contiguous and to: values and memory layouts are compared with PyTorch's."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest
import torch

import opdsl
from tests.torch.twins import DTYPES, agree, agree_or_fail, of
from tests.torch.values import layouts, ordinary, special

FULL = ("contiguous", "channels_last", "permuted", "transposed", "sliced", "offset")


@pytest.mark.parametrize("source", layouts(), ids=str)
@pytest.mark.parametrize("target", FULL)
def test_copies_between_layouts(target: str, source: str) -> None:
    agree(lambda lib, x, y: x.copy_(y), layouts()[target], layouts()[source])


def test_conversions_of_finite_values() -> None:
    wrong = []
    for one, other in product(DTYPES, DTYPES):
        values = torch.tensor([0, 1, 2, 3, 100], dtype=torch.float64).to(one)
        try:
            agree(lambda lib, x, y: x.copy_(y), torch.zeros(5, dtype=other), values)
        except AssertionError as error:
            wrong.append(f"{one} to {other}: {error}")
    assert wrong == []


@pytest.mark.parametrize("to", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.bool], ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_conversions_of_special_values(dtype: torch.dtype, to: torch.dtype) -> None:
    kind: dict[Any, Any] = {torch: to, opdsl: of(to)}
    agree(lambda lib, x: x.to(kind[lib]), special(dtype))


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("to", [dtype for dtype in DTYPES if dtype.is_floating_point or dtype is torch.bool], ids=str)
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=str)
def test_conversions_of_special_complex_numbers(dtype: torch.dtype, to: torch.dtype) -> None:
    kind: dict[Any, Any] = {torch: to, opdsl: of(to)}
    parts = (0.0, -0.0, 1.0, -1.5, 1e-40, math.inf, math.nan)
    agree(lambda lib, x: x.to(kind[lib]), torch.tensor([complex(*pair) for pair in product(parts, parts)], dtype=dtype))


@pytest.mark.parametrize("layout", layouts(), ids=str)
def test_conversions_keep_the_layout(layout: str) -> None:
    agree(lambda lib, x: x.to(lib.float64), layouts()[layout])


@pytest.mark.parametrize("memory_format", ["contiguous_format", "channels_last", "preserve_format"])
@pytest.mark.parametrize("layout", FULL)
def test_clones(layout: str, memory_format: str) -> None:
    agree(lambda lib, x: x.clone(memory_format=getattr(lib, memory_format)), layouts()[layout])


@pytest.mark.parametrize("shape", [(4,), (2, 3, 4), (1, 4), (3, 1)], ids=str)
def test_shapes_that_do_not_fit(shape: tuple[int, ...]) -> None:
    agree_or_fail(lambda lib, x, y: x.copy_(y), torch.zeros(3, 4), ordinary(torch.float32, shape))
