"""Tests of formulas that draw random numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import opdsl
from opdsl import Generator, Library, Tensor, formula

SEEDED = ("nondeterministic_seeded",)


@pytest.fixture(scope="module")
def lib() -> Iterator[Library]:
    with Library("drawing") as library:
        yield library


@pytest.fixture(scope="module")
def weibull(lib: Library) -> Any:
    @lib.op(inplace=True, out=True)
    @formula
    def weibull(self: Tensor, scale: float = 1, *, generator: Generator | None = None) -> Tensor:
        opdsl.check(scale > 0, "expected a positive scale", got=scale)
        return scale * (-opdsl.log(1 - opdsl.rand_like(self, generator=generator))) ** 2

    return weibull


def seeded(seed: int) -> Generator:
    return opdsl.Generator().manual_seed(seed)


def test_a_seed_gives_the_same_whatever_the_strides(weibull: Any) -> None:
    one = weibull(opdsl.empty(3, 4), generator=seeded(7))
    assert one.tolist() == weibull(opdsl.empty(4, 3).t(), generator=seeded(7)).tolist()
    opdsl.manual_seed(7)
    assert weibull(opdsl.empty(3, 4)).tolist() == one.tolist()
    assert weibull(opdsl.empty(3, 4)).tolist() != one.tolist()


def test_variants_draw_the_same(weibull: Any) -> None:
    expected = weibull(opdsl.empty(5), 2.0, generator=seeded(1)).tolist()
    x = opdsl.empty(5)
    assert opdsl.ops.drawing.weibull_(x, 2.0, generator=seeded(1)) is x
    assert x.tolist() == expected
    assert weibull(opdsl.empty(5), 2.0, generator=seeded(1), out=opdsl.empty(0)).tolist() == expected
    assert weibull(opdsl.empty(5, device="meta")).shape == (5,)


def test_what_it_checks_comes_before_anything_is_written(weibull: Any) -> None:
    x = opdsl.ones(3)
    with pytest.raises(opdsl.errors.ShapeError, match="expected a positive scale"):
        opdsl.ops.drawing.weibull_(x, -1.0)
    assert x.tolist() == [1, 1, 1]


def test_the_operators_are_tagged_unless_they_say_otherwise(lib: Library, weibull: Any) -> None:
    @lib.op(tags=())
    @formula
    def untagged(self: Tensor) -> Tensor:
        return self + opdsl.rand_like(self)

    @lib.op
    @formula
    def plain(self: Tensor) -> Tensor:
        return self * 2

    @plain.formula(when=None, dtypes="integer")
    def drawn(self: Tensor) -> Tensor:
        return opdsl.bernoulli(self.to(opdsl.float32) * 0 + 0.5).to(self.dtype)

    assert {variant.tags for variant in weibull.variants.values()} == {SEEDED}
    assert (untagged.tags, plain.tags) == ((), SEEDED)


def test_programs_draw_anew(weibull: Any) -> None:
    compiled = opdsl.compile(lambda x: weibull(x) - weibull(x))
    opdsl.manual_seed(3)
    first, second = compiled(opdsl.zeros(8)), compiled(opdsl.zeros(8))
    opdsl.manual_seed(3)
    assert compiled(opdsl.zeros(8)).tolist() == first.tolist() != second.tolist()
    assert abs(first.numpy()).min() > 0


def test_gradients_are_those_of_the_numbers_that_were_drawn(lib: Library) -> None:
    @lib.op
    @formula
    def dropped(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
        return self * (opdsl.rand_like(self, generator=generator) >= p) / (1 - p)

    x = opdsl.ones(1000, requires_grad=True)
    result = dropped(x, 0.25, generator=seeded(2))
    result.sum().backward()
    assert x.grad is not None
    numpy.testing.assert_array_equal(x.grad.numpy(), result.detach().numpy())
    assert 0.7 < float((x.grad > 0).to(opdsl.float32).mean()) < 0.8


def test_numbers_of_two_draws_are_independent(lib: Library) -> None:
    @lib.op
    @formula
    def both(self: Tensor) -> Tensor:
        return (opdsl.rand_like(self) - 0.5) * (opdsl.rand_like(self) - 0.5)

    opdsl.manual_seed(0)
    numbers = both(opdsl.empty(5000, dtype=opdsl.float64)).numpy()
    assert abs(numbers.mean()) < 0.01
    assert abs(numbers.var() - 1 / 144) < 1e-3
