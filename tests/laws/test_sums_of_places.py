"""Tests of law 11 for sums of reads at computed indices: the plan that runs a call does not change the order of
summation.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import opdsl
from opdsl import Tensor

Kind = Callable[[np.random.Generator], tuple[Callable[[Tensor], Tensor], tuple[int, ...]]]


def to_sizes(random: np.random.Generator) -> tuple[Callable[[Tensor], Tensor], tuple[int, ...]]:
    size = int(random.integers(4, 200))
    count = int(random.integers(2, size))
    return lambda x: opdsl.adaptive_avg_pool1d(x, [count]), (2, int(random.integers(1, 5)), size)


def over_windows(random: np.random.Generator) -> tuple[Callable[[Tensor], Tensor], tuple[int, ...]]:
    width = int(random.integers(2, 30))
    padding = int(random.integers(0, width // 2 + 1))
    return lambda x: opdsl.avg_pool1d(x, [width], [2], [padding]), (2, 3, int(random.integers(40, 200)))


def over_squares(random: np.random.Generator) -> tuple[Callable[[Tensor], Tensor], tuple[int, ...]]:
    width = int(random.integers(2, 15))
    return lambda x: opdsl.nn.avg_pool2d(x, [width, width], [2, 2], [width // 2] * 2), (
        1,
        3,
        *random.integers(20, 60, 2),
    )


@pytest.mark.parametrize("kind", [to_sizes, over_windows, over_squares])
def test_bits_of_a_sum_are_those_of_every_plan(kind: Kind) -> None:
    random = np.random.default_rng(0)
    for _ in range(40):
        pool, shape = kind(random)
        x = opdsl.from_numpy(random.standard_normal(shape, np.float32))
        calls = [pool(x).numpy().tobytes() for _ in range(5)]
        assert len({*calls}) == 1, shape
