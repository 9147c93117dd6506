"""``opdsl check``: every fault of native_functions.yaml files, each with its place and its rule."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

import click

from opdsl.errors import NativeYamlError
from opdsl.native import NativeFunction, check_text, load_tags, read_derivatives
from opdsl.native.known import TAGS
from opdsl.native.load import read_entries, read_file

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(short_help="Check native_functions.yaml.")
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
@click.option(
    "--tags", "tags_file", type=FILE, metavar="FILE", help="The tags that entries may carry, as in tags.yaml."
)
@click.option("--derivatives", type=FILE, metavar="FILE", help="Check a derivatives.yaml against the entries, too.")
def check(files: tuple[Path, ...], tags_file: Path | None, derivatives: Path | None) -> None:
    """Check files like native_functions.yaml, and show everything that is wrong with them.

    Each fault has its file, line and column, the rule that it breaks, and the offending text underlined; a fault
    between two entries shows both. The exit code is 1 if there is any.
    """
    tags = TAGS if tags_file is None else load_tags(tags_file)
    count = sum(_check(file, tags) for file in files)
    if derivatives is not None:
        count += _check_derivatives(derivatives, files, tags)
    if count:
        click.echo(f"{count} {'fault' if count == 1 else 'faults'}", err=True)
        raise click.exceptions.Exit(1)
    click.echo("no faults", err=True)


def _check(file: Path, tags: Container[str]) -> int:
    """Show a file's faults; how many there are."""
    try:
        text = read_file(file)
    except NativeYamlError as error:
        click.echo(str(error))
        return 1
    faults, source = check_text(text, file=str(file), tags=tags)
    for fault in faults:
        click.echo(fault.shown(source))
    return len(faults)


def _check_derivatives(path: Path, files: tuple[Path, ...], tags: Container[str]) -> int:
    """Show the faults of derivatives; entries that cannot be read have been shown."""
    entries = [each for file in files for each in _readable(file, tags)]
    try:
        _, faults, source = read_derivatives(read_file(path), entries, file=str(path))
    except NativeYamlError as error:
        click.echo(str(error))
        return 1
    for fault in faults:
        click.echo(fault.shown(source))
    return len(faults)


def _readable(file: Path, tags: Container[str]) -> tuple[NativeFunction, ...]:
    try:
        return read_entries(read_file(file), tags=tags)[0]
    except NativeYamlError:
        return ()
