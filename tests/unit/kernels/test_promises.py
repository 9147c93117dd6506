"""Tests of promises in declarations (initial values, shape functions, casts): they are kept or refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import opdsl
from opdsl import Alias, Ints, Library, Tensor, formula, primitives
from opdsl.errors import KernelError, KernelSignatureError, RoundedResultError


@pytest.fixture
def lib() -> Iterator[Library]:
    with Library("promises") as library:
        yield library


def folded(lib: Library, combine: Any, **options: Any) -> Any:
    loop = primitives.fold(combine, **options)

    @lib.op
    @formula
    def folds(self: Tensor, dim: Ints[1] | None = None) -> Tensor:
        return loop(self, dim)

    return folds


def folding(lib: Library) -> Any:
    return lambda **options: lambda combine: folded(lib, combine, **options)


def scanning(lib: Library) -> Any:
    def declare(loop: primitives.Loop) -> None:
        @lib.op
        @formula
        def scanned(self: Tensor, dim: int) -> Tensor:
            return loop(self, dim)

    return lambda **options: lambda combine: declare(primitives.scan(combine, **options))


@pytest.mark.parametrize("kind", [folding, scanning])
@pytest.mark.parametrize(
    ("init", "combine"),
    [(3, lambda a, b: a + b), (2, lambda a, b: a * b), (-1, lambda a, b: a * b), (1, lambda a, b: a + b)],
)
def test_an_initial_value_that_would_enter_several_times_is_refused(
    lib: Library, kind: Any, init: Any, combine: Any
) -> None:
    with pytest.raises(KernelSignatureError, match=rf"init={init} combined with itself is .*let finish add the rest"):
        kind(lib)(init=init)(combine)


@pytest.mark.parametrize("kind", [folding, scanning])
@pytest.mark.parametrize("init", [0.5, math.nan, 1e30])
def test_an_initial_value_that_integers_cannot_be_is_refused(lib: Library, kind: Any, init: float) -> None:
    with pytest.raises(RoundedResultError, match=r"init=.* is no int64"):
        kind(lib)(init=init)(lambda a, b: a + b)


@pytest.mark.parametrize("init", [0, 1.5, -math.inf])
def test_an_initial_value_that_makes_no_difference_the_second_time_holds_once(lib: Library, init: float) -> None:
    largest = folded(lib, lambda a, b: max(a, b), init=init, promote="floating")
    for count in (0, 1, 7, 100, 5000):
        values = numpy.random.default_rng(count).normal(size=count)
        expected = max([init, *values])
        assert largest(opdsl.from_numpy(values)).item() == expected


def test_integers_that_do_not_reach_are_refused_where_they_are_folded(lib: Library) -> None:
    least = folded(lib, lambda a, b: min(a, b), init=1000)
    assert least(opdsl.tensor([1001, 1002])).item() == 1000
    with pytest.raises(RoundedResultError, match="init=1000 is no int8") as caught:
        try:
            least(opdsl.tensor([1, 2], dtype=opdsl.int8))
        except opdsl.errors.UnsupportedDTypeError as error:
            raise error.__cause__ from None  # type: ignore[misc]
    assert "int8" in str(caught.value)


SETS: dict[str, dict[str, Any]] = {
    "shape": {"sizes": (7,)},
    "dtype": {"dtype": opdsl.int64},
    "strides": {"strides": (1, 2)},
    "names": {"names": ("n", "c")},
}


@pytest.mark.parametrize("what", SETS)
@pytest.mark.parametrize("kind", ["pointwise", "reduction"])
def test_a_shape_function_that_says_something_else_is_refused(lib: Library, kind: str, what: str) -> None:
    folds = kind == "reduction"
    options = {"sizes": (2, 1) if folds else (2, 3), **SETS[what]}
    more = ", int[1] dim=-1, bool keepdim=True" if folds else ""
    checked = lib.define(f"checked(Tensor self{more}) -> Tensor", out=True)

    @checked.meta
    def checked_meta(ctx, self):
        ctx.set_output(0, options.pop("sizes"), like=self, **options)

    if folds:
        sums = primitives.fold(lambda a, b: a + b, init=0)

        @checked.formula
        def checked_formula(self: Tensor, dim: Any, keepdim: bool) -> Tensor:
            return sums(self, dim, keepdim)

    else:
        checked.formula(lambda self: self * 2.0)
    with pytest.raises(KernelError, match=r"the shape function sets output 0 to .* only checks: remove set_output"):
        checked(opdsl.ones(2, 3))


def test_a_shape_function_that_agrees_is_accepted(lib: Library) -> None:
    @lib.op
    def doubled(self: Tensor) -> Tensor: ...

    @doubled.meta
    def doubled_meta(ctx, self):
        ctx.set_output(0, self.shape, like=self)

    doubled.formula(lambda self: self * 2.0)
    for size in (1, 2, 3, 4):
        assert doubled(opdsl.ones(size, 2)).tolist() == [[2.0, 2.0]] * size


def test_a_shape_function_of_random_numbers_that_says_something_else_is_refused(lib: Library) -> None:
    @lib.op
    def drawn_(
        self: Tensor[Alias("a", write=True)], *, generator: opdsl.Generator | None = None
    ) -> Tensor[Alias("a", write=True)]: ...

    @drawn_.meta
    def drawn_meta(ctx, self):
        ctx.set_output(0, (5,), like=self)

    loop = primitives.draw(lambda u: u)
    drawn_.formula(lambda self: loop(self))
    with pytest.raises(KernelError, match="only checks"):
        drawn_(opdsl.ones(3))


def test_a_product_of_bytes_that_are_converted_does_not_wrap(lib: Library) -> None:
    @lib.op
    def product(self: Tensor, other: Tensor) -> Tensor: ...

    @product.meta
    def product_meta(ctx, self, other):
        ctx.set_output(0, (self.shape[0], other.shape[1]), like=self, dtype=opdsl.int32)

    products = primitives.positions(
        lambda self, other, i, j, k: int(self[i, k]) * int(other[k, j]), at=("i", "j"), over="k", fold="sum"
    )

    @product.formula
    def product_formula(self: Tensor, other: Tensor) -> Tensor:
        return products(self, other)

    one, other = opdsl.full((2, 8), 100, dtype=opdsl.int8), opdsl.full((8, 3), 100, dtype=opdsl.int8)
    assert product(one, other).tolist() == [[80_000] * 3] * 2
