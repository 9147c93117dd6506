"""Command ``opdsl list``: lists operators, one line each."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

import click

import opdsl.cli.constructs as constructs
import opdsl.cli.missing as missing
from opdsl.cli.completing import complete_operators
from opdsl.cli.json_output import json_option, print_json
from opdsl.cli.kernels import own_keys
from opdsl.cli.modules import module_option
from opdsl.cli.operators import close_names, load, namespace_of, require_namespaces
from opdsl.cli.output import Row, is_decorated, print_rows
from opdsl.declare.generated import declare_generated
from opdsl.dispatch import Operator, registry
from opdsl.errors import UnknownOperatorError

_HEADER = ("operator", "kind", "kernels", "tags")
_STYLES = ("bold", "green", "cyan", "")
_WILDCARDS = frozenset("*?[")
_NOTHING = "-"


@click.command("list", short_help="List operators.")
@click.argument("pattern", default="", shell_complete=complete_operators)
@click.option("--namespace", "namespaces", multiple=True, metavar="NS", help="Only operators of this namespace.")
@click.option(
    "--missing",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="List the operators of this native_functions.yaml that opdsl lacks.",
)
@click.option("--constructs", "counts", is_flag=True, help="Count the constructs that operators are declared with.")
@module_option
@json_option
def list_operators(
    pattern: str,
    namespaces: tuple[str, ...],
    file: Path | None,
    counts: bool,
    modules: tuple[str, ...],
    as_json: bool,
) -> None:
    """List operators: name, kind, dispatch keys that have kernels, tags.

    PATTERN is a part of the name, or has wildcards: `opdsl list '*.out'`. Without --namespace, the operators of aten
    are listed; with --module, those of the namespaces in which the module declares operators.

    With --missing: name, category, replacement, and the reason why it is missing. `wrap` means that
    opdsl.interop.torch.wrap("aten::name") calls PyTorch's operator, `-` that opdsl lacks the tensors that it takes.

    With --constructs: the number of declarations that use each construct. `pure` ones declare the result, but not the
    way to compute it; derived variants and list operators are not counted separately.
    """
    loaded = load(modules)
    declare_generated(registry, "aten")
    if file is not None:
        rows = [
            row for row in missing.missing(file, {operator.name for operator in registry}) if matches(row[0], pattern)
        ]
        if as_json:
            print_json("list --missing", {"missing": [dict(zip(missing.HEADER, row, strict=True)) for row in rows]})
        else:
            print_rows(rows, header=missing.HEADER, styles=missing.STYLES)
        return
    require_namespaces(namespaces)
    wanted = namespaces or loaded
    operators = [
        operator for operator in registry if namespace_of(operator) in wanted and matches(operator.name, pattern)
    ]
    if not operators:
        raise UnknownOperatorError(_nothing_found(pattern, wanted))
    if counts:
        uses = constructs.constructs(operators)
        if as_json:
            print_json("list --constructs", {"constructs": [use._asdict() for use in uses]})
        else:
            print_rows([use.row() for use in uses], header=constructs.HEADER, styles=constructs.STYLES)
        return
    operators.sort(key=lambda operator: (operator.packet_name, operator.name))
    if as_json:
        print_json("list", {"operators": [_json_row(operator) for operator in operators]})
        return
    print_rows([row(operator) for operator in operators], header=_HEADER, styles=_STYLES)


def matches(name: str, pattern: str) -> bool:
    """Return whether a qualified name matches a pattern, with or without its namespace.

    >>> matches("aten::add.Tensor", "add"), matches("aten::add.Tensor", "*.out")
    (True, False)
    """
    if not _WILDCARDS.isdisjoint(pattern):
        return fnmatchcase(name, pattern) or fnmatchcase(name.partition("::")[2], pattern)
    return pattern in name


def row(operator: Operator) -> Row:
    """Return the cells of an operator's row. In a pipe no cell contains blanks, so that lines can be split at them."""
    keys = map(str, own_keys(operator))
    return operator.name, operator.schema.kind.value, _joined(keys), _joined(operator.tags)


def _json_row(operator: Operator) -> dict[str, object]:
    return {
        "name": operator.name,
        "kind": operator.schema.kind.value,
        "schema": str(operator.schema),
        "kernels": [str(key) for key in own_keys(operator)],
        "tags": list(operator.tags),
    }


def _joined(names: Iterable[str]) -> str:
    return (", " if is_decorated() else ",").join(names) or _NOTHING


def _nothing_found(pattern: str, namespaces: Iterable[str]) -> str:
    close = close_names(pattern)
    hint = f" Did you mean {' or '.join(close)}?" if close else " `opdsl list` shows all that there are."
    return f"no operator of {', '.join(namespaces)} matches {pattern!r}.{hint}"
