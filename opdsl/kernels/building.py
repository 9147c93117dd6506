"""Builder of kernels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import attrs

from opdsl.kernels.kernel import (
    Access,
    Count,
    Fold,
    Index,
    Kernel,
    Number,
    Old,
    Operand,
    Padding,
    Part,
    Range,
    Read,
    Scan,
    Source,
    Word,
    Write,
    moved_loop,
    moved_write,
)
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.types import ScalarType

if TYPE_CHECKING:
    from opdsl.scalar.graph import Number as Value

__all__ = ["POINTS", "ROW", "TURNS", "KernelBuilder"]

INT64 = ScalarType.INT64

POINTS, TURNS, ROW = Range("i", is_pack=True), Range("j", is_pack=True), Range("j")
"""Ranges of the elements of results; of the elements that are folded for each of these; of the elements of a row."""


class KernelBuilder:
    """Builder of a kernel, whose values are nodes of one growing graph.

    Args:
        name: of the kernel.
        ranges: of all indices, the outermost first.
    """

    def __init__(self, name: str, ranges: Iterable[Range]) -> None:
        self.name = name
        self.ranges = tuple(ranges)
        self.graph = GraphBuilder()
        self.operands: list[Operand] = []
        self.words: list[str] = []
        self._sources: dict[int, Source] = {}  # by node; in sources, nodes stand for results of the graph
        self._loops: list[Fold | Scan] = []
        self._writes: list[Write] = []
        self._reads: dict[tuple[Read, ScalarType], int] = {}

    # ------------------------------------------------------------------------------------------------------- operands

    def array(
        self, name: str, ranges: Iterable[Range], dims: int = 0, extents: tuple[tuple[str, str], ...] = ()
    ) -> str:
        """Add an operand that is an array, and return its name; see ``Operand``."""
        self.operands.append(Operand(name, tuple([axis.name for axis in ranges]), dims, extents))
        return name

    def number(self, name: str, kind: ScalarType) -> int:
        """Add an operand that is a number, and return its value."""
        self.operands.append(Operand(name))
        return self._source(Number(name), name, kind)

    def extent(self, name: str) -> str:
        """Add an operand that is the size or stride of a dimension, and return its name."""
        self.operands.append(Operand(name))
        return name

    # --------------------------------------------------------------------------------------------------------- values

    def read(self, operand: str, kind: ScalarType, at: Iterable[int] = (), padding: Padding = None) -> int:
        """Return an element of an array, converted to a type; see ``Access``, where ``at`` are values here. The same
        element is read once.
        """
        key = Read(operand, tuple(at), padding), kind
        if key not in self._reads:
            self._reads[key] = self._source(key[0], f"r{len(self._reads)}", kind)
        return self._reads[key]

    def index(self, *ranges: Range) -> int:
        """Return the number of an iteration in row-major order of ranges."""
        names = tuple(axis.name for axis in ranges)
        return self._source(Index(names), f"index_{'_'.join(names)}", INT64)

    def count(self, of: Range) -> int:
        """Return the number of iterations of a range."""
        return self._source(Count(of.name), f"count_{of.name}", INT64)

    def word(self, name: str) -> int:
        """Return an integer that the layout gives."""
        if name not in self.words:
            self.words.append(name)
        return self._source(Word(name), name, INT64)

    def old(self, write: int, kind: ScalarType) -> int:
        """Return the element that a write replaces."""
        return self._source(Old(write), f"old{write}", kind)

    def computed(self, graph: TypedGraph, arguments: Sequence[int]) -> list[int]:
        """Return the results of a graph."""
        positions = self.graph.inline(graph, arguments)
        return [positions[at] for at in graph.results]

    def fold(
        self,
        over: Iterable[Range],
        values: Sequence[int],
        init: Sequence[Value],
        combine: TypedGraph,
        *,
        in_order: bool = False,
        of_some: TypedGraph | None = None,
        guards: Iterable[int] = (),
    ) -> list[int]:
        """Return the accumulators of all iterations; see ``Fold``."""
        names = tuple([axis.name for axis in over])
        self._loops.append(Fold(names, tuple(values), tuple(init), combine, in_order, of_some, tuple(guards)))
        return self._parts(combine.result_types)

    def scan(
        self,
        over: Range,
        values: Sequence[int],
        init: Sequence[Value],
        step: TypedGraph,
        *,
        is_associative: bool = False,
        is_reverse: bool = False,
    ) -> list[int]:
        """Return the carried values after each step, then the results of its step; see ``Scan``."""
        self._loops.append(Scan(over.name, tuple(values), tuple(init), step, is_associative, is_reverse))
        return self._parts(step.result_types)

    def _parts(self, kinds: Sequence[ScalarType]) -> list[int]:
        loop = len(self._loops) - 1
        return [self._source(Part(loop, k), f"part{loop}_{k}", kind) for k, kind in enumerate(kinds)]

    def write(
        self,
        operand: str,
        value: int,
        at: Iterable[int] = (),
        padding: Padding = None,
        guards: Iterable[int] = (),
        over: Iterable[Range] = (),
    ) -> None:
        """Store a value as an element of an array; see ``Write``."""
        names = tuple([axis.name for axis in over])
        self._writes.append(Write(operand, tuple(at), padding, value=value, guards=tuple(guards), over=names))

    def _source(self, source: Source, name: str, kind: ScalarType) -> int:
        node = self.graph.parameter(name, kind)
        self._sources.setdefault(node, source)
        return node

    # ------------------------------------------------------------------------------------------------------ the whole

    def finish(self) -> Kernel:
        """Return the kernel, without sources and loops that no write needs; numbers stay."""
        sources, loops = self._needed()
        number = {loop: k for k, loop in enumerate(loops)}
        accesses = [item for item in (*sources.values(), *self._writes) if isinstance(item, Access)]
        wanted = [at for access in accesses for at in access.at]
        wanted += [at for loop in loops for at in self._loops[loop].needs]
        wanted += [at for write in self._writes for at in write.needs]
        place = {node: k for k, node in enumerate(dict.fromkeys(wanted))}

        def results(nodes: Iterable[int]) -> tuple[int, ...]:
            return tuple([place[node] for node in nodes])

        def numbered(source: Source) -> Source:
            if isinstance(source, Read):
                return attrs.evolve(source, at=results(source.at))
            return attrs.evolve(source, loop=number[source.loop]) if isinstance(source, Part) else source

        return Kernel(
            self.name,
            self.ranges,
            tuple(self.operands),
            tuple(self.words),
            self._graph(list(sources), list(place)),
            tuple(map(numbered, sources.values())),
            tuple([moved_loop(self._loops[loop], results) for loop in loops]),
            tuple([moved_write(write, results) for write in self._writes]),
        )

    def _needed(self) -> tuple[dict[int, Source], list[int]]:
        """Return the sources, by node, and the loops that writes need, and all numbers."""
        seen: set[int] = set()
        loops: set[int] = set()
        waiting = [at for write in self._writes for at in write.needs]
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            waiting += self.graph.nodes[node].arguments
            source = self._sources.get(node)
            if isinstance(source, Read):
                waiting += source.at
            if isinstance(source, Part):
                loops.add(source.loop)
                waiting += self._loops[source.loop].needs
        kept = {node: source for node, source in self._sources.items() if node in seen or isinstance(source, Number)}
        return kept, sorted(loops)

    def _graph(self, sources: Sequence[int], results: Sequence[int]) -> TypedGraph:
        """Return the graph of some nodes, in which parameters come before all other nodes."""
        builder = GraphBuilder()
        moved = {node: builder.add(self.graph.nodes[node]) for node in sources}
        needed = self.graph.needed(results)
        for at, node in enumerate(self.graph.nodes):
            if at not in moved and at in needed:
                moved[at] = builder.add(node._replace(arguments=tuple([moved[operand] for operand in node.arguments])))
        return TypedGraph(self.name, tuple(builder.nodes), tuple([moved[node] for node in results]))
