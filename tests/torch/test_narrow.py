"""Tests of 16-bit numbers, to the last bit: intermediate rounding as in PyTorch, and functions that depend on the
dtype.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.torch.twins import agree

NARROW = (torch.float16, torch.bfloat16)

OPERATORS: dict[str, Any] = {
    "floor": lambda lib, x, y: lib.div(x, y, rounding_mode="floor"),
    "trunc": lambda lib, x, y: lib.div(x, y, rounding_mode="trunc"),
    "floor_divide": lambda lib, x, y: lib.floor_divide(x, y),
    "nextafter": lambda lib, x, y: lib.nextafter(x, y),
    "nan_to_num": lambda lib, x, y: lib.nan_to_num(x),
    "hundreds": lambda lib, x, y: lib.round(x, decimals=-2),
    "thousandths": lambda lib, x, y: lib.round(x, decimals=3),
}


def every_number(dtype: torch.dtype, seed: int) -> torch.Tensor:
    """Return all 65,536 numbers of a dtype in random order, with denormal numbers, infinities and NaN."""
    order = torch.randperm(1 << 16, generator=torch.Generator().manual_seed(seed))
    return (order - (1 << 15)).to(torch.int16).view(dtype)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("name", OPERATORS)
def test_every_number(name: str, dtype: torch.dtype) -> None:
    x, y = every_number(dtype, 0), every_number(dtype, 1)
    agree(OPERATORS[name], x, y, repeat=1)
    agree(OPERATORS[name], x.clamp(-100, 100), y.clamp(-7, 7), repeat=1)
    agree(OPERATORS[name], x, x.roll(1), repeat=1)


# Calls of ``x`` and a number that 16 bits cannot represent, which PyTorch rounds before it computes.
WITH_NUMBERS: dict[str, Any] = {
    "fmod": lambda lib, x, number: lib.fmod(x, number),
    "remainder": lambda lib, x, number: lib.remainder(x, number),
    "hardshrink": lambda lib, x, number: lib.hardshrink(x, number),
    "hardshrink_backward": lambda lib, x, number: lib.ops.aten.hardshrink_backward(lib.ones_like(x), x, number),
    "softshrink_backward": lambda lib, x, number: lib.ops.aten.softshrink_backward(lib.ones_like(x), x, number),
    "ge": lambda lib, x, number: x >= number,
    "floor_divide": lambda lib, x, number: lib.floor_divide(x, number),
}


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_a_number_that_is_rounded(name: str, dtype: torch.dtype) -> None:
    for number in (0.1, 0.3, 0.7, 1.1):
        x = number * torch.tensor([1.0, -1.0, 1.01, -1.01, 0.99, 3.0, 0.0]).to(dtype)
        agree(lambda lib, x, number=number: WITH_NUMBERS[name](lib, x, number), x, repeat=1)
