"""Rewriting of statements for schedules: renaming, copying of definitions, dead code elimination."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import attrs

from opdsl.kernels.loops.making import part_of
from opdsl.kernels.loops.model import (
    Argument,
    Array,
    Bound,
    Compute,
    Inside,
    Load,
    Offset,
    Program,
    Size,
    Statement,
    Steps,
    names_of,
    statements_of,
)

__all__ = ["alive", "giving", "read_by", "renamed", "replayed", "specialised"]


def specialised(program: Program, known: Mapping[str, Argument]) -> Program:
    """Replace some words of a program by constants, or by others of its words."""
    parameters = [
        attrs.evolve(parameter, sizes=_sizes(parameter.sizes, known), strides=_sizes(parameter.strides, known))
        if isinstance(parameter, Array)
        else parameter
        for parameter in program.parameters
    ]
    words = tuple(word for word in program.words if word not in known)
    return attrs.evolve(
        program,
        parameters=tuple(parameters),
        words=words,
        body=tuple(renamed(statement, known) for statement in program.body),
    )


def _sizes(sizes: Sequence[Size], to: Mapping[str, Argument]) -> tuple[Size, ...]:
    return tuple(_size(size, to) for size in sizes)


def _size(size: Size, to: Mapping[str, Argument]) -> Size:
    value: Size = _Renaming(to).value(size)
    return value


def renamed(statement: Statement, to: Mapping[str, Argument]) -> Statement:
    """Replace names in a statement by other names or by numbers."""
    return _Renaming(to).statement(statement)


class _Renaming:
    def __init__(self, to: Mapping[str, Argument]) -> None:
        self.to = to

    def statement(self, statement: Statement) -> Statement:
        """Return a statement with its names replaced."""
        fields: dict[str, Any] = {field: self.field(field, value) for field, value in _fields(statement)}
        return type(statement)(**fields)

    def field(self, name: str, value: Any) -> Any:
        """Return the value of a statement's field with its names replaced."""
        if name in _UNNAMED or value is None:
            return value
        if name in ("body", "after"):
            return tuple(self.statement(statement) for statement in value)
        return self.value(value)

    def value(self, value: Any) -> Any:
        """Return a name, a number, or a tuple of these with names replaced."""
        if isinstance(value, str):
            return self.to.get(value, value)
        if isinstance(value, tuple):
            values = [self.value(element) for element in value]
            return tuple(values) if type(value) is tuple else type(value)(*values)
        if isinstance(value, Steps):
            return attrs.evolve(value, **{name: self.value(field) for name, field in attrs.asdict(value).items()})
        return value


_UNNAMED = frozenset({
    "array", "type", "outside", "graph", "combine", "of_some", "step", "how", "vector", "in_order", "is_reverse",
    "is_associative", "out", "left", "right", "is_transposed", "adds",
})  # fmt: skip
"""Names of the fields of statements that contain no names of values."""


def _fields(node: Statement | Steps) -> Iterator[tuple[str, Any]]:
    for field in attrs.fields(type(node)):
        yield field.name, getattr(node, field.name)


def read_by(node: Statement | Steps) -> set[str]:
    """Return the names that a statement, and those nested in it, read."""
    names: set[str] = set()
    for field, value in _fields(node):
        if field not in _UNNAMED and field not in ("name", "names"):
            names |= _names_in(value)
    return names


def _names_in(value: Any) -> set[str]:
    if isinstance(value, str):
        return {value}
    if isinstance(value, tuple):
        return set().union(*(_names_in(element) for element in value))
    return read_by(value) if attrs.has(type(value)) else set()


def replayed(
    statements: Sequence[Statement], wanted: Collection[str], to: Mapping[str, Argument], suffix: str
) -> tuple[list[Statement], dict[str, Argument]]:
    """Copy the statements that compute some values, with other loop indices.

    Args:
        statements: a block; the values are computed by ``Compute`` and ``Bound`` in it, also nested.
        wanted: the values; those that the block does not compute stay unchanged.
        to: the replacements of indices.
        suffix: of the names of the copies.

    Returns:
        The copies, and the replacements of all names.
    """
    definitions = giving(statements, wanted, (Compute, Bound))
    names = {name: f"{name}{suffix}" for statement in definitions for name in names_of(statement)}
    return [renamed(statement, {**to, **names}) for statement in definitions], {**to, **names}


def giving(
    statements: Sequence[Statement],
    wanted: Collection[str],
    kinds: tuple[type[Statement], ...] = (Compute, Bound, Inside, Offset, Load),
) -> list[Statement]:
    """Return the statements that values depend on (a backward slice); graphs are cut to the results that are needed.

    Args:
        statements: a block, with nested statements.
        wanted: the values.
        kinds: the types of statements to keep.
    """
    needed, computes = set(wanted), []
    for statement in reversed(list(statements_of(tuple(statements)))):
        if isinstance(statement, kinds) and needed & names_of(statement):
            part = _giving(statement, needed) if isinstance(statement, Compute) else statement
            computes.append(part)
            needed |= read_by(part)
    return computes[::-1]


def _giving(compute: Compute, wanted: Collection[str]) -> Compute:
    """Cut a Compute to the wanted values."""
    kept = [k for k, name in enumerate(compute.names) if name in wanted]
    graph, used = part_of(compute.graph, tuple(compute.graph.results[k] for k in kept), name=compute.graph.name)
    return Compute(tuple(compute.names[k] for k in kept), graph, tuple(compute.arguments[k] for k in used))


def alive(statements: Sequence[Statement], read_behind: Collection[str] = ()) -> tuple[Statement, ...]:
    """Eliminate dead code: drop statements whose values nothing reads."""
    needed, kept = set(read_behind), []
    for statement in reversed(statements):
        if isinstance(statement, (Compute, Bound, Inside, Offset, Load)) and not needed & names_of(statement):
            continue
        needed |= read_by(statement)
        kept.append(statement)
    return tuple(reversed(kept))
