"""Operators that find or take elements by their place."""

from __future__ import annotations

import numpy

from opdsl.declare import op
from opdsl.runtime import Tensor, from_numpy


@op("aten::nonzero", variants="method, function", tags=("dynamic_output_shape", "core"))
def nonzero(self: Tensor) -> Tensor:
    """The indices of the elements that are not zero, one row for each."""
    ...


@nonzero.kernel("CPU")
def nonzero_kernel(self):
    if self.ndim == 0:
        return from_numpy(numpy.empty((int(bool(self.item())), 0), dtype=numpy.int64))
    return from_numpy(numpy.argwhere(self.array))
