"""Loop-invariant code motion: what is the same in all turns of a loop is computed once, before it.

Values are parts of scalar graphs: of a graph that computes both, what does not depend on the loop's index goes before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import attrs

from opdsl.kernels.loops.model import Bound, Compute, Inside, Load, Offset, Statement, names_of, statements_of
from opdsl.kernels.loops.rewriting import alive, giving, read_by, renamed
from opdsl.kernels.loops.stepping import STILL, steps_along
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.types import ScalarType

__all__ = ["hoisted", "uneven"]


def hoisted(
    body: Sequence[Statement], index: str, varying: str, given: Collection[str] = ()
) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
    """The body of a loop in two: what is the same in all turns, and what is computed in each.

    Args:
        body: of loads and stores, and what is computed between these.
        index: of the loop.
        varying: an index on which values must depend for being worth it.
        given: the values that the body gives, besides what it stores.

    Returns:
        Statements that stand before the loop, and its body. The second takes values that the first gives.
    """
    return Merged(_located(body, index, varying), index, varying).parts(given)


def uneven(body: Sequence[Statement], index: str, varying: str) -> set[str]:
    """The values that are the same in all turns of a loop, and do not step evenly along another index.

    Args:
        body, index: of the loop.
        varying: the other index.
    """
    return Merged(body, index, varying).uneven()


def _located(body: Sequence[Statement], index: str, varying: str) -> tuple[Statement, ...]:
    """Statements with offsets for the places of loads that are the same in all turns, and step unevenly; what is the
    same for all points is left. Many elements at few places stay as they are: these take less room than the offsets.
    """
    merged = Merged(body, index, varying)
    guards = {each.name: each for each in body if isinstance(each, Inside)}
    found: dict[str, tuple[int, ...]] = {}
    for each in body:
        if isinstance(each, Load) and index in merged.depends[each.name]:
            is_early = [merged.is_early(merged.depends.get(str(place), ())) for place in each.index]
            is_uneven = [merged.along.get(str(place), STILL) is None for place in each.index]
            rest = [place for place, early in zip(each.index, is_early, strict=True) if not early]
            is_same = all(merged.along.get(str(place), STILL) == STILL for place in rest)
            if any(is_early) and is_same and all(a == b for a, b in zip(is_early, is_uneven, strict=True)):
                found[each.name] = tuple(k for k, early in enumerate(is_early) if early)
    loads = {each.name: each for each in body if isinstance(each, Load)}
    values = {merged.value_of(str(loads[name].index[k])) for name, dims in found.items() for k in dims}
    if len(found) >= 2 * len(values):
        return tuple(body)
    made: list[Statement] = []
    for each in body:
        if isinstance(each, Load) and each.name in found:
            made += _with_offset(each, found[each.name], guards.get(each.inside or ""))
        else:
            made.append(each)
    return tuple(made)


def _with_offset(each: Load, dims: Collection[int], guard: Inside | None) -> Iterator[Statement]:
    places = [place if isinstance(place, str) and k in dims else 0 for k, place in enumerate(each.index)]
    rest = tuple(0 if k in dims else place for k, place in enumerate(each.index))
    near, inside = f"{each.name}_near", each.inside
    if guard is not None:
        pairs = list(zip(guard.index, guard.sizes, strict=True))
        kept = [pair for pair in pairs if pair[0] in places]
        others = [pair for pair in pairs if pair[0] not in places]
        yield Inside(near, *(tuple(part) for part in zip(*kept, strict=True)))
        inside = f"{each.name}_rest" if others else None
        if others:
            yield Inside(f"{each.name}_rest", *(tuple(part) for part in zip(*others, strict=True)))
    yield Offset(f"{each.name}_offset", each.array, tuple(places), None if guard is None else near)
    yield attrs.evolve(each, index=rest, inside=inside, offset=f"{each.name}_offset")


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
        self.depends: dict[str, frozenset[str]] = {each: frozenset([each]) for each in (index, varying)}
        self.of_nodes: list[frozenset[str]] = []
        computes = [each for each in statements_of(body) if isinstance(each, Compute)]
        computed = {name for each in computes for name in each.names}
        for compute in computes:
            for argument, (_, kind) in zip(compute.arguments, compute.graph.parameters, strict=True):
                if isinstance(argument, str) and argument not in computed and argument not in self.nodes:
                    self.nodes[argument] = self.builder.parameter(argument, kind)
        self.grown()
        self.same: dict[str, str] = {}
        self.names: dict[int, str] = {}
        self.places = {each.name: each.place for each in statements_of(body) if isinstance(each, Bound)}
        known: dict[Statement, str] = {}
        for each in statements_of(body):
            self.take(each)
            if isinstance(each, (Bound, Inside)):
                values = {name: str(self.nodes[name]) for name in read_by(each) & self.nodes.keys()}
                self.same[each.name] = known.setdefault(renamed(each, {**values, each.name: ""}), each.name)

    def take(self, each: Statement) -> None:
        """Take note of a statement's values."""
        if isinstance(each, Compute):
            given = [
                self.builder.constant(argument, ScalarType.INT64) if isinstance(argument, int) else self.nodes[argument]
                for argument in each.arguments
            ]
            found = self.builder.inline(each.graph, given)
            self.nodes.update(zip(each.names, (found[at] for at in each.graph.results), strict=True))
            self.grown()
            for name in each.names:
                self.depends[name] = self.of_nodes[self.nodes[name]]
                self.same[name] = self.names.setdefault(self.nodes[name], name)
        else:
            depends = frozenset().union(*(self.depends.get(name, frozenset()) for name in read_by(each)))
            for name in names_of(each):
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

    def value_of(self, name: str) -> object:
        """What tells a value from others."""
        name = self.same.get(name, name)
        return self.nodes.get(self.places.get(name, name), name)

    def is_early(self, depends: Collection[str]) -> bool:
        """Whether a value is the same in all turns, but not for all points."""
        return self.varying in depends and self.index not in depends

    def is_kept(self, at: int) -> bool:
        """Whether a node is early, and takes computing."""
        return self.builder.nodes[at].op not in ("parameter", "constant") and self.is_early(self.of_nodes[at])

    def uneven(self) -> set[str]:
        """The values that are computed early, and do not step evenly along the index on which they depend."""
        return {name for name, at in self.nodes.items() if self.along.get(name, STILL) is None and self.is_kept(at)}

    def parts(self, given: Collection[str]) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
        """Both parts, the second of which gives some values."""
        late = [each for each in self.body if not isinstance(each, Compute) and not self.is_whole(each)]
        used = {name for each in late for name in read_by(each) if name in self.nodes} | {*given}
        even = {name for name in used - {*given} if self.along.get(name) is not None}
        kept: dict[int, str] = {}
        for name in sorted(used - even):
            self.keep(self.nodes[name], kept)
        aliases = {name: kept[self.nodes[name]] for name in used - even - {*given} if self.nodes[name] in kept}
        body: list[Statement] = []
        for each in self.body:
            if isinstance(each, Compute):
                body += self.computed([name for name in each.names if name in even], {})
                body += self.computed([name for name in each.names if name in used - even - aliases.keys()], kept)
            elif each in late and not any(self.same.get(name, name) != name for name in names_of(each)):
                body.append(renamed(each, {**self.same, **aliases}))
        body = list(alive(body, given))
        read = {name for each in body for name in read_by(each)}
        kept = {at: name for at, name in kept.items() if name in read}
        whole = self.computed(list(kept.values()), {}, list(kept))
        early = [each for each in self.body if not isinstance(each, Compute) and self.is_whole(each)]
        read = {name for each in (*whole, *body) for name in read_by(each)}
        read &= {name for each in early for name in names_of(each)}
        return (*giving(self.body, read), *whole), tuple(body)

    def is_whole(self, each: Statement) -> bool:
        """Whether a statement stands before the loop as it is."""
        names = names_of(each)
        return any(self.is_early(self.depends[name]) and self.along.get(name) is None for name in names)

    def keep(self, at: int, kept: dict[int, str]) -> None:
        """Find what is kept of the nodes that one depends on, or that one."""
        if self.is_kept(at):
            kept.setdefault(at, f"kept{len(kept)}")
        else:
            for each in self.builder.nodes[at].arguments:
                self.keep(each, kept)

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
    given = [at for at in sorted(needed) if at in kept or graph.nodes[at].op == "parameter"]
    names = tuple(kept.get(at, str(graph.nodes[at].value)) for at in given)
    found = {at: builder.parameter(name, graph.nodes[at].type) for at, name in zip(given, names, strict=True)}
    for at in sorted(needed - found.keys()):
        found[at] = builder.copy(graph.nodes[at], tuple(found[each] for each in graph.nodes[at].arguments))
    return builder.finish(graph.name, [found[at] for at in graph.results]), names
