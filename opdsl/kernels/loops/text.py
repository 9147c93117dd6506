"""Readable text of loop IR programs."""

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
    TileProduct,
    Update,
    When,
    graphs_of,
)
from opdsl.scalar.graph import TypedGraph, show

__all__ = ["program_text"]


def program_text(program: Program) -> str:
    """Return the text of a program and of the scalar functions that it calls."""
    graphs = graphs_of(program.body)
    names = {graph: f"{graph.name}_{place}" for place, graph in enumerate(graphs)}
    parameters = [_parameter(parameter) for parameter in (*program.parameters, *program.scratch)]
    words = f"; {', '.join(program.words)}" if program.words else ""
    shared = f" by {program.lanes} lanes" if program.lanes > 1 else " by one thread" if program.is_serial else ""
    shared += "" if program.threaded is None else f" in threads of {program.threaded} loops"
    lines = [f"kernel {program.name}({', '.join(parameters)}{words}){shared}:"]
    lines += [f"    {line}" for line in _block(program.body, names)]
    texts = [show(TypedGraph(name, graph.nodes, graph.results)) for graph, name in names.items()]
    return "\n\n".join(["\n".join(lines), *texts])


def _parameter(parameter: Array | Scalar) -> str:
    if isinstance(parameter, Array):
        return f"{parameter.name}: {parameter.dtype.name}[{_joined(parameter.sizes)} | {_joined(parameter.strides)}]"
    return f"{parameter.name}: {parameter.type.value}"


def _block(statements: Sequence[Statement], names: dict[TypedGraph, str]) -> Iterator[str]:
    for statement in statements:
        yield from _lines(statement, names)


def _lines(statement: Statement, names: dict[TypedGraph, str]) -> Iterator[str]:
    if isinstance(statement, Load):
        guard = "" if statement.inside is None else f" if {statement.inside} else {statement.outside}"
        yield f"{statement.name}: {statement.type.value} = {_element(statement)}{guard}"
    elif isinstance(statement, Offset):
        guard = "" if statement.inside is None else f" if {statement.inside} else 0"
        yield f"{statement.name} = offset of {statement.array}[{_joined(statement.index)}]{guard}"
    elif isinstance(statement, Store):
        yield f"{statement.array}[{_joined(statement.index)}] = {statement.value}"
    elif isinstance(statement, Update):
        text = ", ".join("_" if name is None else name for name in statement.arguments)
        was = "" if statement.name is None else f"{statement.name}: {statement.there.value} = "
        yield f"{was}{_element(statement)} := {names[statement.graph]}({text})"
    elif isinstance(statement, Compute):
        yield f"{', '.join(statement.names)} = {names[statement.graph]}({_joined(statement.arguments)})"
    elif isinstance(statement, Local):
        yield f"local {_parameter(statement.array)}"
    elif isinstance(statement, Fetch):
        yield (
            f"fetch {statement.array}[{_joined(statement.index)}] of {statement.ahead} + 1 "
            f"for {statement.along[0]} < {statement.along[1]}"
        )
    elif isinstance(statement, TileProduct):
        rows, inner, columns = statement.rows, statement.inner, statement.columns
        sign, turned = "+=" if statement.adds else "=", "^T" if statement.is_transposed else ""
        yield (
            f"{statement.out} {sign} {statement.left} @ {statement.right}{turned} "
            f"of {rows} x {inner} x {columns} in rows of {_joined(statement.steps)}"
        )
    elif isinstance(statement, Inside):
        yield f"{statement.name} = ({_joined(statement.index)}) inside ({_joined(statement.sizes)})"
    elif isinstance(statement, Bound):
        yield f"{statement.name} = {statement.how}({statement.place}{_part(statement.part)}, {statement.size})"
    else:
        yield from _nested(statement, names)


def _nested(when: When | For | Fold | Scan, names: dict[TypedGraph, str]) -> Iterator[str]:
    if isinstance(when, When):
        yield f"when {when.condition}:"
    elif isinstance(when, For):
        together = f" by {when.vector}" if when.vector > 1 else ""
        turns = "down from" if when.is_reverse else "<"
        order = (" in order" if when.in_order else "") + _part(when.part)
        order += "" if when.place is None else f" at {when.place}"
        order += _bounds(when.bounds)
        yield f"for {when.index} {turns} {when.size}{order}{together}:"
    elif isinstance(when, Fold):
        ranges = ", ".join(f"{index} < {size}" for index, size in when.ranges)
        order = " in order" if when.in_order else ""
        order += _part(when.part) + _bounds(when.bounds)
        counts = "" if when.where is None else f" where {when.where}"
        yield f"{', '.join(when.names)} = fold {ranges}{order} of {names[when.combine]} from {when.neutral}:"
        yield from (f"    {line}" for line in _block(when.body, names))
        yield f"    -> {', '.join(when.values)}{counts}"
        return
    else:
        turns = "down from" if when.is_reverse else "<"
        kind = "scan" if when.is_associative else "recurrence"
        index, size = when.range
        turns = f"{index} {turns} {size}{_part(when.part)}"
        yield f"{', '.join(when.names)} = {kind} {turns} of {names[when.step]} from {when.first}:"
        yield from (f"    {line}" for line in _block(when.body, names))
        results = f" giving {', '.join(when.results)}" if when.results else ""
        yield f"    -> {', '.join(when.values)}{results}"
        yield from (f"    {line}" for line in _block(when.after, names))
        return
    yield from (f"    {line}" for line in _block(when.body, names))


def _element(access: Load | Update) -> str:
    offset = "" if access.offset is None else f" + {access.offset}"
    return f"{access.array}[{_joined(access.index)}{offset}]"


def _part(part: Part | None) -> str:
    return "" if part is None else f" in part {part.number} of {part.turns} each"


def _bounds(bounds: Bounds | None) -> str:
    return "" if bounds is None else f" from {bounds.begin} to {bounds.end}"


def _joined(values: Sequence[Index | Size]) -> str:
    return ", ".join(map(str, values))
