"""Command ``opdsl import``: converts native_functions.yaml to a module of declarations."""

from __future__ import annotations

from pathlib import Path

import click

from opdsl.cli.dialects import dialect_option
from opdsl.cli.progress import progress
from opdsl.cli.selecting import select_option, selected
from opdsl.declare.source import write_module
from opdsl.native import load


@click.command("import", short_help="Write declarations in Python.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE")
@select_option
@dialect_option
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="MODULE.py",
    help="Write to this file, not to stdout.",
)
def import_file(file: Path, selection: Path | None, dialect: str, output: Path | None) -> None:
    """Write the operators of a file like native_functions.yaml as declarations in Python.

    In-place and out= entries that can be derived are merged into the declaration of their functional operator.
    Exporting the module returns the entries: opdsl export --module MODULE.py.
    """
    entries = selected(load(file, dialect=dialect), selection)
    with progress("writing declarations", len(entries)) as advance:
        written = write_module(entries, file=file.name, progress=lambda *_: advance())
    if output is None:
        click.echo(written.source, nl=False)
        return
    try:
        output.write_text(written.source, encoding="utf-8")
    except OSError as error:
        raise click.FileError(str(output), error.strerror) from error
    folded = f"{written.inplace} in-place and {written.out} out= entries are derived"
    click.echo(f"wrote {len(entries)} entries to {output}; {folded}", err=True)
