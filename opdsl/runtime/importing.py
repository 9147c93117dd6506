"""Waiting for modules that another thread is importing, using only Python's own import lock.

No lock of opdsl is held while a module of operators is imported: its body may need any of them, and a thread that holds
one would deadlock with the importing thread.
"""

from __future__ import annotations

import importlib
import sys

__all__ = ["is_importing", "wait_for_module"]


def is_importing(name: str) -> bool:
    """Return whether a module is being imported, so that its body has not finished."""
    specification = getattr(sys.modules.get(name), "__spec__", None)
    return bool(getattr(specification, "_initializing", False))


def wait_for_module(name: str) -> None:
    """Wait until a module that another thread is importing is complete; return at once if this thread imports it."""
    if is_importing(name):
        importlib.import_module(name)
