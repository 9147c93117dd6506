"""Kernels: what a nest of loops computes, as one scalar graph, without memory layout, order or processor.

A kernel has named ranges. The parameters of its graph are its sources: indices, numbers, elements that are read, and
results of folds and scans. Results of the graph are computed indices, values that are folded, and values that are
written. ``opdsl.kernels.building`` and ``opdsl.kernels.functions`` build kernels, and ``opdsl.kernels.loops.lowering``
makes loops of a kernel and a layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from hashlib import blake2b
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

import attrs

from opdsl.scalar.types import ScalarType

if TYPE_CHECKING:
    from opdsl.scalar.graph import Number as Value
    from opdsl.scalar.graph import TypedGraph

__all__ = [
    "SKIP",
    "WRAP",
    "Access",
    "Count",
    "Fold",
    "Index",
    "Kernel",
    "Number",
    "Old",
    "Operand",
    "Padding",
    "Part",
    "Range",
    "Read",
    "Scan",
    "Source",
    "Word",
    "Write",
    "loops_behind",
    "moved_loop",
    "moved_write",
    "operand_types",
    "ranges_of",
    "sources_behind",
    "varying",
]

SKIP: Final = "skip"
"""Padding that leaves an iteration out of folds and writes if the element is out of bounds."""

WRAP: Final = "wrap"
"""Padding that counts negative indices from the end, and trusts that the result is in bounds."""

Padding: TypeAlias = "str | Value | None"
"""What an access does out of bounds: it reads a number, or the element that ``replicate``, ``reflect`` or ``circular``
padding repeats; ``SKIP``; ``WRAP``; None if all indices have to be in bounds.
"""


@attrs.frozen
class Range:
    """Range of an index.

    name: of the index.
    is_pack: whether the range has any number of dimensions, whose sizes the layout gives; operands that have the
        range among theirs have a stride for each of these dimensions.
    is_inner: whether its iterations belong together, as those of a fold do: a hint for kernels that write at computed
        indices.
    """

    name: str
    is_pack: bool = False
    is_inner: bool = False


@attrs.frozen
class Operand:
    """Argument of a kernel: an array, a number, or the size or stride of another operand's dimension.

    ranges: the names of the ranges whose indices come first among its indices, outermost first.
    dims: the number of its further dimensions, whose indices are computed.
    extents: for each of these the names of the operands that are its stride in bytes and its size; empty if the layout
        gives both.
    """

    name: str
    ranges: tuple[str, ...] = ()
    dims: int = 0
    extents: tuple[tuple[str, str], ...] = ()


@attrs.frozen
class Index:
    """Number of an iteration, in row-major order of some ranges; of one range it is the index itself."""

    ranges: tuple[str, ...]


@attrs.frozen
class Count:
    """Number of iterations of a range, the product of its dimensions' sizes."""

    range: str


@attrs.frozen
class Word:
    """Integer of the layout, one of the kernel's ``words``."""

    name: str


@attrs.frozen
class Number:
    """Number that is an operand, the same for all iterations."""

    operand: str


@attrs.frozen
class Access:
    """Access to an element of an operand.

    operand: the name of the array.
    at: for each of its further dimensions the graph's result that is the index.
    padding: what happens out of bounds.
    """

    operand: str
    at: tuple[int, ...] = ()
    padding: Padding = attrs.field(default=None, eq=repr)


@attrs.frozen
class Read(Access):
    """Element of an array that is read."""


@attrs.frozen
class Part:
    """Result of a fold or scan.

    loop: its position among the kernel's.
    index: of the accumulator; for a scan, the results of its step come after the carried values.
    """

    loop: int
    index: int


@attrs.frozen
class Old:
    """Element that a write replaces, read by the write itself: together, they are one atomic update.

    write: its position among the kernel's.
    """

    write: int


Source: TypeAlias = Index | Count | Word | Number | Read | Part | Old
"""Meaning of a parameter of a kernel's graph."""


@attrs.frozen
class Fold:
    """Reduction of values along ranges.

    over: the names of the ranges, the last one innermost.
    values: the graph's results that are the accumulators of one iteration.
    init: the accumulators of no iterations.
    combine: the accumulators of some iterations, then those of others -> those of all; associative and, unless
        ``in_order``, commutative.
    of_some: a graph with the same result as ``combine`` when neither side is empty; None for ``combine`` itself.
    guards: elements, as results of the graph, whose padding ``SKIP`` leaves iterations out; those that the values
        depend on need not be among them.
    """

    over: tuple[str, ...]
    values: tuple[int, ...]
    init: tuple[Value, ...] = attrs.field(eq=repr)
    combine: TypedGraph
    in_order: bool = False
    of_some: TypedGraph | None = None
    guards: tuple[int, ...] = ()

    @property
    def needs(self) -> tuple[int, ...]:
        """Return all results of the graph that an iteration needs."""
        return (*self.values, *self.guards)


