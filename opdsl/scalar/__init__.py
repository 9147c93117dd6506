"""Scalar functions as graphs: reading Python, types, simplification, mathematics.

One Python function of numbers is read once (``read``), typed for each combination of operand types (``specialise``),
and printed by the backends. What its operations mean is fixed by the reference interpreter, ``evaluate``, with
PyTorch's CPU kernels as the oracle: IEEE arithmetic, nothing raises, ``max`` and ``min`` propagate NaN, integers wrap,
``//`` and ``%`` follow Python's sign.

May import: ``opdsl.errors``.
"""

from opdsl.scalar.function import ScalarFunction
from opdsl.scalar.graph import Node, TypedGraph
from opdsl.scalar.interpreter import evaluate
from opdsl.scalar.lowering import lower
from opdsl.scalar.reader import read
from opdsl.scalar.types import ScalarType

__all__ = ["Node", "ScalarFunction", "ScalarType", "TypedGraph", "evaluate", "lower", "read"]
