"""From operands to loops: structured kernels, TensorIterator, pointwise and reduction definitions, primitives.

A definition says what an operator returns and what it computes; kernels for the functional, in-place and ``out=``
variants, plans and meta results come from it. Backends compile what ``calls`` describes, through ``compiler``.
May import: errors, schema, scalar, runtime, dispatch.
"""

from opdsl.kernels.author import StructuredDefinition
from opdsl.kernels.checks import check
from opdsl.kernels.dtypes import OutputCast
from opdsl.kernels.meta import MetaContext
from opdsl.kernels.outputs import new_tensor, resize, resize_output
from opdsl.kernels.pointwise import PointwiseDefinition
from opdsl.kernels.primitives import cast, check_inplace, clone, copy_, fill_, write_out
from opdsl.kernels.reduction import ReductionDefinition, sum_to
from opdsl.kernels.structured import Definition, StructuredKernel

__all__ = [
    "Definition",
    "MetaContext",
    "OutputCast",
    "PointwiseDefinition",
    "ReductionDefinition",
    "StructuredDefinition",
    "StructuredKernel",
    "cast",
    "check",
    "check_inplace",
    "clone",
    "copy_",
    "fill_",
    "new_tensor",
    "resize",
    "resize_output",
    "sum_to",
    "write_out",
]
