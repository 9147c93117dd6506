"""Tests of conversions between dtypes, with PyTorch as oracle."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from opdsl.runtime import ALL_DTYPES, bfloat16, float16, wrap
from opdsl.runtime.casting import cast_array
from opdsl.runtime.interchange import tensor


def same_value(expected, actual):
    """Return whether two numbers are equal or both NaN."""
    return expected == actual or (expected != expected and actual != actual)


@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize("source", ALL_DTYPES, ids=repr)
def test_cast_is_pytorchs(source, ours):
    theirs = torch.tensor([0, 1, 3, 100, 127]).to(getattr(torch, source.name))
    for target in ALL_DTYPES:
        expected = theirs.to(getattr(torch, target.name))
        assert torch.equal(
            expected, torch.from_dlpack(from_stored(cast_array(ours(theirs).array, source, target), target))
        )


def from_stored(array, dtype):

    return wrap(array, dtype)


@given(st.lists(st.floats(width=64), min_size=1))
def test_floats_reach_sixteen_bits_as_in_pytorch(values):
    theirs = torch.tensor(values, dtype=torch.float64)
    for source in (torch.float32, torch.float64):
        given_values = theirs.to(source)
        for target in (bfloat16, float16):
            expected = given_values.to(getattr(torch, target.name)).tolist()
            actual = tensor(given_values.numpy(), dtype=target).tolist()
            assert all(map(same_value, expected, actual)), (values, target)
