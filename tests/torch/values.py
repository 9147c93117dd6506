"""Values and memory layouts on which results are compared."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from hypothesis import strategies

FINITE = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 7.25, -10.0, 1e-3, 88.0, -88.0)


def floats(dtype: torch.dtype) -> torch.Tensor:
    """Return ordinary values, infinities, NaN, the largest and smallest values, and denormal numbers."""
    info = torch.finfo(dtype)
    tiny = info.smallest_normal
    edges = (info.max, info.min, tiny, -tiny, tiny / 2, -tiny / 4, math.inf, -math.inf, math.nan)
    return torch.tensor((*FINITE, *edges), dtype=torch.float64).to(dtype)


def integers(dtype: torch.dtype) -> torch.Tensor:
    """Return small values and the bounds of the dtype."""
    info = torch.iinfo(dtype)
    return torch.tensor([0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.min, info.min + 1], dtype=dtype)


def special(dtype: torch.dtype) -> torch.Tensor:
    """Return all kinds of values of the dtype that an operator may handle wrongly."""
    if dtype is torch.bool:
        return torch.tensor([False, True])
    return floats(dtype) if dtype.is_floating_point else integers(dtype)


def ordinary(dtype: torch.dtype, shape: Sequence[int], seed: int = 0) -> torch.Tensor:
    """Return random values of moderate size."""
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(tuple(shape), generator=generator, dtype=torch.float64) * 5
    return values.to(dtype) if dtype is not torch.uint8 else values.abs().to(dtype)


def positive(dtype: torch.dtype, shape: Sequence[int], seed: int = 0) -> torch.Tensor:
    """Return random non-negative values of moderate size, whose sums lose no digits."""
    return ordinary(torch.float64, shape, seed).abs().to(dtype)


def layouts(dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    """Return tensors of shape (2, 3, 4, 5) in every memory layout, and of some shapes that broadcast with it."""
    base = ordinary(dtype, (2, 3, 4, 5))
    wide = ordinary(dtype, (4, 6, 8, 10), 1)
    return {
        "contiguous": base,
        "channels_last": base.contiguous(memory_format=torch.channels_last),
        "permuted": ordinary(dtype, (5, 3, 2, 4)).permute(2, 1, 3, 0),
        "transposed": ordinary(dtype, (2, 3, 5, 4)).transpose(2, 3),
        "sliced": wide[::2, ::2, ::2, ::2],
        "offset": wide[1:3, 2:5, 3:7, 4:9],
        "expanded": ordinary(dtype, (2, 1, 4, 1)).expand(2, 3, 4, 5),
        "row": ordinary(dtype, (5,)),
        "column": ordinary(dtype, (3, 1, 1)),
        "zero_dim": ordinary(dtype, ()),
        "expanded_number": ordinary(dtype, ()).expand(2, 3, 4, 5),
    }


@strategies.composite
def strided(draw: strategies.DrawFn, dtype: torch.dtype = torch.float32, most: int = 4) -> torch.Tensor:
    """Return a tensor of any number of dimensions, randomly permuted, sliced and expanded."""
    sizes = draw(strategies.lists(strategies.integers(0, 4), max_size=most))
    steps = [draw(strategies.integers(1, 2)) for _ in sizes]
    starts = [draw(strategies.integers(0, 1)) for _ in sizes]
    drawn = ordinary(dtype, [size * step + start for size, step, start in zip(sizes, steps, starts, strict=True)])
    for dim, (start, step) in enumerate(zip(starts, steps, strict=True)):
        drawn = drawn.transpose(0, dim)[start::step].transpose(0, dim)
    drawn = drawn.permute(draw(strategies.permutations(range(len(sizes)))))
    expanded = [draw(strategies.integers(1, 3)) if size == 1 else size for size in drawn.shape]
    return drawn.expand(expanded)


@strategies.composite
def broadcastable(draw: strategies.DrawFn, count: int = 2, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    """Return tensors that broadcast together, each randomly permuted, sliced and expanded."""
    shape = draw(strategies.lists(strategies.integers(0, 4), max_size=4))
    operands = []
    for seed in range(count):
        dims = draw(strategies.integers(0, len(shape)))
        own = [draw(strategies.sampled_from((size, 1))) for size in shape[len(shape) - dims :]]
        order = draw(strategies.permutations(range(dims)))
        steps = [draw(strategies.integers(1, 2)) for _ in own]
        base = ordinary(dtype, [own[dim] * steps[dim] for dim in order], seed)
        turned = base.permute([order.index(dim) for dim in range(dims)])
        for dim, step in enumerate(steps):
            turned = turned.transpose(0, dim)[::step].transpose(0, dim)
        operands.append(turned)
    return operands
