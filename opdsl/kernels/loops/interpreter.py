"""Interpreter of loop programs on NumPy arrays, the reference for every printer.

All iterations of a parallel loop are computed at once, as arrays with one element for each; folds and scans run
iteration after iteration.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from opdsl.kernels.loops.making import evaluated
from opdsl.kernels.loops.model import (
    Array,
    Bound,
    Bounds,
    Compute,
    Fetch,
    Fold,
    For,
    Index,
    Inside,
    Load,
    Local,
    Offset,
    Part,
    Program,
    Range,
    Scan,
    Size,
    Statement,
    Steps,
    Store,
    TileProduct,
    Update,
    When,
)
from opdsl.runtime.casting import cast_array
from opdsl.runtime.dtype import ALL_DTYPES, DType
from opdsl.scalar.graph import Number, TypedGraph
from opdsl.scalar.interpreter import evaluate
from opdsl.scalar.types import ScalarType

__all__ = ["interpret"]

NDArray = numpy.ndarray[Any, Any]

_DTYPES: Mapping[str, DType] = {dtype.name: dtype for dtype in ALL_DTYPES}


def interpret(program: Program, arguments: Sequence[Any], words: Sequence[int]) -> None:
    """Run a program.

    Args:
        program: the program to run.
        arguments: for its parameters, then for its scratch memory: arrays whose first element is the program's first
            element, and numbers.
        words: the values of its words.
    """
    known = dict(zip(program.words, words, strict=True))
    memory: dict[str, NDArray] = {}
    values: dict[str, NDArray] = {name: _points(word, "int64", 1) for name, word in known.items()}
    for parameter, argument in zip((*program.parameters, *program.scratch), arguments, strict=True):
        if isinstance(parameter, Array):
            memory[parameter.name] = _laid(parameter, argument, known)
        else:
            values[parameter.name] = _points(argument, parameter.type.value, 1)
    with numpy.errstate(all="ignore"):
        _Points(program, memory, known, values, 1).run(program.body)


def _laid(array: Array, values: NDArray, words: Mapping[str, int]) -> NDArray:
    """Return an argument as a view with the sizes and strides that the program declares for the array."""
    sizes, strides = (
        [number if isinstance(number, int) else words[str(number)] for number in part]
        for part in (array.sizes, array.strides)
    )
    size = values.dtype.itemsize
    taken = values.view(array.dtype.numpy)  # copies move bits without interpreting them
    return numpy.lib.stride_tricks.as_strided(taken, sizes, [stride * size for stride in strides])


def _points(value: Any, kind: str, count: int) -> NDArray:
    return numpy.broadcast_to(numpy.asarray(value).astype(kind), (count,))


class _Points:
    """Loop iterations that run together, and the values of names in each of them.

    memory: the arrays. words: sizes and strides. values: by name, an array with one element for each iteration.
    """

    def __init__(
        self,
        program: Program,
        memory: dict[str, NDArray],
        words: Mapping[str, int],
        values: dict[str, NDArray],
        count: int,
        arrays: Mapping[str, Array] | None = None,
    ) -> None:
        self.program, self.memory, self.words, self.values, self.count = program, memory, words, values, count
        self.arrays = arrays or program.arrays

    def run(self, statements: Sequence[Statement]) -> None:
        """Run statements in order."""
        for statement in statements:
            _RUNS[type(statement)](self, statement)

    def within(self, values: Mapping[str, NDArray] | None = None, count: int | None = None) -> _Points:
        """Return a child scope with the same iterations or with other ones, whose names do not leak into this scope."""
        known = self.values if values is None else values
        count = self.count if count is None else count
        return _Points(self.program, self.memory, self.words, dict(known), count, self.arrays)

    def chosen(self, which: NDArray) -> _Points:
        """Return the scope of the iterations where a mask is true."""
        return self.within({name: value[which] for name, value in self.values.items()}, int(which.sum()))

    def size(self, size: Size) -> int:
        """Return the value of a size."""
        return evaluated(size, self.words.__getitem__)

    def taken(self, size: Size, part: Part | None) -> tuple[NDArray, int]:
        """Return the first index of a chunk of a range, for each iteration, and the chunk's maximal number of
        indices.
        """
        if part is None:
            return _points(0, "int64", self.count), self.size(size)
        turns = self.size(part.turns)
        (number,) = self.at((part.number,))
        return number * turns, turns

    def at(self, index: Sequence[Index | Size]) -> tuple[NDArray, ...]:
        """Return the values of indices and sizes, for each iteration."""
        return tuple(self.value(number) for number in index)

    def value(self, number: Index | Size) -> NDArray:
        """Return the value of a name, a number or an index, for each iteration."""
        if isinstance(number, Steps):
            reached: NDArray = self.value(number.first) + self.values[number.along] * self.value(number.by)
            return reached
        return self.values[number] if isinstance(number, str) else _points(self.size(number), "int64", self.count)

    def within_bounds(self, ranges: Sequence[Range], bounds: Bounds | None) -> NDArray:
        """Return a mask of the iterations whose index is within an interval."""
        if bounds is None:
            return numpy.ones(self.count, bool)
        ((index, _),) = ranges
        turn = self.values[index]
        return (turn >= self.value(bounds.begin)) & (turn < self.value(bounds.end))

    def place(self, array: str, index: Sequence[Index]) -> tuple[NDArray, ...]:
        """Return the index of an element in each iteration; in local memory, the owner's index comes first."""
        owner = self.values.get(_owner(array))
        return self.at(index) if owner is None else (owner, *self.at(index))

    # --------------------------------------------------------------------------------------------------- statements

    def load(self, load: Load) -> None:
        """Run a load; elements out of bounds are not read (masked)."""
        memory, index = self.element(load)
        array = self.arrays[load.array]
        inside = None if load.inside is None else self.values[load.inside]
        if inside is not None:
            index = tuple(part[inside] for part in index)
        loaded = (
            memory[index] if index else numpy.broadcast_to(memory[()], self.count if inside is None else inside.sum())
        )
        loaded = cast_array(numpy.array(loaded), array.dtype, _DTYPES[load.type.value])
        if inside is not None:
            whole = numpy.full(self.count, load.outside, load.type.value)
            whole[inside] = loaded
            loaded = whole
        self.values[load.name] = loaded

    def element(self, access: Load | Update) -> tuple[NDArray, tuple[NDArray, ...]]:
        """Return the memory that an access reads or writes, and the index in it."""
        memory, index = self.memory[access.array], self.place(access.array, access.index)
        if access.offset is None:
            return memory, index
        return _flat(memory), (self.far(memory, index) + self.values[access.offset],)

    def far(self, memory: NDArray, index: Sequence[NDArray]) -> NDArray:
        """Return the offset, in elements, of an index from the first element."""
        steps = [stride // memory.itemsize for stride in memory.strides]
        far = _points(0, "int64", self.count)
        for place, step in zip(index, steps, strict=True):
            far = far + place * step
        return far

    def offset(self, offset: Offset) -> None:
        """Compute the offsets of elements."""
        far = self.far(self.memory[offset.array], self.place(offset.array, offset.index))
        far = far if offset.inside is None else numpy.where(self.values[offset.inside], far, 0)
        self.values[offset.name] = far.astype(offset.type.value)

    def store(self, store: Store) -> None:
        """Run a store; of several iterations that write one element, the last one wins."""
        value = self.values[store.value]
        stored = cast_array(value, _DTYPES[str(value.dtype)], self.arrays[store.array].dtype)
        memory, index = self.memory[store.array], self.place(store.array, store.index)
        if index:
            memory[index] = stored
        elif self.count:
            memory[()] = stored[-1]

    def update(self, update: Update) -> None:
        """Run an atomic update for each iteration in turn; store the old elements under the update's name, if it has
        one.
        """
        memory, index = self.element(update)
        dtype = self.arrays[update.array].dtype
        names = [parameter for parameter, _ in update.graph.parameters]
        before = numpy.zeros(self.count, update.there.value)
        for point in range(self.count):
            place = tuple(int(part[point]) for part in index)
            there = cast_array(numpy.asarray(memory[place]).reshape(1), dtype, _DTYPES[update.there.value])[0]
            before[point] = there
            arguments = [there if name is None else self.values[name][point] for name in update.arguments]
            (updated,) = evaluate(update.graph, dict(zip(names, arguments, strict=True)))
            memory[place] = cast_array(updated.reshape(1), _DTYPES[str(updated.dtype)], dtype)[0]
        if update.name is not None:
            self.values[update.name] = before

    def compute(self, compute: Compute) -> None:
        """Evaluate a graph, and assign its results."""
        arrays = self.call(compute.graph, [self.value(operand) for operand in compute.arguments])
        self.values.update(zip(compute.names, arrays, strict=True))

    def call(self, graph: TypedGraph, values: Sequence[NDArray]) -> list[NDArray]:
        """Return the results of a graph, for each iteration."""
        names = [parameter for parameter, _ in graph.parameters]
        arrays = evaluate(graph, dict(zip(names, values, strict=True)))
        return [numpy.broadcast_to(array, (self.count,)) for array in arrays]

    def local(self, local: Local) -> None:
        """Allocate local memory for each iteration."""
        array = local.array
        self.memory[array.name] = numpy.zeros((self.count, *map(self.size, array.sizes)), array.dtype.numpy)
        self.values[_owner(array.name)] = numpy.arange(self.count)

    def fetch(self, fetch: Fetch) -> None:
        """Do nothing: a prefetch has no effect on values."""

    def product(self, product: TileProduct) -> None:
        """Multiply tiles of local memory; the left one is not rounded to the dtype of the right one."""
        owners = self.values[_owner(product.out)]
        dtype = self.arrays[product.out].dtype
        right_shape = (product.columns, product.inner) if product.is_transposed else (product.inner, product.columns)
        shapes = (product.rows, product.columns), (product.rows, product.inner), right_shape
        out, left, right = (
            numpy.ix_(owners, numpy.add.outer(numpy.arange(rows) * step, numpy.arange(columns)).reshape(-1))
            for (rows, columns), step in zip(shapes, product.steps, strict=True)
        )
        one, other = (
            cast_array(self.memory[name][place], self.arrays[name].dtype, dtype).reshape(len(owners), *shape)
            for name, place, shape in ((product.left, left, shapes[1]), (product.right, right, shapes[2]))
        )
        sums = one @ (other.transpose(0, 2, 1) if product.is_transposed else other)
        before = self.memory[product.out][out] if product.adds else 0
        self.memory[product.out][out] = before + sums.reshape(len(owners), product.rows * product.columns)

    def inside(self, inside: Inside) -> None:
        """Compute a bounds check."""
        is_inside = numpy.ones(self.count, bool)
        for place, size in zip(self.at(inside.index), inside.sizes, strict=True):
            limit = self.value(size)
            is_inside &= (place >= 0) & (place < limit)
        self.values[inside.name] = is_inside

    def bound(self, bound: Bound) -> None:
        """Map indices into bounds."""
        place, size = self.values[bound.place] + self.taken(0, bound.part)[0], self.size(bound.size)
        self.values[bound.name] = _BOUNDS[bound.how](place, size) if size else place

    def when(self, when: When) -> None:
        """Run statements for the iterations where a condition holds."""
        self.chosen(self.values[when.condition]).run(when.body)

    def loop(self, loop: For) -> None:
        """Run a loop for each outer iteration: all its iterations at once, or one after another."""
        begin, turns = self.taken(loop.size, loop.part)
        steps = numpy.arange(turns, dtype=numpy.int64)
        for step in (steps[::-1] if loop.is_reverse else steps).reshape(-1, 1) if loop.in_order else [steps]:
            values = {name: numpy.repeat(value, len(step)) for name, value in self.values.items()}
            places = numpy.tile(step, self.count)
            values[loop.index] = numpy.repeat(begin, len(step)) + places
            if loop.place is not None:
                values[loop.place] = places
            inner = self.within(values, self.count * len(step))
            taken = inner.within_bounds([(loop.index, loop.size)], loop.bounds)
            inner.chosen(taken & (inner.values[loop.index] < self.size(loop.size))).run(loop.body)

    def fold(self, fold: Fold) -> None:
        """Run a fold; several lanes reduce a share each, and shares are combined pairwise."""
        lanes = self.program.lanes
        turns = list(enumerate(itertools.product(*(range(self.size(size)) for _, size in fold.ranges))))
        if fold.in_order:
            share = -(-len(turns) // lanes)
            shares = [turns[lane * share : (lane + 1) * share] for lane in range(lanes)]
        else:
            shares = [turns[lane::lanes] for lane in range(lanes)]
        arrays = [self.folded(fold, share) for share in shares if share or lanes == 1]
        while len(arrays) > 1:
            pairs = [arrays[at : at + 2] for at in range(0, len(arrays), 2)]
            arrays = [self.call(fold.combine, [*pair[0], *pair[1]]) if len(pair) == 2 else pair[0] for pair in pairs]
        whole = arrays[0] if arrays else self.folded(fold, [])
        self.values.update(zip(fold.names, whole, strict=True))

    def folded(self, fold: Fold, turns: Sequence[tuple[int, tuple[int, ...]]]) -> list[NDArray]:
        """Return the accumulators of some iterations, which are numbered."""
        whole = self.first(fold.neutral, fold.combine)
        for number, turn in turns:
            inner = self.turn(fold.ranges, turn)
            taken = inner.within_bounds(fold.ranges, fold.bounds)
            if fold.part is not None:
                begin, length = self.taken(0, fold.part)
                taken &= (begin <= number) & (number < begin + length)
            inner = inner.chosen(taken)
            inner.run(fold.body)
            before = [value[taken] for value in whole]
            arrays = inner.call(fold.combine, [*before, *(inner.values[name] for name in fold.values)])
            counts: NDArray = numpy.asarray(True) if fold.where is None else inner.values[fold.where]
            for value, new, old in zip(whole, arrays, before, strict=True):
                value[taken] = numpy.where(counts, new, old)
        return whole

    def scan(self, scan: Scan) -> None:
        """Run a scan, iteration after iteration."""
        carried = self.first(scan.first, scan.step)
        index, size = scan.range
        begin, turns = self.taken(size, scan.part)
        for turn in reversed(range(turns)) if scan.is_reverse else range(turns):
            inner = self.within()
            inner.values[index] = begin + turn
            here = inner.values[index] < self.size(size)
            inner = inner.chosen(here)
            inner.run(scan.body)
            before = [value[here] for value in carried]
            arrays = inner.call(scan.step, [*before, *(inner.values[name] for name in scan.values)])
            for whole, part in zip(carried, arrays, strict=False):
                whole[here] = part
            inner.values.update(zip((*scan.names, *scan.results), arrays, strict=True))
            inner.run(scan.after)

    def turn(self, ranges: Sequence[Range], values: Sequence[int]) -> _Points:
        """Return a child scope in which loop indices have given values."""
        inner = self.within()
        inner.values.update(
            (name, _points(value, "int64", self.count)) for (name, _), value in zip(ranges, values, strict=True)
        )
        return inner

    def first(self, numbers: Sequence[Number | str], graph: TypedGraph) -> list[NDArray]:
        """Return initial accumulators, one array per accumulator: a name is looked up among computed values, and a
        number is repeated for every iteration, in the type of the graph's corresponding result.
        """
        kinds: Sequence[ScalarType] = graph.result_types[: len(numbers)]
        return [
            (self.values[number] if isinstance(number, str) else _points(number, kind.value, self.count)).copy()
            for number, kind in zip(numbers, kinds, strict=True)
        ]


def _flat(memory: NDArray) -> NDArray:
    """Return an array's memory, from its first to its last element, as one dimension; empty for an array without
    elements.
    """
    if not memory.size:
        return memory.reshape(0)
    far = sum((size - 1) * stride for size, stride in zip(memory.shape, memory.strides, strict=True))
    return numpy.lib.stride_tricks.as_strided(memory, (far // memory.itemsize + 1,), (memory.itemsize,))


def _owner(array: str) -> str:
    """Return the name of the values that say which iteration owns local memory; names of programs do not end in
    ``_``.
    """
    return f"{array}_"


def _reflected(place: NDArray, size: int) -> NDArray:
    period = 2 * (size - 1) if size > 1 else 1
    folded = numpy.abs(place) % period
    return numpy.where(folded < size, folded, period - folded)


_BOUNDS: Mapping[str, Callable[[NDArray, int], NDArray]] = {
    "replicate": lambda place, size: numpy.clip(place, 0, size - 1),
    "reflect": _reflected,
    "circular": lambda place, size: place % size,
    "trusted": lambda place, size: place,
    "wrap": lambda place, size: numpy.where(place < 0, place + size, place),
}

_RUNS: Mapping[type, Callable[[_Points, Any], None]] = {
    Load: _Points.load,
    Store: _Points.store,
    Update: _Points.update,
    Compute: _Points.compute,
    Local: _Points.local,
    Fetch: _Points.fetch,
    TileProduct: _Points.product,
    Inside: _Points.inside,
    Bound: _Points.bound,
    Offset: _Points.offset,
    When: _Points.when,
    For: _Points.loop,
    Fold: _Points.fold,
    Scan: _Points.scan,
}
