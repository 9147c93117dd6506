"""Statements of one block of a kernel's loops: the sources that values need, the values, and writes."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from opdsl.kernels.definitions.monoid import initial
from opdsl.kernels.kernel import SKIP, WRAP, Access, Count, Index, Number, Old, Part, Read, Word, Write
from opdsl.kernels.loops.making import Maker, part_of, places
from opdsl.kernels.loops.model import Bound, Compute, Inside, Load, Statement, Store, Update, When
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.types import ScalarType

if TYPE_CHECKING:
    from opdsl.kernels.calls import OperandSpec
    from opdsl.kernels.kernel import Kernel, Operand
    from opdsl.kernels.loops import model
    from opdsl.scalar.graph import TypedGraph

__all__ = ["Block", "Owner", "Scope"]


class Scope(NamedTuple):
    """Position of statements in a nest of loops.

    active: the ranges whose loops are around them.
    parts: the names of results of folds and scans.
    kept: the local arrays of values of the graph's nodes, with the range that indexes them.
    """

    active: frozenset[str]
    parts: dict[Part, str]
    kept: dict[int, tuple[str, str]]

    def inside(self, ranges: Collection[str]) -> Scope:
        """Return the scope of a loop in this one."""
        return Scope(self.active | {*ranges}, dict(self.parts), dict(self.kept))


class Owner(Protocol):
    """Builder of the loops that blocks belong to.

    graph, limits: the kernel's graph, and for results of it that are indices the nodes that they have to be less than.
    maker: of the program.
    ranges: the loop indices and sizes of each range.
    counts: the words with the numbers of iterations of ranges that have several dimensions.
    specs: the dtype and strides of each operand.
    dims: the sizes of each array's further dimensions.
    blocks: the number of blocks so far, from which the names in a block get their prefix.
    keep: whether expensive values are kept for later loops.
    trusted: whether indices without padding are not checked.
    """

    kernel: Kernel
    graph: TypedGraph
    limits: dict[int, int]
    maker: Maker
    ranges: dict[str, tuple[model.Range, ...]]
    counts: dict[str, str]
    specs: dict[str, OperandSpec]
    dims: dict[str, tuple[model.Size, ...]]
    blocks: int
    keep: bool
    trusted: bool

    def along(self, operand: Operand) -> tuple[model.Range, ...]:
        """Return the loop indices and sizes of an operand's ranges."""

    def dimensions(self, ranges: Iterable[str]) -> tuple[model.Range, ...]:
        """Return the loop indices and sizes of ranges."""

    def old_of(self, write: Write) -> int | None:
        """Return the node that is the old element of a write; None if the write does not read it."""


