"""Reader of native_functions.yaml in today's form; it collects every fault with its location."""

from __future__ import annotations

from collections.abc import Container
from os import PathLike, fspath
from typing import Any

from opdsl.collecting import without_collecting
from opdsl.errors import NativeYamlError
from opdsl.native.entry import (
    PLAIN,
    Delegate,
    NativeFunction,
    Plain,
    Structured,
)
from opdsl.native.known import TAGS
from opdsl.native.nodes import read_nodes
from opdsl.native.retired import former_key
from opdsl.native.source import Fault, Location, Mapping, Node, Origin, Sequence, Source
from opdsl.native.values import FIELDS, MOST_FAULTS, READERS, Reading, meant

MOST_SHOWN = 50
"""Maximum number of faults in an error's message; the attribute ``faults`` has all."""

STUB_KEYS = frozenset(("backend", "cpp_namespace", "supported", "full_codegen", "ir_gen"))
"""Keys of a backend's own file, by which it is recognized. Source: ``torchgen/gen_backend_stubs.py``."""


def read_file(path: str | PathLike[str]) -> str:
    """Return the text of a UTF-8 file. Raises NativeYamlError for other encodings."""
    with open(path, "rb") as file:
        content = file.read()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        location = Location(fspath(path), line, 1)
        fault = Fault("YAML", "the file is not UTF-8 text", location, 0, 1)
        raise NativeYamlError(f"{location}: {fault.message} [YAML]", faults=(fault,)) from None


def read_today(text: str, *, file: str = "<string>", tags: Container[str] = TAGS) -> tuple[NativeFunction, ...]:
    """Return the entries of a text in today's form. Raises NativeYamlError with all faults, each with its location."""
    entries, faults, source = read_entries(text, file=file, tags=tags)
    if faults:
        raise error_of(source, faults)
    return entries


@without_collecting()
def read_entries(
    text: str, *, file: str = "<string>", tags: Container[str] = TAGS
) -> tuple[tuple[NativeFunction, ...], list[Fault], Source]:
    """Return the entries whose schemas can be read, all faults, and the source to show them in."""
    source = Source(file, text)
    reading = Reading(source, tags)
    return entries_of(reading, read_nodes(source)), reading.faults, source


def entries_of(reading: Reading, document: Node | None) -> tuple[NativeFunction, ...]:
    """Return the entries of a document whose schemas can be read; faults are added to ``reading``."""
    if document is None:
        message = "the file is empty; it is a list of entries, each beginning with '- func:', or [] for none"
        reading.faults.append(Fault("INV-17", message, Location(reading.source.file, 1, 1), 0, 0))
        return ()
    if not isinstance(document, Sequence):
        reading.fault(
            "INV-17", _other_file(document) or "the file is a list of entries, each beginning with '- func:'", document
        )
        return ()
    reading.source.entries = document.items
    entries = []
    for node in document.items:
        before = reading.unread
        entry = _entry(reading, node)
        if entry is not None:
            entries.append(entry)
        if reading.unread > before:
            reading.source.unread.append(node)
        if len(reading.faults) >= MOST_FAULTS:
            break
    return tuple(entries)


def _other_file(document: Node) -> str:
    """Return a message about the kind of a document without entries; an empty string if it is unknown."""
    keys = [key.text for key, _ in document.pairs] if isinstance(document, Mapping) else []
    texts = [key for key in keys if key in STUB_KEYS]
    if not texts:
        return ""
    return (
        f"this is a backend's stub file ({', '.join(texts)}), which names operators that have their entries elsewhere: "
        "torchgen.gen_backend_stubs reads it, and there is nothing to check in it here"
    )


def error_of(source: Source, faults: list[Fault]) -> NativeYamlError:
    """Build the error that shows faults, in the order of the file."""
    ordered = sorted(faults, key=lambda fault: fault.start)
    shown = [fault.shown(source) for fault in ordered[:MOST_SHOWN]]
    if len(ordered) > MOST_SHOWN:
        shown.append(f"... and {len(ordered) - MOST_SHOWN} more")
    return NativeYamlError("\n".join(shown), faults=tuple(ordered))


# ------------------------------------------------------------------------------------------------------------- entries


def _entry(reading: Reading, node: Node) -> NativeFunction | None:
    """Read one entry; return None if its schema cannot be read."""
    if not isinstance(node, Mapping):
        reading.fault("INV-17", "an entry is a mapping that begins with 'func:'", node)
        return None
    values: dict[str, Any] = {}
    nodes: dict[str, Node] = {}
    unread = reading.unread
    for key, value in node.pairs:
        reader = READERS.get(key.text)
        if reader is None:
            reading.fault(
                "INV-17",
                f"{key.text!r} is no key of an entry{former_key(key.text) or meant(reading, key.text, READERS)}",
                key,
            )
        elif key.text in nodes:
            reading.fault("INV-17", f"the key {key.text} is given twice", key)
        else:
            nodes[key.text] = value
            read = reader(reading, value)
            if read is not None:
                values[FIELDS.get(key.text, key.text)] = read
    is_whole = reading.unread == unread
    if "func" not in nodes and is_whole:
        reading.fault("INV-17", "an entry needs 'func:' with its schema", node)
    values["structure"] = _structure(reading, values, nodes, is_whole=is_whole)
    if "schema" not in values:
        return None
    origin = Origin(reading.source, node)
    entry = NativeFunction(**values, origin=origin)
    origin.belongs_to(entry)
    return entry


def _structure(
    reading: Reading, values: dict[str, Any], nodes: dict[str, Node], *, is_whole: bool
) -> Plain | Structured | Delegate:
    """Combine the keys about structured kernels (INV-30 to INV-33).

    A missing ``structured`` is reported only for an entry that was read completely.
    """
    structured = values.pop("structured", False)
    delegate = values.pop("structured_delegate", None)
    parts = {key: values.pop(key) for key in ("inherits", "precomputed", "ufunc") if key in values}
    if structured and delegate is not None:
        message = "an entry is structured or a delegate, not both"
        reading.fault("INV-31", message, nodes["structured_delegate"])
    if structured:
        return Structured(**parts)
    for key, rule in (("structured_inherits", "INV-30"), ("precomputed", "INV-30"), ("ufunc_inner_loop", "INV-33")):
        if key in nodes and is_whole:
            reading.fault(rule, f"{key} belongs to a structured entry: add 'structured: True'", nodes[key])
    return PLAIN if delegate is None else Delegate(delegate)
