"""Pools against PyTorch's: NaN, infinities, margins, memory formats, dtypes, errors."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some

import opdsl
from tests.torch.twins import compare

ATEN = opdsl.ops.aten
VALUES = [0.0, 1.0, -2.5, math.nan, math.inf, -math.inf]


@some.composite
def images(draw, dims):
    shape = [draw(some.integers(1, 2)), 2, *(draw(some.integers(2, 6)) for _ in range(dims))]
    count = math.prod(shape)
    values = draw(some.lists(some.sampled_from(VALUES), min_size=count, max_size=count))
    made = torch.tensor(values).reshape(shape)
    if dims == 2 and draw(some.booleans()):
        return made.contiguous(memory_format=torch.channels_last)
    return made if draw(some.booleans()) else made[0]


@pytest.mark.parametrize("dims", [2, 3])
@given(data=some.data())
@settings(max_examples=40, deadline=None)
def test_the_largest_element_and_its_place(dims, data):
    size = data.draw(some.integers(1, 3))
    rest = (data.draw(some.integers(1, 3)), data.draw(some.integers(0, 2)), data.draw(some.integers(1, 2)))
    name = f"max_pool{dims}d_with_indices"
    given_ = (data.draw(images(dims)), [size], *([each] for each in rest), data.draw(some.booleans()))
    assert compare(getattr(ATEN, name), getattr(torch.ops.aten, name), given_, {}, 0.0) == []


@pytest.mark.parametrize("dims", [2, 3])
@given(data=some.data())
@settings(max_examples=30, deadline=None)
def test_the_largest_element_of_parts(dims, data):
    name = f"adaptive_max_pool{dims}d"
    given_ = (data.draw(images(dims)), [data.draw(some.integers(0, 4)) for _ in range(dims)])
    assert compare(getattr(ATEN, name), getattr(torch.ops.aten, name), given_, {}, 0.0) == []


@given(data=some.data())
@settings(max_examples=40, deadline=None)
def test_means(data):
    flags = data.draw(some.booleans()), data.draw(some.booleans()), data.draw(some.sampled_from([None, 3, -2]))
    sizes = [[data.draw(some.integers(low, high))] for low, high in ((1, 3), (1, 3), (0, 1))]
    assert compare(ATEN.avg_pool2d, torch.ops.aten.avg_pool2d, (data.draw(images(2)), *sizes, *flags), {}, 1e-5) == []
