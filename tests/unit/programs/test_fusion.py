"""Tests that fused steps compute the same as separate ones."""

from __future__ import annotations

import opdsl
from opdsl import Tensor


def test_rows_under_a_condition_keep_the_dtype_of_what_is_added() -> None:
    def masked(condition: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        chosen = opdsl.where(condition, x, y)
        return chosen.sum([0], True), chosen * 0.0

    condition = opdsl.tensor([[True, False], [True, True]])
    compiled = opdsl.compile(masked)
    for _ in range(2):
        total, nothing = compiled(condition, opdsl.full((2, 2), 2.5), opdsl.tensor(0.5))
        assert (total.tolist(), nothing.tolist()) == ([[5.0, 3.0]], [[0.0, 0.0], [0.0, 0.0]])


def test_fused_results_have_the_strides_of_separate_steps() -> None:
    """The result of a fused ``masked_fill`` is row-major for any input layout, so that ``view`` works on it."""
    x = opdsl.arange(12.0).reshape(3, 4).t()
    compiled = opdsl.compile(lambda x: (x.masked_fill(x > 5, 0.0) + 0.0).view(-1))
    for _ in range(3):
        assert compiled(x).tolist() == [0, 4, 0, 1, 5, 0, 2, 0, 0, 3, 0, 0]
