"""Embedding bags: sums, means and maxima over groups (bags) of rows of a table."""

from __future__ import annotations

import math

from opdsl.aten._shared.checks import holds, require_floating
from opdsl.aten._shared.sharing import shared
from opdsl.aten.create.like_factories import zeros_like
from opdsl.aten.create.ranges import arange
from opdsl.aten.index.bucketization import searchsorted
from opdsl.aten.nn.embedding import frequencies
from opdsl.aten.pointwise.comparison import where
from opdsl.declare import forward, op
from opdsl.dispatch import is_grad_enabled
from opdsl.errors import DTypeError
from opdsl.kernels import check
from opdsl.runtime import Tensor, float32, int32, int64
from opdsl.schema.vocabulary import SymInt

SUM, MEAN, MAX = range(3)


def bag_of_each(indices: Tensor, offsets: Tensor) -> Tensor:
    """Return the bag that each index belongs to, from the offsets at which bags begin."""
    forms = indices.shape, offsets.shape
    check(indices.ndim == offsets.ndim == 1, "expected vectors of indices and of where bags begin", got=forms)
    positions = arange(indices.shape[0], dtype=offsets.dtype, device=indices.device)
    return searchsorted(offsets, positions, right=True) - 1


def check_offsets(offsets: Tensor, count: int) -> None:
    """Check that the offsets of bags start at 0, ascend, and do not exceed the number of indices.

    Args:
        offsets: the positions in the indices at which bags begin.
        count: the number of indices.

    Raises:
        ShapeError: the first offset is not 0, one is smaller than the one before it, or the last is larger than
            ``count``.
    """
    if offsets.is_meta:
        return
    check(
        holds(offsets[0] == 0),
        "embedding_bag: offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position "
        "0. However, got another one",
    )
    check(
        holds((offsets.diff() >= 0).all()),
        "embedding_bag: expected offsets in ascending order, but got one that is smaller than the one before it. Sort "
        "the bags, with their indices",
    )
    check(
        holds(offsets[-1] <= count),
        f"embedding_bag: offsets[-1] can not be greater than input's length {count}, but got one that is",
    )


def counts_in(bags: Tensor, counted: Tensor, count: int) -> Tensor:
    """Return the number of indices in each bag for which ``counted`` is True."""
    return bags.new_zeros((count,)).index_add(0, bags, counted.to(bags.dtype))