@attrs.frozen
class Scan:
    """Values that are carried from iteration to iteration of a range.

    over: the name of the range.
    values: the graph's results that each step takes.
    init: the carried values before the first step.
    step: carried values, then ``values`` -> new carried values, then further results.
    is_associative: whether ``step`` combines carried values of some iterations with those of later ones, and ``init``
        is neutral, so that the range may be cut into chunks.
    is_reverse: whether it begins with the last index.
    """

    over: str
    values: tuple[int, ...]
    init: tuple[Value, ...] = attrs.field(eq=repr)
    step: TypedGraph
    is_associative: bool = False
    is_reverse: bool = False

    @property
    def needs(self) -> tuple[int, ...]:
        """Return all results of the graph that a step needs."""
        return self.values


@attrs.frozen
class Write(Access):
    """Element of an array that is written, for each index of the array's ranges and of those that the write varies
    along.

    value: the graph's result that is stored.
    guards: see ``Fold``.
    over: ranges for each of whose iterations it is written, even if it does not vary along them.
    """

    value: int = attrs.field(kw_only=True)
    guards: tuple[int, ...] = ()
    over: tuple[str, ...] = ()

    @property
    def needs(self) -> tuple[int, ...]:
        """Return all results of the graph that the write needs."""
        return (*self.at, self.value, *self.guards)


@attrs.frozen(cache_hash=True)
class Kernel:
    """Computation of arrays from arrays.

    name: shown in dumps and profiles; kernels that differ in it are equal.
    ranges: of all indices, the outermost first.
    operands: in the order of the arguments; outputs last.
    words: names of integers that the layout gives.
    graph: one scalar graph for all values.
    sources: the meaning of each of its parameters; a source depends on earlier ones only.
    loops: folds and scans; each depends on earlier ones only.
    writes: the results.
    """

    name: str = attrs.field(eq=False)
    ranges: tuple[Range, ...]
    operands: tuple[Operand, ...]
    words: tuple[str, ...]
    graph: TypedGraph
    sources: tuple[Source, ...]
    loops: tuple[Fold | Scan, ...]
    writes: tuple[Write, ...]

    @property
    def outputs(self) -> tuple[str, ...]:
        """Return the names of the operands that are written."""
        return tuple(dict.fromkeys(write.operand for write in self.writes))

    @property
    def numbers(self) -> tuple[str, ...]:
        """Return the names of the operands that are Python numbers."""
        return tuple(source.operand for source in self.sources if isinstance(source, Number))

    @property
    def reads(self) -> tuple[Read, ...]:
        """Return the reads, in the order of the sources."""
        return tuple(source for source in self.sources if isinstance(source, Read))

    def operand(self, name: str) -> Operand:
        """Return an operand by name."""
        return next(operand for operand in self.operands if operand.name == name)

    @property
    def fingerprint(self) -> str:
        """Return a text that is the same for equal kernels, in every process."""
        return _fingerprint(self)

    @property
    def points(self) -> tuple[str, ...]:
        """Return the ranges of the outermost loops: all writes vary along them, and nothing is folded over them."""
        return _points(self)


@lru_cache(maxsize=4096)
def _fingerprint(kernel: Kernel) -> str:
    graphs = [loop.combine if isinstance(loop, Fold) else loop.step for loop in kernel.loops]
    graphs += [loop.of_some for loop in kernel.loops if isinstance(loop, Fold) and loop.of_some is not None]
    rest = [
        (loop.over, loop.values, loop.guards, loop.init, loop.in_order)
        if isinstance(loop, Fold)
        else (loop.over, loop.values, loop.init, loop.is_associative, loop.is_reverse)
        for loop in kernel.loops
    ]
    parts = (kernel.ranges, kernel.operands, kernel.words, kernel.sources, rest, kernel.writes)
    text = f"{kernel.graph.fingerprint} {' '.join(graph.fingerprint for graph in graphs)} {parts}"
    return blake2b(text.encode(), digest_size=16).hexdigest()


@lru_cache(maxsize=4096)
def _points(kernel: Kernel) -> tuple[str, ...]:
    folded = {name for loop in kernel.loops for name in (loop.over if isinstance(loop, Fold) else (loop.over,))}
    along = [{*kernel.operand(write.operand).ranges, *ranges_of(kernel, write)} for write in kernel.writes]
    common = set.intersection(*along) if along else set()
    return tuple(axis.name for axis in kernel.ranges if axis.name in common and axis.name not in folded)


