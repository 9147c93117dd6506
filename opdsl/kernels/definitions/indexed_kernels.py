"""Kernels of functions of indices, from their typed graphs."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import attrs

from opdsl.kernels.building import KernelBuilder
from opdsl.kernels.definitions.monoid import initial
from opdsl.kernels.kernel import SKIP, Access, Kernel, Range
from opdsl.kernels.loops.making import pairwise
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.types import BOOL, FLOAT, ScalarType

__all__ = ["LEADING", "IndexedForm", "kernel_of_form"]

LEADING = Range("l", is_pack=True)
"""Range of the leading dimensions, before those that have indices in the function."""


@attrs.frozen
class IndexedForm:
    """Typed function of indices.

    graph: its parameters are the indices of the result, the reduced indices, integers, other numbers, and the elements
        that are read; its results are the indices of all reads, those of all writes, and values.
    finish: values, indices of the result, integers and other numbers -> results; None if the values are the results.
    counts: how many parameters of the graph there are of each of the first four kinds.
    reads: in the order of their parameters; ``at`` are results of the graph. The indices of a read may depend on those
        before it. writes: one for each value that is added at computed indices; empty if values are stored.
    led: the names of the arrays that have the leading dimensions before their own.
    fold: how the values of all iterations become one: ``sum``, ``max``, ``min``, or empty.
    with_place: whether the position of a largest or smallest value is a result, the last: the number of the iteration
        that gave the value, or the nonnegative number that the iteration gives in addition to the value.
    """

    graph: TypedGraph
    finish: TypedGraph | None
    counts: tuple[int, int, int, int]
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    led: tuple[str, ...]
    fold: str
    with_place: bool


def kernel_of_form(form: IndexedForm) -> Kernel:
    """Return the kernel of a typed function of indices."""
    return _kernel(form, form.graph.name)


@functools.lru_cache(maxsize=4096)
def _kernel(form: IndexedForm, name: str) -> Kernel:
    return _Making(form, name).kernel()


class _Making:
    """Making of one kernel.

    at, over: the ranges of the result's indices, and of those that are reduced.
    values: the nodes of the kernel for the nodes of the form's graph.
    guards: the elements whose padding leaves iterations out.
    """

    def __init__(self, form: IndexedForm, name: str) -> None:
        self.form = form
        at, over, words, numbers = form.counts
        self.at = tuple(Range(f"i{k}") for k in range(at))
        self.over = tuple(Range(f"j{k}", is_inner=True) for k in range(over))
        self.builder = builder = KernelBuilder(name, (LEADING, *self.at, *self.over))
        kinds = [kind for _, kind in form.graph.parameters]
        for read in form.reads:
            if all(read.operand != operand.name for operand in builder.operands):
                self._array(read)
        first = at + over + words
        self.numbers = [builder.number(f"x{k}", kind) for k, kind in enumerate(kinds[first : first + numbers])]
        self.words = [builder.word(f"word{k}") for k in range(words)]
        self.indices = [builder.index(own) for own in (*self.at, *self.over)]
        known = [*self.indices, *self.words, *self.numbers]
        self.olds = [builder.old(k, ScalarType(kind)) for k, kind in enumerate(self._kinds()) if form.writes]
        self.values: dict[int, int] = dict(enumerate(known))
        self.guards: list[int] = []
        for k, read in enumerate(form.reads):
            place = [self._value(form.graph.results[at]) for at in read.at]
            node = builder.read(read.operand, kinds[len(known) + k], place, read.padding)
            self.values[len(known) + k] = node
            if read.padding == SKIP:
                self.guards.append(node)

    def _array(self, access: Access) -> str:
        led = (LEADING,) if access.operand in self.form.led else ()
        return self.builder.array(access.operand, led, len(access.at))

    def _kinds(self) -> tuple[ScalarType, ...]:
        """Return the types of the values that each iteration computes."""
        count = sum(len(access.at) for access in (*self.form.reads, *self.form.writes))
        return self.form.graph.result_types[count:]

    def _value(self, node: int) -> int:
        """Return the value of a node of the form's graph."""
        if node not in self.values:
            own = self.form.graph.nodes[node]
            self.values[node] = self.builder.graph.copy(own, tuple(self._value(at) for at in own.arguments))
        return self.values[node]

    def kernel(self) -> Kernel:
        """Return the kernel."""
        form, builder = self.form, self.builder
        kinds = self._kinds()
        values = [self._value(node) for node in form.graph.results[len(form.graph.results) - len(kinds) :]]
        if form.writes:
            self._array(form.writes[0])
            for write, old, value in zip(form.writes, self.olds, values, strict=True):
                (total,) = builder.computed(_sums((kinds[0],)), (old, value))
                place = [self._value(form.graph.results[at]) for at in write.at]
                builder.write("out0", total, place, write.padding, self.guards, builder.ranges)
            return builder.finish()
        results = self._folded(values, kinds) if form.fold else values
        if form.finish is not None:
            count = len(results) - form.with_place
            indices = self.indices[: len(self.at)]
            finished = builder.computed(form.finish, [*results[:count], *indices, *self.words, *self.numbers])
            results = [*finished, *results[count:]]
        for k, result in enumerate(results):
            builder.write(builder.array(f"out{k}", (LEADING, *self.at)), result)
        return builder.finish()

    def _folded(self, values: Sequence[int], kinds: Sequence[ScalarType]) -> list[int]:
        """Return the results of the fold."""
        form, builder = self.form, self.builder
        if form.fold == "sum":
            none = [initial(0.0, kind.value) for kind in kinds]
            return builder.fold(self.over, values, none, _sums(tuple(kinds)), guards=self.guards)
        is_max, kind = form.fold == "max", kinds[0]
        none = [initial(-math.inf if is_max else math.inf, kind.value)]
        if not form.with_place:
            combine = pairwise(("maximum" if is_max else "minimum",), (kind,))
            return builder.fold(self.over, values, none, combine, guards=self.guards)
        place = values[1] if len(values) > 1 else builder.index(*self.over)
        further = _further(kind, is_max), _further(kind, is_max, of_some=True)
        values, none = (values[0], place), [*none, -1]
        return builder.fold(self.over, values, none, further[0], in_order=True, of_some=further[1], guards=self.guards)


def _sums(kinds: tuple[ScalarType, ...]) -> TypedGraph:
    """Return the graph that adds accumulators; for bool it combines them by or."""
    return pairwise(tuple("bitwise_or" if kind.category == BOOL else "add" for kind in kinds), kinds)


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
