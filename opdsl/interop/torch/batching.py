"""``torch.vmap`` of operators: pointwise ones broadcast, others run once for each element of the batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

__all__ = ["batched", "broadcast"]

Call = Callable[..., Any]


def broadcast(call: Call, size: int, dims: Sequence[Any], values: Sequence[Any]) -> tuple[Any, Any]:
    """The batching rule of a pointwise operator: batch dimensions go first, and broadcast.

    Args:
        call: the operator.
        size: of the batch.
        dims: for each of ``values`` its batch dimension, None where it has none.
        values: the arguments.

    Returns:
        The results, and the batch dimension of each.
    """
    if _would_promote(dims, values):
        return batched(call, size, dims, values)
    ndim = max(each.ndim - (dim is not None) for each, dim in _tensors(dims, values))
    given = [_aligned(each, dim, ndim) if dim is not None else each for each, dim in zip(values, dims, strict=True)]
    results = call(*given)
    return results, 0 if isinstance(results, torch.Tensor) else (0,) * len(results)


def batched(call: Call, size: int, dims: Sequence[Any], values: Sequence[Any]) -> tuple[Any, Any]:
    """The batching rule of any operator: one call for each element; see ``broadcast``."""
    made = [call(*_chosen(values, dims, at)) for at in range(size)]
    if not made:
        single = call(*_chosen(values, dims, None))
        return _mapped(lambda each: each.new_empty((0, *each.shape)), single), _mapped(lambda _: 0, single)
    return _mapped(lambda *each: torch.stack(each), *made), _mapped(lambda _: 0, made[0])


def _tensors(dims: Sequence[Any], values: Sequence[Any]) -> list[tuple[torch.Tensor, int | None]]:
    return [(each, dim) for each, dim in zip(values, dims, strict=True) if isinstance(each, torch.Tensor)]


def _would_promote(dims: Sequence[Any], values: Sequence[Any]) -> bool:
    """Whether a batch of zero-dim tensors, which count less in promotion, meets tensors of another dtype."""
    tensors = _tensors(dims, values)
    if len({each.dtype for each, _ in tensors}) == 1 and not any(type(each) in _NUMBERS for each in values):
        return False
    return any(dim is not None and each.ndim == 1 for each, dim in tensors)


_NUMBERS = (bool, int, float, complex)


def _aligned(value: torch.Tensor, dim: int, ndim: int) -> torch.Tensor:
    """The batch dimension first, then dimensions of size 1, then its own."""
    moved = value.movedim(dim, 0)
    return moved.reshape(moved.shape[0], *(1,) * (ndim - moved.ndim + 1), *moved.shape[1:])


def _chosen(values: Sequence[Any], dims: Sequence[Any], at: int | None) -> list[Any]:
    """The arguments of one call; ``at`` is None where the batch has no elements, and zeros serve."""
    return [_choose(value, dim, at) for value, dim in zip(values, dims, strict=True)]


def _choose(value: Any, dim: Any, at: int | None) -> Any:
    if isinstance(value, list | tuple) and isinstance(dim, list | tuple):
        return [_choose(each, one, at) for each, one in zip(value, dim, strict=True)]
    if dim is None:
        return value
    if at is None:
        return value.new_zeros([size for place, size in enumerate(value.shape) if place != dim % value.ndim])
    return value.select(dim, at)


def _mapped(function: Callable[..., Any], *results: Any) -> Any:
    first = results[0]
    if isinstance(first, list | tuple):
        return type(first)(_mapped(function, *each) for each in zip(*results, strict=True))
    return function(*results)
