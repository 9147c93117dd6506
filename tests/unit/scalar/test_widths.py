"""Tests of which integers of scalar graphs are known to be unsigned 32-bit words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from opdsl.scalar import read
from opdsl.scalar.widths import is_word


@pytest.mark.parametrize(
    ("function", "fits"),
    [
        (lambda x: x & 0xFFFFFFFF, True),
        (lambda x: x & 0x1FFFFFFFF, False),
        (lambda x: x & -1, False),
        (lambda x: (x & 255) ^ ((x >> 32) & 0xFFFFFFFF), True),
        (lambda x: (x & 255) | x, False),
        (lambda x: (x & 0xFFFFFFFF) >> 8, True),
        (lambda x: (x & 0xFFFFFFFF) + 1, False),
        (lambda x: x >> 40, False),
    ],
)
def test_words_are_known_by_their_operations(function: Callable[[Any], Any], fits: bool) -> None:
    from opdsl.scalar import lower

    graph = lower(read(function).specialise({"x": "int64"}))
    assert is_word(graph, graph.results[0]) is fits
