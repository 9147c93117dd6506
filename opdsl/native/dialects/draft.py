"""An entry while it is rewritten: its schema taken apart, its keys, and what was changed."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from opdsl.native.dialects.edits import Edit, content_end
from opdsl.native.dialects.signature import Signature
from opdsl.native.dump import plain_or_quoted
from opdsl.native.source import Location, Mapping, Node, Scalar, Source


@attrs.frozen
class Change:
    """Something that was rewritten.

    message: what was there, and what is there now.
    location: where it was.
    until: the last release of PyTorch that wrote it so; None for what belongs to no dialect.
    needs_person: whether something was said that today's form cannot say.

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
    """One entry.

    signature: what ``func`` says; None where it cannot be read.
    nodes: the values by their keys.
    changes: what was changed, by its message.
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
        """The text of the schema."""
        node = self.nodes.get("func")
        return node if isinstance(node, Scalar) else None

    def text(self, key: str) -> str | None:
        """The text of a key's value, as it will be."""
        if key in self._dropped:
            return None
        node = self.nodes.get(key)
        return self._texts.get(key, node.text if isinstance(node, Scalar) else None)

    def has(self, key: str) -> bool:
        """Whether the entry has a key, or will have it."""
        return key not in self._dropped and (key in self.nodes or key in self._texts)

    def note(
        self, message: str, until: str | None = None, *, at: Node | None = None, needs_person: bool = False
    ) -> None:
        """Notes a change, once for each message."""
        node = at or self.func or self.mapping
        location = Location(self.source.file, node.start.line + 1, node.start.column + 1)
        self.changes.setdefault(message, Change(message, location, until, needs_person))

    def put(self, key: str, text: str) -> None:
        """Writes a key: ``text`` is YAML for its value."""
        self._dropped.discard(key)
        self._texts[key] = text

    def drop(self, key: str) -> None:
        """Leaves a key out."""
        self._texts.pop(key, None)
        self._dropped.add(key)

    def replace(self, start: int, end: int, text: str) -> None:
        """Writes a part of the text anew."""
        self._edits.append(Edit(start, end, text))

    def drop_pair(self, mapping: Mapping, index: int) -> None:
        """Leaves one line of a mapping out, with the comment below which it stands kept."""
        self._edits.append(deletion(self.source.text, mapping, index))

    # ------------------------------------------------------------------------------------------------------- the text

    def scalar(self, text: str) -> str:
        """A text as YAML, where the entry stands."""
        written = plain_or_quoted(text)
        is_unsafe = self.is_flow and any(character in ",[]{}" for character in written)
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' if is_unsafe and written == text else written

    def edits(self) -> Iterator[Edit]:
        """What is to be written anew in the file."""
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
        """New keys below ``func``."""
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
        """YAML for a mapping of one line."""
        if self.is_flow:
            return f"{{{key}: {self.scalar(value)}}}"
        indent = " " * (self.mapping.pairs[0][0].start.column + 2)
        return f"\n{indent}{key}: {self.scalar(value)}"


def _line(key: str, value: str) -> str:
    return f"{key}:{value}" if value.startswith("\n") else f"{key}: {value}"


def deletion(text: str, mapping: Mapping, index: int) -> Edit:
    """The edit that takes one line out of a mapping."""
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
