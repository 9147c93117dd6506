"""Tests of gradients that many elements share, counts that a dtype cannot hold, and products of zeros and huge
numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opdsl
from opdsl import errors

COUNT = 70_000
INFINITE = math.inf

# Functions of equal elements, which get equal shares of the gradient.
OF_EQUALS: dict[str, Callable[[Any], Any]] = {
    "max": lambda x: x.max(),
    "min": lambda x: x.min(),
    "amax": lambda x: x.amax(),
    "amin": lambda x: x.amin(0),
    "aminmax": lambda x: opdsl.aminmax(x).max,
    "norm": lambda x: opdsl.norm(x, INFINITE),
    "vector_norm": lambda x: opdsl.linalg.vector_norm(x, INFINITE),
    "smallest_norm": lambda x: opdsl.linalg.vector_norm(x, -INFINITE),
    "median": lambda x: x.median(),
    "nanmedian": lambda x: x.nanmedian(),
    "mean": lambda x: x.mean(),
    "nanmean": lambda x: x.nanmean(),
}


def places() -> Any:
    return opdsl.zeros(COUNT, dtype=opdsl.int64)


def start(x: Any) -> Any:
    return opdsl.zeros(1, dtype=x.dtype)


# Functions that combine equal elements at one index, which get equal shares of the gradient as well.
OF_PLACES: dict[str, Callable[[Any], Any]] = {
    "scatter_mean": lambda x: start(x).scatter_reduce(0, places(), x, "mean", include_self=False),
    "scatter_amax": lambda x: start(x).scatter_reduce(0, places(), x, "amax", include_self=False),
    "index_mean": lambda x: start(x).index_reduce(0, places(), x, "mean", include_self=False),
    "segment_mean": lambda x: opdsl.segment_reduce(x, "mean", lengths=opdsl.tensor([COUNT])),
    "segment_max": lambda x: opdsl.segment_reduce(x, "max", lengths=opdsl.tensor([COUNT])),
    "bag_mean": lambda x: opdsl.nn.functional.embedding_bag(
        opdsl.arange(COUNT), x.unsqueeze(1), opdsl.tensor([0]), mode="mean"
    ),
}


@pytest.mark.parametrize("dtype", [opdsl.float16, opdsl.bfloat16], ids=str)
@pytest.mark.parametrize("name", [*OF_EQUALS, *OF_PLACES])
def test_parts_of_more_elements_than_the_dtype_counts(name: str, dtype: Any) -> None:
    x = opdsl.ones(COUNT, dtype=dtype, requires_grad=True)
    ({**OF_EQUALS, **OF_PLACES}[name](x)).sum().backward()
    wanted = opdsl.tensor(1 / COUNT, dtype=opdsl.float64).to(dtype).item()
    slack = 2.0**-24  # the spacing of float16 at this size; that of bfloat16 is finer
    np.testing.assert_allclose(x.grad.to(opdsl.float64).numpy(), np.full(COUNT, wanted), rtol=0, atol=slack)


def test_what_is_counted_by_frequency() -> None:
    table = opdsl.ones((1, 2), dtype=opdsl.float16, requires_grad=True)
    rows = opdsl.nn.functional.embedding(places(), table, scale_grad_by_freq=True)
    gradient = opdsl.zeros((COUNT, 2), dtype=opdsl.float16)
    gradient[0] = 1.0
    rows.backward(gradient)
    assert table.grad.tolist() == [[float(np.float16(1 / COUNT))] * 2]


def test_the_mean_of_many_narrow_numbers() -> None:
    x = opdsl.full((COUNT,), 2.0, dtype=opdsl.float16)
    x[5] = math.nan
    out = opdsl.empty((), dtype=opdsl.float16)
    assert opdsl.nanmean(x).item() == 2.0
    assert opdsl.nanmean(x, out=out).item() == 2.0


PRODUCTS = {
    "two zeros": ([0.0, 0.0, 1e20, 1e20, 1e20], [0.0] * 5),
    "a zero": ([0.0, 1e20, 1e20, 1e20], [math.inf, 0.0, 0.0, 0.0]),
    "a zero between": ([1e20, 1e20, 0.0, 1e20, 1e20], [0.0, 0.0, math.inf, 0.0, 0.0]),
    "small": ([0.0, 2.0, 3.0], [6.0, 0.0, 0.0]),
    "infinity": ([0.0, math.inf, 2.0], [math.inf, 0.0, math.nan]),
    "NaN": ([math.nan, 0.0, 1.0], [0.0, math.nan, math.nan]),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_gradients_of_products_with_zeros(name: str) -> None:
    factors, wanted = PRODUCTS[name]
    for product in (lambda x: x.prod(), lambda x: x.prod(0)):
        x = opdsl.tensor(factors, dtype=opdsl.float32, requires_grad=True)
        product(x).backward()
        np.testing.assert_array_equal(x.grad.numpy(), np.array(wanted, np.float32))


def test_second_gradients_of_products_with_a_zero() -> None:
    x = opdsl.tensor([0.0, 2.0, 3.0], requires_grad=True)
    (slopes,) = opdsl.autograd.grad([x.prod()], [x], create_graph=True)
    (curvature,) = opdsl.autograd.grad([(slopes * slopes).sum()], [x])
    assert curvature.tolist() == [0.0, 36.0, 24.0]  # of (y z)^2 + (x z)^2 + (x y)^2


WRONG_OFFSETS = {
    "not from 0": ([1, 2], r"offsets\[0\] has to be 0"),
    "negative": ([-1, 2], r"offsets\[0\] has to be 0"),
    "out of order": ([0, 3, 2], "ascending order"),
    "negative later": ([0, -3], "ascending order"),
    "too large": ([0, 2, 7], "greater than input's length 4"),
}


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("name", WRONG_OFFSETS)
def test_offsets_of_bags(name: str, mode: str) -> None:
    offsets, message = WRONG_OFFSETS[name]
    table, indices = opdsl.arange(10.0).reshape(5, 2), opdsl.tensor([0, 1, 2, 3])
    for inputs in ([0, 2], [0, 0, 4], [0]) * 3:  # some of these calls run by plans
        opdsl.nn.functional.embedding_bag(indices, table, opdsl.tensor(inputs), mode=mode)
        with pytest.raises(errors.ShapeError, match=message):
            opdsl.nn.functional.embedding_bag(indices, table, opdsl.tensor(offsets), mode=mode)
