"""Tests of gradients of scatter operators whose index has fewer elements than the values."""

from __future__ import annotations

import numpy
import pytest
import torch

import opdsl
from opdsl.testing import gradcheck, gradgradcheck

INDEX = [[0, 2], [1, 0]]
SELF = [[2.0, 1.0, 0.0], [3.0, -1.0, 2.0], [1.0, 0.0, 4.0]]
SOURCE = [[1.0, 2.0, 7.0], [0.0, 2.0, 8.0], [6.0, 5.0, 9.0]]


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("dim", [0, 1])
def test_those_of_scatter_reduce_are_those_of_the_part_that_is_read(dim: int, reduce: str, include_self: bool) -> None:
    x = opdsl.tensor(SELF, dtype=opdsl.float64, requires_grad=True)
    source = opdsl.tensor(SOURCE, dtype=opdsl.float64, requires_grad=True)
    actual = x.scatter_reduce(dim, opdsl.tensor(INDEX), source, reduce, include_self=include_self)
    (actual * actual).sum().backward()
    y = torch.tensor(SELF, dtype=torch.float64, requires_grad=True)
    part = torch.tensor(SOURCE, dtype=torch.float64, requires_grad=True)
    # PyTorch's own formula compares the whole source with the elements that the index reads, and raises.
    expected = y.scatter_reduce(dim, torch.tensor(INDEX), part[:2, :2], reduce, include_self=include_self)
    (expected * expected).sum().backward()
    for one, other in ((actual, expected), (x.grad, y.grad), (source.grad, part.grad)):
        assert one is not None and other is not None
        numpy.testing.assert_allclose(one.detach().numpy(), other.detach().numpy())


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_second_ones_agree_with_finite_differences(reduce: str) -> None:
    index = opdsl.tensor([[0, 2], [1, 0]])
    x = opdsl.tensor([[2.0, 1.5, 0.3], [3.0, -1.0, 2.2]], dtype=opdsl.float64, requires_grad=True)
    source = opdsl.tensor([[1.1, 2.3, 7.0], [0.7, 2.9, 8.0], [6.0, 5.0, 9.0]], dtype=opdsl.float64, requires_grad=True)

    def scattered(x: opdsl.Tensor, source: opdsl.Tensor) -> opdsl.Tensor:
        return x.scatter_reduce(1, index, source, reduce)

    gradcheck(scattered, (x, source))
    gradgradcheck(scattered, (x, source))
