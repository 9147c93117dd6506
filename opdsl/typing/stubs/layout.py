"""Formatter of stub files in the style of ``ruff format``, with lines of at most 120 characters."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

import attrs

from opdsl.declare.source.layout import WIDTH

INDENT = "    "


@attrs.frozen
class Statement:
    """Statement of a stub, or a group of statements without blank lines between them.

    kind: determines the blank lines that ruff sets around it: ``import``, ``variable``, ``function``, ``documented``
        for a function with a docstring, ``class``, and ``name`` for a class without a body.
    lines: without indentation.
    """

    kind: str
    lines: tuple[str, ...]


def import_from(module: str, names: Iterable[str]) -> Statement:
    """Return ``from module import names``; names may be ``x as y``."""
    sorted_names = sorted(set(names))
    line = f"from {module} import {', '.join(sorted_names)}"
    if len(line) <= WIDTH:
        return Statement("import", (line,))
    return Statement("import", (f"from {module} import (", *(f"{INDENT}{name}," for name in sorted_names), ")"))


def docstring(text: str | None) -> tuple[str, ...]:
    """Return the lines of a docstring, dedented."""
    if not text or not text.strip():
        return ()
    first, _, rest = text.strip().partition("\n")
    body = textwrap.dedent(rest)
    lines = [first, *body.split("\n")] if rest else [first]
    escaped = [line.rstrip().replace("\\", "\\\\").replace('"""', '\\"\\"\\"') for line in lines]
    if len(escaped) == 1:
        closing = " " if escaped[0].endswith('"') else ""
        return (f'"""{escaped[0]}{closing}"""',)
    return (f'"""{escaped[0]}', *escaped[1:], '"""')


def function(
    name: str,
    parameters: Sequence[str],
    result: str,
    doc: str | None = None,
    *,
    decorators: Iterable[str] = (),
    indent: int = 0,
    comment: str = "",
    is_async: bool = False,
) -> Statement:
    """Return a function without a body.

    Args:
        name: the function's name.
        parameters: each as text, including ``*`` and ``/``.
        result: the annotation of its return value.
        doc: its docstring.
        decorators: without ``@``.
        indent: its indentation level, which counts for the width of its lines.
        comment: appended to the first line, for type checkers.
        is_async: whether it is a coroutine function.
    """
    documentation = docstring(doc)
    tail = f") -> {result}:"
    end = "" if documentation else " ..."
    head = f"{'async ' if is_async else ''}def {name}("
    room = WIDTH - len(INDENT) * indent
    behind = f"  {comment}" if comment else ""
    joined = ", ".join(parameters)
    if len(head + joined + tail + end) <= room or not parameters:
        lines = [head + joined + tail + end + behind]
    elif len(INDENT + joined) <= room:
        lines = [head + behind, INDENT + joined, tail + end]
    else:
        lines = [head + behind, *(f"{INDENT}{parameter}," for parameter in parameters), tail + end]
    lines = [*(f"@{decorator}" for decorator in decorators), *lines]
    return Statement("documented" if documentation else "function", (*lines, *(_indented(documentation))))


def variable(name: str, annotation: str, doc: str | None = None, *, indent: int = 0) -> Statement:
    """Return ``name: annotation``, with its documentation below."""
    line = f"{name}: {annotation}"
    is_long = len(line) > WIDTH - len(INDENT) * indent
    lines = (f"{name}: (", INDENT + annotation, ")") if is_long else (line,)
    return Statement("variable", (*lines, *docstring(doc)))


def class_of(name: str, bases: Sequence[str], body: Sequence[Statement], doc: str | None = None) -> Statement:
    """Return the statement of a class; ``...`` is its body if there is neither a body nor documentation."""
    joined = ", ".join(bases)
    head = [f"class {name}({joined}):" if bases else f"class {name}:"]
    documentation = docstring(doc)
    if not body and not documentation:
        return Statement("name", (f"{head[0]} ...",))
    if len(head[0]) > WIDTH:
        inner = [joined] if len(INDENT + joined) <= WIDTH else [f"{base}," for base in bases]
        head = [f"class {name}(", *(INDENT + text for text in inner), "):"]
    inside = _body(body)
    between = ("",) if documentation and inside else ()
    return Statement("class", (*head, *_indented((*documentation, *between, *inside))))


def _body(body: Sequence[Statement]) -> tuple[str, ...]:
    lines: list[str] = []
    before: Statement | None = None
    for statement in body:
        if before is not None and "class" in (before.kind, statement.kind):
            lines.append("")
        lines += statement.lines
        before = statement
    return tuple(lines)


def module(doc: str | None, statements: Sequence[Statement]) -> str:
    """Return the text of a stub file, with blank lines between statements of different kinds."""
    lines = list(docstring(doc))
    before: Statement | None = None
    for statement in statements:
        if lines and (before is None or not _stand_together(before.kind, statement.kind)):
            lines.append("")
        lines += statement.lines
        before = statement
    return "\n".join(lines) + "\n"


def _stand_together(before: str, kind: str) -> bool:
    """Return whether there is no blank line between two statements of a module."""
    if before == "function":
        return kind in ("function", "documented")
    return before == kind and kind not in ("documented", "class")


def _indented(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{INDENT}{line}" if line else "" for line in lines)
