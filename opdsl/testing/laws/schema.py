"""Law 1: ``str(parse_schema(s)) == s``, and an exported YAML entry is read back as an equal value."""

from __future__ import annotations

from collections.abc import Iterator

from opdsl.declare.export import entry_of, is_generated
from opdsl.native import dumps, loads
from opdsl.schema import parse_schema
from opdsl.testing.subject import Subject


def check(subject: Subject) -> Iterator[str]:
    """Yield the violations of this law."""
    text = str(subject.operator.schema)
    parsed = parse_schema(text)
    if str(parsed) != text:
        yield f"{text} is printed again as {parsed}"
    if parsed != subject.operator.schema:
        yield f"{text} is read as another schema than the one that was declared"
    if subject.operator.declaration is None or is_generated(subject.operator):
        return
    entry = entry_of(subject.operator)
    again = loads(dumps([entry]))
    if list(again) != [entry]:
        yield f"the exported entry is read back as {again}, instead of {entry}"
