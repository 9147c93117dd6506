"""The decorators: a Python signature becomes a schema, an entry, operators and their variants.

``op`` and ``Library`` begin a declaration; what ``op`` returns attaches implementations. May import: errors, schema,
native, scalar, runtime, dispatch, kernels, autograd.
"""

from __future__ import annotations

from opdsl.declare.formulas import formula
from opdsl.declare.forwarding import forward
from opdsl.declare.library import Library, op
from opdsl.declare.operator import Operator
from opdsl.declare.options import EntryOptions, Inplace, Out, Overload
from opdsl.dispatch import traceable

__all__ = [
    "EntryOptions",
    "Inplace",
    "Library",
    "Operator",
    "Out",
    "Overload",
    "formula",
    "forward",
    "op",
    "traceable",
]
