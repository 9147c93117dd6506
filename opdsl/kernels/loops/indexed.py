"""Loops of indexed functions, which read, reduce and write elements at index expressions."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opdsl.kernels.definitions.monoid import initial
from opdsl.kernels.loops.making import Loops, Maker, around, pairwise, part_of, places
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
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.indexed import SKIP
from opdsl.scalar.types import BOOL, FLOAT, ScalarType

if TYPE_CHECKING:
    from opdsl.kernels.calls import IndexedAccess, IndexedCall, IndexedLoop

__all__ = ["indexed"]


def indexed(loop: IndexedLoop, call: IndexedCall, *, trusted: bool = False) -> Loops:
    """Build the loops of ``Compiler.indexed``.

    Args:
        loop: the computation at each index.
        call: sizes and strides of the operands.
        trusted: whether indices without padding are not checked: the caller guarantees that they are in bounds.
    """
    return _Places(loop, call, trusted=trusted).loops()


class _Places:
    """Builder of the loops of one indexed call.

    own: the sizes of the own dimensions of each array, and of an output that is added to.
    """

    def __init__(self, loop: IndexedLoop, call: IndexedCall, *, trusted: bool) -> None:
        self.loop, self.call, self.trusted = loop, call, trusted
        self.graph, self.limits = _clipped(loop)
        self.maker = maker = Maker(loop.name)
        self.leading = maker.ranges("l", call.leading)
        self.at = maker.ranges("i", call.sizes[: loop.at])
        self.over = maker.ranges("j", call.sizes[loop.at :])
        self.words = [maker.size(f"word{k}", word) for k, word in enumerate(call.words)]
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
        """Declare the array of an output."""
        ranges: Sequence[Range] = self.at
        if self.loop.writes:
            self.own.append([self.maker.size(f"out{k}_n{dim}", size) for dim, size in enumerate(self.call.written)])
            ranges = [("", size) for size in self.own[-1]]
        return self.maker.array(f"out{k}", self.call.outputs[k], (*self.leading, *ranges))

    def loops(self) -> Loops:
        """Build the complete loops."""
        ranges = (*self.leading, *self.at)
        if self.loop.writes:
            self.turn()
            return self.maker.finish(around((*ranges, *self.over), self.added()))
        self.turn()
        values = tuple(f"v{k}" for k in range(len(self.loop.values)))
        body: list[Statement] = [self.folded(values)] if self.loop.fold else self.body
        texts = tuple(f"acc{k}" for k in range(len(self.loop.folded))) if self.loop.fold else values
        if self.loop.finish is not None:
            results = tuple(f"y{k}" for k in range(len(self.loop.finish.result_types)))
            arguments = (*texts, *places(self.at), *self.words, *self.numbers)
            body.append(Compute(results, self.loop.finish, arguments))
            texts = results
        if self.loop.with_place:
            texts = (*texts, "place")
        body += [Store(target, places(ranges), value) for target, value in zip(self.targets, texts, strict=True)]
        return self.maker.finish(around(ranges, body))

    # --------------------------------------------------------------------------------------------------- iterations

    def turn(self) -> None:
        """Append the reads of an iteration, and the computation of its values."""
        for k, access in enumerate(self.loop.reads):
            self.read(k, access)
        values = tuple(f"v{k}" for k in range(len(self.loop.values)))
        count = sum(read.dims for read in (*self.loop.reads, *self.loop.writes))
        self.compute(values, self.graph.results[count:])

    def read(self, k: int, access: IndexedAccess) -> None:
        """Append the load of one element, with its bounds check or padding."""
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
        """Append the computation of an access's indices; return these, and the name of their bounds check (None if they
        are in bounds in any case).
        """
        own = self.own[array]
        names = [f"p{k}_{dim}" for dim in range(access.dims)]
        results = range(access.first, access.first + access.dims)
        self.compute(tuple(names), [self.graph.results[at] for at in results])
        leading: tuple[Index, ...] = places(self.leading) if access.leads else (0,) * len(self.leading)
        how = "trusted" if self.trusted else ""
        if access.margin is not None:
            how = access.margin if isinstance(access.margin, str) and access.margin != SKIP else ""
        if how:
            led = [f"{name}_led" for name in names]
            self.body += [Bound(*bound, how) for bound in zip(led, names, own, strict=True)]
            return (*leading, *led), None
        limited = [at for at in results if at in self.limits]
        limits = tuple(f"limit{k}_{at - access.first}" for at in limited)
        self.compute(limits, [self.limits[at] for at in limited])
        guard = f"inside{k}"
        tested = (*names, *(names[at - access.first] for at in limited))
        self.body.append(Inside(guard, tested, (*own, *limits)))
        return (*leading, *names), guard

    def compute(self, names: tuple[str, ...], results: Sequence[int]) -> None:
        """Append the computation of some results of the graph."""
        if not names:
            return
        graph, used = part_of(self.graph, tuple(results))
        reads = (f"r{k}" for k in range(len(self.loop.reads)))
        texts = [*places(self.at), *places(self.over), *self.words, *self.numbers, *reads]
        self.body.append(Compute(names, graph, tuple(texts[number] for number in used)))

    # -------------------------------------------------------------------------------------------------- whole bodies

    def folded(self, values: tuple[str, ...]) -> Statement:
        """Build the fold of all iterations."""
        kinds = tuple(ScalarType(text) for text in self.loop.folded)
        texts = tuple(f"acc{k}" for k in range(len(kinds)))
        where = self.all_inside()
        if self.loop.fold == "sum":
            operations = tuple("bitwise_or" if kind.category == BOOL else "add" for kind in kinds)
            neutral = tuple(initial(0.0, kind.value) for kind in kinds)
            return Fold(texts, neutral, pairwise(operations, kinds), self.over, tuple(self.body), values, where)
        is_max = self.loop.fold == "max"
        if not self.loop.with_place:
            combine = pairwise(("maximum" if is_max else "minimum",), kinds)
            neutral = (initial(-math.inf if is_max else math.inf, kinds[0].value),)
            return Fold(texts, neutral, combine, self.over, tuple(self.body), values, where)
        place = values[-1]
        if len(values) == len(kinds):  # the function computes no position, so the iteration's number is used
            place = "number"
            sizes = tuple(size for _, size in self.over[1:] if isinstance(size, str))
            self.body.append(Compute((place,), _number(len(self.over)), (*places(self.over), *sizes)))
        neutral = (initial(-math.inf if is_max else math.inf, kinds[0].value), -1)
        return Fold(
            (texts[0], "place"),
            neutral,
            _further(kinds[0], is_max),
            self.over,
            tuple(self.body),
            (values[0], place),
            where,
            in_order=True,
            of_some=_further(kinds[0], is_max, of_some=True),
        )

    def all_inside(self) -> str | None:
        """Return the name of the condition under which an iteration takes part in the fold: all its reads are in
        bounds. Return None if there are no bounds checks.
        """
        if len(self.guards) < 2:
            return self.guards[0] if self.guards else None
        tests = [
            statement for statement in self.body if isinstance(statement, Inside) and statement.name in self.guards
        ]
        index = tuple(part for test in tests for part in test.index)
        sizes = tuple(part for test in tests for part in test.sizes)
        self.body.append(Inside("counts", index, sizes))
        return "counts"

    def added(self) -> tuple[Statement, ...]:
        """Build the statements that add values at computed indices."""
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


def _clipped(loop: IndexedLoop) -> tuple[TypedGraph, dict[int, int]]:
    """Turn upper limits in index expressions into separate bounds checks: ``p if p < limit else -1`` becomes the index
    ``p`` with a limit, where out-of-bounds accesses are skipped.

    Returns:
        The graph, and for indices among its results the nodes that they have to be less than.
    """
    graph = loop.graph
    results, limits = list(graph.results), {}
    for read in (*loop.reads, *loop.writes):
        for place in range(read.first, read.first + read.dims) if read.margin == SKIP else ():
            node = graph.nodes[results[place]]
            if node.op != "select":
                continue
            condition, _, other = (graph.nodes[at] for at in node.arguments)
            is_outside = other.op == "constant" and isinstance(other.value, int) and other.value < 0
            if condition.op == "less" and condition.arguments[0] == node.arguments[1] and is_outside:
                results[place], limits[place] = node.arguments[1], condition.arguments[1]
    return TypedGraph(graph.name, graph.nodes, tuple(results)), limits


@functools.cache
def _number(count: int) -> TypedGraph:
    """Build the graph: indices, sizes of all ranges but the first -> the row-major number of an iteration."""
    builder = GraphBuilder()
    first, *rest = [builder.parameter(f"j{k}", ScalarType.INT64) for k in range(count)]
    sizes = [builder.parameter(f"n{k}", ScalarType.INT64) for k in range(1, count)]
    for index, size in zip(rest, sizes, strict=True):
        whole = builder.node("multiply", (first, size), ScalarType.INT64)
        first = builder.node("add", (whole, index), ScalarType.INT64)
    return builder.finish("number", [first])


@functools.cache
def _further(kind: ScalarType, is_max: bool, *, of_some: bool = False) -> TypedGraph:
    """Build the graph: a value and its position, another value and its position -> those of the larger (or smaller)
    value.

    Of equal values the first is chosen, of NaN the last. Position -1 marks no value, which the other one always
    replaces; with ``of_some``, both are values.
    """
    builder = GraphBuilder()
    names = (("a", kind), ("p", ScalarType.INT64), ("b", kind), ("q", ScalarType.INT64))
    a, p, b, q = (builder.parameter(name, scalar_type) for name, scalar_type in names)
    boolean = ScalarType.BOOL
    nowhere = builder.constant(0, ScalarType.INT64)
    beyond = builder.node("greater" if is_max else "less", (b, a), boolean)
    if kind.category == FLOAT:
        beyond = builder.node("bitwise_or", (beyond, builder.node("not_equal", (b, b), boolean)), boolean)
    if not of_some:
        beyond = builder.node("bitwise_or", (beyond, builder.node("less", (p, nowhere), boolean)), boolean)
    chosen = [
        builder.node("select", (beyond, *pair), scalar_type)
        for pair, scalar_type in (((b, a), kind), ((q, p), ScalarType.INT64))
    ]
    return builder.finish("further", chosen)
