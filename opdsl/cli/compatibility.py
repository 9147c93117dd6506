"""Command ``opdsl compat``: lists the names of PyTorch that a script uses and opdsl lacks."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import click

from opdsl.cli.output import print_rows
from opdsl.errors import FileFormatError

_HEADER = ("place", "name")
_STYLES = ("cyan", "bold")


@click.command(short_help="List the names of PyTorch that a script uses and opdsl lacks.")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def compat(files: tuple[Path, ...]) -> None:
    """List the names of torch that the Python FILES use and opdsl lacks, so that `import opdsl as torch` would fail.

    The files are read, not run. Names are found if they are written out, through any import alias: torch.nn.Linear,
    F.gelu. Methods of tensors are not checked. The exit code is 1 if a name is missing.
    """
    missing = [(f"{file}:{use.line}", use.name) for file in files for use in _read(file) if not is_here(use.name)]
    if missing:
        print_rows(missing, header=_HEADER, styles=_STYLES)
        raise click.exceptions.Exit(1)


class Use(NamedTuple):
    """Use of a name of torch: the line and the qualified name."""

    line: int
    name: str


def _read(file: Path) -> list[Use]:
    try:
        return uses(file.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError, ValueError) as error:
        raise FileFormatError(f"{file} is not Python: {error}") from error


def uses(source: str) -> list[Use]:
    """Return the names of torch in a script, each with the line of its first use.

    >>> uses("import torch.nn.functional as F; from torch import nn; F.gelu(x); nn.Linear(2, 3)")
    [Use(line=1, name='torch.nn.functional.gelu'), Use(line=1, name='torch.nn.Linear')]
    """
    tree = ast.parse(source)
    modules, imported = _imports(tree)
    first: dict[str, int] = {}
    for line, name in sorted([*imported, *_chains(tree, modules)], key=lambda pair: pair[0]):
        first.setdefault(name, line)
    longer = {name.rpartition(".")[0] for name in first}
    return [Use(line, name) for name, line in first.items() if name not in longer]


def _imports(tree: ast.AST) -> tuple[dict[str, str], list[tuple[int, str]]]:
    """Return the torch names that variables of a script refer to, and the names imported from torch with their
    lines.
    """
    meanings: dict[str, str] = {}
    imported: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if _is_of_torch(alias.name):
                    meanings[alias.asname or "torch"] = alias.name if alias.asname else "torch"
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and _is_of_torch(node.module or ""):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                meanings[alias.asname or alias.name] = name
                imported.append((node.lineno, name))
    return meanings, imported


def _is_of_torch(module: str) -> bool:
    return module == "torch" or module.startswith("torch.")


def _chains(tree: ast.AST, meanings: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Yield the dotted names that begin with an imported name, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            names, root = [node.attr], node.value
            while isinstance(root, ast.Attribute):
                names.append(root.attr)
                root = root.value
            if isinstance(root, ast.Name) and root.id in meanings:
                yield node.lineno, ".".join([meanings[root.id], *reversed(names)])


def is_here(name: str) -> bool:
    """Return whether opdsl has a name of torch.

    >>> is_here("torch.add"), is_here("torch.nn.functional.gelu"), is_here("torch.nn.Linear")
    (True, True, False)
    """
    return _reaches(importlib.import_module("opdsl"), name.split(".")[1:])


def _reaches(value: object, names: Iterable[str]) -> bool:
    for name in names:
        if name == "*":
            return True
        module = getattr(value, "__name__", "") if hasattr(value, "__path__") else ""
        member = getattr(value, name, None)
        if member is None and module:
            try:
                member = importlib.import_module(f"{module}.{name}")
            except ModuleNotFoundError:
                return False
        if member is None:
            return False
        value = member
    return True
