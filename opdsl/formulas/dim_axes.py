"""Axes of ``DimTensor`` values: construction, alignment by dims and expansion; and values whose computation is
deferred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from opdsl.dispatch.state import current
from opdsl.formulas.dim_sources import Source
from opdsl.formulas.dim_tensor import Dim, DimTensor, Later
from opdsl.runtime import Tensor
from opdsl.runtime.symbol import example_value


def over(tensor: Tensor, dims: Sequence[Dim], mask: DimTensor | None = None) -> Tensor:
    """Return a ``DimTensor`` of a tensor over dims; the tensor itself if there are no dims."""
    return DimTensor(tensor, tuple(dims), mask) if dims else tensor


def union(values: Iterable[DimTensor]) -> tuple[Dim, ...]:
    """Return the dims of all values without duplicates, in order of appearance."""
    return tuple(dict.fromkeys(dim for value in values for dim in value.dims))


def axes_of(dims: Sequence[object]) -> dict[object, int]:
    """Return the position of each dim in a sequence. The mapping compares dims by identity, since ``i == j`` computes a
    tensor.
    """
    return {dim: at for at, dim in enumerate(dims) if isinstance(dim, Dim)}


def aligned(value: DimTensor, dims: Sequence[Dim], ndim: int) -> Tensor:
    """Permute and unsqueeze a ``DimTensor`` to a tensor with one axis for each of ``dims``, then ``ndim`` positional
    dimensions.
    """
    tensor, own = value.tensor, value.dims
    if not own:
        return tensor
    axes = axes_of(own)
    order = [axes[dim] for dim in dims if dim in axes]
    if order != list(range(len(own))):
        tensor = tensor.permute([*order, *range(len(own), tensor.ndim)])
    for at, dim in enumerate(dims):
        if dim not in axes:
            tensor = tensor.unsqueeze(at)
    for _ in range(ndim - (tensor.ndim - len(dims))):
        tensor = tensor.unsqueeze(len(dims))
    return tensor


def expanded(tensor: Tensor, dims: Sequence[Dim], use: str) -> Tensor:
    """Expand the leading axes of a tensor from size 1 to the sizes of dims."""
    sizes = [dim.settle(use) for dim in dims]
    if all(own == size for own, size in zip(tensor.shape, sizes, strict=False)):
        return tensor
    return tensor.expand(*sizes, *tensor.shape[len(sizes) :])


def dim_tensors(values: object) -> Iterator[DimTensor]:
    """Yield all ``DimTensor`` values among arguments, also in lists."""
    if isinstance(values, DimTensor):
        yield values
    elif isinstance(values, (tuple, list)):
        for value in values:
            yield from dim_tensors(value)


def sources_of(values: object) -> tuple[Source, ...]:
    """Return the tensors, with their versions, that a deferred computation with these arguments will read."""
    if isinstance(values, DimTensor):
        if isinstance(values, Dim):
            return ()
        later = values.pending
        return (Source.of(values.tensor),) if later is None else later.sources
    if isinstance(values, Tensor):
        return (Source.of(values),)
    if isinstance(values, (tuple, list)):
        return tuple(source for value in values for source in sources_of(value))
    return ()


def computed_later(
    compute: Callable[[], Tensor], values: object, depends: Iterable[Dim] = (), factors: tuple[DimTensor, ...] = ()
) -> DimTensor:
    """Return a ``DimTensor`` whose computation is deferred until it is used.

    Args:
        compute: computes it.
        values: values that it reads, with and without dims.
        depends: dims that it depends on besides those of the values.
        factors: the factors, if it is a product.
    """
    made_of = list(dim_tensors(values))
    all_dims = frozenset(depends).union(*(value.depends for value in made_of))
    later = Later(compute, all_dims, sources_of(values), current.get().grad_mode, factors)
    is_of_dims = all(value.is_of_dims for value in made_of) and all(map(_is_number, _plain_tensors(values)))
    return DimTensor(None, (), None, is_of_dims, later)


def _is_number(tensor: Tensor) -> bool:
    return tensor.ndim == 0 and tensor.is_cpu


def _plain_tensors(values: object) -> Iterator[Tensor]:
    """Yield the tensors without dims among arguments."""
    if isinstance(values, (tuple, list)):
        for value in values:
            yield from _plain_tensors(value)
    elif isinstance(values, Tensor) and not isinstance(values, DimTensor):
        yield values


def axes_as_they_lie(tensor: Tensor) -> list[int]:
    """Return the dimensions of a tensor in the order of its memory layout, the outermost first."""
    strides: list[Any] = [example_value(stride) for stride in tensor.geometry.strides]
    return sorted(range(tensor.ndim), key=lambda axis: (bool(strides[axis] == 0), -strides[axis]))


def lies_in_order(tensor: Tensor, order: Sequence[int]) -> bool:
    """Return whether a given order of dimensions agrees with the memory layout of a tensor, ignoring dimensions of size
    1.
    """
    strides: list[Any] = [example_value(tensor.geometry.strides[axis]) for axis in order if tensor.shape[axis] != 1]
    return strides == sorted(strides, reverse=True)
