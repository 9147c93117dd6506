"""Kernels of the meta backend: they do nothing."""

from __future__ import annotations

from typing import Any

from opdsl.kernels.compiler import Compiled
from opdsl.schema.kinds import COMPILED


def __getattr__(name: str) -> Any:
    """What compiles a call; see ``opdsl.kernels.compiler.Compiler``."""
    if name not in COMPILED and name != "author":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _compile


def _compile(what: object, call: object) -> Compiled:
    return _nothing


def _nothing(*arguments: object) -> None:
    return None
