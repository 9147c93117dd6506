"""``opdsl check``: every fault of native_functions.yaml files, each with its place and its rule."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

import click

from opdsl.errors import NativeYamlError
from opdsl.native import check_text, load_tags
from opdsl.native.known import TAGS
from opdsl.native.load import read_file

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(short_help="Check native_functions.yaml.")
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
@click.option(
    "--tags", "tags_file", type=FILE, metavar="FILE", help="The tags that entries may carry, as in tags.yaml."
)
def check(files: tuple[Path, ...], tags_file: Path | None) -> None:
    """Check files like native_functions.yaml, and show everything that is wrong with them.

    Each fault has its file, line and column, the rule that it breaks, and the offending text underlined; a fault
    between two entries shows both. The exit code is 1 if there is any.
    """
    tags = TAGS if tags_file is None else load_tags(tags_file)
    count = sum(_check(file, tags) for file in files)
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
