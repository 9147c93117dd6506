"""The loop IR as readable text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opdsl.kernels.loops.model import (
    Array,
    Bound,
    Bounds,
    Compute,
    Fetch,
    Fold,
    For,
    Index,
    Inside,
    Load,
    Local,
    Offset,
    Part,
    Program,
    Scalar,
    Scan,
    Size,
    Statement,
    Store,
    Update,
    When,
    graphs_of,
)
from opdsl.scalar.graph import TypedGraph, show

__all__ = ["program_text"]


def program_text(program: Program) -> str:
    """A program, then the scalar functions that it calls."""
    graphs = graphs_of(program.body)
    names = {graph: f"{graph.name}_{place}" for place, graph in enumerate(graphs)}
    given = [_parameter(each) for each in (*program.parameters, *program.scratch)]
    words = f"; {', '.join(program.words)}" if program.words else ""
    shared = f" by {program.lanes} lanes" if program.lanes > 1 else " by one thread" if program.is_serial else ""
    shared += "" if program.threaded is None else f" in threads of {program.threaded} loops"
    lines = [f"kernel {program.name}({', '.join(given)}{words}){shared}:"]
    lines += [f"    {line}" for line in _block(program.body, names)]
    texts = [show(TypedGraph(name, graph.nodes, graph.results)) for graph, name in names.items()]
    return "\n\n".join(["\n".join(lines), *texts])


def _parameter(each: Array | Scalar) -> str:
    if isinstance(each, Array):
        return f"{each.name}: {each.dtype.name}[{_joined(each.sizes)} | {_joined(each.strides)}]"
    return f"{each.name}: {each.type.value}"


def _block(statements: Sequence[Statement], names: dict[TypedGraph, str]) -> Iterator[str]:
    for each in statements:
        yield from _lines(each, names)


def _lines(each: Statement, names: dict[TypedGraph, str]) -> Iterator[str]:
    if isinstance(each, Load):
        guard = "" if each.inside is None else f" if {each.inside} else {each.outside}"
        yield f"{each.name}: {each.type.value} = {_element(each)}{guard}"
    elif isinstance(each, Offset):
        guard = "" if each.inside is None else f" if {each.inside} else 0"
        yield f"{each.name} = offset of {each.array}[{_joined(each.index)}]{guard}"
    elif isinstance(each, Store):
        yield f"{each.array}[{_joined(each.index)}] = {each.value}"
    elif isinstance(each, Update):
        given = ", ".join("_" if name is None else name for name in each.arguments)
        was = "" if each.name is None else f"{each.name}: {each.there.value} = "
        yield f"{was}{_element(each)} := {names[each.graph]}({given})"
    elif isinstance(each, Compute):
        yield f"{', '.join(each.names)} = {names[each.graph]}({_joined(each.arguments)})"
    elif isinstance(each, Local):
        yield f"local {_parameter(each.array)}"
    elif isinstance(each, Fetch):
        yield f"fetch {each.array}[{_joined(each.index)}] of {each.ahead} + 1 for {each.along[0]} < {each.along[1]}"
    elif isinstance(each, Inside):
        yield f"{each.name} = ({_joined(each.index)}) inside ({_joined(each.sizes)})"
    elif isinstance(each, Bound):
        yield f"{each.name} = {each.how}({each.place}{_part(each.part)}, {each.size})"
    else:
        yield from _nested(each, names)


def _nested(each: When | For | Fold | Scan, names: dict[TypedGraph, str]) -> Iterator[str]:
    if isinstance(each, When):
        yield f"when {each.condition}:"
    elif isinstance(each, For):
        together = f" by {each.vector}" if each.vector > 1 else ""
        turns = "down from" if each.is_reverse else "<"
        order = (" in order" if each.in_order else "") + _part(each.part)
        order += "" if each.place is None else f" at {each.place}"
        order += _bounds(each.bounds)
        yield f"for {each.index} {turns} {each.size}{order}{together}:"
    elif isinstance(each, Fold):
        ranges = ", ".join(f"{index} < {size}" for index, size in each.ranges)
        order = " in order" if each.in_order else ""
        order += _part(each.part) + _bounds(each.bounds)
        counts = "" if each.where is None else f" where {each.where}"
        yield f"{', '.join(each.names)} = fold {ranges}{order} of {names[each.combine]} from {each.neutral}:"
        yield from (f"    {line}" for line in _block(each.body, names))
        yield f"    -> {', '.join(each.values)}{counts}"
        return
    else:
        turns = "down from" if each.is_reverse else "<"
        kind = "scan" if each.is_associative else "recurrence"
        index, size = each.range
        turns = f"{index} {turns} {size}{_part(each.part)}"
        yield f"{', '.join(each.names)} = {kind} {turns} of {names[each.step]} from {each.first}:"
        yield from (f"    {line}" for line in _block(each.body, names))
        results = f" giving {', '.join(each.results)}" if each.results else ""
        yield f"    -> {', '.join(each.values)}{results}"
        yield from (f"    {line}" for line in _block(each.after, names))
        return
    yield from (f"    {line}" for line in _block(each.body, names))


def _element(each: Load | Update) -> str:
    offset = "" if each.offset is None else f" + {each.offset}"
    return f"{each.array}[{_joined(each.index)}{offset}]"


def _part(part: Part | None) -> str:
    return "" if part is None else f" in part {part.number} of {part.turns} each"


def _bounds(bounds: Bounds | None) -> str:
    return "" if bounds is None else f" from {bounds.begin} to {bounds.end}"


def _joined(values: Sequence[Index | Size]) -> str:
    return ", ".join(map(str, values))
