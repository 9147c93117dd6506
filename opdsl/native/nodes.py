"""Parser from YAML text to nodes with locations, by libyaml's events; it never constructs objects from the text.

Anchors, aliases and explicit tags are refused and nesting is bounded, so that no text can expand or execute code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opdsl.errors import NativeYamlError
from opdsl.native.source import Fault, Location, Mapping, Mark, Node, Scalar, Sequence, Source

DEEPEST = 6
"""Maximum nesting depth of values; an entry needs four levels."""

MOST_ITEMS = 100_000
"""Maximum number of elements or keys of a value; PyTorch's file has about 2,600 entries."""


def read_nodes(source: Source) -> Node | None:
    """Return the root node of a YAML text; None for an empty one.

    Raises NativeYamlError for invalid YAML, or for YAML features that such files do not use.
    """
    import yaml

    loader_class = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        loader = loader_class(source.text)
        try:
            return _document(source, yaml, loader.get_event)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = " ".join(filter(None, (error.problem, error.context)))
        raise _error(source, message, (0, 0, 0) if mark is None else (mark.line, mark.column, mark.index)) from None
    except yaml.reader.ReaderError as error:
        position = min(int(error.position), len(source.text))
        raise _error(source, f"not a character of YAML: {error.reason}", _place(source, position)) from None
    except UnicodeEncodeError as error:
        raise _error(source, "a lone surrogate is no character of YAML", _place(source, error.start)) from None


def _document(source: Source, yaml: Any, get_event: Callable[[], Any]) -> Node | None:
    """Parse the only document of a stream."""
    get_event()
    event = get_event()
    if isinstance(event, yaml.StreamEndEvent):
        return None
    builder = Builder(source, yaml, get_event)
    node = builder.node(get_event(), 0)
    get_event()
    event = get_event()
    if not isinstance(event, yaml.StreamEndEvent):
        raise _refused(source, "a second document: write all entries in one", event.start_mark)
    return node


class Builder:
    """Builder of nodes from libyaml's events."""

    __slots__ = (
        "alias",
        "get_event",
        "mapping_end",
        "mapping_start",
        "scalar",
        "sequence_end",
        "sequence_start",
        "source",
    )

    def __init__(self, source: Source, yaml: Any, get_event: Callable[[], Any]) -> None:
        self.source = source
        self.get_event = get_event
        self.scalar = yaml.ScalarEvent
        self.alias = yaml.AliasEvent
        self.sequence_start, self.sequence_end = yaml.SequenceStartEvent, yaml.SequenceEndEvent
        self.mapping_start, self.mapping_end = yaml.MappingStartEvent, yaml.MappingEndEvent

    def node(self, event: Any, depth: int) -> Node:
        """Build the node that an event starts."""
        kind = type(event)
        if kind is self.alias or event.anchor is not None:
            raise _refused(self.source, "anchors and aliases are not allowed: write the value out", event.start_mark)
        if event.tag is not None:
            raise _refused(self.source, f"the tag {event.tag} is not allowed: values are plain", event.start_mark)
        if kind is self.scalar:
            return Scalar(event.value, not event.implicit[0], event.start_mark, event.end_mark)
        if depth >= DEEPEST:
            raise _refused(self.source, f"values are nested at most {DEEPEST} deep", event.start_mark)
        return self.sequence(event, depth) if kind is self.sequence_start else self.mapping(event, depth)

    def sequence(self, start: Any, depth: int) -> Sequence:
        """Build a sequence with its items."""
        items: list[Node] = []
        get_event, end = self.get_event, self.sequence_end
        event = get_event()
        while type(event) is not end:
            items.append(self.node(event, depth + 1))
            if len(items) > MOST_ITEMS:
                raise _refused(self.source, f"a list has at most {MOST_ITEMS:,} elements", event.start_mark)
            event = get_event()
        return Sequence(items, start.start_mark, event.end_mark)

    def mapping(self, start: Any, depth: int) -> Mapping:
        """Build a mapping with its pairs."""
        pairs: list[tuple[Scalar, Node]] = []
        get_event, end = self.get_event, self.mapping_end
        event = get_event()
        while type(event) is not end:
            key = self.node(event, depth + 1)
            if not isinstance(key, Scalar):
                raise _refused(self.source, "a key is text", key.start)
            pairs.append((key, self.node(get_event(), depth + 1)))
            if len(pairs) > MOST_ITEMS:
                raise _refused(self.source, f"a mapping has at most {MOST_ITEMS:,} keys", key.start)
            event = get_event()
        return Mapping(pairs, start.start_mark, event.end_mark)


def _refused(source: Source, message: str, mark: Mark) -> NativeYamlError:
    return _error(source, message, (mark.line, mark.column, mark.index))


def _place(source: Source, index: int) -> tuple[int, int, int]:
    """Return line and column of an index, and the index."""
    before = source.text[:index]
    return before.count("\n"), index - (before.rfind("\n") + 1), index


def _error(source: Source, message: str, place: tuple[int, int, int]) -> NativeYamlError:
    line, column, index = place
    fault = Fault("YAML", message, Location(source.file, line + 1, column + 1), index, index + 1)
    return NativeYamlError(fault.shown(source), faults=(fault,))
