"""Support for files of older releases: the option ``--dialect``, and the report of ``opdsl check --upgrade``."""

from __future__ import annotations

from collections.abc import Callable, Container
from pathlib import Path
from typing import ParamSpec, TypeVar

import click

from opdsl.cli.progress import progress
from opdsl.errors import NativeYamlError
from opdsl.native import Upgrade, detect, upgrade
from opdsl.native.dialects import TODAY
from opdsl.native.load import read_file

P = ParamSpec("P")
R = TypeVar("R")


def dialect_option(command: Callable[P, R]) -> Callable[P, R]:
    """Add the option ``--dialect`` to a command."""
    return click.option(
        "--dialect",
        default="today",
        show_default=True,
        metavar="VERSION",
        help="The release of PyTorch whose format the file has: 0.4.1, 1.5 ..., or detect.",
    )(command)


def hint(file: Path, text: str) -> None:
    """Print to stderr the dialect of a file with faults, unless it is today's."""
    try:
        dialect, change = detect(text, file=str(file))
    except NativeYamlError:
        return
    if dialect is TODAY:
        return
    reason = "" if change is None else f"; {change.location}: {change.message}"
    click.echo(f"{file} has the form of {dialect} ({dialect.says}{reason})", err=True)
    click.echo("load it with --dialect detect, or rewrite it: opdsl check --upgrade FILE -o NEW", err=True)


def rewrite(file: Path, output: Path | None, dialect: str, tags: Container[str]) -> Upgrade:
    """Upgrade a file to today's form, and report the changes and the remaining tasks.

    With ``output`` the report goes to stdout; without, the text does, and the report goes to stderr.
    """
    wanted = "detect" if dialect == "today" else dialect
    to = file if output is None else output
    with progress(f"rewriting {file.name}"):
        done = upgrade(read_file(file), file=str(file), to=str(to), dialect=wanted, tags=tags)
    if output is None:
        click.echo(done.text, nl=False)
    else:
        try:
            output.write_text(done.text, encoding="utf-8")
        except OSError as error:
            raise click.FileError(str(output), error.strerror) from error
    _report(done, to_stderr=output is None)
    return done


def _report(done: Upgrade, *, to_stderr: bool) -> None:
    """Print the changes, then those that a person has to review."""
    for change in done.changes:
        if not change.needs_person:
            click.echo(str(change), err=to_stderr)
    lost = [change for change in done.changes if change.needs_person]
    if lost or done.faults:
        click.echo("needs a person:", err=to_stderr)
    for change in lost:
        click.echo(str(change), err=to_stderr)
    for fault in done.faults:
        click.echo(fault.shown(done.source), err=to_stderr)
    left = len(lost) + len(done.faults)
    click.echo(f"{done.dialect} ({done.dialect.says})", err=True)
    click.echo(f"{len(done.changes)} changes, {left} {'needs' if left == 1 else 'need'} a person", err=True)
