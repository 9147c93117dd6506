"""Tests that operators refuse arguments whose values would lead their kernels out of bounds."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

import opdsl
from opdsl.aten.index import torch_order as ops
from opdsl.aten.reduce.histograms import even_counts
from opdsl.errors import OpdslError

KEYS = opdsl.tensor([[3, 1, 2], [9, 7, 8]])


@pytest.mark.parametrize(
    "call",
    [
        lambda: ops.nth_place(KEYS, 3),
        lambda: ops.nth_place(KEYS, -1),
        lambda: ops.nth_place(KEYS, 2**62),
        lambda: ops.nth_place(KEYS[:, :0], 0),
        lambda: ops.nth_place(KEYS[0], 0),
        lambda: ops.nth_place(KEYS.to(opdsl.float64), 0),
        lambda: ops.first_places(KEYS, 4, True),
        lambda: ops.first_places(KEYS[0], 1, True),
        lambda: ops.first_places(KEYS.to(opdsl.int32), 1, True),
        lambda: ops.sorted_places(KEYS[0]),
        lambda: ops.sorted_places(KEYS.to(opdsl.float32)),
        lambda: ops.stable_places(KEYS.to(opdsl.float32)),
        lambda: ops.order_keys(KEYS, 2, False),
        lambda: ops.order_keys(KEYS, -3, False),
        lambda: even_counts(opdsl.ones(3), 0, 0.0, 2.0),
        lambda: even_counts(opdsl.ones(3), -5, 0.0, 2.0),
        lambda: even_counts(opdsl.ones(3), 3, 1.0, 1.0),
        lambda: even_counts(opdsl.ones(3), 3, -math.inf, 1.0),
        lambda: even_counts(opdsl.ones(3), 3, 0.0, math.nan),
    ],
)
def test_what_leads_outside_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(OpdslError) as caught:
        call()
    assert "raised in a kernel" not in str(caught.value)


def test_keys_of_a_dim_from_the_end() -> None:
    assert ops.order_keys(KEYS, -1, False).shape == (2, 3)
    assert ops.nth_place(KEYS, 1).tolist() == [[2], [2]]


@pytest.mark.parametrize(
    ("edges", "values", "wanted"),
    [
        # Edges that are equal in float32, with PyTorch's counts; the index of the bin was NaN before.
        ((1.0, 1.00000001), [1.0, 2.0], [1.0, 0.0, 0.0]),
        ((16777216.0, 16777217.0), [16777216.0, 16777216.0, 5.0], [2.0, 0.0, 0.0]),
        ((0.0, 3.0), [0.0, 1.0, 3.0, math.nan, 4.0], [1.0, 1.0, 1.0]),
    ],
)
def test_edges_that_are_rounded_to_one(edges: tuple[float, float], values: list[float], wanted: list[float]) -> None:
    counts = opdsl.histc(opdsl.tensor(values, dtype=opdsl.float32), 3, *edges)
    assert counts.tolist() == wanted
