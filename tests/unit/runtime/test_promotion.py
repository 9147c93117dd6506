"""Tests of type promotion over the full product of dtypes and operand categories, with PyTorch as oracle."""

from __future__ import annotations

import itertools

import pytest
import torch

from opdsl.errors import DTypeError
from opdsl.runtime import promotion
from opdsl.runtime.device import cpu
from opdsl.runtime.dtype import ALL_DTYPES, DType, float32, float64
from opdsl.runtime.geometry import geometry

NUMBERS = (True, 1, 1.0, 1j)


def said(ask):
    """Return the name of the dtype that a function returns, or its error text: unsigned dtypes of over 8 bits promote
    with few others.
    """
    try:
        return str(ask()).partition(".")[2]
    except (DTypeError, RuntimeError) as error:
        return str(error).partition(". ")[0]


def torch_dtype(dtype: DType) -> torch.dtype:
    return getattr(torch, dtype.name)


def operands(dtype: DType):
    """Yield a tensor with dimensions and one without of a dtype, each for opdsl and for PyTorch."""
    for shape in ((2,), ()):
        yield geometry(dtype, cpu, shape), torch.empty(shape, dtype=torch_dtype(dtype))


ALL_OPERANDS = [pair for dtype in ALL_DTYPES for pair in operands(dtype)]


@pytest.fixture(params=["float32", "float64"])
def default_dtype(request):
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, request.param))
    yield {"float32": float32, "float64": float64}[request.param]
    torch.set_default_dtype(before)


@pytest.mark.parametrize("first", ALL_DTYPES, ids=repr)
def test_promote_types_is_pytorchs(first):
    for other in ALL_DTYPES:
        expected = said(lambda other=other: torch.promote_types(torch_dtype(first), torch_dtype(other)))
        assert expected == said(lambda other=other: promotion.promote_types(first, other)), other


@pytest.mark.parametrize("first", ALL_DTYPES, ids=repr)
def test_can_cast_is_pytorchs(first):
    expected = [torch.can_cast(torch_dtype(first), torch_dtype(other)) for other in ALL_DTYPES]
    assert expected == [promotion.can_cast(first, other) for other in ALL_DTYPES]


def their_name(*values):
    try:
        return str(torch.result_type(*values))
    except RuntimeError as error:
        if str(error).startswith("Unknown Complex ScalarType"):
            return "torch.complex32"  # as for float16: opdsl has no complex dtype for either
        assert str(error).startswith("Promotion for")
        return "no dtype"


def actual_name(values, default_dtype):
    try:
        return f"torch.{promotion.result_type(values, default_dtype).name}"
    except DTypeError as error:
        if str(error).startswith("Promotion for"):
            return "no dtype"
        assert "has no complex type" in str(error)
        return "torch.complex32"


def test_result_type_of_two_tensors_is_pytorchs(default_dtype):
    for (ours, theirs), (our_other, their_other) in itertools.product(ALL_OPERANDS, repeat=2):
        expected = their_name(theirs, their_other)
        assert expected == actual_name([ours, our_other], default_dtype), (ours, our_other)


def test_result_type_with_numbers_is_pytorchs(default_dtype):
    for (ours, theirs), number in itertools.product(ALL_OPERANDS, NUMBERS):
        expected = their_name(theirs, number)
        assert expected == actual_name([ours, number], default_dtype), (ours, number)
        assert expected == actual_name([number, ours], default_dtype), (ours, number)


def test_result_type_of_two_numbers_is_pytorchs(default_dtype):
    for pair in itertools.product(NUMBERS, repeat=2):
        assert str(torch.result_type(*pair)) == actual_name(pair, default_dtype), pair


def test_result_type_of_a_string_is_an_error():
    with pytest.raises(DTypeError, match="got str"):
        promotion.result_type(["1"])


def test_result_type_of_nothing_is_an_error():
    with pytest.raises(DTypeError, match="at least one"):
        promotion.result_type([])
