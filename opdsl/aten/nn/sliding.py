"""Windows that slide over the last dimensions of a tensor: what pooling and convolutions see, and its transpose."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import attrs
import numpy

from opdsl.aten.shape.view_scatters import constant_pad_nd
from opdsl.kernels import Positions, copy_, fill_, gather, new_tensor, scatter
from opdsl.kernels.calls import PoolSpec
from opdsl.kernels.outputs import table
from opdsl.runtime import Tensor, contiguous_strides, from_numpy
from opdsl.runtime.geometry import geometry

Places = numpy.ndarray[Any, numpy.dtype[numpy.int64]]


@attrs.frozen
class Sliding:
    """Windows along one dimension: element ``k`` of window ``i`` lies at ``first + i * stride + k * dilation``.

    size: of the dimension; elements that lie outside of it are margin.
    count: how many windows.
    length: how many elements each has.
    """

    size: int
    count: int
    length: int
    first: int = 0
    stride: int = 1
    dilation: int = 1

    @property
    def places(self) -> Places:
        """Where the elements of each window lie: (count, length)."""
        starts = self.first + numpy.arange(self.count, dtype=numpy.int64) * self.stride
        return starts[:, None] + numpy.arange(self.length, dtype=numpy.int64) * self.dilation

    @property
    def margins(self) -> tuple[int, int]:
        """How many elements before and behind the dimension the windows reach."""
        last = self.first + (self.count - 1) * self.stride + (self.length - 1) * self.dilation
        return (max(-self.first, 0), max(last - self.size + 1, 0)) if self.count else (0, 0)

    def spec(self, margin: int) -> PoolSpec:
        """The windows, as backends take them; ``margin`` is how much of it counts."""
        reach = (self.length - 1) * self.dilation + 1
        return PoolSpec(self.size, self.count, self.first, self.stride, 1, reach, self.dilation, margin)


@attrs.frozen
class Dividing:
    """Windows that share a dimension as evenly as whole elements let them; they may overlap by one (adaptive pooling).

    Shorter ones have one margin element, at -1, behind their own.

    size: of the dimension.
    count: how many windows.
    """

    size: int
    count: int

    @property
    def length(self) -> int:
        """How many elements the longest has."""
        return max((self.size * (i + 1) - 1) // self.count + 1 - self.size * i // self.count for i in range(self.count))

    @property
    def places(self) -> Places:
        """Where the elements of each window lie: (count, length)."""
        steps = numpy.arange(self.count + 1, dtype=numpy.int64) * self.size
        starts, ends = steps[:-1] // self.count, (steps[1:] - 1) // self.count + 1
        places = starts[:, None] + numpy.arange(self.length, dtype=numpy.int64)
        return numpy.where(places < ends[:, None], places, -1)

    @property
    def margins(self) -> tuple[int, int]:
        """How many elements before and behind the dimension the windows reach."""
        return 1, 0

    def spec(self, margin: int) -> PoolSpec:
        """The windows, as backends take them; ``margin`` is how much of it counts."""
        return PoolSpec(self.size, self.count, 0, self.size, self.count, self.size, 1, margin)


Windows = tuple[Sliding | Dividing, ...]
"""Of the last dimensions of a tensor, one for each."""


def dividing(size: int, count: int) -> Sliding | Dividing:
    """Windows that share a dimension as evenly as whole elements let them."""
    if count and size % count:
        return Dividing(size, count)
    length = size // count if count else 1
    return Sliding(size, count, length, stride=length)


def counts_of(windows: Windows) -> tuple[int, ...]:
    """How many windows there are along each dimension."""
    return tuple(each.count for each in windows)


def lengths_of(windows: Windows) -> tuple[int, ...]:
    """How many elements a window has along each dimension."""
    return tuple(each.length for each in windows)


def specs_of(windows: Windows, margins: Sequence[int] = ()) -> tuple[PoolSpec, ...]:
    """The windows, as backends take them.

    margins: how much of the margin of each dimension counts; none by default.
    """
    return tuple(each.spec(margin) for each, margin in zip(windows, margins or (0,) * len(windows), strict=True))


def seen(tensor: Tensor, windows: Windows, margin: complex = 0) -> Tensor:
    """What windows show: for each of them, behind the dimensions that are not slid over, the elements in it.

    Args:
        tensor: (..., sizes).
        windows: of the last dimensions.
        margin: what lies outside of the tensor.

    Returns:
        (..., counts, lengths): a view where it can be.
    """
    pad = tuple(itertools.chain(*(each.margins for each in reversed(windows))))
    tensor = constant_pad_nd(tensor, pad, margin) if any(pad) else tensor
    shape = (*tensor.shape[: -len(windows)], *counts_of(windows), *lengths_of(windows))
    leading, steps = tensor.strides[: -len(windows)], tensor.strides[-len(windows) :]
    regular = as_sliding(windows)
    if regular is None:
        made = new_tensor(geometry(tensor.dtype, tensor.device, shape, contiguous_strides(shape)))
        gather(made, tensor, (*leading, *(0,) * (2 * len(windows))), positions(windows, tensor))
        return made
    pairs = list(zip(regular, steps, strict=True))
    strides = (*leading, *(each.stride * step for each, step in pairs), *(each.dilation * step for each, step in pairs))
    first = sum((each.first + each.margins[0]) * step for each, step in pairs)
    return tensor.as_strided(shape, strides, tensor.storage_offset() + first)


def collect(target: Tensor, values: Tensor, windows: Windows) -> None:
    """The transpose of ``seen``: each element becomes the sum of the values of the windows that show it.

    Args:
        target: (..., sizes), which is written.
        values: (..., counts, lengths), of the same dtype; sizes of 1 are broadcast.
        windows: of the last dimensions.
    """
    margins = [each.margins for each in windows]
    shape = (*target.shape[: -len(windows)], *(sum(each.margins, each.size) for each in windows))
    whole = target
    if shape != target.shape:
        whole = new_tensor(geometry(target.dtype, target.device, shape, contiguous_strides(shape)))
    fill_(whole, 0)
    regular = as_sliding(windows)
    if regular is not None:
        _add_by_element(seen(whole, tuple(map(inside, regular))), values, len(windows))
    else:
        lead = target.shape[: -len(windows)]
        strides = (*whole.strides[: len(lead)], *(0,) * (2 * len(windows)))
        looped = (*lead, *counts_of(windows), *lengths_of(windows))
        scatter(whole, looped, strides, positions(windows, whole), values, added)
    if whole is not target:
        for dim, (before, _) in enumerate(margins, start=target.ndim - len(windows)):
            whole = whole.narrow(dim, before, target.shape[dim])
        copy_(target, whole)


def _add_by_element(shown: Tensor, values: Tensor, dims: int) -> None:
    """Add values to what windows show, one element of all windows at a time: these do not overlap."""
    for element in itertools.product(*map(range, shown.shape[-dims:])):
        target, value = shown, values
        for index in reversed(element):
            target, value = target.select(-1, index), value.select(-1, index if value.shape[-1] > 1 else 0)
        target.add_(value)


def added(element, value):  # type: ignore[no-untyped-def]
    """The scalar function that sums what meets."""
    return element + value


def sizes(windows: Windows) -> tuple[int, ...]:
    """The sizes of the dimensions."""
    return tuple(each.size for each in windows)


def as_sliding(windows: Windows) -> tuple[Sliding, ...] | None:
    """The windows, if strides alone lead through all of them."""
    regular = tuple(each for each in windows if isinstance(each, Sliding))
    return regular if len(regular) == len(windows) else None


def inside(window: Sliding) -> Sliding:
    """A window over a dimension that already has the margins."""
    before, behind = window.margins
    return attrs.evolve(window, size=before + window.size + behind, first=window.first + before)


def positions(windows: Windows, tensor: Tensor) -> list[Positions]:
    """How the elements of windows lead through a tensor that has the margins."""
    dims = len(windows)
    found = []
    for dim, each in enumerate(windows):
        shape = [1] * (2 * dims)
        shape[dim], shape[dims + dim] = each.count, each.length
        place = tensor.ndim - dims + dim
        standing = table((each.places + each.margins[0]).reshape(shape)).to(tensor.device)
        found.append(Positions(standing, tensor.shape[place], tensor.strides[place]))
    return found


@lru_cache(maxsize=64)
def numbers(windows: Windows) -> Tensor:
    """The numbers of the elements in each window, counted through all dimensions in row-major order.

    Those of the margin have the number of the window's first element that is none.

    Returns:
        int64 (counts, elements of a window).
    """
    dims = len(windows)
    total = numpy.zeros((1,) * (2 * dims), dtype=numpy.int64)
    for dim, (each, step) in enumerate(zip(windows, contiguous_strides(sizes(windows)), strict=True)):
        places = each.places
        within = (places >= 0) & (places < each.size)
        first = numpy.take_along_axis(places, within.argmax(1)[:, None], 1)
        shape = [1] * (2 * dims)
        shape[dim], shape[dims + dim] = places.shape
        total = total + (numpy.where(within, places, first) * step).reshape(shape)
    return from_numpy(numpy.ascontiguousarray(total.reshape((*counts_of(windows), math.prod(lengths_of(windows))))))


def number_at(found: Tensor, elements: Tensor, windows: Windows) -> None:
    """Write the numbers of one element of each window.

    Args:
        found: int64 (..., counts), which is written.
        elements: int64 of the same shape: the element in the window, counted in row-major order.
        windows: see ``numbers``.
    """
    table = numbers(windows).to(found.device)
    strides = (*(0,) * (found.ndim - len(windows)), *table.strides[:-1])
    gather(found, table, strides, [Positions(elements, table.shape[-1], 1)])


def as_sizes(values: int | Sequence[int]) -> tuple[int, ...]:
    """A list of ints, for which one int may stand."""
    return (values,) if isinstance(values, int) else tuple(values)


def spread(values: int | Sequence[int], dims: int) -> tuple[int, ...]:
    """One number for each dimension, of one for all or one for each."""
    sizes = as_sizes(values)
    return sizes * dims if len(sizes) == 1 else sizes
