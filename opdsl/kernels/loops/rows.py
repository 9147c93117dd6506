"""Loops of row functions: a fold for each stage, then the results of elements, and of the row as a whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opdsl.kernels.loops.making import Loops, Maker, around, pairwise, places, used_parameters, zero
from opdsl.kernels.loops.model import Array, Compute, Fold, For, Load, Local, Range, Statement, Store
from opdsl.runtime.dtype import to_dtype
from opdsl.scalar.rows import Stage, row_program
from opdsl.scalar.types import FLOAT, ScalarType

if TYPE_CHECKING:
    from opdsl.kernels.calls import RowCall
    from opdsl.scalar.graph import Number, TypedGraph

__all__ = ["OPERATIONS", "nothing", "row"]

OPERATIONS = {"row_sum": "add", "row_max": "maximum", "row_min": "minimum"}
"""Names of the operations that combine two numbers, by the fold of a row function."""


def nothing(op: str, kind: ScalarType) -> Number:
    """Return the value of a row reduction over no elements (its neutral element)."""
    if op == "row_sum":
        return 0
    if kind.category == FLOAT:
        return -math.inf if op == "row_max" else math.inf
    return kind.bounds[0 if op == "row_max" else 1]


def row(graph: TypedGraph, call: RowCall, *, keep: bool = False) -> Loops:
    """Build the loops of ``Compiler.row``.

    Args:
        graph: the function; its first parameters are those of the arrays.
        call: sizes and strides of the operands.
        keep: whether expensive values are kept for later stages, in local memory of each row, instead of recomputed.
    """
    return _Rows(graph, call, keep=keep).loops()


class _Rows:
    """Builder of the loops of one row call.

    sources: for each input the array that it is read from, None for a number.
    folds: the names of results of earlier stages' folds. kept_values: the local arrays with kept values, and their
        types.
    """

    def __init__(self, graph: TypedGraph, call: RowCall, *, keep: bool) -> None:
        self.call = call
        self.maker = maker = Maker(graph.name)
        self.kept, (self.along,) = maker.ranges("i", call.kept), maker.ranges("j", (call.length,))
        self.kinds = [kind for _, kind in graph.parameters]
        arrays = sum(spec.strides is not None for spec in call.inputs)
        repeated = [spec.strides is not None and spec.strides[-1] != 0 for spec in call.outputs]
        self.program = row_program(graph, arrays, keep=keep, repeated=repeated)
        self.sources: list[str | None] = []
        for k, (spec, kind) in enumerate(zip(call.inputs, self.kinds, strict=True)):
            ranges = (*self.kept, self.along)
            is_array = spec.strides is not None
            self.sources.append(maker.array(f"a{k}", spec, ranges) if is_array else None)
            if not is_array:
                maker.number(f"x{k}", kind)
        self.folds: list[str] = []
        self.kept_values: list[tuple[str, ScalarType]] = []

    def loops(self) -> Loops:
        """Build the loops of all stages and results."""
        body: list[Statement] = []
        for place, stage in enumerate(self.program.stages):
            body += self._stage(place, stage)
        results = [f"y{k}" for k in range(len(self.call.outputs))]
        chosen: dict[bool, list[tuple[str, str]]] = {True: [], False: []}
        for k, (spec, is_element) in enumerate(zip(self.call.outputs, self.program.is_element, strict=True)):
            ranges = (*self.kept, self.along) if is_element else self.kept
            strides = (spec.strides or ())[: len(ranges)]
            chosen[is_element].append((self.maker.array(f"out{k}", spec._replace(strides=strides), ranges), results[k]))
        if chosen[True]:
            ranges = (*self.kept, self.along)
            body.append(For(*self.along, self._stored(self.program.elements, chosen[True], ranges, "e_")))
        if chosen[False]:
            body += self._stored(self.program.rows, chosen[False], self.kept, "r_")
        return self.maker.finish(around(self.kept, body))

    def _stage(self, place: int, stage: Stage) -> list[Statement]:
        """Build the fold of a stage, and local memory for the values that it keeps of each element."""
        values = tuple(f"v{place}_{k}" for k in range(len(stage.graph.results)))
        count = len(stage.folds)
        kinds, kept = stage.graph.result_types[:count], stage.graph.result_types[count:]
        names = tuple(f"fold{place}_{k}" for k in range(count))
        combine = pairwise(tuple(OPERATIONS[op] for op in stage.folds), kinds)
        neutral = tuple(nothing(op, kind) for op, kind in zip(stage.folds, kinds, strict=True))
        within = self._computed(stage.graph, values, f"s{place}_")
        index, length = self.along
        arrays = [f"kept{place}_{k}" for k in range(len(kept))]
        local = [
            Local(Array(name, to_dtype(kind.value), (length,), (1,))) for name, kind in zip(arrays, kept, strict=True)
        ]
        stores = (Store(name, (index,), value) for name, value in zip(arrays, values[count:], strict=True))
        self.folds += names
        self.kept_values += zip(arrays, kept, strict=True)
        return [*local, Fold(names, neutral, combine, (self.along,), (*within, *stores), values[:count])]

    def _stored(
        self, graph: TypedGraph, targets: Sequence[tuple[str, str]], ranges: Sequence[Range], prefix: str
    ) -> tuple[Statement, ...]:
        """Build the computation of a graph's results and their stores."""
        computed = self._computed(graph, tuple(result for _, result in targets), prefix)
        return (*computed, *(Store(target, places(ranges), result) for target, result in targets))

    def _computed(self, graph: TypedGraph, names: tuple[str, ...], prefix: str) -> tuple[Statement, ...]:
        """Build the evaluation of a graph for an element: loads of the values that it uses, and the call."""
        used = used_parameters(graph)
        body: list[Statement] = []
        arguments = []
        for k, source in enumerate(self.sources):
            name = f"x{k}"
            kind = self.kinds[k]
            if source is not None:
                name = f"{prefix}x{k}"
                body.append(
                    Load(name, source, places((*self.kept, self.along)), kind)
                    if k in used
                    else Compute((name,), zero(kind), ())
                )
            arguments.append(name)
        index = f"{prefix}index" if prefix == "r_" else self.along[0]
        if prefix == "r_":  # results of the whole row have no index
            body.append(Compute((index,), zero(ScalarType.INT64), ()))
        arguments += [self.along[1], index, *self.folds]
        for array, kind in self.kept_values[: len(graph.parameters) - len(arguments)]:
            name = f"{prefix}{array}"
            is_used = len(arguments) in used
            body.append(Load(name, array, (index,), kind) if is_used else Compute((name,), zero(kind), ()))
            arguments.append(name)
        return (*body, Compute(names, graph, tuple(arguments)))
