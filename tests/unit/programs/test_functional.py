"""In-place steps of compiled functions: results are those of the calls themselves."""

from __future__ import annotations

import opdsl
from opdsl import Tensor


def test_names_of_results_do_not_collide() -> None:
    def run(x: Tensor) -> tuple[Tensor, Tensor]:
        y = x * 3
        y.mul_(y)
        return x * 5, y

    first, second = opdsl.compile(run)(opdsl.ones(2))
    assert (first.tolist(), second.tolist()) == ([5.0, 5.0], [9.0, 9.0])


def test_comparisons_in_place_keep_the_dtype() -> None:
    def run(x: Tensor) -> Tensor:
        return (x * 2).lt_(3)

    for input in (opdsl.tensor([1.0, 2.0]), opdsl.tensor([1, 2])):
        computed = opdsl.compile(run)(input)
        assert (computed.dtype, computed.tolist()) == (input.dtype, [1, 0])


def test_comparisons_of_masks_in_place_are_functional() -> None:
    def run(x: Tensor) -> Tensor:
        return (x > 1).ne_(True)

    assert opdsl.compile(run)(opdsl.tensor([1.0, 2.0])).tolist() == [True, False]
