"""Command ``opdsl new``: creates a package with a library of operators.

Its files are copied from the folder ``library`` next to this module, where it is called ``mylib``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.machinery import PathFinder
from importlib.metadata import version
from pathlib import Path

import click

from opdsl.cli.progress import progress
from opdsl.errors import DuplicateFileError, OptionError
from opdsl.schema.model import is_plain_name

_TEMPLATE = Path(__file__).parent / "library"
# Suffix that hides modules from pytest, mypy and other tools; and names that packaging tools would leave out.
_SUFFIX = ".in"
_HIDDEN = {"gitignore": ".gitignore"}

_TAKEN = {
    **dict.fromkeys(("aten", "torch_aten"), "a namespace of opdsl's own operators"),
    "main": "the namespace of operators that scripts declare",
    **dict.fromkeys(("tests", "typings"), "the name of a folder beside the package"),
}


@click.command(short_help="Create a package with a library of operators.")
@click.argument("name")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    default=".",
    help="The folder in which the package's folder is created; the current one by default.",
)
def new(name: str, output: Path) -> None:
    """Create a library of operators in the new folder NAME: the package NAME, with tests, stubs and a README.

    It has one operator of each kind, registers them in PyTorch, and passes its own tests.
    """
    target = output / name
    with progress("writing a library"):
        count = make_library(name, target)
    click.echo(f"made {target} with {count} files. Try:", err=True)
    click.echo(f"   cd {target}\n   python -m {name}\n   python -m pytest", err=True)


def make_library(name: str, target: Path) -> int:
    """Write the package of a library.

    Args:
        name: of the package and of the operators' namespace.
        target: its folder, which must not exist.

    Returns:
        The number of its files.

    Raises:
        OptionError: the name is not a valid package name, or is taken.
        DuplicateFileError: the folder exists already; it is not changed.
    """
    _require_free(name)
    if os.path.lexists(target):
        raise DuplicateFileError(f"{target} is there already. Give another name, or another folder with -o.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Written to a temporary folder first, so that the folder is complete once it has its name.
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=target.parent) as folder:
            package = Path(folder) / name
            for path, text in _sources(name):
                file = package / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            _write_stubs(name, package)
            package.rename(target)
    except OSError as error:
        raise click.FileError(str(target), error.strerror) from error
    return sum(path.is_file() for path in target.rglob("*"))


def _require_free(name: str) -> None:
    """Check that a name is valid for a package and not taken.

    Raises:
        OptionError: the name is invalid or taken.
    """
    if not is_plain_name(name):
        near = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower()
        hint = f" Try {near}." if is_plain_name(near) else ""
        raise OptionError(f"{name!r} is no name for a package, which is a Python identifier in ASCII.{hint}")
    if name in _TAKEN:
        raise OptionError(f"{name!r} is {_TAKEN[name]}. Choose another name.")
    spec = PathFinder.find_spec(name)
    if name in sys.stdlib_module_names or (spec is not None and spec.has_location):
        raise OptionError(f"{name!r} is the name of a module that Python has already. Choose another name.")


def _sources(name: str) -> Iterator[tuple[Path, str]]:
    """Yield the files of the template with the library's name filled in."""
    for file in sorted(_TEMPLATE.rglob(f"*{_SUFFIX}")):
        path = file.relative_to(_TEMPLATE).with_suffix("")
        parts = [_HIDDEN.get(part, part.replace("mylib", name)) for part in path.parts]
        text = file.read_text(encoding="utf-8").replace("OPDSL_VERSION", version("opdsl"))
        yield Path(*parts), re.sub(r"\bmylib\b", name, text)


def _write_stubs(name: str, folder: Path) -> None:
    """Write ``typings`` in a separate process, so that this one does not load the library."""
    command = [sys.executable, "-P", "-m", "opdsl", "stubs", str(folder / name), "-o", str(folder / "typings")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise click.ClickException(f"the stubs of {name} could not be written: {done.stderr}")
