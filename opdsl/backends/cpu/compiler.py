"""The compiler that ``opdsl.kernels`` finds here: pointwise loops, reductions and author kernels for the CPU."""

from __future__ import annotations

from opdsl.backends.cpu.author import author
from opdsl.backends.cpu.pointwise import pointwise
from opdsl.backends.cpu.reduction import reduction

__all__ = ["author", "pointwise", "reduction"]
