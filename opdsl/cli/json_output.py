"""Command option ``--json``: one JSON document on stdout, as documented in "The command line"."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar

import click

from opdsl.cli.output import Section

P = ParamSpec("P")
R = TypeVar("R")

VERSION = 1
"""Version of the JSON documents: increases when a key disappears or changes its meaning, not when one is added."""


def json_option(command: Callable[P, R]) -> Callable[P, R]:
    """Add the option ``--json`` to a command."""
    return click.option("--json", "as_json", is_flag=True, help="Write one JSON document to stdout.")(command)


def print_json(form: str, content: Mapping[str, object]) -> None:
    """Write a JSON document to stdout.

    Args:
        form: the command, which determines the keys.
        content: the keys besides those that every document has.
    """
    document = {"form": form, "version": VERSION, **content}
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def keyed_sections(sections: list[Section]) -> dict[str, object]:
    """Return the contents of sections by key: texts, objects, or lists of objects where columns have names.

    >>> keyed_sections([Section("computed table", (("CPU", "abs"),), key="table", columns=("key", "kernel"))])
    {'table': [{'key': 'CPU', 'kernel': 'abs'}]}
    """
    keyed: dict[str, object] = {}
    for section in sections:
        if section.part:
            parts = keyed.setdefault(section.key, {})
            assert isinstance(parts, dict)
            parts[section.part] = section.content
        elif section.key:
            keyed[section.key] = _content(section)
    return keyed


def _content(section: Section) -> object:
    if isinstance(section.content, str):
        return section.content
    if section.columns:
        return [dict(zip(section.columns, row, strict=True)) for row in section.content]
    return {row[0]: row[1] for row in section.content}
