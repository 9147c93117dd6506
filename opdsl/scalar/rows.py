"""Splitting of row functions into stages, each a loop over the elements of a row that ends in folds.

A row function's graph contains folds (``row_sum`` ...). Each stage is a graph without folds: it computes values of an
element from the element, from numbers and from the folds of earlier stages, and these values are folded over the row;
the last one computes the results. A kernel runs one loop over the row for each stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import Node, TypedGraph
from opdsl.scalar.operations import OPERATIONS, ROW_FOLDS
from opdsl.scalar.types import ScalarType

__all__ = ["RowProgram", "Stage", "row_program"]


class Stage(NamedTuple):
    """Stage of a row function: one loop over the row.

    graph: its parameters are those of the function, ``count`` (the number of elements) and ``index`` (the index of this
        one, both as int64), all folds of earlier stages, and all kept values of earlier stages. Its results are the
        values to fold, then the values to keep.
    folds: how each is folded: ``row_sum``, ``row_max`` or ``row_min``.
    kept: the number of values of each element that are kept for later stages, as they are expensive to compute again.
    """

    graph: TypedGraph
    folds: tuple[str, ...]
    kept: int


class RowProgram(NamedTuple):
    """Row function split into stages.

    stages: in order.
    elements: computes the results of each element; its parameters are those of a stage.
    rows: computes the results of the row as a whole, with the same parameters, of which it uses no elements.
    is_element: for each result of the function, whether there is one for each element.
    """

    stages: tuple[Stage, ...]
    elements: TypedGraph
    rows: TypedGraph
    is_element: tuple[bool, ...]


# Operations that cost more than storing a value and loading it again.
_EXPENSIVE: Final = frozenset(
    {name for name, operation in OPERATIONS.items() if operation.rule == "floating"} - {"divide", "sqrt", "copysign"}
) | {"power", "loop"}


def row_program(graph: TypedGraph, elements: int, *, keep: bool, repeated: Sequence[bool] = ()) -> RowProgram:
    """Split the graph of a row function into stages.

    graph: its first ``elements`` parameters differ from element to element, the others are equal for all.
    keep: whether values may be kept from one stage to another.
    repeated: the results that are written for each element, even if they are equal for all; none by default.
    """
    return _Cutter(graph, elements, keep=keep).program(repeated or (False,) * len(graph.results))


class _Cutter:
    """Algorithm that splits one graph into stages.

    stage: for each node, the first stage in which its value can be computed.
    varies: for each node, whether its value differs from element to element.
    folds: the nodes that fold, by the stage that computes the folded values.
    kept: the nodes whose values are kept, by the stage that computes them.
    """

    def __init__(self, graph: TypedGraph, elements: int, *, keep: bool) -> None:
        self.graph = graph
        self.stage: list[int] = []
        self.varies: list[bool] = []
        self.costly: list[bool] = []
        for position, node in enumerate(graph.nodes):
            self._place(position, node, elements)
        folds = [position for position, node in enumerate(graph.nodes) if node.op in ROW_FOLDS]
        count = max((self.stage[position] for position in folds), default=0)
        self.folds = [[fold for fold in folds if self.stage[fold] == stage + 1] for stage in range(count)]
        self.kept = self._kept(count) if keep else [[] for _ in range(count)]

    def _place(self, position: int, node: Node, elements: int) -> None:
        if node.op in ("row_count", "row_index"):  # known before the row is read, whatever their argument
            node = node._replace(arguments=())
        folds = node.op in ROW_FOLDS
        stage = max((self.stage[at] for at in node.arguments), default=0)
        self.stage.append(stage + 1 if folds else stage)
        differs = position < elements or node.op == "row_index"
        self.varies.append(differs or (not folds and any(self.varies[at] for at in node.arguments)))
        costly = node.op in _EXPENSIVE or any(self.costly[at] for at in node.arguments if self.stage[at] == stage)
        self.costly.append(self.varies[-1] and costly)

    def _kept(self, count: int) -> list[list[int]]:
        """Return, for each stage, the expensive values that it computes and a later stage needs."""
        last = [*self.graph.results]
        needed: set[int] = set()
        for stage in range(count, -1, -1):
            wanted = [self.graph.nodes[fold].arguments[0] for fold in self.folds[stage]] if stage < count else last
            self._need(wanted, stage, needed, set())
        computed = [self._computed(stage) for stage in range(count)]
        return [
            sorted(number for number in needed if self.stage[number] == stage and number in computed[stage])
            for stage in range(count)
        ]

    def _need(self, wanted: Sequence[int], stage: int, needed: set[int], seen: set[int]) -> None:
        """Add to ``needed`` the expensive values of earlier stages that a stage needs for some nodes."""
        for position in wanted:
            if position in seen or not self.varies[position]:
                continue
            seen.add(position)
            if self.stage[position] < stage and self.costly[position]:
                needed.add(position)
            else:
                self._need(self.graph.nodes[position].arguments, stage, needed, seen)

    def _computed(self, stage: int) -> set[int]:
        """Return the nodes that a stage computes for its folds."""
        computed: set[int] = set()
        waiting = [self.graph.nodes[fold].arguments[0] for fold in self.folds[stage]]
        while waiting:
            position = waiting.pop()
            if position not in computed and self.varies[position]:
                computed.add(position)
                waiting.extend(self.graph.nodes[position].arguments)
        return computed

    def program(self, repeated: Sequence[bool]) -> RowProgram:
        """Return the row function as stages; see ``row_program``."""
        stages = []
        for stage, folds in enumerate(self.folds):
            lifted = [self.graph.nodes[fold].arguments[0] for fold in folds]
            kinds = tuple("row_sum" if op == "row_mean" else op for op in (self.graph.nodes[fold].op for fold in folds))
            graph = self._graph(f"stage{stage}", stage, [*lifted, *self.kept[stage]])
            stages.append(Stage(graph, kinds, len(self.kept[stage])))
        count = len(self.folds)
        results = self.graph.results
        is_element = tuple(self.varies[at] or repeat for at, repeat in zip(results, repeated, strict=True))
        chosen = [[at for at, varies in zip(results, is_element, strict=True) if varies is of] for of in (True, False)]
        return RowProgram(
            tuple(stages),
            self._graph("elements", count, chosen[0]),
            self._graph("rows", count, chosen[1]),
            is_element,
        )

    def _graph(self, name: str, stage: int, results: Sequence[int]) -> TypedGraph:
        """Return the part of the graph that computes ``results`` from values that are known before a stage."""
        builder = GraphBuilder()
        places: dict[int, int] = {}
        for position, node in enumerate(self.graph.nodes):
            if node.op == "parameter":
                places[position] = builder.add(node)
        count, here = (builder.parameter(text, ScalarType.INT64) for text in ("count", "index"))
        folds = [number for earlier in self.folds[:stage] for number in earlier]
        kept = [number for earlier in self.kept[:stage] for number in earlier]
        for kind, positions in (("fold", folds), ("kept", kept)):
            for index, position in enumerate(positions):
                places[position] = builder.parameter(f"{kind}{index}", self.graph.nodes[position].type)
        for position, node in enumerate(self.graph.nodes):
            if node.op == "row_count":
                places[position] = builder.cast(count, node.type)
            elif node.op == "row_index":
                places[position] = here
        for position in folds:
            node = self.graph.nodes[position]
            if node.op == "row_mean":
                total = places[position]
                places[position] = builder.node("divide", (total, builder.cast(count, node.type)), node.type)
        needed = set(self._closure(results, places))
        for position, node in enumerate(self.graph.nodes):
            if position in needed and position not in places:
                arguments = tuple(places[at] for at in node.arguments)
                places[position] = builder.copy(node, arguments)
        return builder.finish(name, [places[at] for at in results])

    def _closure(self, results: Sequence[int], known: dict[int, int]) -> set[int]:
        closure: set[int] = set()
        waiting = list(results)
        while waiting:
            position = waiting.pop()
            if position not in closure and position not in known:
                closure.add(position)
                waiting.extend(self.graph.nodes[position].arguments)
        return closure
