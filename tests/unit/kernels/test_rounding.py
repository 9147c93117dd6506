"""Tests of floating-point results that integer dtypes would round: they are refused at declaration, unless allowed."""

from __future__ import annotations

import math

import pytest
import torch

import opdsl
from opdsl import Ints, Library, Tensor, formula, primitives
from opdsl.errors import KernelSignatureError, RoundedResultError, UnsupportedDTypeError
from opdsl.scalar.intrinsics import row_max, row_mean


def plus(a, b):
    return a + b


@pytest.fixture
def lib():
    with Library("rounded") as own:
        yield own


def fold(lib, name, **options):
    loop = primitives.fold(plus, init=0, **options)

    @lib.op(name)
    @formula
    def f(self: Tensor, dim: Ints[1] | None = None, *, above: float = 0.0) -> Tensor:
        return loop(self, dim, above=above)

    return f


def scan(lib, name, **options):
    loop = primitives.scan(plus, init=0, **options)

    @lib.op(name)
    @formula
    def f(self: Tensor, dim: int) -> Tensor:
        return loop(self, dim)

    return f


def row(lib, name, function, promote=None):
    @lib.op(name, out=True)
    def f(self: Tensor, dim: int) -> Tensor: ...

    @f.meta
    def meta(ctx, self, dim):
        ctx.set_output(0, self.shape, like=self)
        return (dim,)

    loop = primitives.rows(function) if promote is None else primitives.rows(function, promote=promote)

    @f.formula
    def formula_of_rows(self: Tensor) -> Tensor:
        return loop(self)

    return f


def scaled_by_mean(self):
    return self / row_mean(self)


@pytest.mark.parametrize(
    "declare",
    [
        lambda lib: fold(lib, "f", finish=lambda total, count, above: total / count),
        lambda lib: fold(lib, "f", finish=lambda total, count, above: total * above),
        lambda lib: fold(lib, "f", lift=lambda x: math.exp(x)),
        lambda lib: fold(lib, "f", lift=lambda x: x * 0.5, accumulators=("index",)),
        lambda lib: scan(lib, "f", lift=lambda x: math.exp(x)),
        lambda lib: row(lib, "f", scaled_by_mean),
        lambda lib: row(lib, "f", lambda self: self * 0.5),
    ],
)
def test_what_would_be_rounded_is_refused_where_it_is_declared(lib, declare):
    with pytest.raises(RoundedResultError, match=r'(?s)~+\^.*promote="int_to_float"'):
        declare(lib)


def test_what_is_whole_is_not_refused(lib):
    number = opdsl.tensor([1.5, -2.0, 3.0])
    above = fold(lib, "above", lift=lambda x, above: 1 if x > above else 0, accumulators=("index",))
    assert above(number, above=1.0).item() == 2
    halves = fold(lib, "halves", finish=lambda total, count, above: int(total / count))
    assert halves(opdsl.tensor([1, 2, 4])).item() == 2
    floors = scan(lib, "floors", lift=lambda x: math.floor(x), accumulators=("index",), results=("index",))
    assert floors(number, 0).tolist() == [1, -1, 2]
    lower = row(lib, "lower", lambda self: self - row_max(self))
    assert lower(opdsl.tensor([1, 5]), 0).tolist() == [-4, 0]


@pytest.mark.parametrize("dtype", [opdsl.int64, opdsl.uint8, opdsl.bool])
@pytest.mark.parametrize("default", [opdsl.float32, opdsl.float64])
def test_integers_are_computed_as_floating_point_numbers_where_that_is_meant(lib, dtype, default):
    x = opdsl.tensor([1, 0, 1, 1], dtype=dtype)
    floats = torch.tensor([1, 0, 1, 1], dtype=getattr(torch, default.name))
    mean = fold(lib, "mean", finish=lambda total, count, above: total / count, promote="int_to_float")
    exps = scan(lib, "exps", lift=lambda x: math.exp(x), promote="int_to_float")
    rows = row(lib, "rows", scaled_by_mean, "int_to_float")
    before = opdsl.get_default_dtype()
    opdsl.set_default_dtype(default)
    try:
        for _ in range(2):
            for actual, wanted in (
                (mean(x), floats.mean()),
                (exps(x, 0), floats.exp().cumsum(0)),
                (rows(x, 0), floats / floats.mean()),
                (rows(x, 0, out=opdsl.empty(0, dtype=default)), floats / floats.mean()),
            ):
                assert actual.dtype is default
                torch.testing.assert_close(torch.from_dlpack(actual), wanted)
    finally:
        opdsl.set_default_dtype(before)


def test_integers_are_refused_where_floating_point_numbers_are_meant(lib):
    mean = fold(lib, "mean", finish=lambda total, count, above: total / count, promote="floating")
    exps = scan(lib, "exps", lift=lambda x: math.exp(x), promote="floating")
    rows = row(lib, "rows", scaled_by_mean, "floating")
    for call in (lambda x: mean(x), lambda x: exps(x, 0), lambda x: rows(x, 0)):
        assert call(opdsl.ones(2)).dtype is opdsl.float32
        with pytest.raises(UnsupportedDTypeError, match="not implemented for 'Long'"):
            call(opdsl.tensor([1, 2]))
    with pytest.raises(KernelSignatureError, match=r"promote='odd' of the row function .* is unknown"):
        row(lib, "odd", scaled_by_mean, "odd")
