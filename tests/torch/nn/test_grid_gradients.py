"""Tests of gradients of sampled images and of cumprod, of embedding_renorm_ and of masked indices, as in PyTorch."""

import pytest
import torch

import opdsl


@pytest.mark.parametrize("dims", [2, 3])
def test_gradients_of_grid_sampler_are_pytorchs(dims: int) -> None:
    name = f"grid_sampler_{dims}d_backward"
    for mode in (0, 1, 2)[: 5 - dims]:
        for padding in (0, 1, 2):
            image = torch.randn(2, 3, *(4, 5, 6)[:dims], dtype=torch.float64)
            points = torch.rand(2, *(3, 2, 3)[:dims], dims, dtype=torch.float64) * 2.4 - 1.2
            gradient = torch.randn(2, 3, *(3, 2, 3)[:dims], dtype=torch.float64)
            inputs, rest = (gradient, image, points), (mode, padding, mode == 1, [True, True])
            wanted = getattr(torch.ops.aten, name)(*inputs, *rest)
            actual = getattr(opdsl.ops.aten, name)(*map(opdsl.from_dlpack, inputs), *rest)
            for ours, theirs in zip(actual, wanted, strict=True):
                torch.testing.assert_close(torch.from_dlpack(ours), theirs)


def test_embedding_renorm_is_pytorchs() -> None:
    table, numbers = torch.randn(6, 3), torch.tensor([1, 4, 1])
    for norm in (1.0, 2.0):
        mine = opdsl.from_dlpack(table.clone())
        opdsl.embedding_renorm_(mine, opdsl.from_dlpack(numbers), 0.7, norm)
        wanted = torch.embedding_renorm_(table.clone(), numbers, 0.7, norm)
        torch.testing.assert_close(torch.from_dlpack(mine), wanted)


def test_gradients_of_cumprod_are_pytorchs() -> None:
    for values in ([1.5, -2.0, 0.5, 3.0], [1.5, 0.0, 0.5, 3.0], [0.0, 2.0, 0.0, 3.0]):
        x, gradient = torch.tensor(values, dtype=torch.float64), torch.tensor([1.0, 2.0, -1.0, 0.5]).double()
        wanted = torch.ops.aten.cumprod_backward(gradient, x, 0, x.cumprod(0))
        inputs = [opdsl.from_dlpack(input) for input in (gradient, x, x.cumprod(0))]
        gradients = opdsl.ops.aten.cumprod_backward(inputs[0], inputs[1], 0, inputs[2])
        torch.testing.assert_close(torch.from_dlpack(gradients), wanted)


def test_unsafe_masked_index_is_pytorchs() -> None:
    x, mask, places = torch.randn(4, 5), torch.tensor([True, False, True]), torch.tensor([1, 9, -2])
    inputs = [opdsl.from_dlpack(operand) for operand in (x, mask)]
    mine = [None, opdsl.from_dlpack(places)]
    wanted = torch.ops.aten._unsafe_masked_index(x, mask, [None, places], 7)
    assert opdsl._unsafe_masked_index(*inputs, mine, 7).tolist() == wanted.tolist()
    wanted = torch.ops.aten._unsafe_masked_index_put_accumulate(x, mask, [None, places], wanted)
    added = opdsl._unsafe_masked_index(*inputs, mine, 7)
    assert opdsl._unsafe_masked_index_put_accumulate(*inputs, mine, added).tolist() == wanted.tolist()
    result = opdsl._unsafe_masked_index(opdsl.empty(0, 5), opdsl.zeros(3, 1, dtype=opdsl.bool), mine[1:], 7)
    assert result.tolist() == [[7.0] * 5] * 3
