"""What an editable install has besides: the folder of stubs on the path, before the folder of the package.

Type checkers look through the path in order and so find the stubs first; Python takes the package, which alone has an
``__init__.py``.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Files of paths are read in the order of their names, and the package's own is `_opdsl.pth`.
FILE = "__opdsl_stubs.pth"


class StubsFirst(BuildHookInterface):
    """Adds the file of paths to an editable wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the wheel is built."""
        if version == "editable":
            file = Path(mkdtemp()) / FILE
            file.write_text(f"{Path(self.root) / 'stubs'}\n", encoding="utf-8")
            build_data["force_include_editable"][str(file)] = FILE
