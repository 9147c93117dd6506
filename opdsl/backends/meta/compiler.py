"""Compiler of the meta backend, whose kernels do nothing."""

from __future__ import annotations

from typing import Any

from opdsl.kernels.abilities import Abilities
from opdsl.kernels.compiler import Compiled

ABILITIES = Abilities()
"""Optional abilities of this compiler: none."""


def __getattr__(name: str) -> Any:
    """Return the function that compiles kernels to nothing; see ``opdsl.kernels.compiler.Compiler``."""
    if name not in ("compile", "author"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _compile


def _compile(what: object, call: object) -> Compiled:
    return _nothing


def _nothing(*arguments: object) -> None:
    return None
