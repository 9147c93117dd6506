"""``opdsl export``: the registry as native_functions.yaml."""

from __future__ import annotations

from pathlib import Path

import click

from opdsl.cli.modules import module_option
from opdsl.cli.operators import load, require_namespaces
from opdsl.declare.export import export as entries_of
from opdsl.dispatch import registry
from opdsl.native import dumps


@click.command(short_help="Write native_functions.yaml.")
@click.option("--namespace", "namespaces", multiple=True, metavar="NS", help="Only operators of this namespace.")
@module_option
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write there, not to stdout.",
)
def export(namespaces: tuple[str, ...], modules: tuple[str, ...], output: Path | None) -> None:
    """Write operators as entries of native_functions.yaml, as torchgen reads them.

    Without --namespace, the operators of aten are written; with --module, those of the namespaces in which the module
    declares some.
    """
    loaded = load(modules)
    require_namespaces(namespaces)
    entries = entries_of(registry, namespaces=namespaces or loaded)
    text = dumps(entries)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.FileError(str(output), error.strerror) from error
    click.echo(f"wrote {len(entries)} entries to {output}", err=True)
