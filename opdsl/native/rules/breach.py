"""A broken rule as a rule function reports it, and the places in the YAML that it can point at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from opdsl.native.entry import NativeFunction
from opdsl.native.source import Fault, Mapping, Node, Other, Scalar, Sequence, Source, fault_at
from opdsl.schema.violation import argument_part, part_span, return_part


class Place(NamedTuple):
    """A YAML node, or a part of its text."""

    node: Node
    start: int = 0
    end: int | None = None


class Breach(NamedTuple):
    """What is wrong, where, and the other places that it is about."""

    message: str
    place: Place
    others: tuple[Place, ...] = ()


EntryRule = Callable[[NativeFunction], Iterator[Breach]]


def number(rule: Callable[..., object]) -> str:
    """The number of a rule, from the name of its function: ``inv_30_inherits`` is ``INV-30``."""
    return f"INV-{rule.__name__.split('_')[1]}"


def fault_of(source: Source, rule: str, breach: Breach) -> Fault:
    """The fault with its places in the text."""
    others = tuple(_other(source, index) for index in breach.others)
    return fault_at(source, rule, breach.message, *breach.place)._replace(others=others)


def _other(source: Source, place: Place) -> Other:
    fault = fault_at(source, "", "", *place)
    return Other(fault.location, fault.start, fault.end)


# -------------------------------------------------------------------------------------------------------------- places


def value(entry: NativeFunction, *path: str | int) -> Place:
    """The value under a key of an entry; the operator's name where the entry does not have the key."""
    origin = entry.origin
    assert origin is not None, "entries are checked with their text"
    node = origin.node(*path)
    return name(entry) if node is origin.mapping else Place(node)


def name(entry: NativeFunction) -> Place:
    """The operator's name in ``func``."""
    return _in_schema(entry, 0, len(str(entry.name)))


def argument(entry: NativeFunction, index: int) -> Place:
    """An argument in ``func``."""
    return _in_schema(entry, *part_span(entry.schema, argument_part(index)))


def returned(entry: NativeFunction, index: int) -> Place:
    """A return in ``func``."""
    return _in_schema(entry, *part_span(entry.schema, return_part(index)))


def dispatch_key(entry: NativeFunction, key: str) -> Place:
    """A key in ``dispatch``, alone in its line or one of several."""
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
    """A part of a scalar's text; all of it where the text is not in it."""
    place = value(entry, *path)
    start = place.node.text.find(text) if isinstance(place.node, Scalar) else -1
    return Place(place.node, start, start + len(text)) if start >= 0 else place


def item(entry: NativeFunction, text: str, key: str) -> Place:
    """The element of a list that is a text; the whole value where none is."""
    place = value(entry, key)
    items = place.node.items if isinstance(place.node, Sequence) else []
    return next((Place(tensor) for tensor in items if isinstance(tensor, Scalar) and tensor.text == text), place)


def _in_schema(entry: NativeFunction, start: int, end: int) -> Place:
    assert entry.origin is not None, "entries are checked with their text"
    return Place(entry.origin.node("func"), start, end)
