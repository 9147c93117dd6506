"""Sorting along a dimension, for backends whose compiler sorts."""

from __future__ import annotations

from functools import lru_cache

from opdsl.kernels.calls import Ordering
from opdsl.kernels.compiler import Compiled, compiler_for
from opdsl.kernels.outputs import array_of
from opdsl.kernels.row_iterator import row_call
from opdsl.runtime.geometry import Geometry, geometry
from opdsl.runtime.tensor import Tensor


def order_elements(source: Tensor, dim: int, descending: bool, values: Tensor, indices: Tensor) -> None:
    """Writes the elements of a tensor in order along a dimension, and where they stood; equal ones stay in order.

    Args:
        source: of real elements; NaN is larger than all others.
        dim: not negative.
        descending: whether the largest comes first.
        values, indices: of the tensor's dtype and int64, in other memory; of its shape, or shorter along the dimension:
            then they get the elements that come first.
    """
    if values.geometry.numel:
        run = _compiled(dim, descending, source.geometry, values.geometry, indices.geometry)
        run(array_of(source), array_of(values), array_of(indices))


@lru_cache(maxsize=512)
def _compiled(dim: int, descending: bool, source: Geometry, values: Geometry, indices: Geometry) -> Compiled:
    dims = (dim,) if source.ndim else ()
    # Outputs of the first elements alone step through a row as those of all elements would.
    whole = [geometry(each.dtype, each.device, source.shape, each.strides) for each in (values, indices)]
    call = row_call(source.shape, dims, [source], whole)
    assert call is not None, "a single dimension is stepped through evenly"
    ordering = Ordering(descending, values.shape[dim] if source.ndim else 1)
    return compiler_for(source.device.type).order(ordering, call)
