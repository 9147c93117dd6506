"""Tests that the text of tensors is PyTorch's, letter for letter."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from opdsl.runtime import ALL_DTYPES, float64, from_numpy
from opdsl.runtime.interchange import tensor
from opdsl.runtime.representation import representation

NAN, INFINITY = math.nan, math.inf

FLOATS = {
    "zeros": [0.0, -0.0],
    "whole": [1.0, -20.0, 300.0],
    "whole with nan": [1.0, NAN, -INFINITY],
    "only nan": [NAN],
    "only infinity": [INFINITY, -INFINITY],
    "fractions": [0.1, -2.5, 3.14159265],
    "fractions with nan": [0.5, NAN, -INFINITY],
    "large": [1.5e8, 1.0],
    "whole large": [1e9, 2e9],
    "small": [1e-5, 2e-5],
    "wide": [1e-3, 1e3],
    "ratio of 1000": [1.0, 1000.0],
    "ratio over 1000": [1.0, 1001.0],
    "huge": [3e38, 1.0, NAN],
    "subnormal": [1e-45, 1.0],
    "rounds up": [9.99999, 0.5],
}


def check(theirs, mine):
    assert repr(theirs).replace("torch.", "opdsl.") == repr(mine)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("values", FLOATS.values(), ids=FLOATS)
def test_floats(values, dtype, ours):
    theirs = torch.tensor(values, dtype=dtype)
    check(theirs, ours(theirs))


@pytest.mark.parametrize("values", FLOATS.values(), ids=FLOATS)
def test_single_floats(values, ours):
    theirs = torch.tensor(values[0])
    check(theirs, ours(theirs))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=str)
@pytest.mark.parametrize("values", FLOATS.values(), ids=FLOATS)
def test_complex(values, dtype, ours):
    theirs = torch.complex(torch.tensor(values).double(), -torch.tensor(values[::-1]).double()).to(dtype)
    check(theirs, ours(theirs))


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=repr)
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (2, 1, 3), (0,), (2, 0), (0, 3, 1), (30,), (1001,)], ids=str)
def test_shapes_of_every_dtype(dtype, shape, ours):
    numbers = torch.arange(math.prod(shape), dtype=torch.float64).reshape(shape) - 3
    theirs = numbers.to(getattr(torch, dtype.name))
    check(theirs, ours(theirs))


LARGE = [(1001,), (1000,), (7, 200), (6, 200), (200, 6), (5, 5, 60), (60, 5, 5), (2, 3, 4, 50), (8, 8, 8, 8), (1, 2000)]


@pytest.mark.parametrize("shape", LARGE, ids=str)
def test_long_dimensions_are_cut(shape, ours):
    theirs = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    check(theirs, ours(theirs))


def test_long_complex_dimensions_are_cut(ours):
    theirs = torch.randn(20, 70, dtype=torch.complex64, generator=torch.Generator().manual_seed(0))
    check(theirs, ours(theirs))


@pytest.mark.parametrize("length", range(1, 24))
def test_line_breaks_and_the_place_of_the_dtype(length, ours):
    theirs = torch.arange(length, dtype=torch.float64) / 4
    check(theirs, ours(theirs))


@given(arrays.arrays("f4", arrays.array_shapes(min_dims=0, min_side=0, max_side=4)))
def test_any_floats(array):
    check(torch.from_numpy(array), from_numpy(array))


@given(arrays.arrays("f8", arrays.array_shapes(min_dims=0, min_side=0, max_side=4)))
def test_any_doubles(array):
    check(torch.from_numpy(array), from_numpy(array))


@given(arrays.arrays("i8", arrays.array_shapes(min_dims=0, min_side=0, max_side=4)))
def test_any_integers(array):
    check(torch.from_numpy(array), from_numpy(array))


@given(arrays.arrays("c8", arrays.array_shapes(min_dims=1, min_side=0, max_side=3)))
def test_any_complex(array):
    check(torch.from_numpy(array), from_numpy(array))


@given(st.integers(0, 3), st.integers(0, 3))
def test_transposed(dim0, dim1):
    theirs = torch.arange(24.0).view(2, 3, 4, 1).transpose(dim0, dim1)
    check(theirs, from_numpy(theirs.numpy()))


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_meta(dtype):
    theirs = torch.empty((2, 3), dtype=getattr(torch, dtype), device="meta")
    mine = tensor([[0, 0, 0], [0, 0, 0]], device="meta")
    mine.geometry = mine.geometry.replace(dtype=next(candidate for candidate in ALL_DTYPES if candidate.name == dtype))
    check(theirs, mine)


def test_requires_grad(ours):
    theirs = torch.zeros(2)
    mine = ours(theirs)
    mine.geometry = mine.geometry.replace(requires_grad=True)
    check(theirs.clone().requires_grad_(), mine)


def test_suffixes_are_broken_like_pytorchs(ours):
    theirs = torch.zeros(2, 20, requires_grad=True) + 0.5
    expected = repr(theirs)
    assert expected == representation(ours(theirs.detach()), suffixes=["grad_fn=<AddBackward0>"])


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int64", "int32"])
def test_default_dtype_is_not_mentioned(dtype, ours):
    theirs = torch.ones(2, dtype=getattr(torch, dtype))
    torch.set_default_dtype(torch.float64)
    try:
        expected = repr(theirs)
    finally:
        torch.set_default_dtype(torch.float32)
    assert expected.replace("torch.", "opdsl.") == representation(ours(theirs), float64)
