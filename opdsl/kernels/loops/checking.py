"""The rules of the loop IR: what a printer may trust."""

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
    Update,
    When,
)
from opdsl.scalar.graph import Number, TypedGraph
from opdsl.scalar.types import ScalarType

__all__ = ["check_program"]


def check_program(program: Program) -> None:
    """Hold a program against the rules.

    Names are given once and before they are used, with the types that graphs take; they do not end in an underscore.
    Every element that is read or written lies inside its array: each place is an index of a range as long as the
    dimension, was led inside, or is guarded. Folds have a neutral number for each accumulator.

    Raises:
        KernelError: a rule is broken.
    """
    scope = _Scope(program)
    for each in (*program.parameters, *program.scratch):
        if isinstance(each, Array):
            scope.array(each)
        else:
            scope.give(each.name, each.type)
    for word in program.words:
        scope.give(word, ScalarType.INT64)
    scope.block(program.body)


class _Scope:
    """What is known at a place of a program.

    types: of values by name. sizes: for places that lie inside, of how many. guards: for conditions, the places that
    they hold inside. held: the conditions that hold here. offsets: for offsets, the array and the dimensions that they
    lead through. stored: what is known of the values in memory, by array.
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
        """Refuse the program unless a rule holds."""
        if not holds:
            raise KernelError(f"the loop program {self.program.name} breaks a rule: {rule}.")

    def give(self, name: str, kind: ScalarType) -> None:
        """Take note of a value."""
        self.require(name not in self.types and name not in self.arrays, f"{name} is given once")
        self.require(not name.endswith("_"), f"{name} does not end as the names of printers do")
        self.types[name] = kind

    def inner(self, ranges: Sequence[Range] = ()) -> _Scope:
        """What is known within a loop."""
        made = _Scope(self.program, self)
        for index, size in ranges:
            made.size(size)
            made.give(index, ScalarType.INT64)
            made.sizes[index] = size
        return made

    def size(self, size: Size) -> None:
        """Refuse what is not known when the program starts."""
        if isinstance(size, str):
            self.require(size in self.program.words, f"{size} is a word")
        elif not isinstance(size, int):
            for each in (size.size, size.turns, *([size.number] if isinstance(size, Length) else [])):
                self.size(each)

    def array(self, each: Array) -> None:
        """The sizes and strides of an array."""
        self.require(len(each.sizes) == len(each.strides), f"{each.name} has as many strides as sizes")
        for size in (*each.sizes, *each.strides):
            self.size(size)

    def part(self, part: Part | None) -> None:
        """A part of a range."""
        if part is not None:
            self.size(part.turns)
            if isinstance(part.number, str):
                self.require(self.types.get(part.number) is ScalarType.INT64, f"{part.number} is a whole number")
            else:
                self.size(part.number)

    def bounds(self, bounds: Bounds | None) -> None:
        """From where to where turns are taken."""
        for each in bounds or ():
            self.whole(each)

    def whole(self, each: Argument) -> None:
        """Refuse what is no whole number."""
        is_whole = isinstance(each, int) or self.types.get(each) in (ScalarType.INT32, ScalarType.INT64)
        self.require(is_whole, f"{each} is a whole number")

    def block(self, statements: Sequence[Statement]) -> None:
        """Check statements one after another."""
        for each in statements:
            _CHECKS[type(each)](self, each)

    # --------------------------------------------------------------------------------------------------- statements

    def load(self, each: Load) -> None:
        """An element that is read."""
        self.element(each, each.inside)
        self.require(each.inside is None or each.outside is not None, f"{each.name} has a value outside if guarded")
        self.give(each.name, each.type)
        for known, stored in self.stored.get(each.array, ()):
            if stored is not None:
                getattr(self, known)[each.name] = stored

    def element(self, each: Load | Update, guard: str | None) -> None:
        """An element that may have an offset."""
        found = self.offsets.get(each.offset or "", (each.array, ()))
        self.require(
            found[0] == each.array and bool(found[1]) == bool(each.offset), f"{each.offset} leads through {each.array}"
        )
        self.place(each.array, each.index, guard, found[1])

    def store(self, each: Store) -> None:
        """An element that is written."""
        self.place(each.array, each.index, None)
        self.require(each.value in self.types, f"{each.value} is given before it is stored")
        known = ("sizes", "guards", "offsets")
        self.stored[each.array] = tuple((name, getattr(self, name).get(each.value)) for name in known)

    def update(self, each: Update) -> None:
        """An element that is changed."""
        self.element(each, None)
        self.require(each.arguments.count(None) == 1, f"an update of {each.array} takes what is there, once")
        self.require(len(each.graph.results) == 1, f"an update of {each.array} gives one value")
        self.passed(each.graph, each.arguments)
        if each.name is not None:
            self.give(each.name, each.there)

    def compute(self, each: Compute) -> None:
        """Values of a graph."""
        self.passed(each.graph, each.arguments)
        self.named(each.names, each.graph.result_types)

    def local(self, each: Local) -> None:
        """Memory of a point."""
        self.array(each.array)

    def fetch(self, each: Fetch) -> None:
        """What is brought near is there; that of the last turn need not be."""
        self.inner([each.along]).place(each.array, each.index, None)
        self.require(each.ahead in self.sizes, f"{each.ahead} is the index of a loop")

    def inside(self, each: Inside) -> None:
        """A guard."""
        self.require(len(each.index) == len(each.sizes), f"{each.name} compares places with sizes")
        for place, size in zip(each.index, each.sizes, strict=True):
            self.whole(place)
            self.whole(size) if isinstance(size, str) else self.size(size)
        self.give(each.name, ScalarType.BOOL)
        self.guards[each.name] = frozenset(zip(each.index, each.sizes, strict=True))

    def bound(self, each: Bound) -> None:
        """A place that is led inside."""
        self.require(self.types.get(each.place) is ScalarType.INT64, f"{each.place} is a whole number")
        self.part(each.part)
        self.require(each.how in ("replicate", "reflect", "circular", "wrap", "trusted"), f"{each.how} leads inside")
        self.give(each.name, ScalarType.INT64)
        self.sizes[each.name] = each.size

    def offset(self, each: Offset) -> None:
        """How far an element lies."""
        self.place(each.array, each.index, each.inside, [k for k, place in enumerate(each.index) if place == 0])
        self.give(each.name, each.type)
        self.offsets[each.name] = each.array, tuple(k for k, place in enumerate(each.index) if place != 0)

    def when(self, each: When) -> None:
        """A condition."""
        self.require(self.types.get(each.condition) is ScalarType.BOOL, f"{each.condition} is a condition")
        scope = self.inner()
        scope.held |= {each.condition}
        scope.block(each.body)

    def loop(self, each: For) -> None:
        """A loop."""
        self.part(each.part)
        self.bounds(each.bounds)
        scope = self.inner([(each.index, each.size)])
        if each.place is not None:
            scope.require(each.part is not None, f"{each.place} is a place within a part")
            scope.give(each.place, ScalarType.INT64)
            scope.sizes[each.place] = each.part.turns if each.part else each.size
        scope.block(each.body)

    def fold(self, each: Fold) -> None:
        """A fold: a monoid, and a body that gives its values."""
        kinds = each.combine.result_types
        self.monoid(each.names, each.neutral, each.combine, kinds + kinds)
        self.began(each.neutral, kinds)
        if each.of_some is not None:
            self.require(
                each.of_some.result_types == kinds, f"{each.of_some.name} combines as {each.combine.name} does"
            )
        self.part(each.part)
        self.bounds(each.bounds)
        self.require(each.bounds is None or len(each.ranges) == 1, "bounds are those of a single range")
        scope = self.inner(each.ranges)
        scope.block(each.body)
        scope.have(each.values, kinds)
        self.require(each.where is None or scope.types.get(each.where) is ScalarType.BOOL, f"{each.where} is known")
        self.named(each.names, kinds)

    def scan(self, each: Scan) -> None:
        """A scan."""
        kinds = each.step.result_types[: len(each.names)]
        self.part(each.part)
        self.began(each.first, kinds)
        scope = self.inner([each.range])
        scope.block(each.body)
        given = tuple(scope.types.get(name) for name in each.values)
        self.monoid(each.names, each.first, each.step, (*kinds, *given))
        self.require(not (each.is_associative and (each.is_reverse or given != kinds)), "what is associative combines")
        scope.named(each.names, kinds)
        scope.named(each.results, each.step.result_types[len(kinds) :])
        scope.block(each.after)

    # -------------------------------------------------------------------------------------------------------- rules

    def place(self, array: str, index: Sequence[Index], guard: str | None, led: Collection[int] = ()) -> None:
        """Refuse an element that may lie outside, by a place that no offset stands for."""
        self.require(array in self.arrays, f"{array} is an array")
        sizes = self.arrays[array].sizes
        self.require(len(index) == len(sizes), f"an element of {array} has {len(sizes)} places")
        guards = self.held if guard is None else self.held | {guard}
        for k, (each, size) in enumerate(zip(index, sizes, strict=True)):
            known = k in led or (isinstance(each, int) and isinstance(size, int) and 0 <= each < size)
            known = known or (each == 0 and size in self.sizes.values())  # a loop of that size runs here
            known = known or (isinstance(each, str) and _fits(self.sizes.get(each), size))
            known = known or (isinstance(each, Steps) and self.steps(each, size))
            known = known or any((each, size) in self.guards.get(name, ()) for name in guards)
            self.require(known, f"the place {each} of {array} lies inside of {size}, or is guarded")

    def steps(self, each: Steps, size: Size) -> bool:
        """Whether a place is reached in steps from one that leads inside."""
        self.require(each.along in self.sizes, f"{each.along} is the index of a loop")
        self.whole(each.by)
        return isinstance(each.first, str) and self.sizes.get(each.first) == size

    def began(self, first: Sequence[Number | str], kinds: Sequence[ScalarType]) -> None:
        """What accumulators begin with, where that are values."""
        for name, kind in zip(first, kinds, strict=False):
            self.require(not isinstance(name, str) or self.types.get(name) is kind, f"{name} is {kind.value}")

    def passed(self, graph: TypedGraph, arguments: Sequence[Argument | None]) -> None:
        """Hold arguments against a graph's parameters."""
        kinds = [kind for _, kind in graph.parameters]
        self.require(len(arguments) == len(kinds), f"{graph.name} takes {len(kinds)} values")
        for name, kind in zip(arguments, kinds, strict=True):
            is_taken = name is None or (
                kind is ScalarType.INT64 if isinstance(name, int) else self.types.get(name) is kind
            )
            self.require(is_taken, f"{graph.name} takes {name} as {kind.value}")

    def have(self, names: Sequence[str], kinds: Sequence[ScalarType]) -> None:
        """Refuse values of other types."""
        found = tuple(self.types.get(name) for name in names)
        self.require(found == tuple(kinds), f"{', '.join(names)} are {', '.join(kind.value for kind in kinds)}")

    def named(self, names: Sequence[str], kinds: Sequence[ScalarType]) -> None:
        """Take note of several values."""
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
        """Refuse accumulators without a number to begin with, or a function that does not take them."""
        self.require(len(neutral) == len(names), f"{', '.join(names)} have a neutral number each")
        kinds = tuple(kind for _, kind in combine.parameters)
        self.require(kinds == tuple(takes), f"{combine.name} takes accumulators, and what they are combined with")


def _fits(places: Size | None, size: Size) -> bool:
    """Whether so many places lie inside a size."""
    return places == size or (isinstance(places, int) and isinstance(size, int) and places <= size)


_CHECKS: dict[type, Callable[[_Scope, Any], None]] = {
    Load: _Scope.load,
    Store: _Scope.store,
    Update: _Scope.update,
    Compute: _Scope.compute,
    Local: _Scope.local,
    Fetch: _Scope.fetch,
    Inside: _Scope.inside,
    Offset: _Scope.offset,
    Bound: _Scope.bound,
    When: _Scope.when,
    For: _Scope.loop,
    Fold: _Scope.fold,
    Scan: _Scope.scan,
}
