"""Sliding windows over the last dimensions of a tensor, for pooling and convolutions, and the transposed operation."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import attrs

from opdsl.aten.shape.view_scatters import constant_pad_nd
from opdsl.kernels import copy_, fill_, new_tensor
from opdsl.runtime import Tensor, contiguous_strides
from opdsl.runtime.geometry import geometry


@attrs.frozen
class Sliding:
    """Windows along one dimension: element ``k`` of window ``i`` has the index ``first + i * stride + k * dilation``.

    size: the dimension's size; elements out of bounds are padding.
    count: the number of windows.
    length: the number of elements of each window.
    """

    size: int
    count: int
    length: int
    first: int = 0
    stride: int = 1
    dilation: int = 1

    @property
    def margins(self) -> tuple[int, int]:
        """Return the number of padding elements that the windows need before and after the dimension."""
        last = self.first + (self.count - 1) * self.stride + (self.length - 1) * self.dilation
        return (max(-self.first, 0), max(last - self.size + 1, 0)) if self.count else (0, 0)


Windows = tuple[Sliding, ...]
"""Sliding windows of the last dimensions of a tensor, one for each dimension."""


def counts_of(windows: Windows) -> tuple[int, ...]:
    """Return the number of windows along each dimension."""
    return tuple(window.count for window in windows)


def lengths_of(windows: Windows) -> tuple[int, ...]:
    """Return the number of elements of a window along each dimension."""
    return tuple(window.length for window in windows)


def seen(tensor: Tensor, windows: Windows, margin: complex = 0) -> Tensor:
    """Return the windows over a tensor, padded if necessary, as a view with dimensions for windows and their elements.

    Args:
        tensor: (..., sizes).
        windows: the windows over the last dimensions.
        margin: the value of the padding.

    Returns:
        (..., counts, lengths).
    """
    pad = tuple(itertools.chain(*(window.margins for window in reversed(windows))))
    tensor = constant_pad_nd(tensor, pad, margin) if any(pad) else tensor
    shape = (*tensor.shape[: -len(windows)], *counts_of(windows), *lengths_of(windows))
    leading, steps = tensor.strides[: -len(windows)], tensor.strides[-len(windows) :]
    pairs = list(zip(windows, steps, strict=True))
    strides = (
        *leading,
        *(sliding.stride * step for sliding, step in pairs),
        *(sliding.dilation * step for sliding, step in pairs),
    )
    first = sum((sliding.first + sliding.margins[0]) * step for sliding, step in pairs)
    return tensor.as_strided(shape, strides, tensor.storage_offset() + first)


def collect(target: Tensor, values: Tensor, windows: Windows) -> None:
    """Sum values of windows into ``target``, the transpose of ``seen``: an element sums over all windows that contain
    it.

    Args:
        target: (..., sizes), which is written.
        values: (..., counts, lengths), of the same dtype; sizes of 1 are broadcast.
        windows: the windows over the last dimensions.
    """
    margins = [window.margins for window in windows]
    shape = (*target.shape[: -len(windows)], *(sum(window.margins, window.size) for window in windows))
    whole = target
    if shape != target.shape:
        whole = new_tensor(geometry(target.dtype, target.device, shape, contiguous_strides(shape)))
    fill_(whole, 0)
    _add_by_element(seen(whole, tuple(map(inside, windows))), values, len(windows))
    if whole is not target:
        for dim, (before, _) in enumerate(margins, start=target.ndim - len(windows)):
            whole = whole.narrow(dim, before, target.shape[dim])
        copy_(target, whole)


def _add_by_element(shown: Tensor, values: Tensor, dims: int) -> None:
    """Add values to a view of windows, one window element at a time, because whole windows may overlap."""
    for element in itertools.product(*map(range, shown.shape[-dims:])):
        target, value = shown, values
        for index in reversed(element):
            target, value = target.select(-1, index), value.select(-1, index if value.shape[-1] > 1 else 0)
        target.add_(value)


def added(element, value):  # type: ignore[no-untyped-def]
    """Return the sum of an element and a value; scatters use it to combine values of one element."""
    return element + value


def inside(window: Sliding) -> Sliding:
    """Convert a window over a dimension with padding to a window over the dimension that includes the padding."""
    before, behind = window.margins
    return attrs.evolve(window, size=before + window.size + behind, first=window.first + before)


def as_sizes(values: int | Sequence[int]) -> tuple[int, ...]:
    """Return ints as a tuple, a single int as a tuple of one."""
    return (values,) if isinstance(values, int) else tuple(values)


def spread(values: int | Sequence[int], dims: int) -> tuple[int, ...]:
    """Return one number per dimension, repeating a single number."""
    sizes = as_sizes(values)
    return sizes * dims if len(sizes) == 1 else sizes
