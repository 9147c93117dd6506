"""Command option ``--select``: a subset of the operators, in the format of PyTorch's selective builds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

import click

from opdsl.native import NativeFunction, load_selection, select

P = ParamSpec("P")
R = TypeVar("R")


def select_option(command: Callable[P, R]) -> Callable[P, R]:
    """Add the option ``--select`` to a command."""
    return click.option(
        "--select",
        "selection",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Only operators that this file selects (selected_operators.yaml), and those that they need.",
    )(command)


def selected(entries: Sequence[NativeFunction], path: Path | None) -> Sequence[NativeFunction]:
    """Return the entries that a file selects, or all without a file. Selected names without entry are printed to
    stderr.
    """
    if path is None:
        return entries
    selection = load_selection(path)
    missing = selection.missing(entries)
    if missing:
        click.echo(f"selected, but not there: {', '.join(missing)}", err=True)
    return select(entries, selection)
