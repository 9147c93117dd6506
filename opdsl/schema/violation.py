"""Violations of schema rules, with the position of the faulty part in the schema's text."""

from __future__ import annotations

from typing import NamedTuple

from opdsl.errors import SchemaError
from opdsl.schema.faults import underlined
from opdsl.schema.model import FunctionSchema, typed


class Part(NamedTuple):
    """Part of a schema: its name, or an argument or return by its index."""

    kind: str
    place: int


NAME = Part("name", 0)


def argument_part(index: int) -> Part:
    """Return the part that is the argument at an index, in schema order."""
    return Part("argument", index)


def return_part(index: int) -> Part:
    """Return the part that is the return at an index."""
    return Part("return", index)


class Violation(NamedTuple):
    """Violation of one rule.

    rule: its number in the facts, like ``INV-7``, or its name if it has none.
    message: the fault and its remedy.
    part: the faulty part of the schema.
    focus: the faulty piece of an argument or return: ``type``, ``name``, ``default``, or empty for all of it.
    """

    rule: str
    message: str
    part: Part
    focus: str = ""

    def span(self, schema: FunctionSchema) -> tuple[int, int]:
        """Return the start and end of the faulty part in ``str(schema)``."""
        return part_span(schema, self.part, self.focus)


def part_span(schema: FunctionSchema, part: Part, focus: str = "") -> tuple[int, int]:
    """Return the start and end in ``str(schema)`` of a part, or of the piece of it that ``focus`` names."""
    if part.kind == "name":
        return 0, len(str(schema.name))
    start = _start(schema, part)
    argument = (schema.arguments if part.kind == "argument" else schema.returns)[part.place]
    type, name_length = len(typed(argument.type, argument.alias)), len(argument.name or "")
    whole = len(str(argument))
    pieces = {"type": (0, type), "name": (type + 1, type + 1 + name_length), "default": (type + 2 + name_length, whole)}
    first, last = pieces.get(focus, (0, whole))
    return start + first, start + last


def _start(schema: FunctionSchema, part: Part) -> int:
    """Return the position in ``str(schema)`` where an argument or return begins."""
    position = len(str(schema.name)) + 1
    for index, argument in enumerate(schema.arguments):
        if index == len(schema.positional):
            position += len("*, ")
        if part == Part("argument", index):
            return position
        position += len(str(argument)) + len(", ")
    position += len(") -> ") - (len(", ") if schema.arguments else 0) + (len(schema.returns) != 1)
    for value in schema.returns[: part.place]:
        position += len(str(value)) + len(", ")
    return position


def violation_error(schema: FunctionSchema, violations: list[Violation]) -> SchemaError:
    """Return an error that shows every violation below the schema's text."""
    text = str(schema)
    shown = [f"{schema.name}: {one.message} [{one.rule}]\n{underlined(text, *one.span(schema))}" for one in violations]
    first = violations[0]
    start, end = first.span(schema)
    return SchemaError("\n".join(shown), rule=first.rule, start=start, end=end)
