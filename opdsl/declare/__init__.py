"""Decorators that turn a Python signature into a schema, a native_functions.yaml entry, and operators with variants.

``op`` and ``Library`` begin a declaration; the function that ``op`` returns has methods that attach implementations.
May import: errors, schema, native, scalar, runtime, dispatch, kernels, autograd.
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
