"""Index of entries that could not be read completely, and of their variants.

Rules that report something missing ignore such entries, since the missing part may only be unreadable.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from opdsl.native.rules.breach import Breach
from opdsl.native.source import Mapping, Node, Scalar, Source
from opdsl.schema import OperatorName

BEGINNING = re.compile(r"(?:([A-Za-z_]\w*)::)?([A-Za-z_]\w*)", re.ASCII)
"""Pattern of the namespace and the base name at the beginning of a schema."""

VIEW_MARKS = re.compile("_(copy|scatter|inverse)$")
"""Pattern of the suffixes that distinguish the variants of a view from the view."""

Family = tuple[str | None, str]
"""Family of an operator: its namespace, and the part of the name that all of its variants share."""


class Unread:
    r"""Entries of a source that could not be read completely.

    >>> from opdsl.native.load import read_entries
    >>> _, _, source = read_entries("- func: f(Tensor self, -> Tensor\n- func: g() -> ()")
    >>> [Unread(source).has(entry) for entry in source.entries]
    [True, False]
    """

    def __init__(self, source: Source) -> None:
        self._entries = source.entries
        self._starts = [entry.start.index for entry in source.entries]
        self._unread = {id(scalar) for scalar in source.unread}
        self._families = {_family(scalar) for scalar in source.unread}

    def has(self, node: Node) -> bool:
        """Return whether a node belongs to such an entry."""
        return bool(self._unread) and id(self._entry(node)) in self._unread

    def has_kin_of(self, breach: Breach) -> bool:
        """Return whether such an entry may be a variant of an operator that a violation is about."""
        if not self._families:
            return False
        nodes = [breach.place.node, *(place.node for place in breach.others)]
        return None in self._families or any(_family(self._entry(node)) in self._families for node in nodes)

    def has_kin_called(self, schema: str) -> bool:
        """Return whether such an entry may be the operator of a schema, or a variant of it."""
        return None in self._families or family_of(schema) in self._families

    def _entry(self, node: Node) -> Node:
        return self._entries[bisect_right(self._starts, node.start.index) - 1]


def _family(entry: Node) -> Family | None:
    """Return the family of an entry; None if not even its name can be read."""
    pairs = entry.pairs if isinstance(entry, Mapping) else []
    texts = [value.text for key, value in pairs if key.text == "func" and isinstance(value, Scalar)]
    return family_of(texts[0]) if texts else None


def family_of(schema: str) -> Family | None:
    """Return the family of the operator whose name a text begins with; None if it does not begin with a name."""
    match = BEGINNING.match(schema)
    if match is None:
        return None
    operator_name = OperatorName(match[1] or "aten", match[2])
    return operator_name.namespace, VIEW_MARKS.sub("", operator_name.root)
