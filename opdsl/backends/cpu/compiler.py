"""CPU implementation of the compiler protocol of ``opdsl.kernels``: kernels, products, convolutions, plans, ...

Each function is imported when it is first looked up: most processes need only some of them.
"""

from __future__ import annotations

import importlib
from typing import Any

from opdsl.collecting import without_collecting
from opdsl.kernels.abilities import Abilities

ABILITIES = Abilities(
    symbols=True,
    multiplies=True,
    apart=True,
    convolution=True,
    attention=True,
    plan=True,
    allocating=True,
    sequences=True,
)
"""Optional abilities of this compiler."""

# The module of each function of the protocol.
_MODULES = {
    "allocating": "builtin",
    "apart": "row",
    "attends": "attention",
    "attention": "attention",
    "attention_gradient": "attention",
    "author": "author",
    "compile": "schedules",
    "convolution": "convolution",
    "handwritten": "handwritten",
    "multiplies": "narrow_product",
    "plan": "tensors",
    "product": "product",
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
