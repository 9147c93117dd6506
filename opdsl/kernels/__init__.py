"""From operands to loops: structured kernels, TensorIterator, pointwise and reduction definitions, primitives.

A definition says what an operator returns and what it computes; kernels for the functional, in-place and ``out=``
variants, plans and meta results come from it. Backends compile what ``calls`` describes, through ``compiler``.
May import: errors, schema, scalar, runtime, dispatch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opdsl.kernels.author import StructuredDefinition
    from opdsl.kernels.checks import check
    from opdsl.kernels.convolutions import slide
    from opdsl.kernels.dtypes import OutputCast
    from opdsl.kernels.indexed import fill_by_index
    from opdsl.kernels.indirect import Positions, gather, range_of, scatter
    from opdsl.kernels.iterator_context import TensorIteratorBase
    from opdsl.kernels.meta import MetaContext
    from opdsl.kernels.outputs import as_resized, new_tensor, resize, resize_output
    from opdsl.kernels.pointwise import PointwiseDefinition
    from opdsl.kernels.primitives import cast, check_inplace, clone, copied, copy_, fill_, write_out
    from opdsl.kernels.products import multiply
    from opdsl.kernels.random import fill_random_
    from opdsl.kernels.reduction import ReductionDefinition
    from opdsl.kernels.row import RowDefinition
    from opdsl.kernels.scan import ScanDefinition
    from opdsl.kernels.structured import Definition, StructuredKernel

__all__ = [
    "Definition",
    "MetaContext",
    "OutputCast",
    "PointwiseDefinition",
    "Positions",
    "ReductionDefinition",
    "RowDefinition",
    "ScanDefinition",
    "StructuredDefinition",
    "StructuredKernel",
    "TensorIteratorBase",
    "as_resized",
    "cast",
    "check",
    "check_inplace",
    "clone",
    "copied",
    "copy_",
    "fill_",
    "fill_by_index",
    "fill_random_",
    "gather",
    "multiply",
    "new_tensor",
    "range_of",
    "resize",
    "resize_output",
    "scatter",
    "slide",
    "write_out",
]

_MODULES = {
    "Definition": "structured",
    "MetaContext": "meta",
    "OutputCast": "dtypes",
    "PointwiseDefinition": "pointwise",
    "Positions": "indirect",
    "ReductionDefinition": "reduction",
    "RowDefinition": "row",
    "ScanDefinition": "scan",
    "StructuredDefinition": "author",
    "StructuredKernel": "structured",
    "TensorIteratorBase": "iterator_context",
    "as_resized": "outputs",
    "cast": "primitives",
    "check": "checks",
    "check_inplace": "primitives",
    "clone": "primitives",
    "copied": "primitives",
    "copy_": "primitives",
    "fill_": "primitives",
    "fill_by_index": "indexed",
    "fill_random_": "random",
    "gather": "indirect",
    "multiply": "products",
    "new_tensor": "outputs",
    "range_of": "indirect",
    "resize": "outputs",
    "resize_output": "outputs",
    "scatter": "indirect",
    "slide": "convolutions",
    "write_out": "primitives",
}


def __getattr__(name: str) -> object:
    """Imports what is asked for on first use: ``import opdsl`` needs the language, not the kernels behind it."""
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
    return value
