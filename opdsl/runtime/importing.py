"""Modules that are being imported: the only lock of a module is Python's own.

No lock of ours is held while a module of operators is imported: its body may ask for any of ours, and another thread
that holds the module's lock would wait for the one that waits for it.
"""

from __future__ import annotations

import importlib
import sys

__all__ = ["is_importing", "wait_for_module"]


def is_importing(name: str) -> bool:
    """Whether a module is there whose body has not ended yet."""
    specification = getattr(sys.modules.get(name), "__spec__", None)
    return bool(getattr(specification, "_initializing", False))


def wait_for_module(name: str) -> None:
    """Wait until a module that another thread imports is complete; one that this thread imports is not waited for."""
    if is_importing(name):
        importlib.import_module(name)
