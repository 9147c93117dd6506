"""Attention over several tiles, and bags of rows, against PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch

import opdsl
from opdsl.backends.cpu import memory


def ours(tensor: torch.Tensor | None) -> Any:
    if tensor is None:
        return None
    made = opdsl.from_numpy(tensor.detach().numpy().copy())
    return made.requires_grad_() if tensor.requires_grad else made


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


def mask_of(kind: str, rows: int, columns: int) -> torch.Tensor | None:
    if kind == "bool":
        found = torch.rand(rows, columns) > 0.3
        found[2] = False  # a query that sees nothing
        return found
    if kind == "row":
        return torch.randn(2, 1, 1, columns, dtype=torch.float64)
    return torch.randn(2, 3, rows, columns, dtype=torch.float64) if kind == "full" else None


@pytest.mark.parametrize("kind", ["none", "causal", "bool", "row", "full"])
@pytest.mark.parametrize(("rows", "columns"), [(5, 7), (200, 7), (7, 600), (200, 600)])
def test_attention_over_tiles(rows: int, columns: int, kind: str) -> None:
    torch.manual_seed(0)
    given = [drawn(2, 3, rows, 8), drawn(2, 3, columns, 8), drawn(2, 3, columns, 8)]
    mask, is_causal = mask_of(kind, rows, columns), kind == "causal"
    mine = [ours(each) for each in given]
    theirs = torch.nn.functional.scaled_dot_product_attention(*given, mask, 0.0, is_causal)
    found = opdsl.nn.scaled_dot_product_attention(*mine, ours(mask), 0.0, is_causal)
    assert found.stride() == theirs.stride()
    (theirs * theirs).sum().backward()
    (found * found).sum().backward()
    for one, other in (
        (found.detach(), theirs.detach()),
        *((a.grad, b.grad) for a, b in zip(mine, given, strict=True)),
    ):
        assert one.stride() == other.stride()
        numpy.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-11, atol=1e-12)


def test_no_matrix_of_all_scores_is_made() -> None:
    query = opdsl.zeros(1, 8, 2048, 8)
    memory.empty_cache()
    before = memory.memory_stats()["allocations"]
    opdsl.nn.scaled_dot_product_attention(query, query, query)
    stats = memory.memory_stats()
    assert stats["allocations"] > before  # tiles are of a size that is counted
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
        found = opdsl.ops.aten._embedding_bag(
            own, ours(indices), ours(starts), *rest, own_weights if is_weighted else None, ends, padding
        )
        theirs = torch.ops.aten._embedding_bag(
            table, indices, starts, *rest, weights if is_weighted else None, ends, padding
        )
        assert [each.tolist() for each in found[1:]] == [each.tolist() for each in theirs[1:]]
        (found[0] * found[0]).sum().backward()
        (theirs[0] * theirs[0]).sum().backward()
        pairs = [(found[0].detach(), theirs[0].detach()), (own.grad, table.grad)]
        for one, other in pairs + ([(own_weights.grad, weights.grad)] if is_weighted else []):
            numpy.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_attention_by_whole_matrices_rounds_16_bits_once(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    given = [torch.randn(2, 3, 5, 8).to(dtype) for _ in range(3)]
    theirs = torch.ops.aten._scaled_dot_product_attention_math(*given)
    found = opdsl.ops.aten._scaled_dot_product_attention_math(*(opdsl.from_dlpack(each) for each in given))
    for one, other in zip(found, theirs, strict=True):
        torch.testing.assert_close(torch.from_dlpack(one), other, rtol=torch.finfo(dtype).eps, atol=0)
