"""The command line: ``opdsl list``, ``show``, ``new``, ``check``, ``export``, ``import``, ``stubs`` and others.

A command has a module; ``operators`` finds operators by name, ``modules`` loads users' modules, ``output`` writes for a
terminal or a pipe. May import: everything; nothing imports it. click is loaded with it, rich only when something is
shown on a terminal.
"""

from __future__ import annotations

from opdsl.cli.application import main

__all__ = ["main"]
