"""Build hook for editable installs, which puts the folder of stubs on ``sys.path`` before the folder of the package.

Type checkers look through the path in order and so find the stubs first; Python takes the package, which alone has an
``__init__.py``.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Python reads .pth files in the order of their names; that of the package is `_opdsl.pth`.
FILE = "__opdsl_stubs.pth"


class StubsFirst(BuildHookInterface):
    """Build hook that adds a ``.pth`` file for the stubs to an editable wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the ``.pth`` file to the build data; hatchling calls this method before it builds the wheel."""
        if version == "editable":
            file = Path(mkdtemp()) / FILE
            file.write_text(f"{Path(self.root) / 'stubs'}\n", encoding="utf-8")
            build_data["force_include_editable"][str(file)] = FILE
