"""The compiler protocol of ``opdsl.kernels``, as the CPU backend implements it."""

from __future__ import annotations

from opdsl.backends.cpu.author import author
from opdsl.backends.cpu.pointwise import pointwise

__all__ = ["author", "pointwise"]