# ----------------------------------------------------------------------------------------------------- results of parts


def moved_loop(loop: Fold | Scan, moved: Callable[[Iterable[int]], tuple[int, ...]]) -> Fold | Scan:
    """Return a fold or scan of other results of the graph; ``moved`` returns what replaces results."""
    results, count = moved(loop.needs), len(loop.values)
    if isinstance(loop, Fold):
        return attrs.evolve(loop, values=results[:count], guards=results[count:])
    return attrs.evolve(loop, values=results)


def moved_write(write: Write, moved: Callable[[Iterable[int]], tuple[int, ...]]) -> Write:
    """Return a write of another result of the graph; ``moved`` returns what replaces results, and may leave out indices
    of the element.
    """
    results = moved(write.needs)
    at = len(results) - len(write.guards) - 1
    return attrs.evolve(write, at=results[:at], value=results[at], guards=results[at + 1 :])


@lru_cache(maxsize=4096)
def operand_types(kernel: Kernel) -> Mapping[str, ScalarType]:
    """Return, for each operand by name, the type that its elements are converted to, or its value has; int64 for those
    that nothing reads, and for sizes and strides.
    """
    types = {operand.name: ScalarType.INT64 for operand in kernel.operands}
    for source, (_, kind) in zip(kernel.sources, kernel.graph.parameters, strict=True):
        if isinstance(source, (Read, Number)):
            types[source.operand] = kind
    for write in kernel.writes:
        types[write.operand] = kernel.graph.result_types[write.value]
    return MappingProxyType(types)


def ranges_of(kernel: Kernel, item: Fold | Scan | Access) -> frozenset[str]:
    """Return the ranges along which a fold, a scan's carried values, or an access differ.

    Args:
        kernel: the kernel.
        item: a part of it.
    """
    known = varying(kernel)

    def among(results: Iterable[int]) -> frozenset[str]:
        return frozenset().union(*(known[kernel.graph.results[at]] for at in results))

    if isinstance(item, Access):
        own = frozenset(kernel.operand(item.operand).ranges)
        return own | among(item.needs) | {*item.over} if isinstance(item, Write) else own | among(item.at)
    over = item.over if isinstance(item, Fold) else (item.over,)
    return among(item.needs) - {*over}


@lru_cache(maxsize=4096)
def varying(kernel: Kernel) -> tuple[frozenset[str], ...]:
    """Return, for each node of a kernel's graph, the ranges along which its value may differ."""
    nodes = kernel.graph.nodes
    known: dict[int, frozenset[str]] = {}

    def of(node: int) -> frozenset[str]:
        if node not in known:
            arguments = nodes[node].arguments
            known[node] = frozenset().union(*map(of, arguments)) if nodes[node].op != "parameter" else of_source(node)
        return known[node]

    def results(some: Iterable[int]) -> frozenset[str]:
        return frozenset().union(*(of(kernel.graph.results[at]) for at in some))

    def of_source(position: int) -> frozenset[str]:
        match kernel.sources[position]:
            case Index(ranges):
                return frozenset(ranges)
            case Read(operand, at):
                return frozenset(kernel.operand(operand).ranges) | results(at)
            case Part(loop):
                own = kernel.loops[loop]
                if isinstance(own, Scan):
                    return results(own.needs) | {own.over}
                return results(own.needs) - {*own.over}
            case Old(write):
                return frozenset(kernel.operand(kernel.writes[write].operand).ranges) | results(kernel.writes[write].at)
        return frozenset()

    return tuple(of(node) for node in range(len(nodes)))


def sources_behind(kernel: Kernel, results: Iterable[int]) -> tuple[int, ...]:
    """Return the positions of the sources that results depend on, those behind computed indices included, without what
    is behind folds and scans.
    """
    nodes = kernel.graph.nodes
    seen: set[int] = set()
    waiting = [kernel.graph.results[at] for at in results]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        source = kernel.sources[node] if nodes[node].op == "parameter" else None
        at = source.at if isinstance(source, Read) else ()
        waiting += [*nodes[node].arguments, *(kernel.graph.results[place] for place in at)]
    return tuple(sorted(node for node in seen if nodes[node].op == "parameter"))


def loops_behind(kernel: Kernel, results: Iterable[int]) -> Iterator[int]:
    """Yield the positions of the folds and scans that results depend on directly, each once."""
    seen: set[int] = set()
    for at in sources_behind(kernel, results):
        source = kernel.sources[at]
        if isinstance(source, Part) and source.loop not in seen:
            seen.add(source.loop)
            yield source.loop
