"""Loop-invariant code motion: what is the same in all turns of a loop is computed once, before it.

Values are parts of scalar graphs: of a graph that computes both, what does not depend on the loop's index goes before.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import attrs

from opdsl.kernels.loops.model import (
    Argument,
    Bound,
    Compute,
    Index,
    Inside,
    Load,
    Offset,
    Size,
    Statement,
    Steps,
    Update,
    When,
    names_of,
    statements_of,
)
from opdsl.kernels.loops.rewriting import alive, giving, read_by, renamed
from opdsl.kernels.loops.stepping import STILL, steps_along
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.types import FLOAT, ScalarType

if TYPE_CHECKING:
    from opdsl.scalar.graph import Number

__all__ = ["hoisted", "uneven"]


def hoisted(
    body: Sequence[Statement],
    index: str,
    varying: str,
    texts: Collection[str] = (),
    offset: ScalarType = ScalarType.INT64,
) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
    """The body of a loop in two: what is the same in all turns, and what is computed in each.

    Args:
        body: of loads and stores, and what is computed between these.
        index: of the loop.
        varying: an index on which values must depend for being worth it.
        texts: the values that the body gives, besides what it stores.
        offset: of what type offsets are: one that holds what elements lie apart at places that step unevenly.

    Returns:
        Statements that stand before the loop, and its body. The second takes values that the first gives.
    """
    early, late = Merged(_located(body, index, varying, offset), index, varying).parts(texts)
    return (early if offset is ScalarType.INT64 else tuple(_narrowed(early, late, offset))), late


def _narrowed(early: Sequence[Statement], late: Sequence[Statement], kind: ScalarType) -> Iterator[Statement]:
    """Statements that convert places to a narrower type, which what is compared with them, and offsets, fit in: a place
    beyond the type becomes its last one, which lies outside as well.
    """
    others = {
        name
        for statement in (*early, *late)
        if not isinstance(statement, (Inside, Offset))
        for name in read_by(statement)
    }
    for statement in early:
        if not isinstance(statement, Compute):
            yield statement
            continue
        builder = GraphBuilder()
        nodes, results = builder.inline(statement.graph), []
        for name, at in zip(statement.names, statement.graph.results, strict=True):
            node = statement.graph.nodes[at]
            is_place = node.op == "cast" and node.type is ScalarType.INT64 and name not in others
            is_place = is_place and statement.graph.nodes[node.arguments[0]].type.category == FLOAT
            results.append(builder.cast(nodes[node.arguments[0]], kind) if is_place else nodes[at])
        yield attrs.evolve(statement, graph=builder.finish(statement.graph.name, results))


def uneven(body: Sequence[Statement], index: str, varying: str) -> set[str]:
    """The values that are the same in all turns of a loop, and do not step evenly along another index.

    Args:
        body, index: of the loop.
        varying: the other index.
    """
    return Merged(body, index, varying).uneven()


def _located(body: Sequence[Statement], index: str, varying: str, offset: ScalarType) -> tuple[Statement, ...]:
    """Statements with offsets for the places of elements that are the same in all turns, and step unevenly; what is the
    same for all points is left.
    """
    merged = Merged(body, index, varying)
    guards = {statement.name: statement for statement in body if isinstance(statement, Inside)}
    rewritten: list[Statement] = []
    for number, statement in enumerate(body):
        inner = statement.body[0] if isinstance(statement, When) and len(statement.body) == 1 else statement
        dims = _early_dims(merged, inner) if isinstance(inner, (Load, Update)) else ()
        if not isinstance(inner, (Load, Update)) or not dims:
            rewritten.append(statement)
            continue
        guard = guards.get(statement.condition if isinstance(statement, When) else getattr(inner, "inside", None) or "")
        name = inner.name if isinstance(inner, Load) else f"{inner.array}_{number}"
        far = _Far(name, inner.array, inner.index, dims, guard)
        rewritten += far.statements(offset)
        index_ = tuple(0 if k in dims else place for k, place in enumerate(inner.index))
        rewritten += _read(inner, far, index_) if isinstance(inner, Load) else _updated(inner, far, index_)
    return tuple(rewritten)


def _early_dims(merged: Merged, access: Load | Update) -> tuple[int, ...]:
    """The dimensions of an element in which places are the same in all turns, and step unevenly; none where others step
    with the points.
    """
    if isinstance(access, Load) and merged.index not in merged.depends[access.name]:
        return ()
    early = [merged.is_early(merged.depends.get(str(place), ())) for place in access.index]
    steps = [merged.along.get(str(place), STILL) for place in access.index]
    is_split = all((step is None) if is_in else (step == STILL) for is_in, step in zip(early, steps, strict=True))
    return tuple(k for k, is_in in enumerate(early) if is_in) if is_split else ()


class _Far(NamedTuple):
    """An element with an offset: what its values are called after, and where it lies.

    at: its places. dims: those of the offset. guard: the condition under which it lies there.
    """

    name: str
    array: str
    at: tuple[Index, ...]
    dims: tuple[int, ...]
    guard: Inside | None

    @property
    def offset(self) -> str:
        """How far it lies."""
        return f"{self.name}_offset"

    @property
    def near(self) -> str:
        """Whether it lies there."""
        return f"{self.name}_near"

    @property
    def rest(self) -> str | None:
        """Whether that from which it lies so far is there; None if in any case."""
        return f"{self.name}_rest" if self._pairs(near=False) else None

    def _pairs(self, *, near: bool) -> list[tuple[Argument, Size]]:
        places = {self.at[k] for k in self.dims}
        guard = self.guard
        pairs = [] if guard is None else zip(guard.index, guard.sizes, strict=True)
        return [pair for pair in pairs if (pair[0] in places) == near]

    def statements(self, kind: ScalarType) -> Iterator[Statement]:
        """What gives these."""
        places = [place if k in self.dims else 0 for k, place in enumerate(self.at)]
        index = tuple(place for place in places if not isinstance(place, Steps))
        if self.guard is not None:
            yield Inside(self.near, *zip(*self._pairs(near=True), strict=True))
        yield Offset(self.offset, self.array, index, self.near if self.guard is not None else None, kind)
        if self.rest is not None:
            yield Inside(self.rest, *zip(*self._pairs(near=False), strict=True))


def _read(load: Load, far: _Far, index: tuple[Index, ...]) -> Iterator[Statement]:
    """An element that is read with an offset, whether it lies there or not, and what lies outside in its place then."""
    if far.guard is None or load.outside is None:
        yield attrs.evolve(load, index=index, offset=far.offset)
        return
    read = f"{load.name}_read"
    outside = None if far.rest is None else load.outside
    yield attrs.evolve(load, name=read, index=index, inside=far.rest, outside=outside, offset=far.offset)
    yield Compute((load.name,), _chosen(load.type, load.outside), (far.near, read))


def _updated(update: Update, far: _Far, index: tuple[Index, ...]) -> Iterator[Statement]:
    """An element that is updated with an offset, if it lies there."""
    statement: Statement = attrs.evolve(update, index=index, offset=far.offset)
    for condition in (far.rest, far.near if far.guard is not None else None):
        statement = statement if condition is None else When(condition, (statement,))
    yield statement


@functools.lru_cache(maxsize=4096)
def _chosen(kind: ScalarType, outside: Number) -> TypedGraph:
    """Whether an element lies inside, and what is read -> its value."""
    builder = GraphBuilder()
    inside, read = builder.parameter("inside", ScalarType.BOOL), builder.parameter("read", kind)
    chosen = builder.node("select", (inside, read, builder.constant(outside, kind)), kind)
    return builder.finish("chosen", [chosen])


class Merged:
    """The body of a loop as one graph, whose parameters are what it does not compute.

    nodes: the nodes of values, by name. depends: by name, and by node, the indices among ``{index, varying}`` that a
    value depends on. along: how far values step along ``varying``.
    same: for values, places that are led inside, and conditions, the first ones that are the same.
    """

    def __init__(self, body: Sequence[Statement], index: str, varying: str) -> None:
        self.body, self.index, self.varying = body, index, varying
        self.along = steps_along(body, varying)
        self.builder = GraphBuilder()
        self.nodes: dict[str, int] = {}
        self.depends: dict[str, frozenset[str]] = {text: frozenset([text]) for text in (index, varying)}
        self.of_nodes: list[frozenset[str]] = []
        computes = [statement for statement in statements_of(body) if isinstance(statement, Compute)]
        computed = {name for compute in computes for name in compute.names}
        for compute in computes:
            for argument, (_, kind) in zip(compute.arguments, compute.graph.parameters, strict=True):
                if isinstance(argument, str) and argument not in computed and argument not in self.nodes:
                    self.nodes[argument] = self.builder.parameter(argument, kind)
        self.grown()
        self.same: dict[str, str] = {}
        self.names: dict[int, str] = {}
        known: dict[Statement, str] = {}
        for statement in statements_of(body):
            self.take(statement)
            if isinstance(statement, (Bound, Inside)):
                values = {name: str(self.nodes[name]) for name in read_by(statement) & self.nodes.keys()}
                self.same[statement.name] = known.setdefault(
                    renamed(statement, {**values, statement.name: ""}), statement.name
                )

    def take(self, statement: Statement) -> None:
        """Take note of a statement's values."""
        if isinstance(statement, Compute):
            constants = [
                self.builder.constant(argument, ScalarType.INT64) if isinstance(argument, int) else self.nodes[argument]
                for argument in statement.arguments
            ]
            inline = self.builder.inline(statement.graph, constants)
            self.nodes.update(zip(statement.names, (inline[at] for at in statement.graph.results), strict=True))
            self.grown()
            for name in statement.names:
                self.depends[name] = self.of_nodes[self.nodes[name]]
                self.same[name] = self.names.setdefault(self.nodes[name], name)
        else:
            depends = frozenset().union(*(self.depends.get(name, frozenset()) for name in read_by(statement)))
            for name in names_of(statement):
                self.depends[name] = depends
                if name in self.nodes:
                    self.of_nodes[self.nodes[name]] = depends

    def grown(self) -> None:
        """Find what new nodes depend on."""
        for node in self.builder.nodes[len(self.of_nodes) :]:
            if node.op == "parameter":
                self.of_nodes.append(self.depends.get(str(node.value), frozenset()))
            else:
                self.of_nodes.append(frozenset().union(*(self.of_nodes[at] for at in node.arguments)))

    def is_early(self, depends: Collection[str]) -> bool:
        """Whether a value is the same in all turns, but not for all points."""
        return self.varying in depends and self.index not in depends

    def is_kept(self, at: int) -> bool:
        """Whether a node is early, and takes computing."""
        return self.builder.nodes[at].op not in ("parameter", "constant") and self.is_early(self.of_nodes[at])

    def uneven(self) -> set[str]:
        """The values that are computed early, and do not step evenly along the index on which they depend."""
        return {name for name, at in self.nodes.items() if self.along.get(name, STILL) is None and self.is_kept(at)}

    def parts(self, texts: Collection[str]) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
        """Both parts, the second of which gives some values."""
        late = [
            statement for statement in self.body if not isinstance(statement, Compute) and not self.is_whole(statement)
        ]
        used = {
            self.same.get(name, name) for statement in late for name in read_by(statement) if name in self.nodes
        } | {*texts}
        even = {name for name in used - {*texts} if self.along.get(name) is not None}
        kept: dict[int, str] = {}
        for name in sorted(used - even):
            self.keep(self.nodes[name], kept)
        aliases = {name: kept[self.nodes[name]] for name in used - even - {*texts} if self.nodes[name] in kept}
        body: list[Statement] = []
        for statement in self.body:
            if isinstance(statement, Compute):
                body += self.computed([name for name in statement.names if name in even], {})
                body += self.computed([name for name in statement.names if name in used - even - aliases.keys()], kept)
            elif statement in late and not any(self.same.get(name, name) != name for name in names_of(statement)):
                body.append(renamed(statement, {**self.same, **aliases}))
        body = list(alive(body, texts))
        read = {name for statement in body for name in read_by(statement)}
        kept = {at: name for at, name in kept.items() if name in read}
        whole = self.computed(list(kept.values()), {}, list(kept))
        early = [
            statement
            for statement in self.body
            if not isinstance(statement, Compute) and self.may_stand_ahead(statement)
        ]
        read = {name for statement in (*whole, *body) for name in read_by(statement)}
        read &= {name for statement in early for name in names_of(statement)}
        return (*giving(self.body, read), *whole), tuple(body)

    def is_whole(self, statement: Statement) -> bool:
        """Whether a statement stands before the loop as it is."""
        names = names_of(statement)
        return any(self.is_early(self.depends[name]) and self.along.get(name) is None for name in names)

    def may_stand_ahead(self, statement: Statement) -> bool:
        """Return whether a statement stands before the loop as it is, or is the same in all turns for all points."""
        return self.is_whole(statement) or not any(self.depends[name] for name in names_of(statement))

    def keep(self, at: int, kept: dict[int, str]) -> None:
        """Find what is kept of the nodes that one depends on, or that one."""
        if self.is_kept(at):
            kept.setdefault(at, f"kept{len(kept)}")
        else:
            for argument in self.builder.nodes[at].arguments:
                self.keep(argument, kept)

    def computed(
        self, names: Sequence[str], kept: Mapping[int, str], nodes: Sequence[int] | None = None
    ) -> tuple[Statement, ...]:
        """What gives values: those of some nodes, given what is kept."""
        if not names:
            return ()
        results = [self.nodes[name] for name in names] if nodes is None else nodes
        graph, arguments = cut(TypedGraph("values", tuple(self.builder.nodes), tuple(results)), kept)
        return (Compute(tuple(names), graph, arguments),)


def cut(graph: TypedGraph, kept: Mapping[int, str]) -> tuple[TypedGraph, tuple[str, ...]]:
    """A graph that takes some of its nodes as parameters, and what its parameters are called then."""
    needed: set[int] = set()
    waiting = list(graph.results)
    while waiting:
        at = waiting.pop()
        if at not in needed:
            needed.add(at)
            waiting += () if at in kept else graph.nodes[at].arguments
    builder = GraphBuilder()
    positions = [at for at in sorted(needed) if at in kept or graph.nodes[at].op == "parameter"]
    names = tuple(kept.get(at, str(graph.nodes[at].value)) for at in positions)
    parameters = {at: builder.parameter(name, graph.nodes[at].type) for at, name in zip(positions, names, strict=True)}
    for at in sorted(needed - parameters.keys()):
        parameters[at] = builder.copy(
            graph.nodes[at], tuple(parameters[argument] for argument in graph.nodes[at].arguments)
        )
    return builder.finish(graph.name, [parameters[at] for at in graph.results]), names
