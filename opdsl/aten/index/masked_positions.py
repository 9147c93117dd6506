"""``index`` and ``index_put`` where a mask holds: positions elsewhere may lead anywhere."""

from __future__ import annotations

from collections.abc import Sequence

from opdsl.aten.index.indexing import _unsafe_index, _unsafe_index_put
from opdsl.declare import op
from opdsl.runtime import Tensor
from opdsl.schema.vocabulary import Scalar


def inside(self: Tensor, indices: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Positions, those that lead out of a dimension moved to its ends."""
    sizes = self.shape
    return [
        each if each is None or dim >= len(sizes) else each.clamp(-sizes[dim], sizes[dim] - 1)
        for dim, each in enumerate(indices)
    ]


@op("aten::_unsafe_masked_index", kernel="CompositeExplicitAutograd", variants="function")
def _unsafe_masked_index(self: Tensor, mask: Tensor, indices: list[Tensor | None], fill: Scalar) -> Tensor:
    """The elements at positions where a mask holds, and a number elsewhere."""
    if self.numel():
        return _unsafe_index(self, inside(self, indices)).masked_fill(mask.logical_not(), fill)
    # Of nothing there is one element in each dimension, so that the shape is that of the positions.
    shape = [1 if each is not None else size for each, size in zip(indices, self.shape, strict=False)]
    one = self.new_full((*shape, *self.shape[len(shape) :]), fill)
    return _unsafe_index(one, [None if each is None else each.new_zeros(each.shape) for each in indices])


@op("aten::_unsafe_masked_index_put_accumulate", kernel="CompositeExplicitAutograd", variants="function")
def _unsafe_masked_index_put_accumulate(
    self: Tensor, mask: Tensor, indices: list[Tensor | None], values: Tensor
) -> Tensor:
    """``self`` with values added at positions where a mask holds."""
    if not self.numel():
        return self.clone()
    return _unsafe_index_put(self, inside(self, indices), values.masked_fill(mask.logical_not(), 0), True)


_unsafe_masked_index_put_accumulate.derivative(
    self=lambda grad: grad,
    values=lambda grad, mask, indices: _unsafe_masked_index(grad, mask, indices, 0),
)
_unsafe_masked_index.derivative(
    self=lambda grad, self, mask, indices: _unsafe_masked_index_put_accumulate(
        grad.new_zeros(self.shape), mask, indices, grad
    )
)
