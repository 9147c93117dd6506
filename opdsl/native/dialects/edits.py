"""Changes to a text that leave all the rest of it alone, and where in the text before them a place was."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import attrs

from opdsl.native.source import Location, Mapping, Node, Scalar, Sequence


class Edit(NamedTuple):
    """A part of a text, and what stands there instead."""

    start: int
    end: int
    text: str


class Rewriting:
    """A text with edits made in it.

    before, after: the texts.
    """

    def __init__(self, before: str, edits: Iterable[Edit]) -> None:
        self.before = before
        pieces: list[str] = []
        self._after: list[int] = [0]
        self._before: list[int] = [0]
        end, length = 0, 0
        for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
            if edit.start < end:
                continue  # what is inside of a part that is gone is gone with it
            pieces += [before[end : edit.start], edit.text]
            length += edit.start - end + len(edit.text)
            end = edit.end
            self._after.append(length)
            self._before.append(end)
        self.after = "".join([*pieces, before[end:]])
        self.starts = [0, *(index + 1 for index, character in enumerate(before) if character == "\n")]

    def place_before(self, index: int) -> int:
        """Where an index of the text after the edits was before them; within an edit, where that began to be."""
        step = bisect_right(self._after, index) - 1
        place = self._before[step] + index - self._after[step]
        following = self._before[step + 1] if step + 1 < len(self._before) else len(self.before)
        return max(0, min(place, following))

    def location_before(self, file: str, index: int) -> Location:
        """The same as line and column."""
        place = self.place_before(index)
        line = bisect_right(self.starts, place)
        return Location(file, line, place - self.starts[line - 1] + 1)


@attrs.define
class Moved:
    """A mark in the text before the edits."""

    line: int
    column: int
    index: int


def moved_back(node: Node, rewriting: Rewriting) -> Node:
    """A node of the text after the edits, with the marks of where it was before them."""
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
    """Where the text of a node ends, without the spaces and lines behind it that libyaml counts in."""
    if isinstance(node, Sequence) and node.items and not text.startswith("[", node.start.index):
        return content_end(text, node.items[-1])
    if isinstance(node, Mapping) and node.pairs and not text.startswith("{", node.start.index):
        key, value = node.pairs[-1]
        return max(content_end(text, key) + 1, content_end(text, value))
    end = node.end.index
    while end > node.start.index and text[end - 1] in " \t\r\n":
        end -= 1
    return end
