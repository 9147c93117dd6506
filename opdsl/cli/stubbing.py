"""Command ``opdsl stubs``: writes stub files for type checkers."""

from __future__ import annotations

from pathlib import Path

import click

from opdsl.cli.modules import load_apart
from opdsl.cli.progress import progress


@click.command(short_help="Write stubs for type checkers.")
@click.argument("libraries", nargs=-1, metavar="[LIBRARY]...")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="The folder of the stubs; by default stubs, or typings for a library.",
)
@click.option("--check", "is_check", is_flag=True, help="Write nothing; exit with 1 if a file is not up to date.")
def stubs(libraries: tuple[str, ...], output: Path | None, is_check: bool) -> None:
    """Write stubs (.pyi) of all operators: functions, methods of Tensor, and opdsl.ops.

    opdsl contains its own stubs. For a LIBRARY, a module or file that declares operators, the stubs of its modules are
    written, and opdsl's with the library's methods and operators. Type checkers find them in DIR: set mypy_path = DIR
    for mypy, stubPath for pyright, which searches typings by default.
    """
    from opdsl.typing.stubs import stub_files

    folder = output or Path("typings" if libraries else "stubs")
    with progress("writing stubs"):
        files = {folder / path: text for path, text in stub_files(load_apart(libraries) if libraries else None).items()}
        stale = [path for path, text in files.items() if not _holds(path, text)]
    if is_check:
        for path in stale:
            click.echo(f"{path} is not up to date")
        if stale:
            again = " ".join(["opdsl stubs", *libraries, f"-o {folder}"])
            click.echo(f"run: {again}", err=True)
            raise click.exceptions.Exit(1)
        click.echo(f"{len(files)} stubs are up to date", err=True)
        return
    for path in stale:
        _write(path, files[path])
    click.echo(f"wrote {len(stale)} of {len(files)} stubs into {folder}; the others were up to date", err=True)


def _holds(path: Path, text: str) -> bool:
    try:
        return path.read_text(encoding="utf-8") == text
    except (OSError, UnicodeDecodeError):
        return False


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.FileError(str(path), error.strerror) from error
