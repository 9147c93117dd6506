"""Tests of pooling, compared with PyTorch's: NaN, infinities, padding, memory formats, dtypes, errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

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
    image = torch.tensor(values).reshape(shape)
    if dims == 2 and draw(some.booleans()):
        return image.contiguous(memory_format=torch.channels_last)
    return image if draw(some.booleans()) else image[0]


@pytest.mark.parametrize("dims", [2, 3])
@given(data=some.data())
@settings(max_examples=40)
def test_the_largest_element_and_its_place(dims, data):
    size = data.draw(some.integers(1, 3))
    rest = (data.draw(some.integers(1, 3)), data.draw(some.integers(0, 2)), data.draw(some.integers(1, 2)))
    name = f"max_pool{dims}d_with_indices"
    arguments = (data.draw(images(dims)), [size], *([number] for number in rest), data.draw(some.booleans()))
    assert compare(getattr(ATEN, name), getattr(torch.ops.aten, name), arguments, {}, 0.0) == []


@pytest.mark.parametrize("dims", [2, 3])
@given(data=some.data())
@settings(max_examples=30)
def test_the_largest_element_of_parts(dims, data):
    name = f"adaptive_max_pool{dims}d"
    arguments = (data.draw(images(dims)), [data.draw(some.integers(0, 4)) for _ in range(dims)])
    assert compare(getattr(ATEN, name), getattr(torch.ops.aten, name), arguments, {}, 0.0) == []


@given(data=some.data())
@settings(max_examples=40)
def test_means(data):
    flags = data.draw(some.booleans()), data.draw(some.booleans()), data.draw(some.sampled_from([None, 3, -2]))
    sizes = [[data.draw(some.integers(low, high))] for low, high in ((1, 3), (1, 3), (0, 1))]
    assert compare(ATEN.avg_pool2d, torch.ops.aten.avg_pool2d, (data.draw(images(2)), *sizes, *flags), {}, 1e-5) == []


WIDE = [(size, step, dilation) for size in (2, 3) for step in (1, 2, 3) for dilation in (1, 2)]
FORMATS = [torch.contiguous_format, torch.channels_last]


def wide_images(dtype, memory_format, channels):
    """Return images with more windows in a row, or more channels, than registers have lanes, with NaN and ties."""
    image = torch.randint(-9, 9, (2, channels, 5, 41)).to(dtype)
    if dtype.is_floating_point:
        image[:, :, 1::3, ::7] = math.nan
        image[:, :, :2, 20:] = -math.inf
    return image.contiguous(memory_format=memory_format)


# PyTorch stores indices of channels_last images of uint8 in uint8, and so rejects all but the smallest images.
LARGEST = [
    *((dtype, layout) for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.int16) for layout in FORMATS),
    (torch.uint8, torch.contiguous_format),
]


@pytest.mark.parametrize(("dtype", "memory_format"), LARGEST)
def test_the_largest_elements_of_wide_images(dtype, memory_format):
    for size, step, dilation in WIDE:
        arguments = (wide_images(dtype, memory_format, 67), [size], [step], [size // 2], [dilation], True)
        name = "max_pool2d_with_indices"
        assert compare(getattr(ATEN, name), getattr(torch.ops.aten, name), arguments, {}, 0.0) == []


@pytest.mark.parametrize("memory_format", FORMATS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
def test_means_of_wide_images_and_their_gradients(dtype, memory_format):
    tolerance = 1e-2 if dtype is torch.bfloat16 else 1e-5
    for (size, step, _), counts_margin, divisor in zip(WIDE, [True, False] * 6, [None, -1, 7] * 4, strict=True):
        batch = torch.randint(-9, 9, (2, 67, 5, 41)).to(dtype).contiguous(memory_format=memory_format)
        rest = ([size], [step], [size // 2], True, counts_margin, divisor)
        assert compare(ATEN.avg_pool2d, torch.ops.aten.avg_pool2d, (batch, *rest), {}, tolerance) == []
        grad = torch.ops.aten.avg_pool2d(batch, *rest)
        name = "avg_pool2d_backward"
        arguments = (grad, batch, *rest)
        assert compare(getattr(ATEN, name), getattr(torch.ops.aten, name), arguments, {}, 4 * tolerance) == []


def test_the_mean_of_the_smallest_integer_over_minus_one_wraps():
    smallest = opdsl.full((1, 1, 2, 2), torch.iinfo(torch.int64).min, dtype=opdsl.int64)
    assert opdsl.nn.avg_pool2d(smallest, 1, divisor_override=-1).tolist() == smallest.tolist()


def test_the_mean_of_a_window_in_the_padding_is_0():
    arguments = (torch.ones(1, 1, 5), [2], [3], [1], True, False)
    assert compare(ATEN.avg_pool1d, torch.ops.aten.avg_pool1d, arguments, {}, 0.0) == []


def test_pools_of_sizes_that_are_new_take_the_plan_of_their_form():
    for width in (9, 10, 33, 70, 71):
        batch = torch.randn(2, 3, 6, width)
        for name, rest in (("max_pool2d_with_indices", [3, 2, 1]), ("avg_pool2d", [3, 2, 1]), ("avg_pool2d", [2])):
            arguments = (batch, *([number] for number in rest))
            assert compare(getattr(ATEN, name), getattr(torch.ops.aten, name), arguments, {}, 1e-5) == []


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("dtype", ["int8", "int32", "float64"])
@pytest.mark.usefixtures("plans_at_once")
def test_pooling_indices_are_int64(dims: int, dtype: str) -> None:
    """Indices of another dtype than int64 are rejected instead of being read as int64."""

    def calls(lib: Any) -> list[Callable[[], Any]]:
        grad, x = lib.ones((1, 2) + (2,) * dims), lib.ones((1, 2) + (4,) * dims)
        indices = lib.zeros((1, 2) + (2,) * dims, dtype=getattr(lib, dtype))
        sliding = getattr(lib.ops.aten, f"max_pool{dims}d_with_indices_backward")
        adaptive = getattr(lib.ops.aten, f"adaptive_max_pool{dims}d_backward")
        one = [1] * dims
        window = ([2] * dims, [2] * dims, [0] * dims, one, False)
        return [lambda: adaptive(grad, x, indices), lambda: sliding(grad, x, *window, indices)]

    for ours, theirs in zip(calls(opdsl), calls(torch), strict=True):
        with pytest.raises(RuntimeError, match="expected scalar type Long"):
            theirs()
        with pytest.raises(opdsl.errors.DTypeError, match="expected scalar type Long"):
            ours()
