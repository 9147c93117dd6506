"""``opdsl export``: the registry as native_functions.yaml."""

from __future__ import annotations

from pathlib import Path

import click

from opdsl.cli.modules import load_modules, module_option
from opdsl.cli.operators import load, require_namespaces
from opdsl.declare.export import export as entries_of
from opdsl.dispatch import Registry, declaring_into, registry
from opdsl.dispatch.facade import deferred_sources
from opdsl.native import NativeFunction, dumps


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

    Without --namespace, the operators of aten are written; with --module, those that the module declares. They are
    looked at apart from opdsl's own, so that a module may declare what is there already.
    """
    entries = _entries(modules, namespaces)
    text = dumps(entries)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.FileError(str(output), error.strerror) from error
    click.echo(f"wrote {len(entries)} entries to {output}", err=True)


def _entries(modules: tuple[str, ...], namespaces: tuple[str, ...]) -> list[NativeFunction]:
    """The entries of modules, and of namespaces that are named."""
    loaded = load(())
    if not modules:
        require_namespaces(namespaces)
        return entries_of(registry, namespaces or loaded)
    with declaring_into(Registry()) as own, deferred_sources():
        load_modules(modules, own)
    if not namespaces:
        return entries_of(own)
    require_namespaces(namespaces, own, registry)
    entries = entries_of(own, namespaces)
    declared = {each.name.qualified for each in entries}
    return entries + [each for each in entries_of(registry, namespaces) if each.name.qualified not in declared]
