"""Loop partitioning: iterations whose indices are all in bounds run without bounds checks, the others with checks.

Indices that are affine in the loop index are in bounds for an interval of iterations, which is computed once before the
loop.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import attrs

from opdsl.kernels.loops.making import around
from opdsl.kernels.loops.model import (
    Argument,
    Bound,
    Bounds,
    Compute,
    Fold,
    For,
    Index,
    Inside,
    Load,
    Program,
    Size,
    Statement,
    Steps,
    Store,
    Update,
    When,
    statements_of,
)
from opdsl.kernels.loops.rewriting import alive, replayed
from opdsl.kernels.loops.stepping import STILL, Step, steps_along
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.types import ScalarType

__all__ = ["are_ends_enough", "certain", "has_border", "narrowed", "peeled", "stepped"]

INT64, BOOL = ScalarType.INT64, ScalarType.BOOL

_Made = tuple[Statement, ...]


def peeled(
    loop: For,
    inside: Callable[[For], _Made] = lambda loop: (loop,),
    border: Callable[[For], _Made] = lambda loop: (loop,),
) -> _Made:
    """Split a loop into the iterations in which all affine indices are in bounds, and the border before and after
    these.

    Args:
        loop: a loop whose iterations may run in any order, with folds over known numbers of iterations
            (``are_ends_enough``).
        inside: rewrites the loop over the in-bounds iterations, which has no checks.
        border: rewrites the loop over the iterations of one side, which keeps its checks.
    """
    tests = _tests(loop.index, loop.body)
    if not tests:
        return inside(loop)
    extent = ("loop_begin", "loop_end")
    low, high = limits = ("low", "high")
    within = attrs.evolve(loop, body=_untested(loop.body, tests), bounds=Bounds(low, high))
    statements = (_extent(loop, extent), *_limits(loop.index, loop.body, tests, extent), *inside(within))
    if _is_all(loop.body, {(test.place, test.size) for test in tests}, _guards(loop.body)):
        return statements
    sides = Compute(("side_begin", "side_end"), _sides(), ("side", *extent, *limits))
    side = For("side", 2, (sides, *border(attrs.evolve(loop, bounds=Bounds(*sides.names)))), in_order=True)
    return (*statements, side)


def _guards(body: Sequence[Statement]) -> dict[str, set[tuple[Argument, Size]]]:
    """Return for each condition the pairs of index and size that it checks."""
    return {statement.name: {*_pairs(statement)} for statement in statements_of(body) if isinstance(statement, Inside)}


def _is_all(
    body: Sequence[Statement],
    tests: Collection[tuple[Argument, Size]],
    guards: Mapping[str, Collection[tuple[Argument, Size]]],
) -> bool:
    """Return whether statements do nothing unless all checks hold."""
    for statement in body:
        if isinstance(statement, When):
            left = {*tests}.difference(guards.get(statement.condition, ()))
            if left and not _is_all(statement.body, left, guards):
                return False
        elif isinstance(statement, (Store, Update, For, Fold)):
            return False
    return True


def has_border(loop: For) -> bool:
    """Return whether a loop has checks that ``peeled`` can decide for an interval of iterations."""
    return bool(_tests(loop.index, loop.body))


def narrowed(fold: Fold) -> _Made:
    """Restrict a fold along one range to the iterations whose affine checks hold, and drop these checks."""
    ((index, size),) = fold.ranges
    assert isinstance(size, (int, str)), "a range of turns is whole"
    tests, limits = _tests(index, fold.body), _Made()
    if tests:
        limits = _limits(index, fold.body, tests, (0, size))
        where = None if fold.where in _decided(fold.body, tests) else fold.where
        fold = attrs.evolve(fold, body=_untested(fold.body, tests), where=where, bounds=Bounds("low", "high"))
    before, body = _in_steps(index, fold.body)
    return (*limits, *before, attrs.evolve(fold, body=alive(body, {*fold.values, *filter(None, [fold.where])})))


def certain(program: Program) -> Program:
    """Remove bounds checks of indices that are loop or fold indices over a range of the checked size."""
    ranges, body = program.points
    every = (*ranges, *_folded(body).items())
    pairs = {
        (name, size)
        for statement in statements_of(body)
        if isinstance(statement, Compute)
        for name, index in _copied(statement)
        for other, size in every
        if index == other
    }
    return attrs.evolve(program, body=around(ranges, tuple(_without_tests(body, pairs, _holding(body, pairs), set()))))


def _copied(compute: Compute) -> Iterator[tuple[str, Argument]]:
    """Yield the results that are arguments returned unchanged, with those arguments."""
    positions = [at for at, node in enumerate(compute.graph.nodes) if node.op == "parameter"]
    for name, at in zip(compute.names, compute.graph.results, strict=True):
        if at in positions:
            yield name, compute.arguments[positions.index(at)]


def stepped(loop: For) -> _Made:
    """Replace affine indices in a loop by a first index, computed before the loop, and a step (strength reduction)."""
    before, body = _in_steps(loop.index, loop.body)
    return (*before, attrs.evolve(loop, body=alive(body)))


# -------------------------------------------------------------------------------------------------------------- tests


class _Test(NamedTuple):
    """Bounds check of an index that is affine in the loop index."""

    place: str
    size: Size
    step: Step


def _pairs(statement: Statement) -> Iterator[tuple[Argument, Size]]:
    """Yield the indices that a statement checks or maps into bounds, and their sizes."""
    if isinstance(statement, Inside):
        yield from zip(statement.index, statement.sizes, strict=True)
    elif isinstance(statement, Bound) and statement.how not in ("trusted", "wrap"):
        yield statement.place, statement.size


def _tests(index: str, body: Sequence[Statement]) -> tuple[_Test, ...]:
    """Return the bounds checks that can be decided for an interval of iterations: those of statements all of whose
    indices are affine in ``index``, with loop-invariant sizes.

    A loop-invariant index of a ``Bound`` (padding) is left out: ``Bound`` maps it into bounds in any case.
    """
    along = steps_along(body, index)
    tests: dict[_Test, None] = {}
    for statement in statements_of(body):
        pairs = list(_pairs(statement))
        if any(_step(along, place) is None or _step(along, size) != STILL for place, size in pairs):
            continue
        for place, size in pairs:
            step = _step(along, place)
            if step is not None and isinstance(place, str) and not (step == STILL and isinstance(statement, Bound)):
                tests[_Test(place, size, step)] = None
    return tuple(tests)


def _step(along: dict[str, Step | None], value: Argument | Size) -> Step | None:
    return along.get(value, STILL) if isinstance(value, str) else STILL


def _folded(body: Sequence[Statement]) -> dict[str, Size]:
    """Return the indices of folds in a body, and their sizes."""
    return {
        index: size
        for statement in statements_of(body)
        if isinstance(statement, Fold)
        for index, size in statement.ranges
    }


def are_ends_enough(loop: For) -> bool:
    """Return whether all iterations of the folds in a loop are in bounds if their first and last ones are: indices are
    affine in at most one fold index, and folds have no other condition.
    """
    tests = _tests(loop.index, loop.body)
    folds = [statement for statement in statements_of(loop.body) if isinstance(statement, Fold)]
    for fold in folds:
        if fold.where is not None and fold.where not in _decided(loop.body, tests):
            return False
    along = [steps_along(loop.body, index) for index in _folded(loop.body)]
    for test in tests:
        steps = [_step(steps, test.place) for steps in along]
        if None in steps or len(steps) - steps.count(STILL) > 1:
            return False
        if any(_step(steps, test.size) != STILL for steps in along):
            return False
    return True


def _decided(body: Sequence[Statement], tests: Collection[_Test]) -> set[str]:
    """Return the names of the conditions that are true where the bounds checks ``tests`` hold."""
    return _holding(body, {(test.place, test.size) for test in tests})


def _holding(body: Sequence[Statement], pairs: Collection[tuple[Argument, Size]]) -> set[str]:
    """Return the names of the conditions all of whose pairs of index and size are among ``pairs``, known to be in
    bounds.
    """
    return {
        statement.name
        for statement in statements_of(body)
        if isinstance(statement, Inside) and {*_pairs(statement)}.issubset(pairs)
    }


def _untested(body: Sequence[Statement], tests: Collection[_Test]) -> tuple[Statement, ...]:
    """Return statements without the given bounds checks, which hold."""
    pairs = {(test.place, test.size) for test in tests}
    return tuple(_without_tests(body, pairs, _decided(body, tests), set()))


def _without_tests(
    body: Sequence[Statement], pairs: Collection[tuple[Argument, Size]], decided: Collection[str], led: set[str]
) -> Iterator[Statement]:
    def inside(index: Sequence[Index]) -> tuple[Index, ...]:
        return tuple(f"{number}_in" if isinstance(number, str) and number in led else number for number in index)

    for statement in body:
        if isinstance(statement, Inside):
            for place, size in _pairs(statement):
                if isinstance(place, str) and (place, size) in pairs and place not in led:
                    led.add(place)
                    yield Bound(f"{place}_in", place, size, "trusted")
            if statement.name not in decided:
                left = [pair for pair in _pairs(statement) if pair not in pairs]
                yield Inside(statement.name, *zip(*left, strict=True))
        elif isinstance(statement, Bound) and (statement.place, statement.size) in pairs:
            yield attrs.evolve(statement, how="trusted")
        elif isinstance(statement, Load):
            led_in = attrs.evolve(statement, index=inside(statement.index))
            is_free = statement.inside is None or statement.inside in decided
            yield attrs.evolve(led_in, inside=None, outside=None) if is_free else led_in
        elif isinstance(statement, (Store, Update)):
            yield attrs.evolve(statement, index=inside(statement.index))
        elif isinstance(statement, When):
            within = tuple(_without_tests(statement.body, pairs, decided, led))
            if statement.condition in decided:
                yield from within
            else:
                yield attrs.evolve(statement, body=within)
        elif isinstance(statement, Fold):
            within = tuple(_without_tests(statement.body, pairs, decided, led))
            yield attrs.evolve(statement, body=within, where=None if statement.where in decided else statement.where)
        else:
            yield statement


# -------------------------------------------------------------------------------------------------------------- limits


def _extent(loop: For, names: tuple[str, str]) -> Compute:
    """Compute the first and the end iteration of a loop."""
    assert isinstance(loop.size, (int, str)), "a range of points is whole"
    if loop.part is None:
        return Compute(names, _whole(), (loop.size,))
    assert isinstance(loop.part.turns, (int, str)), "a part has so many turns as are known"
    assert isinstance(loop.part.number, (int, str)), "a part is one of a loop around"
    return Compute(names, _part(), (loop.size, loop.part.number, loop.part.turns))


def _limits(
    index: str, body: Sequence[Statement], tests: Sequence[_Test], extent: tuple[Argument, Argument]
) -> tuple[Statement, ...]:
    """Compute the interval ``low``, ``high`` of iterations in which all checks hold, for the first and last iterations
    of inner folds.
    """
    ranges = _folded(body)
    ends: list[dict[str, Argument]] = [dict.fromkeys(ranges, 0)]
    if ranges:
        ends.append({key: size - 1 for key, size in ranges.items() if isinstance(size, int)})
    prologue: dict[Statement, None] = {}
    limits: dict[tuple[Argument, Argument, Step], None] = {}
    wanted = {name for test in tests for name in (test.place, test.size) if isinstance(name, str)}
    for k, end in enumerate(ends):
        statements, names = replayed(body, wanted, {index: 0, **end}, f"_end{k}")
        prologue |= dict.fromkeys(statements)
        for test in tests:
            assert isinstance(test.size, (int, str)), "a dimension is whole"
            size = names.get(test.size, test.size) if isinstance(test.size, str) else test.size
            limits[names.get(test.place, test.place), size, test.step] = None
    steps = tuple(step for *_, step in limits)
    arguments = [part for place, size, step in limits for part in (place, size, *filter(None, [step.factor]))]
    return (*prologue, Compute(("low", "high"), _inside(steps), (*extent, *arguments)))


class _Whole(GraphBuilder):
    """Builder of scalar graphs over int64 integers."""

    def given(self, *names: str) -> list[int]:
        """Add integer parameters with names."""
        return [self.parameter(name, INT64) for name in names]

    def number(self, value: int) -> int:
        """Add an integer constant."""
        return self.constant(value, INT64)

    def whole(self, op: str, *arguments: int) -> int:
        """Add an operation with an integer result."""
        return self.node(op, arguments, INT64)

    def truth(self, op: str, *arguments: int) -> int:
        """Add an operation with a boolean result."""
        return self.node(op, arguments, BOOL)


@functools.cache
def _whole() -> TypedGraph:
    """Build the graph: size -> 0, size (the interval of all iterations)."""
    builder = _Whole()
    (size,) = builder.given("size")
    return builder.finish("whole", [builder.number(0), size])


@functools.cache
def _part() -> TypedGraph:
    """Build the graph: size, number of a chunk, iterations of a chunk -> begin and end of the chunk."""
    builder = _Whole()
    size, number, turns = builder.given("size", "number", "turns")
    begin = builder.whole("multiply", number, turns)
    end = builder.whole("minimum", builder.whole("add", begin, turns), size)
    return builder.finish("part", [begin, end])


@functools.cache
def _sides() -> TypedGraph:
    """Build the graph: side (0 or 1), begin and end of a loop, low and high of its in-bounds interval -> begin and end
    of that side of the border.
    """
    builder = _Whole()
    side, begin, end, low, high = builder.given("side", "begin", "end", "low", "high")
    is_first = builder.truth("equal", side, builder.number(0))
    pairs = ((begin, high), (low, end))
    return builder.finish("sides", [builder.whole("select", is_first, *pair) for pair in pairs])


@functools.lru_cache(maxsize=4096)
def _inside(steps: tuple[Step, ...]) -> TypedGraph:
    """Build the graph: begin and end of a loop, then for each check the index in iteration 0, its size and the factor
    of its step, if it has one -> interval of iterations in which all checks hold.
    """
    builder = _Whole()
    names = [name for k, step in enumerate(steps) for name in (f"p{k}", f"n{k}", *([f"f{k}"] if step.factor else []))]
    begin, end, *numbers = builder.given("begin", "end", *names)
    low, high, holds = begin, end, []
    zero, one = builder.number(0), builder.number(1)
    rest = iter(numbers)
    for step in steps:
        place, size = next(rest), next(rest)
        if step == STILL:
            holds += [builder.truth("less_equal", zero, place), builder.truth("less", place, size)]
            continue
        length = builder.number(abs(step.places))
        if step.factor:
            factor = next(rest)
            holds.append(builder.truth("less", zero, factor))
            length = builder.whole("multiply", builder.whole("maximum", factor, one), length)
        # place + step * turn >= 0, and < size
        before, behind = builder.whole("subtract", zero, place), builder.whole("subtract", size, place)
        if step.places < 0:
            before = builder.whole("subtract", place, builder.whole("subtract", size, one))
            behind = builder.whole("add", place, one)
        low = builder.whole("maximum", low, _quotient(builder, before, length))
        high = builder.whole("minimum", high, _quotient(builder, behind, length))
    low = builder.whole("minimum", low, end)
    high = builder.whole("maximum", high, low)
    if holds:
        holds_all = functools.reduce(lambda one, other: builder.truth("bitwise_and", one, other), holds)
        low, high = (builder.whole("select", holds_all, number, end) for number in (low, high))
    return builder.finish("inside", [low, high])


def _quotient(builder: _Whole, value: int, divisor: int) -> int:
    """Divide two integers, rounding up; return 0 for a negative value."""
    kept = builder.whole("maximum", value, builder.number(0))
    if builder.constant_value(divisor) == 1:
        return kept
    more = builder.whole("add", kept, builder.whole("subtract", divisor, builder.number(1)))
    return builder.whole("floor_divide", more, divisor)


# --------------------------------------------------------------------------------------------------------------- steps


def _in_steps(index: str, body: Sequence[Statement]) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
    """Return statements to put before a loop, and its body with affine indices as ``Steps`` from a first index."""
    along = steps_along(body, index)
    texts = {name for statement in body for name in _given(statement)}
    tested = {place for statement in statements_of(body) if isinstance(statement, Inside) for place in statement.index}
    used = (place for place in _places_of(body) if place in texts and place not in tested)
    even = {text: along[text] for text in used if along.get(text) is not None}
    before, names = replayed(body, even, {index: 0}, "_first")
    by = {step: f"{names[key]}_by" for key, step in even.items() if step is not None and step.factor is not None}
    factors = [Compute((name,), _times(step.places), (step.factor,)) for step, name in by.items() if step.factor]

    def place(number: Index) -> Index:
        step = even.get(number) if isinstance(number, str) else None
        if step is None or not isinstance(number, str):
            return number
        return names[number] if step == STILL else Steps(names[number], index, by.get(step, step.places))

    def moved(statement: Statement) -> Statement:
        if isinstance(statement, (Load, Store, Update)):
            return attrs.evolve(statement, index=tuple(map(place, statement.index)))
        return (
            attrs.evolve(statement, body=tuple(map(moved, statement.body)))
            if isinstance(statement, When)
            else statement
        )

    return (*before, *factors), tuple(map(moved, body))


def _given(statement: Statement) -> tuple[str, ...]:
    if isinstance(statement, Compute):
        return statement.names
    return (statement.name,) if isinstance(statement, Bound) else ()


def _places_of(body: Sequence[Statement]) -> Iterator[str]:
    """Yield the named indices at which statements read or write."""
    for statement in statements_of(body):
        if isinstance(statement, (Load, Store, Update)):
            yield from (place for place in statement.index if isinstance(place, str))


@functools.cache
def _times(places: int) -> TypedGraph:
    """Build the graph: factor -> factor * ``places``."""
    builder = _Whole()
    return builder.finish("times", [builder.whole("multiply", builder.given("factor")[0], builder.number(places))])
