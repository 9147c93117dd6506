"""Text of a file, its YAML nodes, and locations for error messages."""

from __future__ import annotations

import weakref
from typing import NamedTuple, Protocol

from opdsl.schema.faults import shortened, underlined


class Mark(Protocol):
    """Protocol of libyaml's position in a text, counted from 0."""

    line: int
    column: int
    index: int


class Location(NamedTuple):
    """Location in a file, counted from 1.

    file: its name, or the name given to a text.
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
    """YAML scalar: its text, and whether it was quoted (or of a block style)."""

    __slots__ = ("end", "quoted", "start", "text")

    def __init__(self, text: str, quoted: bool, start: Mark, end: Mark) -> None:
        self.text = text
        self.quoted = quoted
        self.start = start
        self.end = end


class Sequence:
    """YAML sequence."""

    __slots__ = ("end", "items", "start")

    def __init__(self, items: list[Node], start: Mark, end: Mark) -> None:
        self.items = items
        self.start = start
        self.end = end


class Mapping:
    """YAML mapping, in the order of the text, with repeated keys kept."""

    __slots__ = ("end", "pairs", "start")

    def __init__(self, pairs: list[tuple[Scalar, Node]], start: Mark, end: Mark) -> None:
        self.pairs = pairs
        self.start = start
        self.end = end


Node = Scalar | Sequence | Mapping


class Source:
    """File name and text, with the nodes of its entries, and those of entries that were not read completely."""

    __slots__ = ("entries", "file", "text", "unread")

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self.entries: list[Node] = []
        self.unread: list[Node] = []


class Origin:
    """Origin of an entry: its source and its YAML mapping."""

    __slots__ = ("_owner", "mapping", "source")

    def __init__(self, source: Source, mapping: Mapping) -> None:
        self.source = source
        self.mapping = mapping
        self._owner: weakref.ref[object] | None = None

    def belongs_to(self, entry: object) -> None:
        """Record the value that was read from this mapping."""
        self._owner = weakref.ref(entry)

    def was_rewritten(self) -> None:
        """Record that the value differs from the text, since the text of an older dialect was converted."""
        self._owner = None

    def is_of(self, entry: object) -> bool:
        """Return whether a value is the one read here; a copy changed by ``attrs.evolve`` keeps its origin, but is
        not.
        """
        return self._owner is not None and self._owner() is entry

    def location(self, *path: str | int) -> Location:
        """Return the location of the entry, or of the node at ``path`` (of its last existing parent if there is
        none).
        """
        node = self.node(*path)
        return Location(self.source.file, node.start.line + 1, node.start.column + 1)

    def node(self, *path: str | int) -> Node:
        """Return the node at ``path``, or its last existing parent."""
        node: Node = self.mapping
        for step in path:
            inside = _step(node, step)
            if inside is None:
                break
            node = inside
        return node


def _step(node: Node, step: str | int) -> Node | None:
    """Return the value of a mapping's key (alone or one of several joined by commas), or the item of a sequence."""
    if isinstance(node, Mapping):
        for key, value in node.pairs:
            if step == key.text or step in [name.strip() for name in key.text.split(",")]:
                return value
    elif isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
        return node.items[step]
    return None


class Other(NamedTuple):
    """Further location of a fault: the other of two entries that contradict each other."""

    location: Location
    start: int
    end: int


class Fault(NamedTuple):
    r"""Violation of a rule, with its location.

    start, end: the offending text, as indices into the source's text.
    others: further locations that belong to it.
    rule: the number of the invariant, ``INV-49``.
    message: a description of the violation.
    location: of the offending text.

    >>> from opdsl.native import check, loads
    >>> check(loads("- func: f(int x) -> int\n  variants: method"))[0].rule
    'INV-49'
    """

    rule: str
    message: str
    location: Location
    start: int
    end: int
    others: tuple[Other, ...] = ()

    def shown(self, source: Source) -> str:
        """Format the fault: location, message, and the line with the offending text underlined; then further locations.

        Args:
            source: the source that contains it.
        """
        lines = [f"{self.location}: {self.message} [{self.rule}]", underlined(source.text, self.start, self.end)]
        for other in self.others:
            lines += [f"{other.location}: the other place", underlined(source.text, other.start, other.end)]
        return "\n".join(lines)


def fault_at(source: Source, rule: str, message: str, node: Node, start: int = 0, end: int | None = None) -> Fault:
    """Build a fault at a node, or at a part of its text between two offsets, if the source has the text literally."""
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
