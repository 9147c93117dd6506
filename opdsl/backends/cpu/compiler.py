"""CPU implementation of the compiler protocol of ``opdsl.kernels``: pointwise loops, reductions, scans, products, ...

Each function is imported when it is first looked up: most processes need only some of them.
"""

from __future__ import annotations

import importlib
from typing import Any

from opdsl.collecting import without_collecting
from opdsl.schema.kinds import COMPILED

SYMBOLS = True
"""Flag that this backend compiles loops whose sizes are arguments of a call."""

# The module of each function of the protocol; those not listed at the end have the function's name.
_MODULES = {name: name for name in (*COMPILED, "author", "convolution", "handwritten", "indirect", "product")} | {
    "allocating": "builtin",
    "apart": "row",
    "multiplies": "narrow_product",
    "plan": "tensors",
    "recurrence": "scan",
    "reusing": "sequence",
    "sequenced": "sequence",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with without_collecting():
        module = importlib.import_module(f"opdsl.backends.cpu.{_MODULES[name]}")
    globals()[name] = getattr(module, name)
    return globals()[name]
