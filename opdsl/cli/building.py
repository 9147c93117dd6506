"""Command ``opdsl build``: compiles a project's operators ahead of time, and writes wheels that need no opdsl."""

from __future__ import annotations

import time
from pathlib import Path

import attrs
import click

from opdsl.cli.modules import load_modules
from opdsl.cli.progress import progress


@click.command("build", short_help="Build a wheel of compiled operators.")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".")
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="NAME",
    help="A target to compile for: x86-64, x86-64-v2, -v3, -v4 or aarch64; may be repeated.",
)
@click.option(
    "--from",
    "script",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Run a script, and compile the forms of the calls that it makes.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="The folder of the wheels; by default dist in the project's folder.",
)
def build(folder: Path, targets: tuple[str, ...], script: Path | None, output: Path | None) -> None:
    """Build a wheel of the operators of the project in FOLDER, which runs without opdsl.

    The wheel has the kernels of the forms that [tool.opdsl.build] in pyproject.toml names: dtypes, numbers of
    dimensions, layouts. With --from, also those of the calls that a script makes. It needs NumPy, or PyTorch, alone.
    """
    from opdsl.shipping.building import build as build_project
    from opdsl.shipping.project import read_project
    from opdsl.shipping.recording import recorded_forms

    started = time.perf_counter()
    project = read_project(folder)
    if targets:
        project = attrs.evolve(project, targets=targets)
    operators = load_modules([str(folder / project.module)])
    recorded = None if script is None else recorded_forms(script, operators)
    with progress("compiling"):
        built = build_project(project, operators, output or folder / "dist", recorded=recorded)
    for operator_name, reason in built.refused.items():
        click.echo(f"left out {operator_name}: {reason}", err=True)
    for wheel in built.wheels:
        click.echo(str(wheel))
    click.echo(
        f"{len(built.operators)} operators, {built.kernels} kernels for each target, "
        f"{time.perf_counter() - started:.1f} s",
        err=True,
    )
