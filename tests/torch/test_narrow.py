"""16-bit numbers: what PyTorch rounds to 16 bits on the way, and what depends on the dtype itself, to the last bit."""

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
    """All 65,536 numbers of a dtype in some order, denormal ones, infinities and NaN among them."""
    order = torch.randperm(1 << 16, generator=torch.Generator().manual_seed(seed))
    return (order - (1 << 15)).to(torch.int16).view(dtype)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("name", OPERATORS)
def test_every_number(name: str, dtype: torch.dtype) -> None:
    x, y = every_number(dtype, 0), every_number(dtype, 1)
    agree(OPERATORS[name], x, y, repeat=1)
    agree(OPERATORS[name], x.clamp(-100, 100), y.clamp(-7, 7), repeat=1)
    agree(OPERATORS[name], x, x.roll(1), repeat=1)
