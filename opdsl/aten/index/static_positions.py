"""Where elements are not zero, in a result whose size is told beforehand."""

from __future__ import annotations

from typing import Any

from opdsl.aten.create.ranges import arange
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.shape.stacking import stack
from opdsl.declare import Out, op
from opdsl.kernels import check
from opdsl.runtime import Tensor, int64
from opdsl.schema.vocabulary import SymInt


@op("aten::nonzero_static", variants="method, function", dispatch="CPU, CUDA, MPS", out=Out(dispatch="CPU, CUDA, MPS"))
def nonzero_static(self: Tensor, *, size: SymInt, fill_value: int = -1) -> Tensor:
    """The indices of the first elements that are not zero, one row for each.

    Args:
        self: of any dtype.
        size: how many rows there are.
        fill_value: what the rows are filled with for which there is no element.

    >>> import opdsl
    >>> opdsl.nonzero_static(opdsl.tensor([0, 4, 0, 5]), size=3)
    tensor([[ 1],
            [ 3],
            [-1]])
    """
    check(size >= 0, f"nonzero_static: 'size' must be an non-negative integer, but got {size}")
    if not self.ndim:
        return self.new_empty((size, 0), dtype=int64)
    is_there = (self != 0).flatten()
    rank = is_there.cumsum(0) - 1
    row = where(is_there.logical_and(rank < size), rank, size)  # the last row is that of all others
    numbers = arange(is_there.shape[0], device=self.device)
    found = numbers.new_full((size + 1,), -1).scatter(0, row, numbers).narrow(0, 0, size)
    columns: list[Tensor] = []
    rest: Any = found
    for extent in reversed(self.shape):
        columns.append(where(found < 0, fill_value, rest % max(extent, 1)))
        rest = rest // max(extent, 1)
    return stack(columns[::-1], 1)
