"""Merging of two adjacent dimensions of an indexed loop into one, where all accesses use both indices side by side."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from opdsl.kernels.loops.making import used_parameters
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph

if TYPE_CHECKING:
    from opdsl.kernels.calls import IndexedAccess, IndexedCall, IndexedLoop, OperandSpec

__all__ = ["joined"]


def joined(loop: IndexedLoop, call: IndexedCall) -> tuple[IndexedLoop, IndexedCall]:
    """Merge adjacent dimensions of an indexed loop's result wherever all operands step through both as through one.

    Args:
        loop: the computation.
        call: sizes and strides of its operands.
    """
    for index in reversed(range(loop.at - 1)):
        pair = _pair(loop, index)
        if pair is not None and _is_one(loop, call, pair):
            loop, call = pair.loop, _joined_call(loop, call, pair)
    return loop, call


class _Pair(NamedTuple):
    """Two adjacent dimensions of the result that may be merged.

    at: the first one.
    loop: the computation after merging.
    arrays: pairs of an array and its dimension that the first one indexes; -1 is an output that is added to.
    """

    at: int
    loop: IndexedLoop
    arrays: tuple[tuple[int, int], ...]


@functools.lru_cache(maxsize=4096)
def _pair(loop: IndexedLoop, index: int) -> _Pair | None:
    """Return dimension ``index`` and the next one as a pair, if their indices are used only unchanged and side by side;
    else None.
    """
    graph, pair = loop.graph, (index, index + 1)
    accesses = (*loop.reads, *loop.writes)
    count = sum(access.dims for access in accesses)
    if any(at in pair for node in graph.nodes for at in node.arguments) or {*pair} & {*graph.results[count:]}:
        return None
    if loop.finish is not None and used_parameters(loop.finish) & {len(loop.folded) + at for at in pair}:
        return None
    arrays: dict[int, int | None] = {}
    reads: list[IndexedAccess] = []
    writes: list[IndexedAccess] = []
    results, dropped = [], 0
    for k, access in enumerate(accesses):
        is_read = k < len(loop.reads)
        own = graph.results[access.first : access.first + access.dims]
        first = own.index(index) if index in own else None
        if [at for at in own if at in pair] != [*([] if first is None else pair)]:
            return None
        if first is not None and (own[first + 1] != index + 1 or access.margin is not None):
            return None
        if arrays.setdefault(access.array if is_read else -1, first) != first:
            return None
        (reads if is_read else writes).append(
            access._replace(first=access.first - dropped, dims=access.dims - (first is not None))
        )
        results += [at for at in own if at != index + 1]
        dropped += first is not None
    typed_graph = _without(graph, index + 1, (*results, *graph.results[count:]))
    finish = loop.finish and _without(loop.finish, len(loop.folded) + index + 1, loop.finish.results)
    one = loop._replace(graph=typed_graph, at=loop.at - 1, reads=tuple(reads), writes=tuple(writes), finish=finish)
    return _Pair(index, one, tuple((array, first) for array, first in arrays.items() if first is not None))


def _without(graph: TypedGraph, parameter: int, results: Sequence[int]) -> TypedGraph:
    """Remove a parameter that none of the results needs from a graph."""
    builder = GraphBuilder()
    numbers: dict[int, int] = {}
    for at, node in enumerate(graph.nodes):
        if at != parameter:
            numbers[at] = builder.add(node._replace(arguments=tuple(numbers[argument] for argument in node.arguments)))
    return TypedGraph(graph.name, tuple(builder.nodes), tuple(numbers[at] for at in results))


def _is_one(loop: IndexedLoop, call: IndexedCall, pair: _Pair) -> bool:
    """Return whether in all operands the first dimension's stride is the second one's stride times its size."""
    leading, size = len(call.leading), call.sizes[pair.at + 1]
    specs = [(_spec(call, array), leading + first) for array, first in pair.arrays]
    if not loop.writes:
        specs += [(spec, leading + pair.at) for spec in call.outputs]
    return all(_stride(spec, at) == _stride(spec, at + 1) * size for spec, at in specs)


def _spec(call: IndexedCall, array: int) -> OperandSpec:
    return call.outputs[0] if array < 0 else call.inputs[array]


def _stride(spec: OperandSpec, at: int) -> int:
    return (spec.strides or ())[at]


def _joined_call(loop: IndexedLoop, call: IndexedCall, pair: _Pair) -> IndexedCall:
    leading, at = len(call.leading), pair.at
    inputs, outputs, dimensions, written = [*call.inputs], [*call.outputs], [*call.dimensions], call.written
    for array, first in pair.arrays:
        if array < 0:
            outputs[0], written = _shorter(outputs[0], leading + first), _product(written, first)
        else:
            inputs[array] = _shorter(inputs[array], leading + first)
            dimensions[array] = _product(dimensions[array], first)
    if not loop.writes:
        outputs = [_shorter(output, leading + at) for output in outputs]
    return call._replace(
        sizes=_product(call.sizes, at),
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        dimensions=tuple(dimensions),
        written=written,
    )


def _shorter(spec: OperandSpec, at: int) -> OperandSpec:
    strides = spec.strides or ()
    return spec._replace(strides=(*strides[:at], *strides[at + 1 :]))


def _product(sizes: tuple[int, ...], at: int) -> tuple[int, ...]:
    return (*sizes[:at], sizes[at] * sizes[at + 1], *sizes[at + 2 :])
