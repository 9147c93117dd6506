"""Tests of triangle indices: they agree with PyTorch's, also for diagonals outside of the matrix."""

from __future__ import annotations

import pytest
import torch

import opdsl


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
@pytest.mark.parametrize("rows", range(5))
@pytest.mark.parametrize("columns", range(5))
def test_every_diagonal(name: str, rows: int, columns: int) -> None:
    for offset in (-9, *range(-5, 6), 9):
        actual, wanted = (getattr(lib, name)(rows, columns, offset) for lib in (opdsl, torch))
        assert actual.tolist() == wanted.tolist()


@pytest.mark.parametrize(("offset", "below", "above"), [(2**63 - 1, 12, 0), (-(2**63), 0, 12)])
def test_diagonals_as_far_out_as_integers_reach(offset: int, below: int, above: int) -> None:
    assert opdsl.tril_indices(3, 4, offset).shape == (2, below)
    assert opdsl.triu_indices(3, 4, offset).shape == (2, above)
