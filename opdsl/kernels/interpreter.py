"""Interpreter of kernels in NumPy: what a kernel means, apart from any order or memory layout."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from opdsl.errors import KernelError
from opdsl.kernels.kernel import (
    SKIP,
    WRAP,
    Count,
    Fold,
    Index,
    Number,
    Old,
    Part,
    Read,
    Word,
    ranges_of,
    sources_behind,
)
from opdsl.kernels.loops.making import part_of
from opdsl.scalar.interpreter import evaluate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opdsl.kernels.kernel import Access, Kernel, Scan, Write

__all__ = ["interpret_kernel"]


def interpret_kernel(
    kernel: Kernel,
    operands: Mapping[str, Any],
    sizes: Mapping[str, Sequence[int]],
    words: Mapping[str, int] | None = None,
) -> None:
    """Compute a kernel.

    Args:
        kernel: the kernel.
        operands: for each operand by name an array whose dimensions are those of its ranges, then its further ones, or
            a number. Outputs are written.
        sizes: of the dimensions of each range, by name.
        words: the kernel's words.

    Raises:
        KernelError: an index without padding is out of bounds.
    """
    _Interpreter(kernel, operands, sizes, words or {}).run()


class _Interpreter:
    """Interpreter of one kernel; a value is an array with an axis for each dimension of each range, of size 1 along
    those that it does not vary along.

    axes: of each range.
    values: of the graph's nodes. parts: results of folds and scans.
    inside: for each read that skips, where it is in bounds.
    """

    def __init__(
        self, kernel: Kernel, operands: Mapping[str, Any], sizes: Mapping[str, Sequence[int]], words: Mapping[str, int]
    ) -> None:
        self.kernel, self.operands, self.sizes, self.words = kernel, operands, sizes, words
        self.axes: dict[str, tuple[int, ...]] = {}
        for axis in kernel.ranges:
            first = sum(map(len, self.axes.values()))
            self.axes[axis.name] = tuple(range(first, first + len(sizes[axis.name])))
        self.ndim = sum(map(len, self.axes.values()))
        self.values: dict[int, NDArray[Any]] = {}
        self.parts: dict[Part, NDArray[Any]] = {}
        self.inside: dict[int, NDArray[Any]] = {}

    def run(self) -> None:
        """Compute all writes, one after another."""
        for write in range(len(self.kernel.writes)):
            self._write(write)

    # --------------------------------------------------------------------------------------------------------- values

    def result(self, at: int) -> NDArray[Any]:
        """Return the value of one of the graph's results."""
        node = self.kernel.graph.results[at]
        if node not in self.values:
            graph, used = part_of(self.kernel.graph, (node,))
            names = [parameter for parameter, _ in graph.parameters]
            (value,) = evaluate(graph, dict(zip(names, map(self.source, used), strict=True)))
            self.values[node] = value.reshape((1,) * (self.ndim - value.ndim) + value.shape)
        return self.values[node]

    def source(self, at: int) -> NDArray[Any]:
        """Return the value of a source."""
        if at not in self.values:
            self.values[at] = self._source(at)
        return self.values[at]

    def _source(self, at: int) -> NDArray[Any]:
        source = self.kernel.sources[at]
        match source:
            case Index(ranges):
                return self._number([axis for range_name in ranges for axis in self.axes[range_name]], ranges)
            case Count(name):
                return self._same(int(np.prod(self.sizes[name], dtype=np.int64)))
            case Word(name):
                return self._same(self.words[name])
            case Number(name):
                return self._same(self.operands[name])
            case Read():
                return self._read(at, source)
            case Part(loop):
                if source not in self.parts:
                    own = self.kernel.loops[loop]
                    results = self._fold(own) if isinstance(own, Fold) else self._scan(own)
                    self.parts |= {Part(loop, k): value for k, value in enumerate(results)}
                return self.parts[source]
            case _:
                raise AssertionError("the old element is known to its write alone")

    def _same(self, value: Any) -> NDArray[Any]:
        return np.asarray(value).reshape((1,) * self.ndim)

    def _along(self, axis: int, size: int) -> NDArray[Any]:
        """Return the index of an axis."""
        return np.arange(size).reshape([-1 if k == axis else 1 for k in range(self.ndim)])

    def _number(self, axes: Sequence[int], ranges: Sequence[str]) -> NDArray[Any]:
        total = self._same(0)
        for axis, size in zip(axes, (size for range_name in ranges for size in self.sizes[range_name]), strict=True):
            total = total * size + self._along(axis, size)
        return total

    def _index(self, access: Access) -> tuple[list[NDArray[Any]], NDArray[Any]]:
        """Return the indices of an access, moved into bounds, and where they were in bounds."""
        operand, array = self.kernel.operand(access.operand), self.operands[access.operand]
        index = [
            self._along(axis, size)
            for range_name in operand.ranges
            for axis, size in zip(self.axes[range_name], self.sizes[range_name], strict=True)
        ]
        inside = self._same(True)
        for at, size in zip(access.at, array.shape[len(index) :], strict=True):
            place = self.result(at)
            mapped, here = _bounded(place, size, access.padding)
            inside = inside & here
            index.append(mapped)
        return index, inside

    def _read(self, at: int, read: Read) -> NDArray[Any]:
        index, inside = self._index(read)
        array = self.operands[read.operand]
        if read.padding is None and not inside.all():
            raise KernelError(f"{self.kernel.name} reads {read.operand} out of bounds")
        if read.padding == SKIP:
            self.inside[at] = inside
        outside = 0 if read.padding is None or isinstance(read.padding, str) else read.padding
        if 0 in array.shape:
            return np.broadcast_to(
                np.asarray(outside, array.dtype), np.broadcast_shapes(*(part.shape for part in index))
            )
        element = array[tuple(np.broadcast_arrays(*index))] if index else array.reshape((1,) * self.ndim)
        return np.where(inside, element, np.asarray(outside).astype(array.dtype))

    def _counts(self, results: Iterable[int]) -> NDArray[Any]:
        """Return where all reads behind results that skip are in bounds."""
        counts = self._same(True)
        for at in sources_behind(self.kernel, results):
            self.source(at) if not isinstance(self.kernel.sources[at], Old) else None
            if at in self.inside:
                counts = counts & self.inside[at]
        return counts

    # ---------------------------------------------------------------------------------------------------------- loops

    def _spread(self, value: NDArray[Any], ranges: Iterable[str]) -> NDArray[Any]:
        """Return a value that has all elements along ranges."""
        shape = list(value.shape)
        for range_name in ranges:
            for axis, size in zip(self.axes[range_name], self.sizes[range_name], strict=True):
                shape[axis] = size
        return np.broadcast_to(value, shape)

    def _fold(self, fold: Fold) -> list[NDArray[Any]]:
        axes = [axis for range_name in fold.over for axis in self.axes[range_name]]
        counts = self._spread(self._counts(fold.needs), fold.over)
        values = [self._spread(self.result(at), fold.over) for at in fold.values]
        kinds = fold.combine.result_types
        total = [self._same(number).astype(kind.value) for number, kind in zip(fold.init, kinds, strict=True)]
        for turn in itertools.product(*(range(size) for range_name in fold.over for size in self.sizes[range_name])):
            place: list[Any] = [slice(None)] * self.ndim
            for axis, index in zip(axes, turn, strict=True):
                place[axis] = slice(index, index + 1)
            one = [value[tuple(place)] for value in values]
            combined = _evaluated(fold.combine, [*total, *one])
            here = counts[tuple(place)]
            total = [np.where(here, new, old) for new, old in zip(combined, total, strict=True)]
        return total

    def _scan(self, scan: Scan) -> list[NDArray[Any]]:
        (axis,), (size,) = self.axes[scan.over], self.sizes[scan.over]
        values = [self._spread(self.result(at), (scan.over,)) for at in scan.values]
        kinds, count = scan.step.result_types, len(scan.init)
        carried = [self._same(number).astype(kind.value) for number, kind in zip(scan.init, kinds, strict=False)]
        results: list[list[NDArray[Any]]] = [[] for _ in kinds]
        for turn in range(size)[:: -1 if scan.is_reverse else 1]:
            one = [np.take(value, [turn], axis) for value in values]
            computed = _evaluated(scan.step, [*carried, *one])
            carried = computed[:count]
            for collected, value in zip(results, computed, strict=True):
                collected.append(value)
        if not size:
            return [np.zeros([0 if k == axis else 1 for k in range(self.ndim)], kind.value) for kind in kinds]
        order = slice(None, None, -1 if scan.is_reverse else 1)
        return [np.concatenate(np.broadcast_arrays(*parts)[order], axis) for parts in results]

    # --------------------------------------------------------------------------------------------------------- writes

    def _write(self, number: int) -> None:
        write, kernel = self.kernel.writes[number], self.kernel
        index, inside = self._index(write)
        old = Old(number)
        is_update = old in kernel.sources
        counts = self._spread(self._counts(write.needs) & inside, ranges_of(kernel, write))
        array = self.operands[write.operand]
        if is_update:
            self._update(write, kernel.sources.index(old), index, counts)
            return
        value = self.result(write.value)
        parts = np.broadcast_arrays(*index, value, counts)
        *places, value, counts = (part.reshape(-1) for part in parts)
        places = [place[counts] for place in places]
        if index or counts.any():
            array[tuple(places)] = value[counts].astype(array.dtype) if index else value[counts][-1]

    def _update(self, write: Write, old: int, index: Sequence[NDArray[Any]], counts: NDArray[Any]) -> None:
        """Replace elements one after another, each by a function of itself."""
        graph, used = part_of(self.kernel.graph, (self.kernel.graph.results[write.value],))
        names = [parameter for parameter, _ in graph.parameters]
        others = [self.source(at) for at in used if at != old]
        parts = [part.reshape(-1) for part in np.broadcast_arrays(*index, counts, *others)]
        places, here, others = parts[: len(index)], parts[len(index)], parts[len(index) + 1 :]
        array = self.operands[write.operand]
        for k in np.flatnonzero(here):
            place = tuple(part[k] for part in places)
            rest = iter(other[k] for other in others)
            values = [array[place] if at == old else next(rest) for at in used]
            (value,) = evaluate(graph, dict(zip(names, values, strict=True)))
            array[place] = value.astype(array.dtype)


def _evaluated(graph: Any, values: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    names = [parameter for parameter, _ in graph.parameters]
    return list(evaluate(graph, dict(zip(names, values, strict=True))))


def _bounded(place: NDArray[Any], size: int, padding: object) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return indices moved into bounds, and where the result is an element that the padding allows."""
    inside = (place >= 0) & (place < size)
    if padding == WRAP:
        return np.where(place < 0, place + size, place), np.ones_like(inside)
    if size == 0:
        return np.zeros_like(place), inside
    if padding == "circular":
        return place % size, np.ones_like(inside)
    if padding == "reflect" and size > 1:
        turn = place % (2 * (size - 1))
        return np.where(turn < size, turn, 2 * (size - 1) - turn), np.ones_like(inside)
    if padding in ("replicate", "reflect"):
        return np.clip(place, 0, size - 1), np.ones_like(inside)
    return np.where(inside, place, 0), inside
