"""Copies of a tensor with one view replaced (``slice_scatter``, ``select_scatter``), and constant padding."""

from __future__ import annotations

from typing import Any

from opdsl.aten.create.like_factories import zeros_like
from opdsl.aten.shape.slicing import diagonal, select, slice_tensor
from opdsl.aten.shape.views import as_strided, strided_view
from opdsl.declare import op
from opdsl.kernels import check, clone, copy_, fill_, new_tensor
from opdsl.runtime import Tensor, make_view, strides_for
from opdsl.runtime.geometry import geometry
from opdsl.runtime.views import required_storage
from opdsl.schema import Alias
from opdsl.schema.vocabulary import Scalar, SymInt

# --------------------------------------------------------------------------------------------- slice_scatter and others


PART: dict[str, Any] = {"variants": "function, method", "out": True}
"""Options of ``op`` that the operators of this module share."""

slice_tensor.view_scatter(tags=("core", "view_copy"), **PART)
select.view_scatter(tags="core", **PART)
diagonal.view_scatter(**PART)
as_strided_scatter = as_strided.view_scatter(**PART)


@as_strided_scatter.derivative("self", "src")
def as_strided_scatter_derivative(grad, size, stride, storage_offset, result):
    """Return the gradients, computed in the memory layout of the result; elements in gaps have none."""
    own = result.strides, result.storage_offset()
    offset = own[1] if storage_offset is None else storage_offset
    extent = max(required_storage(result.shape, *own), required_storage(size, stride, offset))
    memory = grad.new_zeros(extent).as_strided_scatter(grad, result.shape, *own)
    rest = memory.as_strided_scatter(grad.new_zeros(size), size, stride, offset)
    return rest.as_strided(result.shape, *own), memory.as_strided(size, stride, offset)


# ------------------------------------------------------------------------------------------------------ constant_pad_nd


@op("aten::constant_pad_nd", kernel="CompositeExplicitAutograd", tags="core", out=True)
def constant_pad_nd(self: Tensor, pad: list[SymInt], value: Scalar = 0) -> Tensor:
    """Return the tensor padded with a constant, or cropped.

    ``pad`` has the numbers of elements to add before and after, from the last dimension on; negative ones crop.
    """
    check(len(pad) % 2 == 0, f"Length of pad must be even but instead it equals {len(pad)}")
    check(
        len(pad) <= 2 * self.ndim,
        f"Length of pad should be no more than twice the number of dimensions of the input. Pad length is {len(pad)} "
        f"while the input has {self.ndim} dimensions.",
    )
    margins = {self.ndim - 1 - index // 2: (pad[index], pad[index + 1]) for index in range(0, len(pad), 2)}
    source, shape = self, list(self.shape)
    for dim, (before, after) in margins.items():
        shape[dim] += before + after
        check(
            shape[dim] >= 0,
            f"The input size {self.shape[dim]}, plus negative padding {before} and {after}, resulted in a negative "
            f"output size, which is invalid. Check dimension {dim} of your input.",
        )
        first, last = max(-before, 0), self.shape[dim] - max(-after, 0)
        source = source.narrow(dim, first, last - first)
    if all(number <= 0 for number in pad):
        return clone(source)
    strides = strides_for(tuple(shape), self.geometry.suggested_memory_format())
    output = fill_(new_tensor(geometry(self.dtype, self.device, tuple(shape), strides)), value)
    inside = output
    for dim, (before, after) in margins.items():
        first, last = max(before, 0), shape[dim] - max(after, 0)
        inside = inside.narrow(dim, first, last - first)
    copy_(inside, source)
    return output


constant_pad_nd.derivative(self=lambda grad, pad: constant_pad_nd(grad, tuple(-amount for amount in pad), 0))


@op("aten::slice_inverse", kernel="CompositeExplicitAutograd", variants="function, method")
def slice_inverse(
    self: Tensor[Alias("a")],
    src: Tensor,
    dim: int = 0,
    start: SymInt | None = None,
    end: SymInt | None = None,
    step: SymInt = 1,
) -> Tensor[Alias("a")]:
    """Return the base of a slice: a view of the memory of ``self`` with the shape, strides and offset of ``src``."""
    return make_view(self, *strided_view(self, src.shape, src.strides, src.storage_offset()))


slice_inverse.derivative(
    self=lambda grad, dim, start, end, step: slice_tensor(grad, dim, start, end, step),
    src=lambda grad, self, dim, start, end, step: grad.slice_scatter(zeros_like(self), dim, start, end, step),
)
