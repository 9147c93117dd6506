"""Tests of methods about sparse layouts on dense tensors, compared with PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import opdsl
from opdsl.errors import ShapeError


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_to_dense_gives_the_same_elements(dtype: str) -> None:
    ours, theirs = ((lib.arange(6).reshape(2, 3).to_dense(getattr(lib, dtype))) for lib in (opdsl, torch))
    assert ours.dtype is getattr(opdsl, dtype) and ours.tolist() == theirs.tolist()


def test_the_gradient_of_to_dense_has_the_dtype_of_its_input() -> None:
    both: Any = []
    for lib in (opdsl, torch):
        x = lib.ones(2, 3, requires_grad=True)
        (x.to_dense(lib.float64) * 2).sum().backward()
        both.append((str(x.grad.dtype).rpartition(".")[2], x.grad.tolist()))
    assert both[0] == both[1]


@pytest.mark.parametrize("shape", [(), (2, 0, 3)])
def test_all_dimensions_are_dense(shape: tuple[int, ...]) -> None:
    assert opdsl.ones(shape).dense_dim() == torch.ones(shape).dense_dim()


@pytest.mark.parametrize("name", ["indices", "values", "col_indices", "row_indices"])
def test_parts_of_sparse_tensors_are_refused(name: str) -> None:
    with pytest.raises(RuntimeError):
        getattr(torch.ones(2, 2), name)()
    with pytest.raises(ShapeError, match="but got Strided"):
        getattr(opdsl.ones(2, 2), name)()
