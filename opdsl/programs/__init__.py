"""Programs: functions traced on tensors without elements, optimized, fused, and run by cached plans."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opdsl.programs.compiled import CompiledFunction, Explanation, compile
    from opdsl.programs.program import Program
    from opdsl.programs.tracing import trace

__all__ = ["CompiledFunction", "Explanation", "Program", "compile", "trace"]

_MODULES = {
    "CompiledFunction": "compiled",
    "Explanation": "compiled",
    "Program": "program",
    "compile": "compiled",
    "trace": "tracing",
}


def __getattr__(name: str) -> object:
    """Import a name on first use, since tracing formulas does not need the optimization passes."""
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
    return value