class Block:
    """Builder of statements of one scope.

    body: the statements so far.
    names: of the nodes that are computed or loaded, by node.
    """

    def __init__(self, owner: Owner, scope: Scope) -> None:
        self.owner, self.scope, self.kernel = owner, scope, owner.kernel
        self.prefix = f"b{owner.blocks}_" if owner.blocks else ""
        owner.blocks += 1
        self.body: list[Statement] = []
        self.names: dict[int, str] = {}
        self.guards: list[Inside] = []

    def scope_name(self, name: str) -> str:
        """Return a name that no other block uses."""
        return f"{self.prefix}{name}"

    def compute(self, nodes: Sequence[int], letter: str, *, is_named: bool = False) -> tuple[str, ...]:
        """Append the computation of nodes, and return their names.

        Args:
            nodes: of the graph.
            letter: the beginning of their names.
            is_named: whether even elements, numbers and repeated nodes get names of their own, as results of an
                identity.
        """
        self.require(nodes)
        names: dict[int, str] = {}
        for k, node in enumerate(nodes):
            if (node not in self.names or self._gets_name(node, is_named)) and (is_named or node not in nodes[:k]):
                names[k] = self.scope_name(f"{letter}{k}")
        if names:
            results, boundary = tuple([nodes[k] for k in names]), frozenset(self.names)
            graph, used = part_of(self.owner.graph, results, boundary, self.kernel.name)
            self.body.append(Compute(tuple(names.values()), graph, tuple(self.names[node] for node in used)))
        texts = self.names | {nodes[k]: name for k, name in names.items()}
        return tuple(names.get(k) or texts[node] for k, node in enumerate(nodes))

    def _gets_name(self, node: int, is_named: bool) -> bool:
        """Return whether a node whose value is known gets a name of its own: indices, words and numbers always do, as
        no statement of the block gives them.
        """
        source = self.kernel.sources[node] if self.owner.graph.nodes[node].op == "parameter" else None
        return isinstance(source, (Count, Index, Number, Word)) or (is_named and not isinstance(source, Part))

    def require(self, nodes: Iterable[int]) -> None:
        """Append what gives the sources that nodes depend on, old elements apart."""
        graph = self.owner.graph
        seen: set[int] = set()
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            if node in seen or node in self.names:
                continue
            seen.add(node)
            if node in self.scope.kept:
                array, index = self.scope.kept[node]
                self.names[node] = name = self.scope_name(f"{array}_{node}")
                self.body.append(Load(name, array, (index,), graph.nodes[node].type))
            else:
                waiting += graph.nodes[node].arguments
        for node in sorted(seen - self.names.keys()):
            if graph.nodes[node].op == "parameter" and not isinstance(self.kernel.sources[node], Old):
                self.names[node] = self._source(node)

    def _source(self, at: int) -> str:
        """Return the name of a source, after what gives it is appended."""
        kind = self.owner.graph.nodes[at].type
        match self.kernel.sources[at]:
            case Index(ranges):
                return self._index(at, ranges)
            case Count(name):
                return self.owner.counts.get(name) or str(self.owner.ranges[name][0][1])
            case Word(name) | Number(name):
                return name
            case Part() as part:
                return self.scope.parts[part]
            case Read() as read:
                return self._read(at, read, kind)
            case _:
                raise AssertionError("the old element is known to its update alone")

    def _index(self, at: int, ranges: Sequence[str]) -> str:
        """Return the number of an iteration in row-major order of ranges."""
        own = self.owner.dimensions(ranges)
        if len(own) == 1:
            return own[0][0]
        name = self.scope_name(f"index{at}")
        self.body.append(Compute((name,), _row_major(len(own)), (*places(own), *(str(size) for _, size in own[1:]))))
        return name

    def _read(self, at: int, read: Read, kind: ScalarType) -> str:
        """Append the load of an element, and return its name."""
        owner, name = self.owner, self.scope_name(f"r{self.kernel.reads.index(read)}")
        spec = owner.specs[read.operand]
        ranges = owner.along(self.kernel.operand(read.operand))
        if spec.counts:
            steps = [step // spec.dtype.itemsize for step in spec.strides or ()]
            return owner.maker.linear(name, ranges, steps, read.operand, kind, self.body)
        index, guard = self.place(read)
        outside = None
        if guard is not None:
            outside = initial(0 if read.padding is None or isinstance(read.padding, str) else read.padding, str(kind))
            if read.padding == SKIP and isinstance(test := self.body[-1], Inside):
                self.guards.append(test)
        self.body.append(Load(name, read.operand, index, kind, guard, outside))
        return name

    def place(self, access: Access) -> tuple[tuple[model.Index, ...], str | None]:
        """Append the computation of an access's indices; return these, and the name of their bounds check (None if they
        are in bounds in any case).
        """
        owner, kernel = self.owner, self.kernel
        leading = places(owner.along(kernel.operand(access.operand)))
        if not access.at:
            return leading, None
        number = [*kernel.reads, *kernel.writes].index(access)
        nodes = [owner.graph.results[at] for at in access.at]
        names = self.compute(nodes, f"p{number}_", is_named=access.padding != WRAP)
        sizes = owner.dims[access.operand]
        how = _bound(access, trusted=owner.trusted)
        if how is not None:
            bounded = [self.scope_name(f"q{number}_{d}") for d in range(len(names))]
            self.body += [Bound(*bound, how) for bound in zip(bounded, names, sizes, strict=True)]
            return (*leading, *bounded), None
        limited = [d for d, at in enumerate(access.at) if at in owner.limits and access.padding == SKIP]
        limits = self.compute([owner.limits[access.at[d]] for d in limited], f"limit{number}_", is_named=True)
        guard = self.scope_name(f"inside{number}")
        self.body.append(Inside(guard, (*names, *(names[d] for d in limited)), (*sizes, *limits)))
        return (*leading, *names), guard

    def counts(self) -> str | None:
        """Return the name of the condition under which an iteration counts: all its reads that skip are in bounds.
        Return None if there are none.
        """
        if len(self.guards) < 2:
            return self.guards[0].name if self.guards else None
        index = tuple(part for test in self.guards for part in test.index)
        sizes = tuple(part for test in self.guards for part in test.sizes)
        self.body.append(Inside(self.scope_name("counts"), index, sizes))
        return self.scope_name("counts")

    def write(self, write: Write, value: str | None) -> None:
        """Append a write; ``value`` is None for one that depends on the old element."""
        old = self.owner.old_of(write)
        statement: Statement
        if old is not None:
            graph, arguments = self._split(write, old)
            index, guard = self.place(write)
            statement = Update(write.operand, index, graph, arguments)
        else:
            assert value is not None, "it has been computed"
            index, guard = self.place(write)
            statement = Store(write.operand, index, value)
        self.body.append(statement if guard is None else When(guard, (statement,)))

    def _split(self, write: Write, old: int) -> tuple[TypedGraph, tuple[str | None, ...]]:
        """Append what a value needs besides the old element; return the graph of the rest, and its arguments."""
        graph, number = self.owner.graph, self.kernel.writes.index(write)
        depends = {old}
        for at, inner in enumerate(graph.nodes):
            if depends.intersection(inner.arguments):
                depends.add(at)
        rest = {at for place in depends for at in graph.nodes[place].arguments} - depends
        boundary = frozenset(at for at in rest if graph.nodes[at].op != "constant")
        names = dict(zip(sorted(boundary), self.compute(sorted(boundary), f"u{number}_"), strict=True))
        update, used = part_of(graph, (graph.results[write.value],), boundary, self.kernel.name)
        return update, tuple(None if at == old else names[at] for at in used)


def _bound(access: Access, *, trusted: bool) -> str | None:
    """Return how indices are mapped into bounds; None if they are checked."""
    if access.padding is None:
        return "trusted" if trusted else None
    return access.padding if isinstance(access.padding, str) and access.padding != SKIP else None


@functools.cache
def _row_major(count: int) -> TypedGraph:
    """Build the graph: indices, sizes of all ranges but the first -> the row-major number of an iteration."""
    builder = GraphBuilder()
    if count == 0:
        return builder.finish("number", [builder.constant(0, ScalarType.INT64)])
    total, *rest = [builder.parameter(f"j{k}", ScalarType.INT64) for k in range(count)]
    sizes = [builder.parameter(f"n{k}", ScalarType.INT64) for k in range(1, count)]
    for index, size in zip(rest, sizes, strict=True):
        whole = builder.node("multiply", (total, size), ScalarType.INT64)
        total = builder.node("add", (whole, index), ScalarType.INT64)
    return builder.finish("number", [total])
