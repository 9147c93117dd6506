"""Functions as programs: traced on tensors without elements, optimised, fused, and run by plans."""

from opdsl.programs.compiled import CompiledFunction, Explanation, compile
from opdsl.programs.program import Program
from opdsl.programs.tracing import trace

__all__ = ["CompiledFunction", "Explanation", "Program", "compile", "trace"]
