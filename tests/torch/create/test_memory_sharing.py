"""Tests of ``set_``, by which a tensor shares the storage of another one, compared with PyTorch's."""

import pytest
import torch

import opdsl
from opdsl.errors import DTypeError, ShapeError


@pytest.mark.parametrize("rest", [(), (2, (2, 3)), (1, (3, 2), (1, 3))])
def test_set_shares_the_storage_of_another_tensor(rest: tuple) -> None:
    theirs, there = torch.empty(2), torch.arange(12.0).view(3, 4)
    theirs.set_(there, *rest)
    ours, here = opdsl.empty(2), opdsl.arange(12.0).view(3, 4)
    assert ours.set_(here, *rest) is ours
    assert ours.tolist() == theirs.tolist() and ours.stride() == theirs.stride()
    assert ours.storage_offset() == theirs.storage_offset()
    here.fill_(7.0)
    assert ours.tolist() == here.as_strided(ours.shape, ours.stride(), ours.storage_offset()).tolist()
    assert ours.is_set_to(here) == theirs.is_set_to(there)


def test_set_without_arguments_empties_the_tensor() -> None:
    x = opdsl.ones(2, 3)
    assert x.set_().shape == (0,)


def test_other_kinds_of_tensors_are_refused() -> None:
    x = opdsl.ones(2, 3)
    with pytest.raises(DTypeError):
        x.set_(opdsl.ones(2, dtype=opdsl.int64))
    with pytest.raises(ShapeError):
        x[0].set_(opdsl.ones(2))
    with pytest.raises(ShapeError):
        x.set_(opdsl.ones(2), 1, (2,))
    assert x.tolist() == [[1.0] * 3] * 2
