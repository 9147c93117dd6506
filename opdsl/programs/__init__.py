"""Functions as programs: traced on tensors without elements, optimised, fused, and run by plans."""

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
    """Import what is asked for on first use: formulas are traced without the passes over programs."""
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
    return value
