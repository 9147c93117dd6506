"""Sorting along a dimension, for backends whose compiler sorts, and integer sort keys for the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opdsl.kernels.calls import Ordering
from opdsl.kernels.compiler import Compiled, compile_elements, compiler_for
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.iteration.row_iterator import row_layout
from opdsl.kernels.iteration.tensor_iterator import pointwise_layout
from opdsl.kernels.outputs import array_of
from opdsl.runtime.geometry import TensorMeta, geometry
from opdsl.runtime.lowering import made_once
from opdsl.runtime.tensor import Tensor

if TYPE_CHECKING:
    from opdsl.scalar.graph import TypedGraph
    from opdsl.scalar.types import ScalarType


def order_elements(source: Tensor, dim: int, descending: bool, values: Tensor, indices: Tensor) -> None:
    """Sort the elements of a tensor along a dimension, stably, into sorted values and their original indices.

    Args:
        source: of real elements; NaN is larger than all others.
        dim: not negative.
        descending: whether the largest comes first.
        values, indices: of the tensor's dtype and int64, in other memory; of its shape, or shorter along the dimension:
            then they get only the first of the sorted elements.
    """
    if values.geometry.numel:
        run = _compiled(dim, descending, source.geometry, values.geometry, indices.geometry)
        run(array_of(source), array_of(values), array_of(indices))


@made_once(512)
def _compiled(dim: int, descending: bool, source: TensorMeta, values: TensorMeta, indices: TensorMeta) -> Compiled:
    dims = (dim,) if source.ndim else ()
    # Outputs with only the first elements are described as if they were as long as the row, with the same strides.
    whole = [geometry(output.dtype, output.device, source.shape, output.strides) for output in (values, indices)]
    layout = row_layout(source.shape, dims, [source], whole)
    assert layout is not None, "a single dimension is stepped through evenly"
    ordering = Ordering(descending, values.shape[dim] if source.ndim else 1)
    return compiler_for(source.device.type).order(ordering, layout)


_SMALLEST = -(1 << 63)


@made_once(512)
def key_loop(source: TensorMeta, keys: TensorMeta, descending: bool) -> Compiled:
    """Return the compiled loop that writes an int64 sort key for every element: NaN last, the two zeros equal.

    Keys of elements of 32 bits or fewer fit in as many bits.

    Args:
        source: of real elements.
        keys: of the same shape.
        descending: whether the keys are in the opposite order.
    """
    from opdsl.scalar.types import ScalarType

    graph = key_graph(ScalarType(precision_of(source.dtype).name), descending)
    return compile_elements(source.device.type, graph, pointwise_layout(keys.shape, [source], [keys]))


def key_graph(kind: ScalarType, descending: bool) -> TypedGraph:
    """Build the scalar graph from an element to its sort key, see ``key_loop``."""
    from opdsl.scalar.builder import GraphBuilder
    from opdsl.scalar.mathematics.expression import Expression, select
    from opdsl.scalar.types import FLOAT, ScalarType

    builder = GraphBuilder()
    element = Expression(builder, builder.parameter("element", kind))
    if kind.category == FLOAT:
        bits = element.bits().cast(ScalarType.INT64)
        largest = (1 << (kind.bits - 1)) - 1
        # The bits of negative floating-point numbers are in the opposite order.
        ordered = bits ^ ((bits >> 63) & largest)
        key = select(element.differs(element), largest, select(element.equals(0.0), 0, ordered))
    else:
        key = element.cast(ScalarType.INT64)
        if kind is ScalarType.UINT64:
            key = key ^ _SMALLEST
    return builder.finish("key", [(~key if descending else key).position])
