"""``opdsl check``: every fault of native_functions.yaml files, each with its place and its rule."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path

import click

from opdsl.cli.dialects import dialect_option, hint, rewrite
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
    "--tags", "tags_file", type=FILE, metavar="FILE", help="The tags that entries may carry, as in tags.yaml."
)
@click.option("--derivatives", type=FILE, metavar="FILE", help="Check a derivatives.yaml against the entries, too.")
@dialect_option
@click.option("--upgrade", "is_upgrade", is_flag=True, help="Rewrite a file of an older release into today's form.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="NEW",
    help="With --upgrade: write there, not to stdout.",
)
def check(
    files: tuple[Path, ...],
    tags_file: Path | None,
    derivatives: Path | None,
    dialect: str,
    is_upgrade: bool,
    output: Path | None,
) -> None:
    """Check files like native_functions.yaml, and show everything that is wrong with them.

    Each fault has its file, line and column, the rule that it breaks, and the offending text underlined; a fault
    between two entries shows both. The exit code is 1 if there is any.

    With --dialect, a file of an older release of PyTorch only has to be readable as such. With --upgrade it is
    rewritten into today's form, comments and order kept: what was changed is listed, then what needs a person, each
    with its place. The exit code is 1 if anything does.
    """
    tags = TAGS if tags_file is None else load_tags(tags_file)
    if is_upgrade:
        if len(files) > 1:
            raise click.UsageError("--upgrade takes one file")
        if rewrite(files[0], output, dialect, tags).needs_person:
            raise click.exceptions.Exit(1)
        return
    if output is not None:
        raise click.UsageError("-o belongs to --upgrade")
    count = sum(_check(file, tags, dialect) for file in files)
    if derivatives is not None:
        count += _check_derivatives(derivatives, files, tags, dialect)
    if count:
        click.echo(f"{count} {'fault' if count == 1 else 'faults'}", err=True)
        raise click.exceptions.Exit(1)
    click.echo("no faults", err=True)


def _check(file: Path, tags: Container[str], dialect: str) -> int:
    """Show a file's faults; how many there are."""
    try:
        text = read_file(file)
    except NativeYamlError as error:
        click.echo(str(error))
        return 1
    with progress(f"checking {file.name}"):
        faults, source = _faults(text, file, tags, dialect)
    for fault in faults:
        click.echo(fault.shown(source))
    if faults and dialect == "today":
        hint(file, text)
    return len(faults)


def _faults(text: str, file: Path, tags: Container[str], dialect: str) -> tuple[Sequence[Fault], Source]:
    """All faults of a text, and the source to show them in."""
    if dialect == "today":
        return check_text(text, file=str(file), tags=tags)
    try:
        loads(text, file=str(file), tags=tags, dialect=dialect)
    except NativeYamlError as error:
        return [each for each in error.faults if isinstance(each, Fault)], Source(str(file), text)
    return [], Source(str(file), text)


def _check_derivatives(path: Path, files: tuple[Path, ...], tags: Container[str], dialect: str) -> int:
    """Show the faults of derivatives; entries that cannot be read have been shown."""
    entries: list[NativeFunction] = []
    unread: list[Unread] = []
    for file in files:
        own, source = _readable(file, tags, dialect)
        entries += own
        unread.append(Unread(source))

    def is_unread(schema: str) -> bool:
        return any(each.has_kin_called(schema) for each in unread)

    try:
        _, faults, source = read_derivatives(read_file(path), entries, file=str(path), is_unread=is_unread)
    except NativeYamlError as error:
        click.echo(str(error))
        return 1
    for fault in faults:
        click.echo(fault.shown(source))
    return len(faults)


def _readable(file: Path, tags: Container[str], dialect: str) -> tuple[tuple[NativeFunction, ...], Source]:
    """The entries of a file that can be read, and what tells of the others."""
    try:
        if dialect == "today":
            entries, _, source = read_entries(read_file(file), tags=tags)
            return entries, source
        return load(file, tags=tags, dialect=dialect), Source(str(file), "")
    except NativeYamlError:
        return (), Source(str(file), "")
