"""Violation of a rule as reported by a rule function, and functions that return its position in the YAML."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from opdsl.native.entry import NativeFunction
from opdsl.native.source import Fault, Mapping, Node, Other, Scalar, Sequence, Source, fault_at
from opdsl.schema.violation import argument_part, part_span, return_part


class Place(NamedTuple):
    """YAML node, or a part of its text."""

    node: Node
    start: int = 0
    end: int | None = None


class Breach(NamedTuple):
    """Violation of a rule: the message, its position, and further positions."""

    message: str
    place: Place
    others: tuple[Place, ...] = ()


EntryRule = Callable[[NativeFunction], Iterator[Breach]]


def number(rule: Callable[..., object]) -> str:
    """Return the number of a rule from its function's name: ``inv_30_inherits`` is ``INV-30``."""
    return f"INV-{rule.__name__.split('_')[1]}"


def fault_of(source: Source, rule: str, breach: Breach) -> Fault:
    """Convert a violation to a fault with locations in the source."""
    others = tuple(_other(source, index) for index in breach.others)
    return fault_at(source, rule, breach.message, *breach.place)._replace(others=others)


def _other(source: Source, place: Place) -> Other:
    fault = fault_at(source, "", "", *place)
    return Other(fault.location, fault.start, fault.end)


# ------------------------------------------------------------------------------------------------------------ locations


def value(entry: NativeFunction, *path: str | int) -> Place:
    """Return the position of a key's value in an entry; of the operator's name if the entry does not have the key."""
    origin = entry.origin
    assert origin is not None, "entries are checked with their text"
    node = origin.node(*path)
    return name(entry) if node is origin.mapping else Place(node)


def name(entry: NativeFunction) -> Place:
    """Return the position of the operator's name in ``func``."""
    return _in_schema(entry, 0, len(str(entry.name)))


def argument(entry: NativeFunction, index: int) -> Place:
    """Return the position of an argument in ``func``."""
    return _in_schema(entry, *part_span(entry.schema, argument_part(index)))


def returned(entry: NativeFunction, index: int) -> Place:
    """Return the position of a return in ``func``."""
    return _in_schema(entry, *part_span(entry.schema, return_part(index)))


def dispatch_key(entry: NativeFunction, key: str) -> Place:
    """Return the position of a key in ``dispatch``, alone on its line or one of several."""
    assert entry.origin is not None, "entries are checked with their text"
    lines = entry.origin.node("dispatch")
    for line, _ in lines.pairs if isinstance(lines, Mapping) else ():
        start = 0
        for piece in line.text.split(","):
            if piece.strip() == key:
                start += len(piece) - len(piece.lstrip())
                return Place(line, start, start + len(key))
            start += len(piece) + 1
    return name(entry)


def part(entry: NativeFunction, text: str, *path: str | int) -> Place:
    """Return the position of a part of a scalar's text; of the whole scalar if the text is not found."""
    place = value(entry, *path)
    start = place.node.text.find(text) if isinstance(place.node, Scalar) else -1
    return Place(place.node, start, start + len(text)) if start >= 0 else place


def item(entry: NativeFunction, text: str, key: str) -> Place:
    """Return the position of a list's element with the given text; of the whole list if no element has it."""
    place = value(entry, key)
    items = place.node.items if isinstance(place.node, Sequence) else []
    return next((Place(element) for element in items if isinstance(element, Scalar) and element.text == text), place)


def _in_schema(entry: NativeFunction, start: int, end: int) -> Place:
    assert entry.origin is not None, "entries are checked with their text"
    return Place(entry.origin.node("func"), start, end)
