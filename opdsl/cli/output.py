"""Output for a terminal (colored, wrapped to its width) or for a pipe (plain text, one line per row)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import attrs
import click

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

Row = tuple[str, ...]

_INDENT = 4
_GAP = 2

# Columns with cells up to this length are not wrapped on a narrow terminal.
_SHORT = 12

# Colors of cells on terminals.
_MARKS = {"OK": "green", "missing": "red", "off": "yellow"}


@attrs.frozen
class Section:
    """Titled part of a command's output.

    title: the heading.
    content: a text, or the rows of a table.
    language: Pygments name of the language to highlight a text as; None for plain text.
    key: its name in JSON; empty if it is not written there.
    part: a name under that key, where several sections share it.
    columns: names of a table's columns in JSON; without them the table consists of pairs of a name and a value.
    """

    title: str
    content: str | tuple[Row, ...]
    language: str | None = None
    key: str = ""
    part: str = ""
    columns: Row = ()


def is_decorated() -> bool:
    """Return whether stdout is a terminal, or ``FORCE_COLOR`` is set."""
    return sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))


def align(rows: Iterable[Row]) -> list[str]:
    """Format rows as lines with aligned columns, without trailing blanks.

    >>> align([("add", "functional"), ("add_", "inplace")])
    ['add   functional', 'add_  inplace']
    """
    kept = list(rows)
    widths = [max(map(len, column)) + _GAP for column in zip(*kept, strict=True)]
    return ["".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in kept]


def print_sections(sections: Sequence[Section]) -> None:
    """Write sections to stdout: each title, with its content indented below."""
    if is_decorated():
        _print_decorated(sections)
        return
    click.echo("\n\n".join(_plain(section) for section in sections))


def _plain(section: Section) -> str:
    lines = section.content.splitlines() if isinstance(section.content, str) else align(section.content)
    return "\n".join([section.title, *(f"{' ' * _INDENT}{line}".rstrip() for line in lines)])


def print_text(section: Section) -> None:
    """Write the text of one section to stdout without its title, highlighted on a terminal."""
    if is_decorated():
        _console().print(_decorated(section))
        return
    assert isinstance(section.content, str)
    click.echo(section.content)


def print_rows(rows: Sequence[Row], *, header: Row, styles: Row, is_headed: bool = False) -> None:
    """Write a table to stdout; a pipe gets one line for each row.

    Args:
        rows: the cells.
        header: a title for each column, for terminals.
        styles: a rich style for each column, for terminals.
        is_headed: whether a pipe gets the header, too.
    """
    if not is_decorated():
        click.echo("\n".join(align([header, *rows] if is_headed else rows)))
        return
    _console().print(_table(rows, styles, header))


# --------------------------------------------------------------------------------------------------------- terminals


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False)


def _print_decorated(sections: Sequence[Section]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    console = _console()
    for index, section in enumerate(sections):
        console.print(Text(section.title, "bold"))
        console.print(Padding(_decorated(section), (0, 0, int(index < len(sections) - 1), _INDENT)))


def _decorated(section: Section) -> RenderableType:
    from rich.syntax import Syntax
    from rich.text import Text

    if not isinstance(section.content, str):
        return _table(section.content, ("cyan",) + ("",) * (len(section.content[0]) - 1))
    if section.language is None:
        return Text(section.content)
    return Syntax(section.content, section.language, theme="ansi_dark", background_color="default", word_wrap=True)


def _table(rows: Iterable[Row], styles: Row, header: Row | None = None) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    kept = [*rows]
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_header=header is not None)
    for index, style in enumerate(styles):
        is_short = max(len(row[index]) for row in kept) <= _SHORT
        table.add_column(header[index] if header else "", style=style, overflow="fold", no_wrap=index == 0 or is_short)
    for row in kept:
        table.add_row(*(Text(cell, _MARKS.get(cell, "")) for cell in row))
    return table
