"""Loops over places: what is read, folded and written at index expressions."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opdsl.kernels.definitions.monoid import initial
from opdsl.kernels.loops.making import Loops, Maker, around, pairwise, places, zero
from opdsl.kernels.loops.model import (
    Bound,
    Compute,
    Fold,
    Index,
    Inside,
    Load,
    Range,
    Size,
    Statement,
    Store,
    Update,
    When,
)
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.indexed import SKIP
from opdsl.scalar.types import BOOL, FLOAT, ScalarType

if TYPE_CHECKING:
    from opdsl.kernels.calls import IndexedAccess, IndexedCall, IndexedLoop
    from opdsl.scalar.graph import TypedGraph

__all__ = ["indexed"]


def indexed(loop: IndexedLoop, call: IndexedCall) -> Loops:
    """The loops of ``Compiler.indexed``.

    Args:
        loop: what is computed at each place.
        call: where the operands lie.
    """
    return _Places(loop, call).loops()


class _Places:
    """The loops of one call, while they are made.

    own: the sizes of the own dimensions of each array, and of an output that is added to.
    """

    def __init__(self, loop: IndexedLoop, call: IndexedCall) -> None:
        self.loop, self.call = loop, call
        self.maker = maker = Maker(loop.name)
        self.leading = maker.ranges("l", call.leading)
        self.at = maker.ranges("i", call.sizes[: loop.at])
        self.over = maker.ranges("j", call.sizes[loop.at :])
        self.words = [maker.size(f"word{k}", each) for k, each in enumerate(call.words)]
        self.kinds = [kind for _, kind in loop.graph.parameters]
        self.own: list[list[Size]] = []
        self.arrays: list[str] = []
        for k, dimensions in enumerate(call.dimensions):
            self.own.append([maker.size(f"a{k}_n{dim}", size) for dim, size in enumerate(dimensions)])
            ranges = (*self.leading, *(("", size) for size in self.own[-1]))
            self.arrays.append(maker.array(f"a{k}", call.inputs[k], ranges))
        first = loop.at + loop.over + loop.words
        kinds = self.kinds[first : first + loop.numbers]
        self.numbers = [maker.number(f"x{k}", kind) for k, kind in enumerate(kinds)]
        self.targets = [self._target(k) for k in range(len(call.outputs))]
        self.body: list[Statement] = []
        self.guards: list[str] = []

    def _target(self, k: int) -> str:
        """The array of an output."""
        ranges: Sequence[Range] = self.at
        if self.loop.writes:
            self.own.append([self.maker.size(f"out{k}_n{dim}", size) for dim, size in enumerate(self.call.written)])
            ranges = [("", size) for size in self.own[-1]]
        return self.maker.array(f"out{k}", self.call.outputs[k], (*self.leading, *ranges))

    def loops(self) -> Loops:
        """Everything."""
        ranges = (*self.leading, *self.at)
        if self.loop.writes:
            self.turn()
            return self.maker.finish(around((*ranges, *self.over), self.added()))
        self.turn()
        values = tuple(f"v{k}" for k in range(len(self.loop.values)))
        body: list[Statement] = [self.folded(values)] if self.loop.fold else self.body
        found = tuple(f"acc{k}" for k in range(len(self.loop.folded))) if self.loop.fold else values
        if self.loop.finish is not None:
            results = tuple(f"y{k}" for k in range(len(self.loop.finish.result_types)))
            given = (*found, *places(self.at), *self.words, *self.numbers)
            body.append(Compute(results, self.loop.finish, given))
            found = results
        if self.loop.with_place:
            found = (*found, "place")
        body += [Store(target, places(ranges), value) for target, value in zip(self.targets, found, strict=True)]
        return self.maker.finish(around(ranges, body))

    # ------------------------------------------------------------------------------------------------------- a turn

    def turn(self) -> None:
        """What is read in a turn, and its values."""
        for k, access in enumerate(self.loop.reads):
            self.read(k, access)
        values = tuple(f"v{k}" for k in range(len(self.loop.values)))
        count = sum(each.dims for each in (*self.loop.reads, *self.loop.writes))
        self.compute(values, self.loop.graph.results[count:], len(self.loop.reads))

    def read(self, k: int, access: IndexedAccess) -> None:
        """One element."""
        kind = self.kinds[len(self.kinds) - len(self.loop.reads) + k]
        index, guard = self.place(k, access, access.array)
        outside = None
        if guard is not None:
            margin = 0 if access.margin == SKIP or isinstance(access.margin, str) else access.margin
            outside = initial(margin if margin is not None else 0, str(kind))
            if access.margin == SKIP:
                self.guards.append(guard)
        self.body.append(Load(f"r{k}", self.arrays[access.array], index, kind, guard, outside))

    def place(self, k: int, access: IndexedAccess, array: int) -> tuple[tuple[Index, ...], str | None]:
        """Where an access leads, and the condition under which that is inside; None if it is in any case."""
        own = self.own[array]
        names = [f"p{k}_{dim}" for dim in range(access.dims)]
        chosen = self.loop.graph.results[access.first : access.first + access.dims]
        self.compute(tuple(names), chosen, min(k, len(self.loop.reads)))
        leading: tuple[Index, ...] = places(self.leading) if access.leads else (0,) * len(self.leading)
        if isinstance(access.margin, str) and access.margin != SKIP:
            led = [f"{name}_led" for name in names]
            self.body += [Bound(*each, access.margin) for each in zip(led, names, own, strict=True)]
            return (*leading, *led), None
        guard = f"inside{k}"
        self.body.append(Inside(guard, tuple(names), tuple(own)))
        return (*leading, *names), guard

    def compute(self, names: tuple[str, ...], results: Sequence[int], read: int) -> None:
        """Some results of the graph; what has not been read yet is of no account."""
        if not names:
            return
        graph = _part(self.loop.graph, tuple(results))
        given = [*places(self.at), *places(self.over), *self.words, *self.numbers, *(f"r{k}" for k in range(read))]
        missing = self.kinds[len(given) :]
        for kind in missing:
            name = f"none_{kind.value}"
            if not any(isinstance(each, Compute) and each.names == (name,) for each in self.body):
                self.body.append(Compute((name,), zero(kind), ()))
            given.append(name)
        self.body.append(Compute(names, graph, tuple(given)))

    # -------------------------------------------------------------------------------------------------- whole bodies

    def folded(self, values: tuple[str, ...]) -> Statement:
        """The fold of all turns."""
        kinds = tuple(ScalarType(each) for each in self.loop.folded)
        found = tuple(f"acc{k}" for k in range(len(kinds)))
        where = self.all_inside()
        if self.loop.fold == "sum":
            operations = tuple("bitwise_or" if kind.category == BOOL else "add" for kind in kinds)
            neutral = tuple(initial(0.0, kind.value) for kind in kinds)
            return Fold(found, neutral, pairwise(operations, kinds), self.over, tuple(self.body), values, where)
        is_max = self.loop.fold == "max"
        place = values[-1]
        if len(values) == len(kinds):  # a turn gives no place, so that its own number is it
            turns = [math.prod(self.call.sizes[self.loop.at + k + 1 :]) for k in range(self.loop.over)]
            place = self.maker.linear("number", self.over, turns, None, ScalarType.INT64, self.body)
        neutral = (initial(-math.inf if is_max else math.inf, kinds[0].value), -1)
        return Fold(
            (found[0], "place"),
            neutral,
            _further(kinds[0], is_max),
            self.over,
            tuple(self.body),
            (values[0], place),
            where,
            in_order=True,
        )

    def all_inside(self) -> str | None:
        """The condition that a turn counts; None if each does."""
        if len(self.guards) < 2:
            return self.guards[0] if self.guards else None
        self.body.append(Compute(("counts",), _all(len(self.guards)), tuple(self.guards)))
        return "counts"

    def added(self) -> tuple[Statement, ...]:
        """What is added at positions."""
        kind = ScalarType(self.loop.values[0])
        graph = pairwise(("bitwise_or" if kind.category == BOOL else "add",), (kind,))
        reads = self.all_inside()
        target = len(self.call.dimensions)
        body, self.body = self.body, []
        for k, access in enumerate(self.loop.writes, start=len(self.loop.reads)):
            index, guard = self.place(k, access, target)
            update = Update(self.targets[0], index, graph, (None, f"v{k - len(self.loop.reads)}"))
            self.body.append(update if guard is None else When(guard, (update,)))
        return (*body, When(reads, tuple(self.body))) if reads is not None else (*body, *self.body)


@functools.lru_cache(maxsize=4096)
def _part(graph: TypedGraph, results: tuple[int, ...]) -> TypedGraph:
    """A graph that has some results of another."""
    builder = GraphBuilder()
    positions = builder.inline(graph)
    return builder.finish(graph.name, [positions[at] for at in results])


@functools.cache
def _further(kind: ScalarType, is_max: bool) -> TypedGraph:
    """A value and its place, and another's -> those of the larger; of the last NaN, the first of what is equal.

    A place of -1 is that of no value.
    """
    builder = GraphBuilder()
    names = (("a", kind), ("p", ScalarType.INT64), ("b", kind), ("q", ScalarType.INT64))
    a, p, b, q = (builder.parameter(name, each) for name, each in names)
    boolean = ScalarType.BOOL
    nowhere = builder.constant(0, ScalarType.INT64)
    beyond = builder.node("greater" if is_max else "less", (b, a), boolean)
    if kind.category == FLOAT:
        beyond = builder.node("bitwise_or", (beyond, builder.node("not_equal", (b, b), boolean)), boolean)
    beyond = builder.node("bitwise_or", (beyond, builder.node("less", (p, nowhere), boolean)), boolean)
    is_some = builder.node("greater_equal", (q, nowhere), boolean)
    taken = builder.node("bitwise_and", (beyond, is_some), boolean)
    chosen = [
        builder.node("select", (taken, *pair), each) for pair, each in (((b, a), kind), ((q, p), ScalarType.INT64))
    ]
    return builder.finish("further", chosen)


@functools.cache
def _all(count: int) -> TypedGraph:
    """Conditions -> whether all hold."""
    builder = GraphBuilder()
    given = [builder.parameter(f"c{k}", ScalarType.BOOL) for k in range(count)]
    made = functools.reduce(lambda one, other: builder.node("bitwise_and", (one, other), ScalarType.BOOL), given)
    return builder.finish("all", [made])
