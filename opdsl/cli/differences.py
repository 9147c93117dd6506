"""Command ``opdsl diff``: compares two sets of operators, and reports which changes break callers."""

from __future__ import annotations

from pathlib import Path

import click

from opdsl.cli.dialects import dialect_option
from opdsl.cli.json_output import json_option, print_json
from opdsl.cli.modules import load_apart
from opdsl.cli.operators import load as load_operators
from opdsl.declare.export import export
from opdsl.dispatch import registry
from opdsl.native import NativeFunction, load
from opdsl.native.compatibility import Change, compare

OWN = "opdsl"
YAML = (".yaml", ".yml")


@click.command(short_help="Compare old and new operators.")
@click.argument("old")
@click.argument("new")
@click.option("--breaking", is_flag=True, help="Show only changes that break callers.")
@dialect_option
@json_option
def diff(old: str, new: str, breaking: bool, dialect: str, as_json: bool) -> None:
    """Show the changes from OLD to NEW, first those that break callers.

    Each is a file like native_functions.yaml, a module of declarations (my_ops.py, mylib.ops), or the word opdsl for
    the operators of opdsl itself. Changes that break callers are those of PyTorch's own compatibility check: a renamed
    argument or overload, a removed default, a changed alias, a new argument without a default. The exit code is 1 if
    there is such a change.
    """
    changes = compare(_entries(old, dialect), _entries(new, dialect))
    broken = [change for change in changes if change.breaks]
    if as_json:
        print_json("diff", {"changes": [_json_change(change) for change in (broken if breaking else changes)]})
    else:
        _print_changes(broken, [] if breaking else changes[len(broken) :])
    count = len(changes) - len(broken)
    click.echo(f"{len(broken)} changes break callers, {count} do not", err=True)
    if broken:
        raise click.exceptions.Exit(1)


def _print_changes(breaking: list[Change], others: list[Change]) -> None:
    for title, changes in (("breaks callers", breaking), ("does not break callers", others)):
        if changes:
            click.echo(f"{title}:")
            click.echo("\n".join(f"    {change}" for change in changes))


def _json_change(change: Change) -> dict[str, object]:
    facts = {"operator": change.operator, "message": change.message, "breaks": change.breaks}
    return facts | change.location._asdict()


def _entries(text: str, dialect: str) -> list[NativeFunction]:
    """Return the entries of a file, of a module, or of opdsl."""
    if text == OWN:
        return export(registry, load_operators(()))
    if text.endswith(YAML):
        if not Path(text).is_file():
            raise click.FileError(text, "there is no such file")
        return list(load(text, dialect=dialect))
    load_operators(())
    return export(load_apart((text,)))
