"""Enlargement of the small samples of PyTorch's operator database."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch


class Call(NamedTuple):
    """Arguments of a call."""

    positional: tuple[Any, ...]
    named: dict[str, Any]

    def map(self, change: Callable[[Any], Any]) -> Call:
        """Return a call with ``change`` applied to each argument."""
        return Call(tuple(map(change, self.positional)), {name: change(value) for name, value in self.named.items()})


def enlarged(samples: Sequence[Call], count: int) -> Iterator[Call]:
    """Yield calls whose largest tensor has about ``count`` elements, built from the largest samples first.

    All sizes grow together; then all sizes and the numbers in lists; then only the first dimension; then only the last
    one: an operator may not accept each of these. Elements of the sample are repeated, so that indices stay in range
    and probabilities stay valid.
    """
    by_size = sorted(samples, key=lambda call: -numel(call))[:12]
    for sample in by_size:
        if 0 < numel(sample) <= count:
            for ways in (_all_sizes, _all_sizes_and_numbers, _first, _last):
                # A tensor other than the largest one may grow beyond the memory of the machine.
                with contextlib.suppress(RuntimeError):
                    yield ways(sample, count)


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors of a call, also those in lists and dicts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from tensors(member)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from tensors(member)


def numel(value: Any) -> int:
    """Return the number of elements of the largest tensor."""
    return max((tensor.numel() for tensor in tensors(value)), default=0)


def _largest(sample: Call) -> torch.Tensor:
    return max(tensors(sample), key=lambda tensor: tensor.numel())


def _sizes(sample: Call, count: int) -> dict[int, int]:
    """Return the new size for each size; equal sizes get equal new ones, so that shapes still match."""
    largest = _largest(sample)
    growing = [size for size in largest.shape if size > 1]
    if not growing:
        return {1: count}
    factor = (count / largest.numel()) ** (1 / len(growing))
    sizes = {size for tensor in tensors(sample) for size in tensor.shape if size > 1}
    return {size: max(2, round(size * factor)) for size in sizes}


def _all_sizes(sample: Call, count: int) -> Call:
    sizes = _sizes(sample, count)
    return sample.map(lambda value: _changed(value, lambda shape: [sizes.get(size, size) for size in shape]))


def _all_sizes_and_numbers(sample: Call, count: int) -> Call:
    """Enlarge all sizes, also the integers in lists, which may be sizes."""
    sizes = _sizes(sample, count)

    def numbers(value: Any) -> Any:
        is_sizes = isinstance(value, list | tuple) and all(type(number) is int for number in value)
        return type(value)(sizes.get(number, number) for number in value) if is_sizes else value

    return _all_sizes(sample, count).map(numbers)


def _first(sample: Call, count: int) -> Call:
    return _along(sample, count, 0)


def _last(sample: Call, count: int) -> Call:
    return _along(sample, count, -1)


def _along(sample: Call, count: int, dim: int) -> Call:
    """Enlarge one dimension of all tensors that have as many dimensions as the largest one and the same size there."""
    largest = _largest(sample)
    if not largest.ndim:
        return sample
    size = largest.shape[dim]
    wanted = max(1, round(count * size / largest.numel()))

    def grown(shape: list[int]) -> list[int]:
        if len(shape) == largest.ndim and shape[dim] == size:
            shape[dim] = wanted
        return shape

    return sample.map(lambda value: _changed(value, grown))


def _changed(value: Any, grown: Callable[[list[int]], list[int]]) -> Any:
    if isinstance(value, torch.Tensor):
        for dim, size in enumerate(grown(list(value.shape))):
            if size != value.shape[dim]:
                value = value.index_select(dim, torch.arange(size) % value.shape[dim])
        return value
    if isinstance(value, list | tuple) and any(isinstance(member, torch.Tensor) for member in value):
        return type(value)([_changed(member, grown) for member in value])
    return value
