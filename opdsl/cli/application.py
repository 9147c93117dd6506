"""Command group ``opdsl``: its subcommands, and the conversion of errors to messages."""

from __future__ import annotations

from typing import Any

import click

from opdsl.cli.benching import bench
from opdsl.cli.building import build
from opdsl.cli.checking import check
from opdsl.cli.compatibility import compat
from opdsl.cli.compiling import compile_kernels
from opdsl.cli.creating import new
from opdsl.cli.differences import diff
from opdsl.cli.doctor import doctor
from opdsl.cli.exporting import export
from opdsl.cli.importing import import_file
from opdsl.cli.listing import list_operators
from opdsl.cli.showing import show
from opdsl.cli.stubbing import stubs
from opdsl.errors import OpdslError


class Application(click.Group):
    """Command group that reports errors of opdsl as a message on stderr with exit code 1.

    Any other exception is a bug of opdsl and keeps its traceback.
    """

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand.

        Raises:
            click.ClickException: the command raised an error of ``opdsl.errors``.
        """
        try:
            return super().invoke(ctx)
        except OpdslError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=Application, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="opdsl")
def main() -> None:
    """Inspect tensor operators declared in typed Python, and export them.

    Exit code 0: success. 1: nothing was found, or a check failed; stderr has the reason. 2: the command line itself is
    wrong.
    """


_COMMANDS = (
    *(list_operators, show, new, check, diff, export, import_file, compile_kernels, build, bench, stubs, compat),
    doctor,
)

for command in _COMMANDS:
    main.add_command(command)
