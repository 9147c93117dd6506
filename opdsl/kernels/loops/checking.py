"""Verifier of the loop IR: the rules that printers rely on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from opdsl.errors import KernelError
from opdsl.kernels.loops.model import (
    Argument,
    Array,
    Bound,
    Bounds,
    Compute,
    Fetch,
    Fold,
    For,
    Index,
    Inside,
    Length,
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
    locals_of,
)
from opdsl.scalar.graph import Number, TypedGraph
from opdsl.scalar.types import ScalarType

__all__ = ["check_program"]


def check_program(program: Program) -> None:
    """Verify that a program keeps the rules.

    Names are assigned once, before they are used, with the types that graphs take; they do not end in an underscore.
    Every element that is read or written is in bounds: each index is a loop index over a range as long as the
    dimension, was mapped into bounds, or is checked. Folds have a neutral number for each accumulator.

    Raises:
        KernelError: a rule is broken.
    """
    scope = _Scope(program)
    for parameter in (*program.parameters, *program.scratch):
        if isinstance(parameter, Array):
            scope.array(parameter)
        else:
            scope.give(parameter.name, parameter.type)
    for word in program.words:
        scope.give(word, ScalarType.INT64)
    scope.block(program.body)


class _Scope:
    """Facts that are known in a block of a program.

    types: of values, by name.
    sizes: of indices that are in bounds, the size of their range.
    guards: for conditions, the pairs of index and size that they check.
    held: the conditions that hold here.
    offsets: for offsets, the array and the dimensions that they cover.
    stored: facts about the values in local memory, by array.
    """

    def __init__(self, program: Program, outer: _Scope | None = None) -> None:
        self.program = program
        self.arrays = program.arrays
        self.types: dict[str, ScalarType] = {} if outer is None else dict(outer.types)
        self.sizes: dict[str, Size] = {} if outer is None else dict(outer.sizes)
        self.guards: dict[str, frozenset[tuple[Index, Size]]] = {} if outer is None else dict(outer.guards)
        self.held: frozenset[str] = frozenset() if outer is None else outer.held
        self.offsets: dict[str, tuple[str, tuple[int, ...]]] = {} if outer is None else dict(outer.offsets)
        self.stored: dict[str, tuple[tuple[str, Any], ...]] = {} if outer is None else outer.stored

    def require(self, holds: bool, rule: str) -> None:
        """Raise KernelError unless a rule holds."""
        if not holds:
            raise KernelError(f"the loop program {self.program.name} breaks a rule: {rule}.")

    def give(self, name: str, kind: ScalarType) -> None:
        """Record the assignment of a value, with its type."""
        self.require(name not in self.types and name not in self.arrays, f"{name} is given once")
        self.require(not name.endswith("_"), f"{name} does not end as the names of printers do")
        self.types[name] = kind

    def inner(self, ranges: Sequence[Range] = ()) -> _Scope:
        """Return the scope of a nested block, in which loop indices are known."""
        scope = _Scope(self.program, self)
        for index, size in ranges:
            scope.size(size)
            scope.give(index, ScalarType.INT64)
            scope.sizes[index] = size
        return scope

    def size(self, size: Size) -> None:
        """Check that a size is known when the program starts."""
        if isinstance(size, str):
            self.require(size in self.program.words, f"{size} is a word")
        elif not isinstance(size, int):
            for number in (size.size, size.turns, *([size.number] if isinstance(size, Length) else [])):
                self.size(number)

    def array(self, tensor: Array) -> None:
        """Check the sizes and strides of an array."""
        self.require(len(tensor.sizes) == len(tensor.strides), f"{tensor.name} has as many strides as sizes")
        for size in (*tensor.sizes, *tensor.strides):
            self.size(size)

    def part(self, part: Part | None) -> None:
        """Check a chunk of a range."""
        if part is not None:
            self.size(part.turns)
            if isinstance(part.number, str):
                self.require(self.types.get(part.number) is ScalarType.INT64, f"{part.number} is a whole number")
            else:
                self.size(part.number)

    def bounds(self, bounds: Bounds | None) -> None:
        """Check that the ends of an interval are integers."""
        for bound in bounds or ():
            self.whole(bound)

    def whole(self, argument: Argument) -> None:
        """Check that an argument is an integer."""
        is_whole = isinstance(argument, int) or self.types.get(argument) in (ScalarType.INT32, ScalarType.INT64)
        self.require(is_whole, f"{argument} is a whole number")

    def block(self, statements: Sequence[Statement]) -> None:
        """Check statements one after another."""
        for statement in statements:
            _CHECKS[type(statement)](self, statement)

    # --------------------------------------------------------------------------------------------------- statements

    def load(self, load: Load) -> None:
        """Check a load."""
        self.element(load, load.inside)
        self.require(load.inside is None or load.outside is not None, f"{load.name} has a value outside if guarded")
        self.give(load.name, load.type)
        for known, stored in self.stored.get(load.array, ()):
            if stored is not None:
                getattr(self, known)[load.name] = stored

    def element(self, access: Load | Update, guard: str | None) -> None:
        """Check the index and the offset of an access."""
        offset = self.offsets.get(access.offset or "", (access.array, ()))
        self.require(
            offset[0] == access.array and bool(offset[1]) == bool(access.offset),
            f"{access.offset} leads through {access.array}",
        )
        self.place(access.array, access.index, guard, offset[1])

    def store(self, store: Store) -> None:
        """Check a store."""
        self.place(store.array, store.index, None)
        self.require(store.value in self.types, f"{store.value} is given before it is stored")
        known = ("sizes", "guards", "offsets")
        self.stored[store.array] = tuple((name, getattr(self, name).get(store.value)) for name in known)

    def update(self, update: Update) -> None:
        """Check an update."""
        self.element(update, None)
        self.require(update.arguments.count(None) == 1, f"an update of {update.array} takes what is there, once")
        self.require(len(update.graph.results) == 1, f"an update of {update.array} gives one value")
        self.passed(update.graph, update.arguments)
        if update.name is not None:
            self.give(update.name, update.there)

    def compute(self, compute: Compute) -> None:
        """Check the evaluation of a graph."""
        self.passed(compute.graph, compute.arguments)
        self.named(compute.names, compute.graph.result_types)

    def local(self, local: Local) -> None:
        """Check a declaration of local memory."""
        self.array(local.array)

    def fetch(self, fetch: Fetch) -> None:
        """Check a prefetch: its elements are in bounds in this iteration; after the last iteration they need not be."""
        self.inner([fetch.along]).place(fetch.array, fetch.index, None)
        self.require(fetch.ahead in self.sizes, f"{fetch.ahead} is the index of a loop")

    def product(self, product: TileProduct) -> None:
        """Check a product of tiles: they are in local memory, and have the rows that it reads and writes."""
        local = {local.array.name: local.array for local in locals_of(self.program.body)}
        right = (product.columns, product.inner) if product.is_transposed else (product.inner, product.columns)
        shapes = (product.rows, product.columns), (product.rows, product.inner), right
        names = (product.out, product.left, product.right)
        self.require(len(set(names)) == len(names), f"{product.out} is other memory than what is multiplied")
        for name, (rows, columns), step in zip(names, shapes, product.steps, strict=True):
            self.require(name in local, f"{name} is local memory")
            (size,) = local[name].sizes
            is_there = isinstance(size, int) and columns <= step and (rows - 1) * step + columns <= size
            self.require(is_there, f"{name} has {rows} rows of {columns} elements, {step} apart")

    def inside(self, inside: Inside) -> None:
        """Check a bounds check, and record the condition."""
        self.require(len(inside.index) == len(inside.sizes), f"{inside.name} compares places with sizes")
        for place, size in zip(inside.index, inside.sizes, strict=True):
            self.whole(place)
            self.whole(size) if isinstance(size, str) else self.size(size)
        self.give(inside.name, ScalarType.BOOL)
        self.guards[inside.name] = frozenset(zip(inside.index, inside.sizes, strict=True))

    def bound(self, bound: Bound) -> None:
        """Check the mapping of an index into bounds."""
        self.require(self.types.get(bound.place) is ScalarType.INT64, f"{bound.place} is a whole number")
        self.part(bound.part)
        self.require(bound.how in ("replicate", "reflect", "circular", "wrap", "trusted"), f"{bound.how} leads inside")
        self.give(bound.name, ScalarType.INT64)
        self.sizes[bound.name] = bound.size

    def offset(self, offset: Offset) -> None:
        """Check the offset of an element."""
        self.place(offset.array, offset.index, offset.inside, [k for k, place in enumerate(offset.index) if place == 0])
        self.give(offset.name, offset.type)
        self.offsets[offset.name] = offset.array, tuple(k for k, place in enumerate(offset.index) if place != 0)

    def when(self, when: When) -> None:
        """Check statements under a condition."""
        self.require(self.types.get(when.condition) is ScalarType.BOOL, f"{when.condition} is a condition")
        scope = self.inner()
        scope.held |= {when.condition}
        scope.block(when.body)

    def loop(self, loop: For) -> None:
        """Check a loop."""
        self.part(loop.part)
        self.bounds(loop.bounds)
        scope = self.inner([(loop.index, loop.size)])
        if loop.place is not None:
            scope.require(loop.part is not None, f"{loop.place} is a place within a part")
            scope.give(loop.place, ScalarType.INT64)
            scope.sizes[loop.place] = loop.part.turns if loop.part else loop.size
        scope.block(loop.body)

    def fold(self, fold: Fold) -> None:
        """Check a fold: a monoid, and a body that computes its values."""
        kinds = fold.combine.result_types
        self.monoid(fold.names, fold.neutral, fold.combine, kinds + kinds)
        self.began(fold.neutral, kinds)
        if fold.of_some is not None:
            self.require(
                fold.of_some.result_types == kinds, f"{fold.of_some.name} combines as {fold.combine.name} does"
            )
        self.part(fold.part)
        self.bounds(fold.bounds)
        self.require(fold.bounds is None or len(fold.ranges) == 1, "bounds are those of a single range")
        scope = self.inner(fold.ranges)
        scope.block(fold.body)
        scope.have(fold.values, kinds)
        self.require(fold.where is None or scope.types.get(fold.where) is ScalarType.BOOL, f"{fold.where} is known")
        self.named(fold.names, kinds)

    def scan(self, scan: Scan) -> None:
        """Check a scan."""
        kinds = scan.step.result_types[: len(scan.names)]
        self.part(scan.part)
        self.began(scan.first, kinds)
        scope = self.inner([scan.range])
        scope.block(scan.body)
        value_types = tuple(scope.types.get(name) for name in scan.values)
        self.monoid(scan.names, scan.first, scan.step, (*kinds, *value_types))
        self.require(
            not (scan.is_associative and (scan.is_reverse or value_types != kinds)), "what is associative combines"
        )
        scope.named(scan.names, kinds)
        scope.named(scan.results, scan.step.result_types[len(kinds) :])
        scope.block(scan.after)

    # -------------------------------------------------------------------------------------------------------- rules

    def place(self, array: str, index: Sequence[Index], guard: str | None, led: Collection[int] = ()) -> None:
        """Check that an element is in bounds; dimensions ``led`` are covered by an offset."""
        self.require(array in self.arrays, f"{array} is an array")
        sizes = self.arrays[array].sizes
        self.require(len(index) == len(sizes), f"an element of {array} has {len(sizes)} places")
        guards = self.held if guard is None else self.held | {guard}
        for k, (number, size) in enumerate(zip(index, sizes, strict=True)):
            known = k in led or (isinstance(number, int) and isinstance(size, int) and 0 <= number < size)
            known = known or (number == 0 and size in self.sizes.values())  # within a loop over it
            known = known or (isinstance(number, str) and _fits(self.sizes.get(number), size))
            known = known or (isinstance(number, Steps) and self.steps(number, size))
            known = known or any((number, size) in self.guards.get(name, ()) for name in guards)
            self.require(known, f"the place {number} of {array} lies inside of {size}, or is guarded")

    def steps(self, steps: Steps, size: Size) -> bool:
        """Return whether an affine index starts from an index that is in bounds."""
        self.require(steps.along in self.sizes, f"{steps.along} is the index of a loop")
        self.whole(steps.by)
        return isinstance(steps.first, str) and self.sizes.get(steps.first) == size

    def began(self, first: Sequence[Number | str], kinds: Sequence[ScalarType]) -> None:
        """Check the types of initial accumulators that are values."""
        for name, kind in zip(first, kinds, strict=False):
            self.require(not isinstance(name, str) or self.types.get(name) is kind, f"{name} is {kind.value}")

    def passed(self, graph: TypedGraph, arguments: Sequence[Argument | None]) -> None:
        """Check arguments against a graph's parameters."""
        kinds = [kind for _, kind in graph.parameters]
        self.require(len(arguments) == len(kinds), f"{graph.name} takes {len(kinds)} values")
        for name, kind in zip(arguments, kinds, strict=True):
            is_taken = name is None or (
                kind is ScalarType.INT64 if isinstance(name, int) else self.types.get(name) is kind
            )
            self.require(is_taken, f"{graph.name} takes {name} as {kind.value}")

    def have(self, names: Sequence[str], kinds: Sequence[ScalarType]) -> None:
        """Check that values have types."""
        present = tuple(self.types.get(name) for name in names)
        self.require(present == tuple(kinds), f"{', '.join(names)} are {', '.join(kind.value for kind in kinds)}")

    def named(self, names: Sequence[str], kinds: Sequence[ScalarType]) -> None:
        """Record the assignment of several values."""
        self.require(len(names) == len(kinds), f"there is a name for each result ({', '.join(names)})")
        for name, kind in zip(names, kinds, strict=True):
            self.give(name, kind)

    def monoid(
        self,
        names: Sequence[str],
        neutral: Sequence[Number | str],
        combine: TypedGraph,
        takes: Sequence[ScalarType | None],
    ) -> None:
        """Check that each accumulator has an initial value, and that a graph takes the accumulators."""
        self.require(len(neutral) == len(names), f"{', '.join(names)} have a neutral number each")
        kinds = tuple(kind for _, kind in combine.parameters)
        self.require(kinds == tuple(takes), f"{combine.name} takes accumulators, and what they are combined with")


def _fits(places: Size | None, size: Size) -> bool:
    """Return whether a range of indices is within a size."""
    return places == size or (isinstance(places, int) and isinstance(size, int) and places <= size)


_CHECKS: dict[type, Callable[[_Scope, Any], None]] = {
    Load: _Scope.load,
    Store: _Scope.store,
    Update: _Scope.update,
    Compute: _Scope.compute,
    Local: _Scope.local,
    Fetch: _Scope.fetch,
    TileProduct: _Scope.product,
    Inside: _Scope.inside,
    Offset: _Scope.offset,
    Bound: _Scope.bound,
    When: _Scope.when,
    For: _Scope.loop,
    Fold: _Scope.fold,
    Scan: _Scope.scan,
}
