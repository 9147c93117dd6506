"""Conversion of docstrings, signatures and source code to Markdown."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

_SECTION = re.compile(r"(Args|Returns|Yields|Raises):$")
_ITEM = re.compile(r"(\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*): (.*)")
_ATTRIBUTE = re.compile(r"[a-z_]\w*(, \w+)*: ")
_TITLES = {"Args": "Arguments", "Returns": "Returns", "Yields": "Yields", "Raises": "Errors"}


def fenced(text: str, language: str = "python") -> str:
    """Return a fenced code block."""
    return f"```{language}\n{text.strip()}\n```\n"


def folded(title: str, text: str) -> str:
    """Return text that a page shows only after a click on its title."""
    return f"<details><summary>{title}</summary>\n\n{text}\n</details>\n"


def documented(doc: str | None) -> str:
    """Return a docstring as Markdown: its sections become lists, its doctests code blocks.

    >>> print(documented('''Half of it.
    ...
    ... Args:
    ...     x: any number,
    ...         with a sign.
    ... ''').strip())
    Half of it.
    <BLANKLINE>
    **Arguments**
    <BLANKLINE>
    - `x`: any number, with a sign.
    """
    lines = inspect.cleandoc(doc or "").splitlines()
    parts: list[str] = []
    while lines:
        section = _SECTION.match(lines[0])
        if section:
            body = _taken(lines, lambda line: not line or line.startswith(" "), skip=1)
            parts.append(f"**{_TITLES[section[1]]}**\n\n{_items(body)}")
        elif lines[0].startswith(">>>"):
            body = _taken(lines, bool)
            parts.append(fenced("\n".join(body), "pycon"))
        else:
            body = _taken(lines, lambda line: not _SECTION.match(line) and not line.startswith(">>>"))
            parts += map(_paragraph, "\n".join(body).strip().split("\n\n"))
    return "\n\n".join(part for part in parts if part) + "\n"


def _paragraph(text: str) -> str:
    """Return a paragraph as Markdown; lines of the form ``name: description`` become a list."""
    if all(_ATTRIBUTE.match(line) or line.startswith(" ") for line in text.splitlines()):
        return _items(text.splitlines())
    return "\n".join(line if "`" in line else line.replace("<", "&lt;") for line in text.splitlines())


def _taken(lines: list[str], belongs: Callable[[str], object], skip: int = 0) -> list[str]:
    """Remove the lines of a part from the start of ``lines`` and return them.

    Args:
        lines: the remaining lines.
        belongs: returns whether a line is still in the part.
        skip: number of heading lines, which are removed and not returned.
    """
    count = skip or 1
    while count < len(lines) and belongs(lines[count]):
        count += 1
    taken = lines[skip:count]
    del lines[:count]
    return taken


def _items(lines: list[str]) -> str:
    """Return the ``name: text`` entries of a section as a list; an indented line continues the entry before it."""
    items: list[str] = []
    for line in textwrap.dedent("\n".join(lines)).splitlines():
        item = _ITEM.match(line)
        if item:
            items.append(f"- `{item[1]}`: {item[2]}")
        elif items and line.startswith(" "):
            items[-1] += f" {line.strip()}"
        elif line:
            items.append(line)
    return "\n".join(items)


def signature_of(value: object, name: str) -> str:
    """Return a signature such as ``name(x, *, dim=None)``, or only the name of a value without a signature."""
    try:
        text = str(inspect.signature(value))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return name
    text = re.sub(r"((?:: |-> )\*?)'([^']*)'", r"\1\2", text)  # string annotations
    return f"{name}{re.sub(r' at 0x[0-9a-f]+', '', text)}"


# ------------------------------------------------------------------------------------------------------------- sources


@cache
def _statements(file: str) -> tuple[list[ast.stmt], list[str]]:
    text = Path(file).read_text(encoding="utf-8")
    return ast.parse(text).body, text.splitlines()


def definition_of(function: FunctionType, name: str) -> str:
    """Return the source of an operator: its declaration, statements about it, and the helpers of its module that they
    call.

    Args:
        function: the declared function.
        name: the name of the operator as a string in the source has it, for example ``aten::exp``.
    """
    file = inspect.getsourcefile(function)
    if file is None or not Path(file).is_file():
        return ""
    body, lines = _statements(file)
    line = function.__code__.co_firstlineno  # the line of the table or factory, if one declares the operator
    own = [
        statement
        for statement in body
        if _start(statement) <= line <= _end(statement) or _is_about(statement, function.__name__, name)
    ]
    if not own:
        return ""
    functions = {statement.name: statement for statement in body if isinstance(statement, ast.FunctionDef)}
    used = {node.id for statement in own for node in ast.walk(statement) if isinstance(node, ast.Name)}
    helpers = [functions[key] for key in used & functions.keys() if not functions[key].decorator_list]
    values = sorted({id(helper): helper for helper in [*own, *helpers]}.values(), key=lambda node: node.lineno)
    return "\n\n\n".join("\n".join(lines[_start(node) - 1 : node.end_lineno]) for node in values)


def _is_about(statement: ast.stmt, function: str, name: str) -> bool:
    if isinstance(statement, ast.FunctionDef):
        decorators = (decorator for decorator in statement.decorator_list if not _declares(decorator))
        return statement.name == function or any(_root(decorator) == function for decorator in decorators)
    if isinstance(statement, ast.Expr):
        return _root(statement.value) == function
    return isinstance(statement, ast.Assign) and any(
        isinstance(node, ast.Constant) and node.value == name for node in ast.walk(statement.value)
    )


def _declares(node: ast.expr) -> bool:
    """Return whether a decorator declares another operator, as ``f.overload("X")`` does."""
    called = node.func if isinstance(node, ast.Call) else node
    return isinstance(called, ast.Attribute) and called.attr == "overload"


def _root(node: ast.expr) -> str:
    """Return the name at the start of a chain of calls and attributes: ``f`` for ``f.pointwise(...)``."""
    while isinstance(node, (ast.Call, ast.Attribute)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _end(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def _start(statement: ast.stmt) -> int:
    decorators: list[Any] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def table(header: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    """Return a Markdown table, or an empty string if there are no rows."""
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    if not lines:
        return ""
    return "\n".join([f"| {' | '.join(header)} |", f"|{'---|' * len(header)}", *lines]) + "\n"
