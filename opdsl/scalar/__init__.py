"""Scalar functions as graphs: reading Python, types, simplification, mathematics.

One Python function of numbers is read once (``read``), typed for each combination of operand types (``specialise``),
and printed by the backends. What its operations mean is fixed by the reference interpreter, ``evaluate``, with
PyTorch's CPU kernels as the oracle: IEEE arithmetic, nothing raises, ``max`` and ``min`` propagate NaN, integers wrap,
``//`` and ``%`` follow Python's sign.

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

# A call whose machine code is on disk needs neither of them.
_ON_FIRST_USE = {"evaluate": "opdsl.scalar.interpreter", "lower": "opdsl.scalar.lowering"}


def __getattr__(name: str) -> Any:
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_ON_FIRST_USE[name]), name)


__all__ = ["Node", "ScalarFunction", "ScalarType", "TypedGraph", "evaluate", "lower", "read"]
