"""Command ``opdsl export``: writes the registry as native_functions.yaml."""

from __future__ import annotations

import json
from pathlib import Path

import click

from opdsl.cli.modules import load_apart, module_option
from opdsl.cli.operators import load, require_namespaces
from opdsl.cli.progress import progress
from opdsl.cli.selecting import select_option, selected
from opdsl.declare.export import export as entries_of
from opdsl.dispatch import registry
from opdsl.native import NativeFunction, dumps, json_schema, to_json


@click.command(short_help="Write native_functions.yaml.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("yaml", "json", "json-schema")),
    default="yaml",
    show_default=True,
    help="YAML as torchgen reads it, JSON for tools, or the JSON Schema of that JSON.",
)
@click.option("--namespace", "namespaces", multiple=True, metavar="NS", help="Only operators of this namespace.")
@module_option
@select_option
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write to this file, not to stdout.",
)
def export(
    form: str, namespaces: tuple[str, ...], modules: tuple[str, ...], selection: Path | None, output: Path | None
) -> None:
    """Write operators as entries of native_functions.yaml, as torchgen reads them, or as JSON.

    Without --namespace, the operators of aten are written; with --module, those that the module declares. The module is
    loaded into a separate registry, so it may declare operators that opdsl has already.
    """
    if form == "json-schema":
        click.echo(json.dumps(json_schema(), indent=2))
        return
    with progress("exporting"):
        entries = selected(_entries(modules, namespaces), selection)
        text = dumps(entries) if form == "yaml" else to_json(entries)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.FileError(str(output), error.strerror) from error
    click.echo(f"wrote {len(entries)} entries to {output}", err=True)


def _entries(modules: tuple[str, ...], namespaces: tuple[str, ...]) -> list[NativeFunction]:
    """Return the entries of modules, and of given namespaces."""
    loaded = load(())
    if not modules:
        require_namespaces(namespaces)
        return entries_of(registry, namespaces or loaded)
    own = load_apart(modules)
    if not namespaces:
        return entries_of(own)
    require_namespaces(namespaces, own, registry)
    entries = entries_of(own, namespaces)
    declared = {entry.name.qualified for entry in entries}
    return entries + [entry for entry in entries_of(registry, namespaces) if entry.name.qualified not in declared]
