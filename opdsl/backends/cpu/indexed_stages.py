"""What loops over places compute once for many of them: positions and weights that do not depend on one dimension.

Such values are kept for all lanes of a tile while that dimension is gone through: columns of images while rows are,
points while channels are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from opdsl.backends.cpu.indexed_steps import NONE, Step, steps_of
from opdsl.kernels.calls import IndexedAccess, IndexedLoop
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.indexed import SKIP


class Stages(NamedTuple):
    """A graph in two parts, both with what is kept as parameters more, before those of what is read.

    early: what is kept is among its nodes. late: takes it as parameters.
    kept: the nodes of the first part. kinds: their types. depends: the dimensions that these depend on.
    read_early, read_late: the reads that each part takes.
    located: by read, its dimensions of which one offset in memory is kept instead of positions.
    """

    early: TypedGraph
    late: TypedGraph
    kept: tuple[int, ...]
    kinds: tuple[str, ...]
    depends: frozenset[int]
    read_early: frozenset[int]
    read_late: frozenset[int]
    located: dict[int, frozenset[int]]


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
    return _parts(loop, graph, kept, frozenset().union(*(depends[at] for at in early)), located)


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
