"""Loops of pointwise calls, also with gathered or scattered operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opdsl.kernels.loops.making import Given, Loops, Maker, around, places
from opdsl.kernels.loops.model import Bound, Compute, Load, Statement, Store, Update
from opdsl.scalar.types import ScalarType

if TYPE_CHECKING:
    from opdsl.kernels.calls import IndirectCall, PointwiseCall
    from opdsl.scalar.graph import TypedGraph

__all__ = ["indirect", "pointwise"]


def pointwise(graph: TypedGraph, call: PointwiseCall) -> Loops:
    """Build the loops of ``Compiler.pointwise``.

    Args:
        graph: the computation of each element.
        call: sizes and strides of the operands.
    """
    maker = Maker(graph.name)
    ranges = maker.ranges("i", call.sizes)
    own = places(ranges)
    body: list[Statement] = []
    names = []
    for k, (spec, (_, kind)) in enumerate(zip(call.inputs, graph.parameters, strict=True)):
        if spec.strides is None or spec.counts:
            names.append(maker.number(f"x{k}", kind if spec.strides is None else ScalarType.INT64))
            if spec.strides is not None:
                steps = tuple(step // spec.dtype.itemsize for step in spec.strides)
                names[-1] = maker.linear(f"at{k}", ranges, steps, names[-1], kind, body)
            continue
        place = maker.array(f"a{k}", spec, ranges)
        body.append(Load(f"x{k}", place, own, kind))
        names.append(f"x{k}")
    results = tuple(f"y{k}" for k in range(len(call.outputs)))
    body.append(Compute(results, graph, tuple(names)))
    for k, (spec, name) in enumerate(zip(call.outputs, results, strict=True)):
        body.append(Store(maker.array(f"out{k}", spec, ranges), own, name))
    return maker.finish(around(ranges, body))


def indirect(graph: TypedGraph, call: IndirectCall) -> Loops:
    """Build the loops of a pointwise kernel that gathers or scatters one operand: its indices along some dimensions are
    read from index tensors (see ``Compiler.indirect``).

    Args:
        graph: the computation of each iteration.
        call: sizes and strides of the operands, and which of them is gathered or scattered.
    """
    maker = Maker(graph.name)
    ranges = maker.ranges("i", call.sizes)
    own = places(ranges)
    count, first = len(call.positions), len(call.inputs)
    moved = call.output if call.reads is None else call.inputs[call.reads]
    steps = [maker.given(f"step{k}", Given(first + count + k, moved.dtype.itemsize)) for k in range(count)]
    sizes = [maker.given(f"size{k}", Given(first + 2 * count + k, 1)) for k in range(count)]
    texts = tuple(f"p{k}" for k in range(count))
    extent = list(zip(sizes, steps, strict=True))
    updates = call.writes and call.reads is not None
    body: list[Statement] = []
    names: list[str | None] = []
    loads: list[Statement] = []
    for k, (spec, (_, kind)) in enumerate(zip(call.inputs, graph.parameters, strict=True)):
        if spec.strides is None:
            names.append(maker.number(f"x{k}", kind))
            continue
        is_moved = k == call.reads
        place = maker.array(f"a{k}", spec, ranges, extent if is_moved else ())
        if is_moved and updates:
            names.append(None)
            continue
        loads.append(Load(f"x{k}", place, own + texts if is_moved else own, kind))
        names.append(f"x{k}")
    for k, spec in enumerate(call.positions):
        body.append(Load(f"q{k}", maker.array(f"b{k}", spec, ranges), own, ScalarType.INT64))
        body.append(Bound(texts[k], f"q{k}", sizes[k], "wrap"))
    for _ in range(2 * count):
        maker.skip()
    body += loads
    target = maker.array("out", call.output, ranges, extent if call.writes else ())
    index = own + texts if call.writes else own
    if updates:
        body.append(Update(target, index, graph, tuple(names)))
    else:
        body.append(Compute(("y",), graph, _all_named(names)))
        body.append(Store(target, index, "y"))
    return maker.finish(around(ranges, body))


def _all_named(names: Sequence[str | None]) -> tuple[str, ...]:
    return tuple(name for name in names if name is not None)
