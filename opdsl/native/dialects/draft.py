"""Entry that is being rewritten: its parsed schema, its keys, and its changes."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from opdsl.native.dialects.edits import Edit, content_end
from opdsl.native.dialects.signature import Signature
from opdsl.native.dump import plain_or_quoted
from opdsl.native.source import Location, Mapping, Node, Scalar, Source


@attrs.frozen
class Change:
    """Change made by rewriting an entry.

    message: the old and the new text.
    location: of the old text.
    until: the last release of PyTorch that had the old form; None if it belongs to no dialect.
    needs_person: whether information was lost, so that a person has to review it.

    >>> from opdsl.native import upgrade
    >>> upgrade("- func: abs_out(Tensor result, Tensor self) -> Tensor").changes[0].location.line
    1
    """

    message: str
    location: Location
    until: str | None = None
    needs_person: bool = False

    def __str__(self) -> str:
        return f"{self.location}: {self.message}"


class Draft:
    """Entry that is being rewritten.

    signature: the parsed ``func``; None if it cannot be parsed.
    nodes: the values by their keys.
    changes: the changes, by message.
    """

    def __init__(self, source: Source, mapping: Mapping, is_flow: bool) -> None:
        self.source = source
        self.mapping = mapping
        self.is_flow = is_flow
        self.nodes: dict[str, Node] = {key.text: value for key, value in mapping.pairs}
        self.signature: Signature | None = None
        self.changes: dict[str, Change] = {}
        self._texts: dict[str, str] = {}
        self._edits: list[Edit] = []
        self._dropped: set[str] = set()

    @property
    def func(self) -> Scalar | None:
        """Return the scalar of the schema."""
        node = self.nodes.get("func")
        return node if isinstance(node, Scalar) else None

    def text(self, key: str) -> str | None:
        """Return the text of a key's value, after changes."""
        if key in self._dropped:
            return None
        node = self.nodes.get(key)
        return self._texts.get(key, node.text if isinstance(node, Scalar) else None)

    def has(self, key: str) -> bool:
        """Return whether the entry has a key, after changes."""
        return key not in self._dropped and (key in self.nodes or key in self._texts)

    def note(
        self, message: str, until: str | None = None, *, at: Node | None = None, needs_person: bool = False
    ) -> None:
        """Record a change, once for each message."""
        node = at or self.func or self.mapping
        location = Location(self.source.file, node.start.line + 1, node.start.column + 1)
        self.changes.setdefault(message, Change(message, location, until, needs_person))

    def put(self, key: str, text: str) -> None:
        """Set a key; ``text`` is YAML for its value."""
        self._dropped.discard(key)
        self._texts[key] = text

    def drop(self, key: str) -> None:
        """Remove a key."""
        self._texts.pop(key, None)
        self._dropped.add(key)

    def replace(self, start: int, end: int, text: str) -> None:
        """Replace a part of the text."""
        self._edits.append(Edit(start, end, text))

    def drop_pair(self, mapping: Mapping, index: int) -> None:
        """Remove one line of a mapping, keeping the comment above it."""
        self._edits.append(deletion(self.source.text, mapping, index))

    # ------------------------------------------------------------------------------------------------------- the text

    def scalar(self, text: str) -> str:
        """Format text as a YAML scalar that is valid in this entry."""
        written = plain_or_quoted(text)
        is_unsafe = self.is_flow and any(character in ",[]{}" for character in written)
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' if is_unsafe and written == text else written

    def edits(self) -> Iterator[Edit]:
        """Yield the edits of the file's text."""
        yield from self._edits
        text, added = self.source.text, []
        func = self.func
        if self.signature is not None and func is not None and str(self.signature) != func.text:
            yield Edit(func.start.index, content_end(text, func), self.scalar(str(self.signature)))
        for index, (key, value) in enumerate(self.mapping.pairs):
            if key.text in self._dropped or value is not self.nodes[key.text]:
                yield deletion(text, self.mapping, index)
            elif key.text in self._texts:
                end = max(content_end(text, value), key.end.index + 1)
                yield Edit(key.start.index, end, _line(key.text, self._texts[key.text]))
        added = [(key, value) for key, value in self._texts.items() if key not in self.nodes]
        if added and func is not None:
            yield self._insertion(content_end(text, func), added)

    def _insertion(self, end: int, added: list[tuple[str, str]]) -> Edit:
        """Return the edit that inserts new keys below ``func``."""
        if self.is_flow:
            return Edit(end, end, "".join(f", {_line(*texts)}" for texts in added))
        indent = " " * self.mapping.pairs[0][0].start.column
        lines = "".join(f"{indent}{_line(*texts)}\n" for texts in added)
        newline = self.source.text.find("\n", end)
        if newline < 0:
            length = len(self.source.text)
            return Edit(length, length, f"\n{lines}")
        return Edit(newline + 1, newline + 1, lines)

    def block(self, key: str, value: str) -> str:
        """Format a mapping with one pair as YAML."""
        if self.is_flow:
            return f"{{{key}: {self.scalar(value)}}}"
        indent = " " * (self.mapping.pairs[0][0].start.column + 2)
        return f"\n{indent}{key}: {self.scalar(value)}"


def _line(key: str, value: str) -> str:
    return f"{key}:{value}" if value.startswith("\n") else f"{key}: {value}"


def deletion(text: str, mapping: Mapping, index: int) -> Edit:
    """Return the edit that removes one line of a mapping."""
    key, value = mapping.pairs[index]
    start, end = key.start.index, max(content_end(text, value), key.end.index + 1)
    following = mapping.pairs[index + 1][0].start.index if index + 1 < len(mapping.pairs) else None
    line = text.rfind("\n", 0, start) + 1
    if text.startswith("{", mapping.start.index) or text[line:start].strip():
        if following is not None:
            return Edit(start, following, "")
        return Edit(content_end(text, mapping.pairs[index - 1][1]) if index else start, end, "")
    newline = text.find("\n", end)
    newline = len(text) if newline < 0 else newline
    if not text[end:newline].strip():
        return Edit(line, min(newline + 1, len(text)), "")
    return Edit(start, end + len(text[end:newline]) - len(text[end:newline].lstrip()), "")
