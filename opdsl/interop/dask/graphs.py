"""Construction of the dask graph of one operator call."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import dask.array as da
import numpy
from attrs import define, field
from dask.array.core import ArrayBlockIdDep
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from opdsl.dispatch import Operator
from opdsl.errors import ShardingError
from opdsl.interop.dask.blocks import (
    Call,
    Drawn,
    Finished,
    Item,
    Joined,
    Merged,
    Piece,
    Placeholder,
    Started,
    carried_last,
    carried_on,
    carried_results,
    drawn_by,
    draws,
    edition_of,
    name_of,
    same,
)
from opdsl.runtime import Generator, Tensor
from opdsl.sharding.composites import with_tensors
from opdsl.sharding.partial import Carried
from opdsl.sharding.rules import Cut, Rule, possible_cuts

# Represents a size that dask does not know. No result may depend on this number.
UNKNOWN = 1009

Results: TypeAlias = "da.Array | tuple[da.Array, ...]"


@define
class Plan:
    """Plan of one call on dask arrays: the dimensions that are split, and the graph.

    operator: the called operator.
    arguments: in the order of its schema, with meta tensors.
    arrays: one for each of these tensors.
    metas: the results as meta tensors.
    generator: of random numbers, if the call passes one.
    labels: one for each dimension of each array; dimensions with the same label are split together.
    outputs: the same labels for the dimensions of the results.
    folded: labels along which partial results are combined.
    scanned: labels along which accumulators are carried.
    """

    operator: Operator
    arguments: tuple[Any, ...]
    arrays: list[da.Array]
    metas: list[Tensor]
    generator: Generator | None = None
    labels: list[list[int]] = field(factory=list)
    outputs: list[list[int]] = field(factory=list)
    folded: list[int] = field(factory=list)
    scanned: list[int] = field(factory=list)
    counter: Iterator[int] = field(factory=itertools.count)

    def label(self, rule: Rule) -> None:
        """Assign labels to dimensions according to a sharding rule."""
        self.labels = [[-1] * array.ndim for array in self.arrays]
        self.outputs = [[-1] * meta.ndim for meta in self.metas]
        for cut in possible_cuts(rule, self.arguments):
            self._take(cut, self.counter)

    def uncut(self) -> list[tuple[int, int]]:
        """Return the dimensions that consist of several chunks (or of unknown sizes) but cannot be split, as (array,
        dimension).
        """
        return [
            (place, at)
            for place, (array, dims) in enumerate(zip(self.arrays, self.labels, strict=True))
            for at, label in enumerate(dims)
            if label < 0 and (array.numblocks[at] > 1 or math.isnan(array.shape[at]))
        ]

    def results(self, rule: Rule) -> Results:
        """Build the dask arrays of the results, without computing them."""
        counter = self.counter
        self._make_whole(rule, counter)
        new_axes = {}
        for dims, meta in zip(self.outputs, self.metas, strict=True):
            for at, label in enumerate(dims):
                if label < 0:
                    dims[at] = next(counter)
                    new_axes[dims[at]] = meta.shape[at]
        pairs = [part for array, dims in zip(self.arrays, self.labels, strict=True) for part in (array, tuple(dims))]
        chunks, self.arrays = da.core.unify_chunks(*pairs)
        if any(len(chunks[label]) > 1 for label in self.scanned):
            return self._carried(new_axes)
        if any(len(chunks[label]) > 1 for label in self.folded):
            return self._combined(chunks, new_axes)
        if draws(self.operator):
            return self._blockwise(self._drawn(chunks, new_axes), self.pairs, new_axes)
        return self._blockwise(Joined(self.call), self.pairs, new_axes)

    def _drawn(self, chunks: dict[int, Any], new_axes: dict[int, int]) -> Drawn:
        """Return the task for blocks of an operator that draws random numbers.

        Raises:
            ShardingError: sizes are unknown, but the numbers depend on the index of an element.
        """
        sizes = [chunks.get(label, new_axes.get(label)) for label in self.outputs[0]]
        every = [size if isinstance(size, tuple) else (size,) for size in sizes]
        if any(math.isnan(size) for dim_sizes in every for size in dim_sizes):
            raise ShardingError(
                f"{self.operator.name}: chunk sizes are unknown, and its random numbers depend on the positions of "
                "elements. Call compute_chunk_sizes() of the array first."
            )
        starts = tuple((0, *itertools.accumulate(map(int, dim_sizes[:-1]))) for dim_sizes in every)
        seed, place = drawn_by(self.operator, self.arguments, self.generator)
        return Drawn(self.call, seed, place, self.metas[0].shape, starts)

    @property
    def call(self) -> Call:
        """Return the picklable description of the call for worker processes."""
        places = itertools.count()
        arguments = tuple(
            with_tensors(argument, lambda tensor: Placeholder(next(places), tensor.shape, tensor.dtype))
            for argument in self.arguments
        )
        arguments = tuple(None if isinstance(argument, Generator) else argument for argument in arguments)
        return Call(*name_of(self.operator), edition_of(self.operator), arguments)

    @property
    def pairs(self) -> list[Any]:
        """Return arrays and labels alternately, as ``dask.array.blockwise`` takes them."""
        return [part for array, dims in zip(self.arrays, self.labels, strict=True) for part in (array, tuple(dims))]

    def _take(self, cut: Cut, counter: Iterator[int]) -> None:
        """Label the dimensions of a cut, unless they are labeled already."""
        inputs = [(at, dim) for at, dim in enumerate(cut.inputs) if dim is not None]
        outputs = [(at, dim) for at, dim in enumerate(cut.outputs) if dim is not None]
        taken = any(self.labels[at][dim] >= 0 for at, dim in inputs)
        size = next(self.arrays[at].shape[dim] for at, dim in inputs)
        changes = any(self.metas[at].shape[dim] != _known(size) for at, dim in outputs)
        if taken or changes or any(self.outputs[at][dim] >= 0 for at, dim in outputs):
            return
        label = next(counter)
        for at, dim in inputs:
            self.labels[at][dim] = label
        for at, dim in outputs:
            self.outputs[at][dim] = label
        if cut.partial is not None:
            (self.scanned if isinstance(cut.partial, Carried) else self.folded).append(label)

    def _make_whole(self, rule: Rule, counter: Iterator[int]) -> None:
        """Merge the chunks of dimensions that cannot be split into one chunk, with a warning.

        Raises:
            ShardingError: the size of a dimension is unknown.
        """
        for place, (array, dims) in enumerate(zip(self.arrays, self.labels, strict=True)):
            for at, label in enumerate(dims):
                if label >= 0:
                    continue
                if math.isnan(array.shape[at]):
                    raise ShardingError(
                        f"{self.operator.name}: chunk sizes along dimension {at} are unknown, and it cannot be split "
                        f"there ({rule}). Call compute_chunk_sizes() of the array first."
                    )
                if array.numblocks[at] > 1:
                    warnings.warn(
                        f"{self.operator.name}: dimension {at} cannot be split ({rule}): its {array.numblocks[at]} "
                        "chunks become one",
                        da.PerformanceWarning,
                        stacklevel=7,
                    )
                dims[at] = next(counter)
            whole = {at: -1 for at, label in enumerate(dims) if not self._is_cut(label)}
            self.arrays[place] = array.rechunk(whole) if any(array.numblocks[at] > 1 for at in whole) else array

    def _is_cut(self, label: int) -> bool:
        return label in self.folded or any(label in dims for dims in self.outputs)

    # -------------------------------------------------------------------------------------------------------- graphs

    def _blockwise(self, function: Callable[..., Any], pairs: Sequence[Any], new_axes: dict[int, int]) -> Results:
        """Build the result arrays with one task for each block of the results."""
        first = self.outputs[0]
        own = {label: size for label, size in new_axes.items() if label in first}
        if len(self.metas) == 1:
            return _blocks(function, first, pairs, own, self._dtype(0))
        parts = _blocks(function, first, pairs, own, numpy.dtype(object))
        return self._items(parts, new_axes)

    def _items(self, parts: da.Array, new_axes: dict[int, int]) -> Results:
        """Split an array whose blocks are tuples of results into one array for each result."""
        first = tuple(self.outputs[0])
        arrays = []
        for at, dims in enumerate(self.outputs):
            own = {label: size for label, size in new_axes.items() if label in dims and label not in first}
            arrays.append(_blocks(Item(at), dims, [parts, first], own, self._dtype(at)))
        return tuple(arrays)

    def _combined(self, chunks: dict[int, Any], new_axes: dict[int, int]) -> Results:
        """Build a tree reduction: accumulators of each block, merged pairwise, then the results."""
        out = self.outputs[0]
        cut = [label for label in self.folded if label not in out]
        call = self.call
        starts = self._starts(call, chunks[cut[0]], cut[0])
        pairs = [*self.pairs, *starts]
        own = {label: size for label, size in new_axes.items() if label in out}
        started = Started(call, bool(starts))
        states = _blocks(started, [*out, *cut], pairs, own, numpy.dtype(object))
        merged = da.reduction(
            states,
            chunk=same,
            combine=Merged(call),
            aggregate=Finished(call),
            axis=tuple(range(len(out), len(out) + len(cut))),
            concatenate=False,
            dtype=self._dtype(0) if len(self.metas) == 1 else numpy.dtype(object),
            meta=_meta(len(out), self._dtype(0)),
        )
        return merged if len(self.metas) == 1 else self._items(merged, new_axes)

    def _starts(self, call: Call, sizes: Sequence[float], label: int) -> list[Any]:
        """Return the number of elements before each block along a label, as an operand; an empty list if no piece uses
        it.

        Raises:
            ShardingError: the counts are used, but sizes are unknown.
        """
        if not call.partial.counts_places(call.whole):
            return []
        if any(map(math.isnan, sizes)):
            raise ShardingError(
                f"{self.operator.name}: chunk sizes are unknown, and its results are indices. Call "
                "compute_chunk_sizes() of the array first."
            )
        starts = numpy.concatenate([[0], numpy.cumsum(sizes)[:-1]]).astype(numpy.int64)
        return [da.from_array(starts, chunks=1), (label,)]

    def _carried(self, new_axes: dict[int, int]) -> Results:
        """Build a scan: accumulators of blocks, carried from each block to the next one along the dimension."""
        call, out = self.call, self.outputs[0]
        axis = out.index(self.scanned[0])
        starts = self._starts(call, self.arrays[0].chunks[axis], out[axis])
        started = Started(call, bool(starts))
        local = _blocks(started, out, [*self.pairs, *starts], new_axes, numpy.dtype(object))
        name = f"{self.operator.schema.name.base}-{tokenize(call, local.name)}"
        graph: dict[Any, Any] = {}
        for index in itertools.product(*map(range, local.numblocks)):
            before = (*index[:axis], index[axis] - 1, *index[axis + 1 :])
            key, whole = (local.name, *index), (f"all-{name}", *index)
            carry = (f"carry-{name}", *before) if index[axis] else None
            graph[whole] = (carried_on, call, carry, key)
            graph[(f"last-{name}", *index)] = (carried_last, call, whole)
            graph[(f"carry-{name}", *index)] = (
                (carried_on, call, None, (f"last-{name}", *index))
                if carry is None
                else (_latest, carry, (f"last-{name}", *index))
            )
            graph[(name, *index)] = (carried_results, call, whole)
        layers = HighLevelGraph.from_collections(name, graph, dependencies=[local])
        dtype = self._dtype(0) if len(self.metas) == 1 else numpy.dtype(object)
        array = da.Array(layers, name, local.chunks, meta=_meta(local.ndim, dtype))
        return array if len(self.metas) == 1 else self._items(array, new_axes)

    def _dtype(self, at: int) -> Any:
        return self.metas[at].dtype.__numpy_dtype__


def _latest(before: Any, last: Any) -> Any:
    """Return the carry after a piece: the carry before it where the piece has no elements."""
    return before if last is None else last


def _known(size: float) -> int:
    return UNKNOWN if math.isnan(size) else int(size)


def _meta(ndim: int, dtype: Any) -> numpy.ndarray[Any, Any]:
    return numpy.empty((0,) * ndim, dtype)


def _blocks(
    function: Callable[..., Any], out: Sequence[int], pairs: Sequence[Any], new_axes: dict[int, int], dtype: Any
) -> da.Array:
    """Build an array with one task for each block; a ``Piece`` is called with the index of the block as first
    argument.
    """
    chunks: dict[int, Any] = {label: (size,) for label, size in new_axes.items()}
    for array, labels in zip(pairs[::2], pairs[1::2], strict=True):
        for label, sizes in zip(labels, array.chunks, strict=True):
            chunks[label] = max(chunks.get(label, ()), sizes, key=len)
    index: list[Any] = (
        [ArrayBlockIdDep(tuple(chunks[label] for label in out)), tuple(out)] if isinstance(function, Piece) else []
    )
    return da.blockwise(
        function,
        tuple(out),
        *index,
        *pairs,
        new_axes=new_axes,
        align_arrays=False,
        dtype=dtype,
        meta=_meta(len(out), dtype),
        token=type(function).__name__.lower(),
    )
