"""Scalar functions as expression graphs: reads them from Python, types, simplifies and lowers them.

A Python function of numbers is read once (``read``), typed for each combination of operand types (``specialise``), and
printed by the backends. The reference interpreter, ``evaluate``, defines the semantics of the operations; PyTorch's CPU
kernels are the oracle: IEEE arithmetic, nothing raises, ``max`` and ``min`` propagate NaN, integers wrap, ``//`` and
``%`` follow Python's sign.

May import: ``opdsl.errors``.
"""

import importlib
from typing import TYPE_CHECKING, Any

from opdsl.scalar.function import ScalarFunction
from opdsl.scalar.graph import Node, TypedGraph
from opdsl.scalar.reader import read
from opdsl.scalar.types import ScalarType

if TYPE_CHECKING:
    from opdsl.scalar.interpreter import evaluate
    from opdsl.scalar.lowering import lower

# Imported on first use: a call whose machine code is in the disk cache needs neither of them.
_ON_FIRST_USE = {"evaluate": "opdsl.scalar.interpreter", "lower": "opdsl.scalar.lowering"}


def __getattr__(name: str) -> Any:
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_ON_FIRST_USE[name]), name)


__all__ = ["Node", "ScalarFunction", "ScalarType", "TypedGraph", "evaluate", "lower", "read"]
