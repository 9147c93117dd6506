"""Sharding rules of sliding-window operators: image filters, pooling, convolutions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from attrs import frozen

from opdsl.runtime.snapshot import tensors_in
from opdsl.sharding.rules import Arguments, Called, Cut

__all__ = ["Overlap", "Sliding", "Window", "overlaps"]


class Window(NamedTuple):
    """Sliding window along a dimension, from which a result element is computed: element ``i`` begins at ``i * stride -
    padding``.
    """

    size: int
    stride: int
    padding: int
    dilation: int = 1


class Overlap(NamedTuple):
    """Piece of a sliding-window call along a dimension: a part of the result, and the overlapping part of the tensor to
    read.

    begin, end: of the part of the tensor.
    skipped, wanted: of the elements that this part of the tensor gives, how many to drop first, and how many to keep
        then.
    """

    begin: int
    end: int
    skipped: int
    wanted: int


@frozen
class Sliding(Called):
    """Sharding rule of operators that slide windows over their first tensor: leading dimensions are split, along the
    others pieces overlap.

    windows: from the arguments of a call to the windows of the last dimensions; None for one that is read whole.
    results: how many there are; they have the dimensions of the first tensor.
    """

    windows: Callable[..., Sequence[Window | None]]
    results: int

    def cuts(self, arguments: Arguments) -> Iterator[Cut]:
        """See ``Rule``."""
        tensors = list(tensors_in(arguments))
        for dim in range(tensors[0].ndim - len(self.windows(*arguments))):
            yield Cut((dim, *[None] * (len(tensors) - 1)), (dim,) * self.results)

    def windows_of(self, arguments: Arguments) -> dict[int, Window]:
        """Return the dimensions of the first tensor that windows slide over, with their windows."""
        windows = self.windows(*arguments)
        first = next(iter(tensors_in(arguments))).ndim - len(windows)
        return {first + at: window for at, window in enumerate(windows) if window is not None}

    def __str__(self) -> str:
        return "windows: along the dimensions before, results are concatenated; along those of windows, pieces overlap"


def overlaps(window: Window, size: int, results: int, bounds: Sequence[int]) -> Iterator[Overlap]:
    """Yield the pieces of a sliding-window call, each with the results whose windows begin between two bounds of the
    tensor.

    Args:
        window: the sliding window.
        size: of the dimension. results: how many elements it gives.
        bounds: where pieces begin, and the last one ends.
    """
    places = [min(results, max(0, -(-(bound + window.padding) // window.stride))) for bound in bounds[1:-1]]
    for first, last in itertools.pairwise([0, *places, results]):
        if last > first:
            begin = max(0, (first * window.stride - window.padding) // window.stride * window.stride)
            reach = (last - 1) * window.stride - window.padding + (window.size - 1) * window.dilation + 1
            yield Overlap(
                begin, size if last == results else min(size, reach), first - begin // window.stride, last - first
            )
