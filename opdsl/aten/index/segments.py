"""Operator ``segment_reduce``: sums, means, products and extrema of segments along a dimension."""

from __future__ import annotations

import math
from typing import Any

from opdsl.aten._shared.checks import require_kernel
from opdsl.aten._shared.index_tensors import BOTH
from opdsl.aten._shared.sharing import shared
from opdsl.aten.create.ranges import arange
from opdsl.aten.index.bucketization import searchsorted
from opdsl.aten.index.scattering import product_gradients
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.shape.view_scatters import constant_pad_nd
from opdsl.declare import op
from opdsl.errors import DTypeError
from opdsl.kernels import check, holds
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.runtime import Tensor, int64, wrap_dimension
from opdsl.schema.vocabulary import Scalar

# For each reduction: its name in ``scatter_reduce``, and its result for an empty segment.
REDUCES = {
    "sum": ("sum", 0.0),
    "mean": ("sum", math.nan),
    "prod": ("prod", 1.0),
    "max": ("amax", -math.inf),
    "min": ("amin", math.inf),
}


def offsets_of(
    data: Tensor, reduce: str, lengths: Tensor | None, offsets: Tensor | None, axis: int, unsafe: bool
) -> tuple[Tensor, int]:
    """Return the offsets at which segments begin, and the end of the last one; and the dimension, not negative.

    Raises:
        ShapeError, DTypeError, DimensionError: the arguments do not fit.
    """
    operator = "segment_reduce()"
    axis = wrap_dimension(axis, data.ndim)
    check(reduce in REDUCES, f"{operator}: reduce must be one of {', '.join(REDUCES)}, got {reduce}")
    require_kernel(data.dtype.is_floating_point, "_segment_reduce_cpu", data.dtype)
    segments = lengths if offsets is None else offsets
    if segments is None:
        check(False, f"{operator}: Either lengths or offsets must be defined.")
        raise AssertionError
    if segments.dtype not in BOTH:
        raise DTypeError(f"{operator}: expected lengths or offsets of int32 or int64, got {segments.dtype.scalar_type}")
    check(
        axis == segments.ndim - 1,
        f"{operator}: Expected axis to be the last dimension of {'lengths' if offsets is None else 'offsets'}, "
        f"got {axis}.",
    )
    check(axis < data.ndim, f"{operator}: Expected data to have a dimension {axis}", got=data.shape)
    check(
        segments.shape[:-1] == data.shape[:axis],
        f"{operator}: Expected the sizes before axis to be those of data, {list(data.shape[:axis])}",
        got=segments.shape[:-1],
    )
    places = segments.to(int64)
    if offsets is not None:
        check(segments.shape[-1] > 0, f"{operator}: offsets should have at least 1 element along axis")
        return places, axis
    if not unsafe and not data.is_meta:
        check(not places.numel() or holds((places >= 0).all()), "lengths contains negative value!")
        check(
            holds((places.sum(-1) == data.shape[axis]).all()),
            f"{operator}: Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe.",
        )
    ends = places.cumsum(-1)
    return constant_pad_nd(ends, (1, 0)), axis


def owners(data: Tensor, offsets: Tensor, axis: int) -> Tensor:
    """Return the segment number of each element; one more than the last number for elements in no segment."""
    count = offsets.shape[-1] - 1
    at = arange(data.shape[axis], device=data.device).expand((*data.shape[:axis], data.shape[axis])).contiguous()
    segments = searchsorted(offsets.contiguous(), at, right=True) - 1
    segments = where((segments < 0).logical_or(segments >= count), count, segments)
    return segments.reshape((*segments.shape, *(1,) * (data.ndim - 1 - axis))).expand(data.shape)


def per_segment(values: Tensor, like: Tensor) -> Tensor:
    """Reshape numbers of segments so that they broadcast along the trailing dimensions of ``like``."""
    return values.reshape((*values.shape, *(1,) * (like.ndim - values.ndim)))


