"""The compiler that ``opdsl.kernels`` finds here: pointwise loops, reductions, rows, scans, products, and more.

Each part is imported when it is first asked for: most processes need only some of them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opdsl.backends.cpu.author import author
    from opdsl.backends.cpu.convolution import convolution
    from opdsl.backends.cpu.indirect import indirect
    from opdsl.backends.cpu.pointwise import pointwise
    from opdsl.backends.cpu.product import product
    from opdsl.backends.cpu.reduction import reduction
    from opdsl.backends.cpu.row import row
    from opdsl.backends.cpu.scan import scan
    from opdsl.backends.cpu.tensors import plan

__all__ = ["author", "convolution", "indirect", "plan", "pointwise", "product", "reduction", "row", "scan"]

_MODULES = {
    "author": "author",
    "convolution": "convolution",
    "indirect": "indirect",
    "plan": "tensors",
    "pointwise": "pointwise",
    "product": "product",
    "reduction": "reduction",
    "row": "row",
    "scan": "scan",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"opdsl.backends.cpu.{_MODULES[name]}"), name)
    globals()[name] = found
    return found
