"""Command ``opdsl check``: reports every fault of native_functions.yaml files, with its location and rule."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from opdsl.cli.dialects import dialect_option, hint, rewrite
from opdsl.cli.json_output import json_option, print_json
from opdsl.cli.progress import progress
from opdsl.errors import NativeYamlError
from opdsl.native import Fault, NativeFunction, check_text, load, load_tags, loads, read_derivatives
from opdsl.native.known import TAGS
from opdsl.native.load import read_entries, read_file
from opdsl.native.rules.unread import Unread
from opdsl.native.source import Source

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(short_help="Check native_functions.yaml.")
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
@click.option(
    "--tags", "tags_file", type=FILE, metavar="FILE", help="A file of the tags that entries may have, like tags.yaml."
)
@click.option("--derivatives", type=FILE, metavar="FILE", help="Check a derivatives.yaml against the entries, too.")
@dialect_option
@json_option
@click.option("--upgrade", "is_upgrade", is_flag=True, help="Rewrite a file of an older release into today's form.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="NEW",
    help="With --upgrade: write to this file, not to stdout.",
)
def check(
    files: tuple[Path, ...],
    tags_file: Path | None,
    derivatives: Path | None,
    dialect: str,
    as_json: bool,
    is_upgrade: bool,
    output: Path | None,
) -> None:
    """Check files like native_functions.yaml, and show all faults.

    Each fault has its file, line and column, the rule that it breaks, and the offending text underlined; a fault
    between two entries shows both. The exit code is 1 if there is a fault.

    With --dialect, a file of an older release of PyTorch only has to be readable as such. With --upgrade, it is
    rewritten into today's form, with comments and in the same order: the changes are listed first, then the entries
    that have to be changed by hand, each with its location. The exit code is 1 if there are such entries.
    """
    tags = TAGS if tags_file is None else load_tags(tags_file)
    if is_upgrade:
        _upgrade(files, output, dialect, tags, as_json=as_json)
        return
    if output is not None:
        raise click.UsageError("-o belongs to --upgrade")
    reports = [report for file in files for report in _check(file, tags, dialect)]
    if derivatives is not None:
        reports += _check_derivatives(derivatives, files, tags, dialect)
    if as_json:
        print_json("check", {"faults": [_json_fault(report.fault) for report in reports]})
    elif reports:
        click.echo("\n".join(report.text for report in reports))
    if reports:
        click.echo(f"{len(reports)} {'fault' if len(reports) == 1 else 'faults'}", err=True)
        raise click.exceptions.Exit(1)
    click.echo("no faults", err=True)


class Report(NamedTuple):
    """Fault, and its message with the source line."""

    fault: Fault
    text: str


def _upgrade(
    files: tuple[Path, ...], output: Path | None, dialect: str, tags: Container[str], *, as_json: bool
) -> None:
    if len(files) > 1:
        raise click.UsageError("--upgrade takes one file")
    if as_json:
        raise click.UsageError("--upgrade writes a file, not JSON. Leave out --json, and check the new file with it.")
    if rewrite(files[0], output, dialect, tags).needs_person:
        raise click.exceptions.Exit(1)


def _json_fault(fault: Fault) -> dict[str, object]:
    places = [other.location._asdict() for other in fault.others]
    return {**fault.location._asdict(), "rule": fault.rule, "message": fault.message, "others": places}


def _check(file: Path, tags: Container[str], dialect: str) -> list[Report]:
    """Return a file's faults, and print a hint about its dialect to stderr."""
    try:
        text = read_file(file)
    except NativeYamlError as error:
        return _unreadable(error)
    with progress(f"checking {file.name}"):
        faults, source = _faults(text, file, tags, dialect)
    if faults and dialect == "today":
        hint(file, text)
    return [Report(fault, fault.shown(source)) for fault in faults]


def _unreadable(error: NativeYamlError) -> list[Report]:
    """Return the fault of a file whose lines cannot be shown."""
    return [Report(fault, str(error)) for fault in error.faults if isinstance(fault, Fault)]


def _faults(text: str, file: Path, tags: Container[str], dialect: str) -> tuple[Sequence[Fault], Source]:
    """Return all faults of a text, and the source to show them in."""
    if dialect == "today":
        return check_text(text, file=str(file), tags=tags)
    try:
        loads(text, file=str(file), tags=tags, dialect=dialect)
    except NativeYamlError as error:
        return [fault for fault in error.faults if isinstance(fault, Fault)], Source(str(file), text)
    return [], Source(str(file), text)


def _check_derivatives(path: Path, files: tuple[Path, ...], tags: Container[str], dialect: str) -> list[Report]:
    """Return the faults of derivatives. Entries that cannot be read are not reported again."""
    entries: list[NativeFunction] = []
    unread: list[Unread] = []
    for file in files:
        own, source = _readable(file, tags, dialect)
        entries += own
        unread.append(Unread(source))

    def is_unread(schema: str) -> bool:
        return any(entry.has_kin_called(schema) for entry in unread)

    try:
        _, faults, source = read_derivatives(read_file(path), entries, file=str(path), is_unread=is_unread)
    except NativeYamlError as error:
        return _unreadable(error)
    return [Report(fault, fault.shown(source)) for fault in faults]


def _readable(file: Path, tags: Container[str], dialect: str) -> tuple[tuple[NativeFunction, ...], Source]:
    """Return the readable entries of a file, and its source, which identifies the others."""
    try:
        if dialect == "today":
            entries, _, source = read_entries(read_file(file), tags=tags)
            return entries, source
        return load(file, tags=tags, dialect=dialect), Source(str(file), "")
    except NativeYamlError:
        return (), Source(str(file), "")