def largest_of_bags(rows: Tensor, numbers: Tensor, bags: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
    """Return the largest element per bag and feature, and the table row that it comes from, both 0 for an empty bag."""
    places = bags.unsqueeze(1).expand(rows.shape)
    shape = (sizes.shape[0], rows.shape[1])
    maxima = rows.new_full(shape, -math.inf).scatter_reduce(0, places, rows, "amax")
    # If several rows have the largest element, the first one counts.
    positions = arange(rows.shape[0], device=rows.device).unsqueeze(1).expand(rows.shape)
    candidates = where(rows == maxima.gather(0, places), positions, rows.shape[0])
    first = sizes.new_full(shape, rows.shape[0]).scatter_reduce(0, places, candidates, "amin")
    is_empty = (sizes == 0).unsqueeze(1)
    at = where(is_empty, 0, first).reshape((-1,))
    owners = numbers.index_select(0, at).view(shape) if rows.shape[0] else first
    return where(is_empty, 0.0, maxima), where(is_empty, 0, owners)


def table_gradient(
    grad: Tensor,
    indices: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    maximum_indices: Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    per_sample_weights: Tensor | None,
    padding_idx: int,
) -> Tensor:
    """Return the gradient of the table, composed of operators that can be differentiated again."""
    require_floating("embedding_bag_backward", grad)
    check(grad.ndim == 2, "embedding_bag_backward: expected a (bags, features) gradient", got=grad.shape)
    whole = grad.new_zeros((num_weights, grad.shape[1]))
    if mode == MAX:
        return whole.scatter_add(0, maximum_indices.to(int64), where((bag_size > 0).unsqueeze(1), grad, 0.0))
    numbers, counted = indices.to(int64), indices != padding_idx
    if mode == MEAN:
        grad = shared(grad, bag_size.clamp(min=1).unsqueeze(1))
    rows = grad.index_select(0, offset2bag.to(int64))
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    if scale_grad_by_freq:
        rows = shared(rows, frequencies(numbers, numbers.new_ones(numbers.shape), num_weights))
    return whole.index_add(0, numbers, where(counted.unsqueeze(1), rows, 0.0))


def weight_gradient(grad: Tensor, weight: Tensor, indices: Tensor, offset2bag: Tensor, padding_idx: int) -> Tensor:
    """Return the gradient of the per-sample weights, composed of operators that can be differentiated again."""
    rows = grad.index_select(0, offset2bag.to(int64)) * weight.index_select(0, indices.to(int64))
    return where(indices != padding_idx, rows.sum(1), 0.0)


# ----------------------------------------------------------------------------------------------------------- operators


def row_number(weight: Tensor, padding_idx: int | None) -> int:
    """Return ``padding_idx`` as a nonnegative row index, or -1 for None; negative indices count from the end.

    Raises:
        ShapeError: the index is out of bounds.
    """
    if padding_idx is None:
        return -1
    count = weight.size(0)
    check(
        -count <= padding_idx < count,
        f"padding_idx must be within the number of embeddings, -{count} through {count - 1}, but got {padding_idx}",
    )
    return padding_idx % count


def known_bags(offset2bag: Tensor, indices: Tensor, offsets: Tensor) -> Tensor:
    """Return the bag of each index, computed from ``offsets`` if ``offset2bag`` is empty, as PyTorch leaves it for
    sums.
    """
    return offset2bag if offset2bag.numel() else bag_of_each(indices, offsets)


@op("aten::_embedding_bag", kernel=True, tags="core")
def _embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return sums, means or maxima over bags of rows of a table.

    Args:
        weight: the table.
        indices: the indices of rows, those of one bag after those of another.
        offsets: the position in ``indices`` at which each bag begins.
        scale_grad_by_freq: whether gradients of rows are divided by how often the rows occur.
        mode: 0 for sums, 1 for means, 2 for maxima.
        sparse: whether PyTorch's gradient is sparse; here it never is.
        per_sample_weights: the factors of the rows.
        include_last_offset: whether the last offset is the end of the last bag.
        padding_idx: the index of a row that does not count.

    Returns:
        The reduced bags; and for the gradient the bag of each index, the sizes of bags and the rows that maxima come
        from.
    """
    require_floating("embedding_bag", weight)
    check(indices.ndim == 1, f"input has to be a 1D Tensor, but got Tensor of dimension {indices.ndim}")
    check(offsets.ndim == 1 and offsets.shape[0] >= 1, "offsets should have at least 1 element")
    for tensor in (indices, offsets):
        if tensor.dtype not in (int32, int64):
            raise DTypeError(f"expected indices and offsets to be Long or Int, but got {tensor.dtype.scalar_type}")
    check(
        per_sample_weights is None or mode == SUM,
        "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum'",
    )
    if per_sample_weights is not None and per_sample_weights.dtype is not weight.dtype:
        raise DTypeError(
            f"embedding_bag: expected weight ({weight.dtype}) to have the same type as per_sample_weights "
            f"({per_sample_weights.dtype}). Convert one: per_sample_weights.to(weight.dtype)"
        )
    count = offsets.shape[0] - include_last_offset
    numbers, begins = indices.to(int64), offsets.to(int64)[:count]
    check_offsets(offsets.to(int64), numbers.shape[0])
    bags = bag_of_each(numbers, begins)
    counted = numbers != padding_idx
    sizes = counts_in(bags, counted, count)
    rows = weight.index_select(0, numbers)
    largest = sizes
    if mode == MAX:
        summed, largest = largest_of_bags(where(counted.unsqueeze(1), rows, -math.inf), numbers, bags, sizes)
    else:
        rows = rows.to(float32) if weight.dtype.itemsize == 2 else rows  # sums of 16 bits would lose small terms
        if per_sample_weights is not None:
            rows = rows * per_sample_weights.unsqueeze(1)
        summed = rows.new_zeros((count, weight.shape[1])).index_add(0, bags, where(counted.unsqueeze(1), rows, 0.0))
        if mode == MEAN:
            summed = shared(summed, sizes.clamp(min=1).unsqueeze(1))
        else:  # unused for sums
            sizes, largest = zeros_like(sizes), zeros_like(sizes)
        summed = summed.to(weight.dtype)
    bags, sizes, largest = (tensor.to(indices.dtype) for tensor in (bags, sizes, largest.clone()))
    return summed, bags, sizes, largest


@op("aten::_embedding_bag_dense_backward", kernel=True)
def _embedding_bag_dense_backward(
    grad: Tensor,
    indices: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    maximum_indices: Tensor,
    num_weights: SymInt,
    scale_grad_by_freq: bool,
    mode: int,
    per_sample_weights: Tensor | None,
    padding_idx: int = -1,
) -> Tensor:
    """Return the gradient of the table of ``_embedding_bag``."""
    return table_gradient(
        grad,
        indices,
        offset2bag,
        bag_size,
        maximum_indices,
        num_weights,
        scale_grad_by_freq,
        mode,
        per_sample_weights,
        padding_idx,
    )


@op("aten::_embedding_bag_per_sample_weights_backward", kernel=True)
def _embedding_bag_per_sample_weights_backward(
    grad: Tensor, weight: Tensor, indices: Tensor, offsets: Tensor, offset2bag: Tensor, mode: int, padding_idx: int = -1
) -> Tensor:
    """Return the gradient of the per-sample weights of ``_embedding_bag``."""
    require_floating("embedding_bag_backward", grad)
    check(mode == SUM, "embedding_bag_backward: per_sample_weights only supported for mode='sum'")
    return weight_gradient(grad, weight, indices, known_bags(offset2bag, indices, offsets), padding_idx)


@op("aten::_embedding_bag_backward", kernel=True)
@forward(_embedding_bag_dense_backward, offset2bag=known_bags, unused=("sparse",))
def _embedding_bag_backward(
    grad: Tensor,
    indices: Tensor,
    offsets: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    maximum_indices: Tensor,
    num_weights: SymInt,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    padding_idx: int = -1,
) -> Tensor:
    """Return the gradient of the table of ``_embedding_bag`` as a dense tensor, even for ``sparse=True``."""


@_embedding_bag.derivative("weight", output_differentiability=(True, False, False, False))
def _embedding_bag_derivative(
    grad,
    weight,
    indices,
    result1,
    result2,
    result3,
    scale_grad_by_freq,
    mode,
    sparse,
    per_sample_weights,
    offsets,
    padding_idx,
):
    rest = (weight.shape[0], scale_grad_by_freq, mode)
    if is_grad_enabled():
        return table_gradient(grad, indices, result1, result2, result3, *rest, per_sample_weights, padding_idx)
    return _embedding_bag_backward(
        grad, indices, offsets, result1, result2, result3, *rest, sparse, per_sample_weights, padding_idx
    )


@_embedding_bag.derivative("per_sample_weights", output_differentiability=(True, False, False, False))
def _embedding_bag_weights_derivative(grad, weight, indices, offsets, result1, mode, padding_idx):
    if is_grad_enabled():
        return weight_gradient(grad, weight, indices, result1, padding_idx)
    return _embedding_bag_per_sample_weights_backward(grad, weight, indices, offsets, result1, mode, padding_idx)


_embedding_bag_forward_only = _embedding_bag.alias("aten::_embedding_bag_forward_only", kernel=True)


@op("aten::embedding_bag")
@forward(_embedding_bag)
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return sums, means or maxima over bags of rows of a table; see ``_embedding_bag``."""


@op("aten::embedding_bag.padding_idx")
@forward(_embedding_bag, padding_idx=row_number)
def embedding_bag_padding_idx(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
    padding_idx: int | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return reductions of bags of rows; see ``_embedding_bag``. A negative ``padding_idx`` counts from the end."""
