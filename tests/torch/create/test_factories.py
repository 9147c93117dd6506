"""Tests of empty, full, zeros and ones: dtypes, shapes, strides, values and errors are compared with PyTorch's."""

from __future__ import annotations

import collections
import math
from typing import Any

import numpy
import pytest
import torch

import opdsl
from opdsl.errors import ArgumentError, ConversionError
from tests.torch.twins import DTYPES, agree_or_fail, assert_agree, of

SIZES = [(), (0,), (3,), (2, 0, 3), (2, 3, 4, 5)]


def form(tensor: Any) -> tuple[Any, ...]:
    """Return everything but the elements of a tensor: shape, strides, dtype, device, contiguity."""
    dtype = str(tensor.dtype).rpartition(".")[2]
    return tuple(tensor.shape), tensor.stride(), dtype, str(tensor.device), tensor.is_contiguous()


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("dtype", [None, *DTYPES], ids=str)
def test_empty(dtype: torch.dtype | None, size: tuple[int, ...]) -> None:
    for _ in range(2):
        assert form(opdsl.empty(size, dtype=of(dtype))) == form(torch.empty(size, dtype=dtype))


def test_empty_in_another_memory_format() -> None:
    for _ in range(2):
        ours = opdsl.empty((2, 3, 4, 5), memory_format=opdsl.channels_last)
        assert form(ours) == form(torch.empty((2, 3, 4, 5), memory_format=torch.channels_last))


def test_empty_on_meta() -> None:
    for _ in range(2):
        assert form(opdsl.empty((2, 3), device="meta")) == form(torch.empty((2, 3), device="meta"))


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("dtype", [None, *DTYPES], ids=str)
@pytest.mark.parametrize("name", ["zeros", "ones"])
def test_zeros_and_ones(name: str, dtype: torch.dtype | None, size: tuple[int, ...]) -> None:
    for _ in range(2):
        assert_agree(getattr(opdsl, name)(size, dtype=of(dtype)), getattr(torch, name)(size, dtype=dtype))


@pytest.mark.parametrize("value", [0, 1, -1, 2.5, True, 300, 1e20, 1e39, math.nan, math.inf], ids=repr)
@pytest.mark.parametrize("dtype", [None, *DTYPES], ids=str)
def test_full(dtype: torch.dtype | None, value: float) -> None:
    def call(lib: Any) -> Any:
        return lib.full((2, 3), value, dtype=dtype if lib is torch else of(dtype))

    agree_or_fail(call)


@pytest.mark.parametrize("size", [(-1,), (2, -3), ("a",), (2.5,), None], ids=str)
@pytest.mark.parametrize("name", ["empty", "zeros", "ones"])
def test_wrong_sizes(name: str, size: Any) -> None:
    agree_or_fail(lambda lib: getattr(lib, name)(size))


def test_a_new_tensor_shares_nothing_with_the_last() -> None:
    one, two = opdsl.zeros(3), opdsl.zeros(3)
    one.add_(1)
    assert two.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("name", ["empty", "zeros", "ones"])
def test_a_leaf_that_requires_gradients(name: str) -> None:
    make = getattr(opdsl, name)
    for wanted in (False, True, True, False):
        assert make(2, requires_grad=wanted).requires_grad is wanted
        assert make((2,), dtype=opdsl.float64, requires_grad=wanted).requires_grad is wanted
    agree_or_fail(lambda lib: getattr(lib, name)(2, dtype=lib.int64, requires_grad=True))


def test_as_tensor_shares_what_it_can() -> None:
    array = numpy.zeros(3, dtype=numpy.float32)
    for lib in (torch, opdsl):
        one = lib.as_tensor(array)
        assert lib.as_tensor(one) is one
        assert lib.as_tensor(one, dtype=lib.float64) is not one
        before = array.tolist()
        one.add_(1)
        assert array.tolist() == [element + 1 for element in before]
    agree_or_fail(lambda lib: lib.as_tensor([[1, 2.5], [3, 4]]))
    agree_or_fail(lambda lib: lib.as_tensor([[1], [3, 4]]))


def test_a_zero_dim_tensor_is_a_fill_value() -> None:
    for _ in range(2):
        assert_agree(opdsl.full((2,), of(torch.tensor(2.5))), torch.full((2,), torch.tensor(2.5)))


class Numbers:
    """Sequence-like class with ``len`` and indexing."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: int) -> float:
        return self.numbers[index]


class Unreadable(Numbers):
    """Sequence-like class whose elements cannot be read."""

    def __getitem__(self, index: int) -> float:
        raise TypeError(index)


@pytest.mark.parametrize(
    "data",
    [
        ((7, numpy.array(5)), (numpy.array(9), 5.0)),
        [numpy.array([[1]]), numpy.array([[2]])],
        [numpy.bool_(True), numpy.bool_(False)],
        Numbers(1.0, 2.0),
        [Numbers(1, 2), Numbers(3, 4)],
        collections.deque([1, 2]),
    ],
    ids=["of arrays", "of matrices", "of bools", "by index", "of those", "a queue"],
)
@pytest.mark.filterwarnings("ignore:Creating a tensor from a list of numpy:UserWarning")
def test_sequences_of_every_kind(data: Any) -> None:
    actual, expected = opdsl.tensor(data), torch.tensor(data)
    assert (actual.tolist(), str(actual.dtype)) == (expected.tolist(), str(expected.dtype).replace("torch", "opdsl"))


class Endless(Numbers):
    """Sequence-like class that returns an element for every index."""

    def __getitem__(self, index: int) -> float:
        return 1.0


def test_sequences_are_read_no_further_than_their_length() -> None:
    assert opdsl.tensor(Endless(0.0, 0.0)).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("data", [Unreadable(1.0), collections.UserDict({1: 2})], ids=["no elements", "a mapping"])
def test_sequences_whose_elements_cannot_be_read(data: Any) -> None:
    with pytest.raises(ValueError, match="could not determine the shape"):
        torch.tensor(data)
    with pytest.raises(ConversionError):
        opdsl.tensor(data)


@pytest.mark.parametrize("name", ["linspace", "logspace"])
@pytest.mark.parametrize("ends", ["start", "end", "both"])
def test_no_gradient_goes_to_the_ends_of_a_range(name: str, ends: str) -> None:
    start, end = (opdsl.tensor(number, requires_grad=True) for number in (0.0, 3.0))
    points = getattr(opdsl, name)(start if ends != "end" else 0.0, end if ends != "start" else 3.0, 3)
    assert not points.requires_grad


def test_a_range_wider_than_its_dtype() -> None:
    for lib in (opdsl, torch):
        with pytest.raises(RuntimeError, match="uniform_ expects to-from"):
            lib.empty(2, dtype=lib.float64).uniform_(-1.7e308, 1.7e308)


def test_a_number_of_numpy_shares_no_memory() -> None:
    for lib in (opdsl, torch):
        with pytest.raises(RuntimeError):
            lib.asarray(numpy.float32(3), copy=False)
    assert opdsl.asarray(numpy.float32(3)).dtype is opdsl.float32


def test_an_older_spelling_of_conversions() -> None:
    x, y = opdsl.ones(2), torch.ones(2)
    assert x.type(opdsl.float32) is x and x.type(opdsl.int16).dtype is opdsl.int16
    assert x.type() == y.type().replace("torch", "opdsl")
    with pytest.raises(ArgumentError, match="expected a dtype, but got the string"):
        x.type("opdsl.DoubleTensor")  # users of PyTorch may try it