def reduced(data: Tensor, reduce: str, offsets: Tensor, axis: int, initial: complex | None) -> Tensor:
    """Return the reduction of each segment, followed by that of the elements in no segment; means are still sums."""
    kind, empty = REDUCES[reduce]
    start = initial if initial is not None else 0.0 if reduce == "mean" else empty
    wide = data.to(precision_of(data.dtype))
    shape = (*data.shape[:axis], offsets.shape[-1], *data.shape[axis + 1 :])
    return wide.new_full(shape, start).scatter_reduce(axis, owners(data, offsets, axis), wide, kind)


@op("aten::segment_reduce", kernel=True)
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Scalar | None = None,
) -> Tensor:
    """Return the reduction of each segment along a dimension.

    Args:
        data: floating-point numbers.
        reduce: ``sum``, ``mean``, ``prod``, ``max`` or ``min``.
        lengths: of consecutive segments, along the last dimension, after the dimensions of ``data`` before ``axis``.
        indices: refused, as PyTorch refuses them.
        offsets: the starts of the segments and the end of the last one, as an alternative to lengths.
        axis: the dimension.
        unsafe: whether to skip the checks of lengths; elements in no segment are then ignored.
        initial: the initial value of each reduction.

    >>> import opdsl
    >>> opdsl.segment_reduce(opdsl.tensor([1.0, 2.0, 3.0]), "sum", lengths=opdsl.tensor([1, 2]))
    tensor([1., 5.])
    """
    check(indices is None, "segment_reduce(): indices based reduction is not supported yet.")
    begins, axis = offsets_of(data, reduce, lengths, offsets, axis, unsafe)
    count = begins.shape[-1] - 1
    folded = reduced(data, reduce, begins, axis, initial).narrow(axis, 0, count)
    if reduce == "mean":
        sizes = per_segment(begins.diff(), folded)
        nothing = math.nan if initial is None else initial
        folded = where(sizes > 0, shared(folded, sizes.clamp(min=1)), nothing)
    return folded.to(data.dtype).contiguous()


@segment_reduce.derivative("data")
def segment_reduce_derivative(grad, data, reduce, lengths, offsets, axis, initial, result):
    return _segment_reduce_backward(
        grad, result, data, reduce, lengths=lengths, offsets=offsets, axis=axis, initial=initial
    )


@op("aten::_segment_reduce_backward")
def _segment_reduce_backward(
    grad: Tensor,
    output: Tensor,
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    initial: Scalar | None = None,
) -> Tensor:
    """Return the gradient of ``segment_reduce``; extrema divide theirs evenly among equal elements."""
    begins, axis = offsets_of(data, reduce, lengths, offsets, axis, True)
    shape = (*data.shape[:axis], begins.shape[-1] - 1, *data.shape[axis + 1 :])
    for name, tensor in (("grad", grad), ("output", output)):
        check(
            tensor.shape == shape,
            f"_segment_reduce_backward(): expected {name} of shape {list(shape)}",
            got=tensor.shape,
        )
        if tensor.dtype is not data.dtype:
            raise DTypeError(
                f"_segment_reduce_backward(): expected {name} to have dtype {data.dtype}, got {tensor.dtype}"
            )
    places = owners(data, begins, axis)
    beside = [0] * (2 * (data.ndim - axis))
    beside[-1] = 1  # elements in no segment have the gradient 0
    operand, result = constant_pad_nd(grad, beside), constant_pad_nd(output, beside)
    if reduce == "prod":
        start: Any = data.new_full(operand.shape, 1.0 if initial is None else initial)
        return product_gradients(operand, start, axis, places, data, True, result)[1]
    if reduce in ("max", "min"):
        chosen = (result.gather(axis, places) == data).logical_or(data != data)
        counts = operand.new_zeros(operand.shape, dtype=int64).scatter_add(axis, places, chosen.to(int64))
        return where(chosen, shared(operand, counts.clamp(min=1)).gather(axis, places), 0.0)
    if reduce == "mean":
        sizes = per_segment(begins.diff(), grad).clamp(min=1)
        operand = constant_pad_nd(shared(grad, sizes), beside)
    return operand.gather(axis, places)
