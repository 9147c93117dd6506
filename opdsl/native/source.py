"""Where values come from: a file's text, the YAML nodes in it, and places that errors can point at."""

from __future__ import annotations

import weakref
from typing import NamedTuple, Protocol

from opdsl.schema.faults import shortened, underlined


class Mark(Protocol):
    """A place in a text, counted from 0, as libyaml gives it."""

    line: int
    column: int
    index: int


class Location(NamedTuple):
    """A place in a file, counted from 1.

    file: its name, or what a text is called.
    line, column: counted from 1.

    >>> from opdsl.native import check, loads
    >>> str(loads("- func: relu(Tensor self) -> Tensor")[0].location("func"))
    '<string>:1:9'
    """

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Scalar:
    """A YAML scalar: its text, and whether it was quoted (or of a block style)."""

    __slots__ = ("end", "quoted", "start", "text")

    def __init__(self, text: str, quoted: bool, start: Mark, end: Mark) -> None:
        self.text = text
        self.quoted = quoted
        self.start = start
        self.end = end


class Sequence:
    """A YAML sequence."""

    __slots__ = ("end", "items", "start")

    def __init__(self, items: list[Node], start: Mark, end: Mark) -> None:
        self.items = items
        self.start = start
        self.end = end


class Mapping:
    """A YAML mapping, in the order of the text and with whatever keys are repeated."""

    __slots__ = ("end", "pairs", "start")

    def __init__(self, pairs: list[tuple[Scalar, Node]], start: Mark, end: Mark) -> None:
        self.pairs = pairs
        self.start = start
        self.end = end


Node = Scalar | Sequence | Mapping


class Source:
    """A file's name and text, the nodes of the entries in it, and those of which not everything could be read."""

    __slots__ = ("entries", "file", "text", "unread")

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self.entries: list[Node] = []
        self.unread: list[Node] = []


class Origin:
    """Where an entry was read: its source and the mapping in it."""

    __slots__ = ("_owner", "mapping", "source")

    def __init__(self, source: Source, mapping: Mapping) -> None:
        self.source = source
        self.mapping = mapping
        self._owner: weakref.ref[object] | None = None

    def belongs_to(self, entry: object) -> None:
        """Notes which value was read here."""
        self._owner = weakref.ref(entry)

    def was_rewritten(self) -> None:
        """Notes that the value is not quite what stands here: an older dialect's text was read by today's rules."""
        self._owner = None

    def is_of(self, entry: object) -> bool:
        """Whether this very value was read here; one changed with ``attrs.evolve`` only has its origin from there."""
        return self._owner is not None and self._owner() is entry

    def location(self, *path: str | int) -> Location:
        """The place of the entry, or of what ``path`` leads to; of the last value on the way where it leads nowhere."""
        node = self.node(*path)
        return Location(self.source.file, node.start.line + 1, node.start.column + 1)

    def node(self, *path: str | int) -> Node:
        """The node that ``path`` leads to; the last one on the way where it leads nowhere."""
        node: Node = self.mapping
        for step in path:
            inside = _step(node, step)
            if inside is None:
                break
            node = inside
        return node


def _step(node: Node, step: str | int) -> Node | None:
    """The node inside a mapping under a key (alone or one of several joined by commas), or at a place of a sequence."""
    if isinstance(node, Mapping):
        for key, value in node.pairs:
            if step == key.text or step in [name.strip() for name in key.text.split(",")]:
                return value
    elif isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
        return node.items[step]
    return None


class Other(NamedTuple):
    """A further place that a fault is about: the other of two entries that do not go together."""

    location: Location
    start: int
    end: int


class Fault(NamedTuple):
    """A broken rule at a place.

    start, end: the offending text, as indices into the source's text.
    others: further places that belong to it.
    rule: the number of the invariant, ``INV-49``.
    message: what is wrong.
    location: where.

    >>> from opdsl.native import check, loads
    >>> check(loads("- func: f(int x) -> int\\n  variants: method"))[0].rule
    'INV-49'
    """

    rule: str
    message: str
    location: Location
    start: int
    end: int
    others: tuple[Other, ...] = ()

    def shown(self, source: Source) -> str:
        """The place, what is wrong, and the line with the offending text underlined; then the other places.

        Args:
            source: the text that it is in.
        """
        lines = [f"{self.location}: {self.message} [{self.rule}]", underlined(source.text, self.start, self.end)]
        for other in self.others:
            lines += [f"{other.location}: the other place", underlined(source.text, other.start, other.end)]
        return "\n".join(lines)


def fault_at(source: Source, rule: str, message: str, node: Node, start: int = 0, end: int | None = None) -> Fault:
    """A fault at a node, or at the part of its text between two offsets where the text stands there as it is."""
    first, last = node.start.index, node.end.index
    line, column = node.start.line, node.start.column
    if isinstance(node, Scalar) and node.start.line == node.end.line:
        shift = 1 if node.quoted else 0
        if last - first == len(node.text) + 2 * shift:
            first, column = first + shift + start, column + shift + start
            last = first + (len(node.text) if end is None else max(end, start + 1)) - start
    elif node.end.line > line:
        newline = source.text.find("\n", first)
        last = newline if newline >= 0 else last
    return Fault(rule, shortened(message), Location(source.file, line + 1, column + 1), first, max(last, first + 1))
