"""Functions that build the loops of each kind of kernel, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from opdsl.kernels.loops import elementwise, folding, indexed, rows
from opdsl.kernels.loops.forms import by_form
from opdsl.kernels.loops.making import Loops

__all__ = ["LOOPS"]

_MAKERS: tuple[Callable[..., Loops], ...] = (
    elementwise.pointwise,
    elementwise.indirect,
    folding.reduction,
    folding.scan,
    folding.recurrence,
    rows.row,
    indexed.indexed,
)

LOOPS: Mapping[str, Callable[..., Loops]] = MappingProxyType({maker.__name__: by_form(maker) for maker in _MAKERS})
"""Functions that build the loops of a kernel from a computation and a call, by the name of their method of
``kernels.compiler.Compiler``.
"""
