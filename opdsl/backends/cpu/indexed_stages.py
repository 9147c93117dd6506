"""What loops over places compute once for many of them: positions and weights that do not depend on one dimension.

Such values are kept for all lanes of a tile while that dimension is gone through: columns of images while rows are,
points while channels are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from opdsl.backends.cpu.indexed_steps import NONE, Step, steps_of
from opdsl.kernels.calls import IndexedAccess, IndexedLoop
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.indexed import SKIP
from opdsl.scalar.types import FLOAT


class Stages(NamedTuple):
    """A graph in two parts, both with what is kept as parameters more, before those of what is read.

    early: what is kept is among its nodes. late: takes it as parameters.
    kept: the nodes of the first part. kinds: their types. depends: the dimensions that these depend on.
    read_early, read_late: the reads that each part takes.
    located: by read, its dimensions of which one offset in memory is kept instead of positions.
    factors: where values are summed while the dimension is gone through, what is kept that each sum is multiplied with
        in the end, None for nothing; () where they are not.
    """

    early: TypedGraph
    late: TypedGraph
    kept: tuple[int, ...]
    kinds: tuple[str, ...]
    depends: frozenset[int]
    read_early: frozenset[int]
    read_late: frozenset[int]
    located: dict[int, frozenset[int]]
    factors: tuple[int | None, ...]


def repeated_dimension(loop: IndexedLoop, graph: TypedGraph, leading: int, lane: int, sizes: Sequence[int]) -> int:
    """The dimension that something may be kept for while it is gone through; -1 for none."""
    if loop.over or lane >= leading + loop.at:
        return -1
    for dimension in reversed(range(leading + loop.at)):
        is_found = dimension != lane and staged(loop, graph, leading, lane, dimension) is not None
        if is_found and sizes[dimension] >= 2:
            return dimension
    return -1


def staged(loop: IndexedLoop, graph: TypedGraph, leading: int, lane: int, repeated: int) -> Stages | None:
    """The parts of a graph; None where no position that steps unevenly is the same along the dimension."""
    if any(each.margin == SKIP for each in loop.reads):
        return None
    depends = _dependencies(loop, graph, leading)
    factors: list[int] = []
    is_summed = bool(loop.writes) and _is_one_place(loop, graph, leading, lane, repeated, depends)
    if is_summed:
        is_same = [repeated not in each for each in depends]
        graph, factors = taken_out(loop, graph, is_same, [lane in each for each in depends])
        depends = _dependencies(loop, graph, leading)
    first_read = len(graph.parameters) - len(loop.reads)
    is_early = [
        lane in found and repeated not in found and graph.nodes[at].op not in ("parameter", "constant")
        for at, found in enumerate(depends)
    ]
    steps = [each for access in steps_of(loop, graph, lane - leading) for each in access]
    positions = graph.results[: len(steps)]
    if not any(is_early[at] and step is None for at, step in zip(positions, steps, strict=True)):
        return None
    used = {each for at, node in enumerate(graph.nodes) if not is_early[at] for each in node.arguments}
    even = {at for at, step in zip(positions, steps, strict=True) if step is not None}
    for k in range(len(loop.reads)):  # what is read early, and used late, is kept too
        found = depends[first_read + k]
        is_early[first_read + k] = lane in found and repeated not in found
    located = _located(loop, is_early, positions, steps)
    offset = {loop.reads[k].first + d for k, dims in located.items() for d in dims}
    results = {at for place, at in enumerate(graph.results) if place not in offset}
    kept = [at for at in range(len(graph.nodes)) if is_early[at] and (at in used or at in results) and at not in even]
    early = [*kept, *(graph.results[place] for place in sorted(offset))]
    parts = _parts(loop, graph, kept, frozenset().union(*(depends[at] for at in early)), located)
    return parts._replace(factors=tuple(kept.index(at) if at in kept else None for at in factors))


def _is_one_place(
    loop: IndexedLoop, graph: TypedGraph, leading: int, lane: int, repeated: int, depends: Sequence[set[int]]
) -> bool:
    """Whether all that is added while a dimension is gone through is added at one place."""
    count = len(loop.reads)
    for access, steps in zip(loop.writes, steps_of(loop, graph, lane - leading)[count:], strict=True):
        positions = graph.results[access.first : access.first + access.dims]
        if (access.leads and repeated < leading) or None in steps or any(repeated in depends[at] for at in positions):
            return False
    return True


def taken_out(
    loop: IndexedLoop, graph: TypedGraph, is_same: Sequence[bool], varies: Sequence[bool]
) -> tuple[TypedGraph, list[int]]:
    """Take what all terms of a sum are multiplied with out of these.

    Args:
        loop, graph: values are added.
        is_same: by node, whether it is the same in all terms.
        varies: by node, whether it differs from lane to lane: other factors are not worth to be kept.

    Returns:
        The graph with these factors as results more, and where they are.
    """
    builder = GraphBuilder()
    places = builder.inline(graph)
    same = {places[at] for at, each in enumerate(is_same) if each}
    kept = {places[at] for at, each in enumerate(varies) if each and is_same[at]}
    first = len(graph.results) - len(loop.writes)
    products = []
    for value in (places[at] for at in graph.results[first:]):
        found = _split(builder, value, same, {})
        is_kept = kept & builder.needed((found.factor,))
        products.append(found if is_kept else _Product(value, builder.constant(1, builder.nodes[value].type)))
    results = [places[at] for at in graph.results[:first]]
    made = builder.finish(
        graph.name, [*results, *(each.term for each in products), *(each.factor for each in products)]
    )
    return made, list(made.results[-len(products) :])


class _Product(NamedTuple):
    """A value as a term, and what that is multiplied with."""

    term: int
    factor: int


def _split(builder: GraphBuilder, at: int, same: Collection[int], known: dict[int, _Product]) -> _Product:
    if at not in known:
        known[at] = _split_node(builder, at, same, known)
    return known[at]


def _split_node(builder: GraphBuilder, at: int, same: Collection[int], known: dict[int, _Product]) -> _Product:
    node, one = builder.nodes[at], builder.constant(1, builder.nodes[at].type)
    if node.type.category != FLOAT or at in same:
        return _Product(at, one)
    known_part, rest = ([each for each in node.arguments if (each in same) == is_in] for is_in in (True, False))
    if (
        node.op == "negative"
        or (node.op == "multiply" and len(rest) == 1)
        or (node.op == "divide" and rest == [node.arguments[0]])
    ):
        term, factor = _split(builder, rest[0], same, known)
        return _Product(term, builder.node(node.op, (factor, *known_part), node.type))
    if node.op == "select" and node.arguments[0] in same:
        zero = builder.constant(0, node.type)
        sides = [
            _Product(zero, zero) if each == zero else _split(builder, each, same, known) for each in node.arguments[1:]
        ]
        terms = {each.term for each in sides} - {zero}
        if len(terms) == 1:
            factors = tuple(each.factor for each in sides)
            return _Product(terms.pop(), builder.node("select", (node.arguments[0], *factors), node.type))
    return _Product(at, one)


def _located(
    loop: IndexedLoop, is_early: Sequence[bool], positions: Sequence[int], steps: Sequence[Step | None]
) -> dict[int, frozenset[int]]:
    """The reads whose positions are kept, but for those that are the same for all lanes; and which are."""
    found = {}
    for k, access in enumerate(loop.reads):
        places = range(access.first, access.first + access.dims)
        uneven = [place for place in places if steps[place] is None]
        is_rest_same = all(steps[place] in (None, NONE) for place in places)
        if uneven and is_rest_same and all(is_early[positions[place]] for place in uneven):
            found[k] = frozenset(place - access.first for place in uneven)
    # Many elements at few rows and columns: these take less room than the offsets.
    nodes = {positions[loop.reads[k].first + d] for k, dims in found.items() for d in dims}
    return found if len(found) < 2 * len(nodes) else {}


def _parts(
    loop: IndexedLoop,
    graph: TypedGraph,
    kept: Sequence[int],
    depends: frozenset[int],
    located: dict[int, frozenset[int]],
) -> Stages:
    first_read = len(graph.parameters) - len(loop.reads)
    early, places = _part(graph, first_read, kept, is_late=False)
    late, _ = _part(graph, first_read, kept, is_late=True)
    first = first_read + len(kept)
    needed = _reads_in(loop, late, late.results[sum(each.dims for each in loop.reads) :], first, located)
    located = {k: dims for k, dims in located.items() if k in needed}
    offsets = [early.results[loop.reads[k].first + d] for k, dims in located.items() for d in dims]
    return Stages(
        early,
        late,
        places,
        tuple(str(graph.nodes[at].type) for at in kept),
        depends,
        _reads_in(loop, early, (*places, *offsets), first, {}),
        needed,
        located,
        (),
    )


def _part(
    graph: TypedGraph, first_read: int, kept: Sequence[int], *, is_late: bool
) -> tuple[TypedGraph, tuple[int, ...]]:
    """A graph with what is kept as parameters; and where that is computed, unless it takes these."""
    builder = GraphBuilder()
    parameters = [builder.parameter(str(name), kind) for name, kind in graph.parameters[:first_read]]
    given = [builder.parameter(f"kept{k}", graph.nodes[at].type) for k, at in enumerate(kept)]
    parameters += [builder.parameter(str(name), kind) for name, kind in graph.parameters[first_read:]]
    found: list[int] = []
    for at, node in enumerate(graph.nodes):
        if is_late and at in kept:
            found.append(given[kept.index(at)])
        elif node.op == "parameter":
            found.append(parameters[at])
        else:
            found.append(builder.copy(node, tuple(found[each] for each in node.arguments)))
    count = len(graph.results)
    made = builder.finish(graph.name, [found[at] for at in (*graph.results, *(() if is_late else kept))])
    return TypedGraph(made.name, made.nodes, made.results[:count]), made.results[count:]


def _reads_in(
    loop: IndexedLoop,
    graph: TypedGraph,
    results: Sequence[int],
    first_read: int,
    located: dict[int, frozenset[int]],
) -> frozenset[int]:
    """The reads that some results need, and those that their positions need where no offset stands for these."""
    needed: set[int] = set()
    waiting = list(results)
    while waiting:
        at = waiting.pop()
        if at in needed:
            continue
        needed.add(at)
        waiting.extend(graph.nodes[at].arguments)
        if graph.nodes[at].op == "parameter" and at >= first_read:
            access, offset = loop.reads[at - first_read], located.get(at - first_read, ())
            waiting.extend(graph.results[access.first + d] for d in range(access.dims) if d not in offset)
    return frozenset(at - first_read for at in needed if at >= first_read and graph.nodes[at].op == "parameter")


def _access_dependencies(
    graph: TypedGraph, access: IndexedAccess, depends: Sequence[set[int]], leading: int
) -> set[int]:
    found = set(range(leading)) if access.leads else set()
    return found.union(*(depends[at] for at in graph.results[access.first : access.first + access.dims]))


def _dependencies(loop: IndexedLoop, graph: TypedGraph, leading: int) -> list[set[int]]:
    """The dimensions that each node depends on."""
    first_read = len(graph.parameters) - len(loop.reads)
    found: list[set[int]] = []
    for at, node in enumerate(graph.nodes):
        if node.op != "parameter":
            found.append(set().union(*(found[each] for each in node.arguments)))
        elif at < first_read:
            found.append({leading + at} if at < loop.at + loop.over else set())
        else:
            found.append(set())
    # What is read depends on where: positions of one come from what was read before it.
    for k, access in enumerate(loop.reads):
        found[first_read + k] = _access_dependencies(graph, access, found, leading)
        for at, node in enumerate(graph.nodes):
            if node.op != "parameter":
                found[at] = set().union(*(found[each] for each in node.arguments))
    return found
