"""Tests that basic indexing agrees with PyTorch's."""

from __future__ import annotations

import numpy
import pytest
import torch

import opdsl
from opdsl import errors

pytestmark = pytest.mark.usefixtures("plans_at_once")

SHAPE = (3, 4, 5)
INDICES = [
    numpy.s_[0],
    numpy.s_[-1],
    numpy.s_[1:3],
    numpy.s_[:, 1],
    numpy.s_[..., 2],
    numpy.s_[::2, 1:, ...],
    numpy.s_[None],
    numpy.s_[:, None, 2, None],
    numpy.s_[1, 2, 3],
    numpy.s_[...],
    numpy.s_[()],
    numpy.s_[-2:, -3:-1, 7:2],
    numpy.s_[5:],
    numpy.s_[..., ..., :],
    numpy.s_[..., ..., 0:],
    numpy.s_[-(2**70) : 2**70],
]


def pair():
    theirs = torch.arange(60.0).reshape(SHAPE)
    return theirs, opdsl.from_numpy(theirs.numpy())


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_reading(index):
    theirs, ours = pair()
    mine, wanted = ours[index], theirs[index]
    assert (mine.tolist(), mine.shape, mine.stride()) == (wanted.tolist(), tuple(wanted.shape), wanted.stride())


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_a_subscript_is_a_view(index):
    _, ours = pair()
    assert ours[index]._base is ours


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_writing_a_number(index):
    theirs, _ = pair()
    theirs = theirs.clone()
    ours = opdsl.tensor(theirs.numpy())
    ours[index] = 7
    theirs[index] = 7
    assert ours.tolist() == theirs.tolist()


AFTER_A_MASK = [
    ([0, 2, 4],),
    (numpy.s_[:], [0, 1, 1]),
    (..., [0, 1, 1]),
    (None, [0, 2, 4]),
    (True,),
    (numpy.s_[1:3], 0),
]


@pytest.mark.parametrize("rest", AFTER_A_MASK, ids=str)
def test_what_follows_a_mask_of_two_dimensions(rest):
    theirs = torch.arange(120.0).reshape(3, 4, 5, 2)
    ours = opdsl.from_numpy(theirs.numpy())
    mask = torch.zeros(3, 4, dtype=torch.bool)
    mask[0, 1] = mask[2, 0] = mask[2, 3] = True
    actual, expected = ours[opdsl.from_numpy(mask.numpy()), *rest], theirs[mask, *rest]
    assert (actual.tolist(), actual.shape) == (expected.tolist(), tuple(expected.shape))


def test_writing_a_tensor_that_broadcasts():
    ours = opdsl.zeros(2, 3)
    ours[:, 1:] = opdsl.tensor([1.0, 2.0])
    assert ours.tolist() == [[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]


def test_iterating():
    _, ours = pair()
    assert [row.shape for row in ours] == [(4, 5)] * 3


WRONG = {
    "too many": (numpy.s_[0, 0, 0, 0], errors.DimensionError),
    "out of range": (numpy.s_[3], errors.DimensionError),
    "number": (1.5, errors.DimensionError),
    "text": ("a", errors.ArgumentError),
    "negative step": (numpy.s_[::-1], errors.OptionError),
    "float": (1.5, errors.DimensionError),
}


@pytest.mark.parametrize(("index", "error"), WRONG.values(), ids=WRONG)
def test_a_wrong_subscript_has_its_error(index, error):
    _, ours = pair()
    with pytest.raises(error):
        ours[index]
