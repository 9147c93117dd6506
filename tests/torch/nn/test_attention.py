"""Tests of attention over several tiles, and of embedding bags, compared with PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch

import opdsl
from opdsl.aten.nn.attention_tiles import softmax_product
from opdsl.backends.cpu import memory
from opdsl.errors import OpdslError


def ours(tensor: torch.Tensor | None) -> Any:
    if tensor is None:
        return None
    copy = opdsl.from_numpy(tensor.detach().numpy().copy())
    return copy.requires_grad_() if tensor.requires_grad else copy


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


def mask_of(kind: str, rows: int, columns: int) -> torch.Tensor | None:
    if kind == "bool":
        mask = torch.rand(rows, columns) > 0.3
        mask[2] = False  # a query that attends to no key
        return mask
    if kind == "row":
        return torch.randn(2, 1, 1, columns, dtype=torch.float64)
    return torch.randn(2, 3, rows, columns, dtype=torch.float64) if kind == "full" else None


@pytest.mark.parametrize("kind", ["none", "causal", "bool", "row", "full"])
@pytest.mark.parametrize(("rows", "columns"), [(5, 7), (200, 7), (7, 600), (200, 600)])
def test_attention_over_tiles(rows: int, columns: int, kind: str) -> None:
    torch.manual_seed(0)
    inputs = [drawn(2, 3, rows, 8), drawn(2, 3, columns, 8), drawn(2, 3, columns, 8)]
    mask, is_causal = mask_of(kind, rows, columns), kind == "causal"
    mine = [ours(input) for input in inputs]
    theirs = torch.nn.functional.scaled_dot_product_attention(*inputs, mask, 0.0, is_causal)
    attended = opdsl.nn.scaled_dot_product_attention(*mine, ours(mask), 0.0, is_causal)
    assert attended.stride() == theirs.stride()
    (theirs * theirs).sum().backward()
    (attended * attended).sum().backward()
    for one, other in (
        (attended.detach(), theirs.detach()),
        *((a.grad, b.grad) for a, b in zip(mine, inputs, strict=True)),
    ):
        assert one.stride() == other.stride()
        numpy.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-11, atol=1e-12)


def test_no_matrix_of_all_scores_is_made() -> None:
    query = opdsl.zeros(1, 8, 2048, 32, requires_grad=True)
    memory.empty_cache()
    before = memory.memory_stats()["allocations"]
    opdsl.nn.scaled_dot_product_attention(query, query, query).sum().backward()
    stats = memory.memory_stats()
    assert stats["allocations"] > before  # outputs and gradients, which the allocator counts
    assert stats["cached"] < 2048 * 2048 * 4


@pytest.mark.parametrize("padding", [-1, 1])
@pytest.mark.parametrize(("mode", "is_weighted"), [(0, False), (0, True), (1, False), (2, False)])
def test_bags(mode: int, is_weighted: bool, padding: int) -> None:
    torch.manual_seed(0)
    table, weights = drawn(5, 3), torch.rand(6, dtype=torch.float64, requires_grad=True)
    indices = torch.tensor([0, 2, 4, 1, 1, 3])
    for offsets, ends in (([0, 2, 2, 5], False), ([0, 2, 2, 6], True)):
        table.grad = weights.grad = None
        own, own_weights = ours(table), ours(weights)
        rest = (False, mode, False)
        starts = torch.tensor(offsets)
        computed = opdsl.ops.aten._embedding_bag(
            own, ours(indices), ours(starts), *rest, own_weights if is_weighted else None, ends, padding
        )
        theirs = torch.ops.aten._embedding_bag(
            table, indices, starts, *rest, weights if is_weighted else None, ends, padding
        )
        assert [part.tolist() for part in computed[1:]] == [part.tolist() for part in theirs[1:]]
        (computed[0] * computed[0]).sum().backward()
        (theirs[0] * theirs[0]).sum().backward()
        pairs = [(computed[0].detach(), theirs[0].detach()), (own.grad, table.grad)]
        for one, other in pairs + ([(own_weights.grad, weights.grad)] if is_weighted else []):
            numpy.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_attention_by_whole_matrices_rounds_16_bits_once(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    inputs = [torch.randn(2, 3, 5, 8).to(dtype) for _ in range(3)]
    theirs = torch.ops.aten._scaled_dot_product_attention_math(*inputs)
    attended = opdsl.ops.aten._scaled_dot_product_attention_math(*(opdsl.from_dlpack(input) for input in inputs))
    for one, other in zip(attended, theirs, strict=True):
        torch.testing.assert_close(torch.from_dlpack(one), other, rtol=torch.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize("features", (0, 2))
def test_queries_without_features_weigh_all_values_equally(features: int) -> None:
    query, value = torch.ones(2, 3, 4, 0), torch.randn(2, 3, 4, features)
    mine, own = ours(query), ours(value)
    theirs = torch.nn.functional.scaled_dot_product_attention(query, query, value)
    for result in (
        opdsl.nn.functional.scaled_dot_product_attention(mine, mine, own),
        opdsl.nn.scaled_dot_product_attention(mine, mine, own),
        opdsl.ops.aten._scaled_dot_product_attention_math(mine, mine, own)[0],
    ):
        numpy.testing.assert_allclose(result.numpy(), theirs.numpy(), rtol=1e-6)


def test_attention_without_heads() -> None:
    none, three = opdsl.ones(2, 0, 4, 2), opdsl.ones(2, 3, 4, 2)
    for attention in (opdsl.nn.functional.scaled_dot_product_attention, opdsl.nn.scaled_dot_product_attention):
        assert attention(none, none, none, enable_gqa=True).shape == none.shape
        with pytest.raises(OpdslError):
            attention(three, none, none, enable_gqa=True)


@pytest.mark.parametrize("is_causal", [False, True])
def test_signatures_of_cudas_kernels_give_what_attention_gives(is_causal: bool) -> None:
    torch.manual_seed(0)
    shapes = (2, 3, 4, 8), (2, 3, 6, 8), (2, 3, 6, 8), (2, 1, 4, 6)
    tensors = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    query, key, value, bias = tensors
    mask = bias.masked_fill(~torch.ones(4, 6).bool().tril(), -torch.inf) if is_causal else bias
    expected = torch.nn.functional.scaled_dot_product_attention(query, key, value, mask)
    seed = torch.randn_like(expected)
    gradients = torch.autograd.grad(expected, tensors, seed)
    sums = (query @ key.mT / 8**0.5 + mask).logsumexp(-1)
    ours, none = [opdsl.from_numpy(input.detach().numpy()) for input in (*tensors, seed)], opdsl.empty(0)
    grad = ours.pop()
    attended = opdsl.ops.aten._scaled_dot_product_efficient_attention(*ours, True, 0.0, is_causal)
    numpy.testing.assert_allclose(attended[0].numpy(), expected.detach().numpy(), rtol=1e-12)
    numpy.testing.assert_allclose(attended[1][..., :4].numpy(), sums.detach().numpy(), rtol=1e-12)
    assert attended[1].shape == (2, 3, 32)
    every = (True, True, True, True)
    backward = opdsl.ops.aten._scaled_dot_product_efficient_attention_backward
    actual = backward(grad, *ours, *attended, 0.0, every, is_causal)
    other = opdsl.ops.aten._scaled_dot_product_fused_attention_overrideable(*ours, 0.0, is_causal)
    backward = opdsl.ops.aten._scaled_dot_product_fused_attention_overrideable_backward
    more = backward(grad, *ours, every, *other[:2], none, none, 4, 6, 0.0, is_causal, none, none)
    for one, two, wanted in zip(actual, more, gradients, strict=True):
        numpy.testing.assert_allclose(one.numpy(), wanted.numpy(), rtol=1e-10, atol=1e-12)
        numpy.testing.assert_array_equal(one.numpy(), two.numpy())


def test_flash_attention_and_its_gradient() -> None:
    torch.manual_seed(0)
    tensors = [torch.randn(2, 3, 5, 8, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    expected = torch.nn.functional.scaled_dot_product_attention(*tensors, is_causal=True)
    seed = torch.randn_like(expected)
    gradients = torch.autograd.grad(expected, tensors, seed)
    *ours, grad = (opdsl.from_numpy(input.detach().numpy()) for input in (*tensors, seed))
    attended = opdsl.ops.aten._scaled_dot_product_flash_attention(*ours, 0.0, True)
    numpy.testing.assert_allclose(attended[0].numpy(), expected.detach().numpy(), rtol=1e-12)
    assert [tuple(tensor.shape) for tensor in attended[2:4]] == [(0,), (0,)]
    assert attended[4:6] == (5, 5)
    none = opdsl.empty(0)
    actual = opdsl.ops.aten._scaled_dot_product_flash_attention_backward(
        grad, *ours, *attended[:2], none, none, 5, 5, 0.0, True, none, none
    )
    for one, wanted in zip(actual, gradients, strict=True):
        numpy.testing.assert_allclose(one.numpy(), wanted.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("shape", [(), (5,), (3, 5), (2, 1, 5), (2, 3, 5)])
def test_gradients_of_the_product_with_a_softmax(shape: tuple[int, ...]) -> None:
    theirs = [drawn(*sizes) for sizes in ((2, 3, 4), (2, 4, 5), (2, 5, 3), shape)]
    own, weight = [ours(tensor) for tensor in theirs], drawn(2, 3, 3).detach()
    (softmax_product(*own, 0.7) * ours(weight)).sum().backward()
    query, key, value, mask = theirs
    (((query @ key * 0.7 + mask).softmax(-1) @ value) * weight).sum().backward()
    for tensor, their in zip(own, theirs, strict=True):
        numpy.testing.assert_allclose(tensor.grad.numpy(), their.grad.numpy(), rtol=1e-11, atol=1e-13)
