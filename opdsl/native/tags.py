"""Reader of tags.yaml: the tags that entries may carry, with descriptions."""

from __future__ import annotations

from os import PathLike, fspath

from opdsl.native.load import error_of, read_file
from opdsl.native.nodes import read_nodes
from opdsl.native.source import Mapping, Node, Scalar, Sequence, Source
from opdsl.native.values import Reading

KEYS = ("tag", "desc")


def load_tags(path: str | PathLike[str]) -> dict[str, str]:
    r"""Read a file like PyTorch's tags.yaml: a list of ``tag`` and ``desc``.

    Raises NativeYamlError if a tag is given twice or has no description (INV-22), OSError if there is no file.

    Args:
        path: the file.

    Returns:
        The descriptions of tags, by name.

    >>> import tempfile
    >>> from opdsl.native import load_tags
    >>> with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
    ...     _ = file.write("- tag: core\n  desc: part of the core set")
    ...     file.flush()
    ...     load_tags(file.name)
    {'core': 'part of the core set'}
    """
    source = Source(fspath(path), read_file(path))
    document = read_nodes(source)
    reading = Reading(source, ())
    tags: dict[str, str] = {}
    for node in document.items if isinstance(document, Sequence) else []:
        _read(reading, node, tags)
    if document is not None and not isinstance(document, Sequence):
        reading.fault("INV-22", "the file is a list of tags, each beginning with '- tag:'", document)
    if reading.faults:
        raise error_of(source, reading.faults)
    return tags


def _read(reading: Reading, node: Node, texts: dict[str, str]) -> None:
    """Read one tag."""
    pairs = node.pairs if isinstance(node, Mapping) else []
    values = {key.text: value for key, value in pairs}
    for key, _ in pairs:
        if key.text not in KEYS:
            reading.fault("INV-22", f"{key.text!r} is no key of a tag: it has tag and desc", key)
    tag, description = values.get("tag"), values.get("desc")
    if not isinstance(tag, Scalar):
        reading.fault("INV-22", "expected 'tag:' with a name", node if tag is None else tag)
    elif tag.text in texts:
        reading.fault("INV-22", f"the tag {tag.text} is given twice", tag)
    elif not isinstance(description, Scalar) or not description.text.strip():
        reading.fault("INV-22", f"the tag {tag.text} needs a description: desc", tag)
    else:
        texts[tag.text] = " ".join(description.text.split())
