"""Operators that find or take elements by their place."""

from __future__ import annotations

import numpy

from opdsl.declare import op
from opdsl.kernels import new_tensor
from opdsl.runtime import Tensor, int64
from opdsl.runtime.geometry import geometry


@op("aten::nonzero", variants="method, function", tags=("dynamic_output_shape", "core"))
def nonzero(self: Tensor) -> Tensor:
    """The indices of the elements that are not zero, one row for each."""
    ...


@nonzero.kernel("CPU")
def nonzero_kernel(self):
    # NumPy finds nothing in zero dimensions.
    count = int(bool(self.item())) if self.ndim == 0 else None
    found = numpy.argwhere(self.array) if count is None else numpy.empty((count, 0), dtype=numpy.int64)
    # The places of one dimension lie next to each other, as PyTorch's kernel writes them.
    made = new_tensor(geometry(int64, self.device, found.shape, (1, len(found))))
    made.array[...] = found
    return made
