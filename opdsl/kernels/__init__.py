"""Kernels and their definitions: structured kernels, TensorIterator, pointwise and reduction definitions, primitives.

A definition describes the results and the computation of an operator; kernels for the functional, in-place and ``out=``
variants, plans and meta results come from it. Backends compile the loops that ``calls`` describes, through
``compiler``.
May import: errors, schema, scalar, runtime, dispatch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opdsl.kernels.checks import check, holds
    from opdsl.kernels.definitions.author import StructuredDefinition
    from opdsl.kernels.definitions.iterator_context import TensorIteratorBase
    from opdsl.kernels.definitions.meta import MetaContext
    from opdsl.kernels.definitions.pointwise import PointwiseDefinition
    from opdsl.kernels.definitions.reduction import ReductionDefinition
    from opdsl.kernels.definitions.row import RowDefinition
    from opdsl.kernels.definitions.scan import ScanDefinition
    from opdsl.kernels.definitions.structured import Definition, StructuredKernel
    from opdsl.kernels.iteration.dtypes import OutputCast
    from opdsl.kernels.libraries import fourier, linear_algebra
    from opdsl.kernels.outputs import as_resized, new_tensor, resize, resize_output
    from opdsl.kernels.primitives.convolutions import slide
    from opdsl.kernels.primitives.copying import (
        cast,
        check_inplace,
        check_storable,
        clone,
        copied,
        copy_,
        fill_,
        write_out,
    )
    from opdsl.kernels.primitives.indexed import fill_by_index
    from opdsl.kernels.primitives.indirect import Positions, gather, known_inside, looked_at_later, range_of, scatter
    from opdsl.kernels.primitives.products import multiply
    from opdsl.kernels.primitives.random import drop_randomly, fill_random_
    from opdsl.kernels.steps import step

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
    "check_storable",
    "clone",
    "copied",
    "copy_",
    "drop_randomly",
    "fill_",
    "fill_by_index",
    "fill_random_",
    "fourier",
    "gather",
    "holds",
    "known_inside",
    "linear_algebra",
    "looked_at_later",
    "multiply",
    "new_tensor",
    "range_of",
    "resize",
    "resize_output",
    "scatter",
    "slide",
    "step",
    "write_out",
]

_MODULES = {
    "Definition": "definitions.structured",
    "MetaContext": "definitions.meta",
    "OutputCast": "iteration.dtypes",
    "PointwiseDefinition": "definitions.pointwise",
    "Positions": "primitives.indirect",
    "ReductionDefinition": "definitions.reduction",
    "RowDefinition": "definitions.row",
    "ScanDefinition": "definitions.scan",
    "StructuredDefinition": "definitions.author",
    "StructuredKernel": "definitions.structured",
    "TensorIteratorBase": "definitions.iterator_context",
    "as_resized": "outputs",
    "cast": "primitives.copying",
    "check": "checks",
    "check_inplace": "primitives.copying",
    "check_storable": "primitives.copying",
    "clone": "primitives.copying",
    "copied": "primitives.copying",
    "copy_": "primitives.copying",
    "drop_randomly": "primitives.random",
    "fill_": "primitives.copying",
    "fill_by_index": "primitives.indexed",
    "fill_random_": "primitives.random",
    "fourier": "libraries",
    "gather": "primitives.indirect",
    "holds": "checks",
    "linear_algebra": "libraries",
    "multiply": "primitives.products",
    "new_tensor": "outputs",
    "range_of": "primitives.indirect",
    "known_inside": "primitives.indirect",
    "looked_at_later": "primitives.indirect",
    "resize": "outputs",
    "resize_output": "outputs",
    "scatter": "primitives.indirect",
    "slide": "primitives.convolutions",
    "step": "steps",
    "write_out": "primitives.copying",
}


def __getattr__(name: str) -> object:
    """Import a public name of this package on first use: ``import opdsl`` needs the language, not the kernels that
    implement it.
    """
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
    return value
