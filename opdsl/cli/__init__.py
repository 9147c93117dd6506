"""Command line: ``opdsl list``, ``show``, ``new``, ``check``, ``export``, ``import``, ``stubs`` and others.

Each command has a module; ``operators`` finds operators by name, ``modules`` loads users' modules, ``output`` writes to
a terminal or a pipe. May import: everything; nothing imports it. click is imported with it, rich only when output goes
to a terminal.
"""

from __future__ import annotations

from opdsl.cli.application import main

__all__ = ["main"]
