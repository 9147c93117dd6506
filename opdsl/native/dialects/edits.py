"""Edits of a text that keep the rest of it unchanged, and the mapping of indices back to the original text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import attrs

from opdsl.native.source import Location, Mapping, Node, Scalar, Sequence


class Edit(NamedTuple):
    """Replacement of a part of a text."""

    start: int
    end: int
    text: str


class Rewriting:
    """Text with edits applied.

    before, after: the original and the edited text.
    """

    def __init__(self, before: str, edits: Iterable[Edit]) -> None:
        self.before = before
        pieces: list[str] = []
        self._after: list[int] = [0]
        self._before: list[int] = [0]
        end, length = 0, 0
        for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
            if edit.start < end:
                continue  # an edit within a replaced part has no effect
            pieces += [before[end : edit.start], edit.text]
            length += edit.start - end + len(edit.text)
            end = edit.end
            self._after.append(length)
            self._before.append(end)
        self.after = "".join([*pieces, before[end:]])
        self.starts = [0, *(index + 1 for index, character in enumerate(before) if character == "\n")]

    def place_before(self, index: int) -> int:
        """Map an index of the edited text to the original one; within an edit, to the beginning of the replaced
        part.
        """
        step = bisect_right(self._after, index) - 1
        place = self._before[step] + index - self._after[step]
        following = self._before[step + 1] if step + 1 < len(self._before) else len(self.before)
        return max(0, min(place, following))

    def location_before(self, file: str, index: int) -> Location:
        """Map an index of the edited text to line and column of the original one."""
        place = self.place_before(index)
        line = bisect_right(self.starts, place)
        return Location(file, line, place - self.starts[line - 1] + 1)


@attrs.define
class Moved:
    """Position in the original text."""

    line: int
    column: int
    index: int


def moved_back(node: Node, rewriting: Rewriting) -> Node:
    """Copy a node of the edited text, with its positions mapped to the original text."""
    start, end = _mark(node.start.index, rewriting), _mark(node.end.index, rewriting)
    if isinstance(node, Scalar):
        return Scalar(node.text, node.quoted, start, end)
    if isinstance(node, Sequence):
        return Sequence([moved_back(item, rewriting) for item in node.items], start, end)
    return Mapping(list(_moved_pairs(node, rewriting)), start, end)


def _moved_pairs(node: Mapping, rewriting: Rewriting) -> Iterator[tuple[Scalar, Node]]:
    for key, value in node.pairs:
        moved = moved_back(key, rewriting)
        assert isinstance(moved, Scalar), "a scalar stays one"
        yield moved, moved_back(value, rewriting)


def _mark(index: int, rewriting: Rewriting) -> Moved:
    place = rewriting.place_before(index)
    line = bisect_right(rewriting.starts, place) - 1
    return Moved(line, place - rewriting.starts[line], place)


def content_end(text: str, node: Node) -> int:
    """Return the end of a node's text, without the trailing spaces and lines that libyaml includes."""
    if isinstance(node, Sequence) and node.items and not text.startswith("[", node.start.index):
        return content_end(text, node.items[-1])
    if isinstance(node, Mapping) and node.pairs and not text.startswith("{", node.start.index):
        key, value = node.pairs[-1]
        return max(content_end(text, key) + 1, content_end(text, value))
    end = node.end.index
    while end > node.start.index and text[end - 1] in " \t\r\n":
        end -= 1
    return end
