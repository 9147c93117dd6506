"""Loop-invariant code motion: values that are the same in all iterations of a loop are computed once, before it.

All values of a loop's body are merged into one scalar graph; its nodes that do not depend on the loop's index are
computed before.
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
    """Split the body of a loop into loop-invariant statements, to run once before it, and the rest.

    Args:
        body: loads, stores, and computations between these.
        index: of the loop.
        varying: another index; invariant values are hoisted only if they depend on it.
        texts: values that the body must compute besides those that it stores.
        offset: the type of offsets of elements at indices that are not affine; it has to hold their offset in bytes.

    Returns:
        The hoisted statements, and the body, which reads values of these.
    """
    early, late = Merged(_located(body, index, varying, offset), index, varying).parts(texts)
    return (early if offset is ScalarType.INT64 else tuple(_narrowed(early, late, offset))), late


def _narrowed(early: Sequence[Statement], late: Sequence[Statement], kind: ScalarType) -> Iterator[Statement]:
    """Convert indices that are only checked or turned into offsets to a narrower type; an index beyond the type
    saturates, and is out of bounds as well.
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
    """Return the loop-invariant values that are not affine in another index.

    Args:
        body, index: of the loop.
        varying: the other index.
    """
    return Merged(body, index, varying).uneven()


def _located(body: Sequence[Statement], index: str, varying: str, offset: ScalarType) -> tuple[Statement, ...]:
    """Rewrite statements to use offsets for loop-invariant indices that are not affine in ``varying``; accesses without
    such indices stay unchanged.
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
    """Return the dimensions of an access whose indices are loop-invariant and not affine in ``varying``; () if another
    dimension changes with ``varying``.
    """
    if isinstance(access, Load) and merged.index not in merged.depends[access.name]:
        return ()
    early = [merged.is_early(merged.depends.get(str(place), ())) for place in access.index]
    steps = [merged.along.get(str(place), STILL) for place in access.index]
    is_split = all((step is None) if is_in else (step == STILL) for is_in, step in zip(early, steps, strict=True))
    return tuple(k for k, is_in in enumerate(early) if is_in) if is_split else ()


class _Far(NamedTuple):
    """Array access whose loop-invariant indices are replaced by a precomputed offset.

    name: the prefix of names of its values. at: its indices. dims: the dimensions that the offset covers. guard: the
    bounds check of the access.
    """

    name: str
    array: str
    at: tuple[Index, ...]
    dims: tuple[int, ...]
    guard: Inside | None

    @property
    def offset(self) -> str:
        """Return the name of the offset in elements."""
        return f"{self.name}_offset"

    @property
    def near(self) -> str:
        """Return the name of the bounds check of the dimensions that the offset covers."""
        return f"{self.name}_near"

    @property
    def rest(self) -> str | None:
        """Return the name of the bounds check of the other dimensions; None if they are not checked."""
        return f"{self.name}_rest" if self._pairs(near=False) else None

    def _pairs(self, *, near: bool) -> list[tuple[Argument, Size]]:
        places = {self.at[k] for k in self.dims}
        guard = self.guard
        pairs = [] if guard is None else zip(guard.index, guard.sizes, strict=True)
        return [pair for pair in pairs if (pair[0] in places) == near]

    def statements(self, kind: ScalarType) -> Iterator[Statement]:
        """Yield the statements that compute the offset and the bounds checks."""
        places = [place if k in self.dims else 0 for k, place in enumerate(self.at)]
        index = tuple(place for place in places if not isinstance(place, Steps))
        if self.guard is not None:
            yield Inside(self.near, *zip(*self._pairs(near=True), strict=True))
        yield Offset(self.offset, self.array, index, self.near if self.guard is not None else None, kind)
        if self.rest is not None:
            yield Inside(self.rest, *zip(*self._pairs(near=False), strict=True))


def _read(load: Load, far: _Far, index: tuple[Index, ...]) -> Iterator[Statement]:
    """Yield a load with an offset, and the selection of its padding where the element is out of bounds."""
    if far.guard is None or load.outside is None:
        yield attrs.evolve(load, index=index, offset=far.offset)
        return
    read = f"{load.name}_read"
    outside = None if far.rest is None else load.outside
    yield attrs.evolve(load, name=read, index=index, inside=far.rest, outside=outside, offset=far.offset)
    yield Compute((load.name,), _chosen(load.type, load.outside), (far.near, read))


def _updated(update: Update, far: _Far, index: tuple[Index, ...]) -> Iterator[Statement]:
    """Yield an update with an offset, under its bounds checks."""
    statement: Statement = attrs.evolve(update, index=index, offset=far.offset)
    for condition in (far.rest, far.near if far.guard is not None else None):
        statement = statement if condition is None else When(condition, (statement,))
    yield statement


@functools.lru_cache(maxsize=4096)
def _chosen(kind: ScalarType, outside: Number) -> TypedGraph:
    """Build the graph: whether an element is in bounds, its value -> the value or ``outside``."""
    builder = GraphBuilder()
    inside, read = builder.parameter("inside", ScalarType.BOOL), builder.parameter("read", kind)
    chosen = builder.node("select", (inside, read, builder.constant(outside, kind)), kind)
    return builder.finish("chosen", [chosen])


class Merged:
    """Body of a loop as one scalar graph, whose parameters are the values that the body does not compute.

    nodes: the nodes of values, by name. depends: by name, and by node, the indices among ``{index, varying}`` that a
    value depends on. along: the steps of values along ``varying``.
    same: for values, mapped indices and conditions, the name of the first one that is equal (common subexpressions).
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
            for operand, (_, kind) in zip(compute.arguments, compute.graph.parameters, strict=True):
                if isinstance(operand, str) and operand not in computed and operand not in self.nodes:
                    self.nodes[operand] = self.builder.parameter(operand, kind)
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
        """Add a statement's values to the graph, and record the indices that they depend on."""
        if isinstance(statement, Compute):
            constants = [
                self.builder.constant(operand, ScalarType.INT64) if isinstance(operand, int) else self.nodes[operand]
                for operand in statement.arguments
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
        """Record the indices that new nodes depend on."""
        for node in self.builder.nodes[len(self.of_nodes) :]:
            if node.op == "parameter":
                self.of_nodes.append(self.depends.get(str(node.value), frozenset()))
            else:
                self.of_nodes.append(frozenset().union(*(self.of_nodes[at] for at in node.arguments)))

    def is_early(self, depends: Collection[str]) -> bool:
        """Return whether a value is loop-invariant, and depends on ``varying``."""
        return self.varying in depends and self.index not in depends

    def is_kept(self, at: int) -> bool:
        """Return whether a node is worth hoisting: loop-invariant, and neither a parameter nor a constant."""
        return self.builder.nodes[at].op not in ("parameter", "constant") and self.is_early(self.of_nodes[at])

    def uneven(self) -> set[str]:
        """Return the hoisted values that are not affine in ``varying``."""
        return {name for name, at in self.nodes.items() if self.along.get(name, STILL) is None and self.is_kept(at)}

    def parts(self, texts: Collection[str]) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
        """Return the statements before the loop and its new body, which computes the values ``texts`` too."""
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
        """Return whether a whole statement moves before the loop: loop-invariant, and not affine in ``varying``."""
        names = names_of(statement)
        return any(self.is_early(self.depends[name]) and self.along.get(name) is None for name in names)

    def may_stand_ahead(self, statement: Statement) -> bool:
        """Return whether a statement can move before the loop: it is hoisted, or depends on neither index."""
        return self.is_whole(statement) or not any(self.depends[name] for name in names_of(statement))

    def keep(self, at: int, kept: dict[int, str]) -> None:
        """Collect the maximal hoistable nodes that a node depends on (or the node itself), and name them."""
        if self.is_kept(at):
            kept.setdefault(at, f"kept{len(kept)}")
        else:
            for operand in self.builder.nodes[at].arguments:
                self.keep(operand, kept)

    def computed(
        self, names: Sequence[str], kept: Mapping[int, str], nodes: Sequence[int] | None = None
    ) -> tuple[Statement, ...]:
        """Build the statement that computes values, or given nodes, from the kept nodes."""
        if not names:
            return ()
        results = [self.nodes[name] for name in names] if nodes is None else nodes
        graph, arguments = cut(TypedGraph("values", tuple(self.builder.nodes), tuple(results)), kept)
        return (Compute(tuple(names), graph, arguments),)


def cut(graph: TypedGraph, kept: Mapping[int, str]) -> tuple[TypedGraph, tuple[str, ...]]:
    """Cut a graph at some of its nodes, which become parameters; return it with the names of its parameters."""
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
            graph.nodes[at], tuple(parameters[operand] for operand in graph.nodes[at].arguments)
        )
    return builder.finish(graph.name, [parameters[at] for at in graph.results]), names
