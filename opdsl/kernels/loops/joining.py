"""Merging of adjacent dimensions of a kernel's results."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import attrs

from opdsl.kernels.kernel import Index, Kernel, Read, moved_loop, moved_write
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph

if TYPE_CHECKING:
    from opdsl.kernels.calls import Layout, OperandSpec

__all__ = ["joined"]


def joined(kernel: Kernel, layout: Layout) -> tuple[Kernel, Layout]:
    """Merge adjacent ranges of a kernel's points wherever all operands step through both as through one.

    Args:
        kernel: the computation.
        layout: sizes and strides of its operands.
    """
    for place in reversed(range(len(kernel.ranges) - 1)):
        pair = _pair(kernel, place)
        if pair is not None and _is_one(kernel, layout, pair):
            kernel, layout = pair.kernel, _joined_layout(kernel, layout, pair)
    return kernel, layout


class _Pair(NamedTuple):
    """Two adjacent ranges that may be merged.

    place: of the first one among the ranges.
    kernel: the computation after merging.
    dims: for each operand that has both ranges, or whose further dimensions their indices index side by side, by name:
        whether it is the ranges that it has, and the position of the first among the ranges or further dimensions.
    """

    place: int
    kernel: Kernel
    dims: dict[str, tuple[bool, int]]


@functools.lru_cache(maxsize=4096)
def _pair(kernel: Kernel, place: int) -> _Pair | None:
    """Return a range and the next one as a pair, if their indices are used only unchanged and side by side; else
    None.
    """
    ranges = kernel.ranges[place : place + 2]
    names = tuple(axis.name for axis in ranges)
    if any(axis.is_pack for axis in ranges) or not {*names} <= {*kernel.points}:
        return None
    nodes = [kernel.sources.index(Index((name,))) if Index((name,)) in kernel.sources else None for name in names]
    if _is_computed_with(kernel, names, {at for at in nodes if at is not None}):
        return None
    dims: dict[str, tuple[bool, int]] = {}
    for operand in kernel.operands:
        own = [name for name in operand.ranges if name in names]
        if own and tuple(own) != names:
            return None
        if own:
            dims[operand.name] = True, operand.ranges.index(names[0])
    apart: set[str] = set()
    for access in (*kernel.reads, *kernel.writes):
        at = [kernel.graph.results[result] for result in access.at]
        used = [node for node in at if node in nodes]
        if not used:
            apart.add(access.operand)
            continue
        first = at.index(nodes[0]) if nodes[0] in at else -1
        if used != nodes or at[first : first + 2] != nodes or access.padding is not None:
            return None
        if dims.setdefault(access.operand, (False, first)) != (False, first):
            return None
    if any(name in apart and not has_ranges for name, (has_ranges, _) in dims.items()):
        return None
    return _Pair(place, _joined_kernel(kernel, place, nodes[1], dims), dims)


def _is_computed_with(kernel: Kernel, names: Sequence[str], indices: set[int]) -> bool:
    """Return whether anything but an access uses the indices of ranges."""
    graph = kernel.graph
    values = [at for loop in kernel.loops for at in loop.needs]
    values += [at for write in kernel.writes for at in (write.value, *write.guards)]
    counted = [source for source in kernel.sources if isinstance(source, Index) and len(source.ranges) > 1]
    return (
        any(at in indices for node in graph.nodes for at in node.arguments)
        or any(graph.results[at] in indices for at in values)
        or any({*names} & {*source.ranges} for source in counted)
    )


def _joined_kernel(kernel: Kernel, first: int, second: int | None, dims: dict[str, tuple[bool, int]]) -> Kernel:
    """Return the kernel without the second of two ranges; ``second`` is the node of its index."""
    range_name = kernel.ranges[first + 1].name
    graph = kernel.graph
    kept = [k for k, node in enumerate(graph.results) if node != second]
    moved = {k: at for at, k in enumerate(kept)}

    def without(results: Iterable[int]) -> tuple[int, ...]:
        return tuple(moved[at] for at in results if at in moved)

    operands = [
        attrs.evolve(
            operand,
            ranges=tuple(own for own in operand.ranges if own != range_name),
            dims=operand.dims - (operand.name in dims and not dims[operand.name][0]),
        )
        for operand in kernel.operands
    ]
    return attrs.evolve(
        kernel,
        ranges=tuple(axis for axis in kernel.ranges if axis.name != range_name),
        operands=tuple(operands),
        graph=graph if second is None else _without(graph, second, [graph.results[k] for k in kept]),
        sources=tuple(
            attrs.evolve(source, at=without(source.at)) if isinstance(source, Read) else source
            for at, source in enumerate(kernel.sources)
            if at != second
        ),
        loops=tuple(moved_loop(loop, without) for loop in kernel.loops),
        writes=tuple(
            attrs.evolve(moved_write(write, without), over=tuple(own for own in write.over if own != range_name))
            for write in kernel.writes
        ),
    )


def _without(graph: TypedGraph, parameter: int, results: Sequence[int]) -> TypedGraph:
    """Remove a parameter that none of the results needs from a graph."""
    builder = GraphBuilder()
    numbers: dict[int, int] = {}
    for at, node in enumerate(graph.nodes):
        if at != parameter:
            numbers[at] = builder.add(node._replace(arguments=tuple(numbers[argument] for argument in node.arguments)))
    return TypedGraph(graph.name, tuple(builder.nodes), tuple(numbers[at] for at in results))


def _is_one(kernel: Kernel, layout: Layout, pair: _Pair) -> bool:
    """Return whether in all operands the first dimension's stride is the second one's stride times its size."""
    (size,) = layout.sizes[pair.place + 1]
    specs = zip(kernel.operands, (*layout.inputs, *layout.outputs), strict=True)
    steps = [
        (spec.strides or (), _first(kernel, layout, pair, operand.name))
        for operand, spec in specs
        if operand.name in pair.dims
    ]
    return all(stride[at] == stride[at + 1] * size for stride, at in steps)


def _first(kernel: Kernel, layout: Layout, pair: _Pair, operand: str) -> int:
    """Return the position of the pair's first dimension among an operand's strides."""
    has_ranges, first = pair.dims[operand]
    counts = [len(sizes) for sizes in layout.sizes]
    packs = {axis.name: count for axis, count in zip(kernel.ranges, counts, strict=True)}
    own = kernel.operand(operand).ranges
    return sum(packs[name] for name in (own[:first] if has_ranges else own)) + (0 if has_ranges else first)


def _joined_layout(kernel: Kernel, layout: Layout, pair: _Pair) -> Layout:
    place = pair.place
    specs, dims = [*layout.inputs, *layout.outputs], [*layout.dims] or [()] * len(kernel.operands)
    for k, operand in enumerate(kernel.operands):
        if operand.name in pair.dims:
            specs[k] = _shorter(specs[k], _first(kernel, layout, pair, operand.name))
            has_ranges, first = pair.dims[operand.name]
            if not has_ranges:
                dims[k] = (*dims[k][:first], dims[k][first] * dims[k][first + 1], *dims[k][first + 2 :])
    count = len(layout.inputs)
    (one,), (other,) = layout.sizes[place : place + 2]
    return layout._replace(
        sizes=(*layout.sizes[:place], (one * other,), *layout.sizes[place + 2 :]),
        inputs=tuple(specs[:count]),
        outputs=tuple(specs[count:]),
        dims=tuple(dims),
    )


def _shorter(spec: OperandSpec, at: int) -> OperandSpec:
    strides = spec.strides or ()
    return spec._replace(strides=(*strides[:at], *strides[at + 1 :]))
