"""Embeddings, and one-hot encoding."""

from __future__ import annotations

from opdsl._attributes import aten
from opdsl.dispatch import no_grad
from opdsl.errors import OptionError, UnsupportedModeError
from opdsl.runtime import Tensor

# Codes of the operator for the reductions of a bag.
BAGS = {"sum": 0, "mean": 1, "max": 2}


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Return for each class a vector of zeros with a one at its index.

    Args:
        tensor: the classes, int64 from 0 on.
        num_classes: the number of classes; one more than the largest for -1.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.one_hot(opdsl.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    return aten.one_hot(tensor, num_classes)


def _renorm(weight: Tensor, places: Tensor, max_norm: float, norm_type: float) -> None:
    """Limit the norms of the looked-up rows of a table, in place."""
    with no_grad():
        rows = aten._unique2(places.reshape(-1))[0]
        weight.index_copy_(0, rows, weight.index_select(0, rows).renorm(norm_type, 0, max_norm))


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Return the rows of a table at given indices.

    Args:
        input: the indices.
        weight: the table.
        padding_idx: the index of a row that gets no gradient.
        max_norm: rows with a larger norm are scaled down to it, in the table itself.
        norm_type: the exponent of that norm.
        scale_grad_by_freq: whether a row's gradient is divided by the number of its lookups.
        sparse: has to be False, since there are no sparse tensors.

    Raises:
        OptionError: the table has no row ``padding_idx``; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.embedding(opdsl.tensor([1, 0]), opdsl.tensor([[0.0, 0.5], [1.0, 1.5]]))
    tensor([[1.0000, 1.5000],
            [0.0000, 0.5000]])
    """
    count = weight.shape[0] if weight.ndim else 0
    if padding_idx is not None and not -count <= padding_idx < count:
        raise OptionError(f"Padding_idx must be within num_embeddings (got {padding_idx} of {count})")
    if max_norm is not None:
        _renorm(weight, input, max_norm, norm_type)
    skipped = -1 if padding_idx is None else padding_idx % count
    return aten.embedding(weight, input, skipped, scale_grad_by_freq, sparse)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Return the sums, means or maxima of rows of a table, one for each bag of indices.

    Args:
        input: the indices: a matrix whose rows are bags of equal size, or a vector of all bags.
        weight: the table.
        offsets: the start of each bag in the vector.
        max_norm, norm_type, scale_grad_by_freq, sparse: see ``embedding``.
        mode: ``sum``, ``mean`` or ``max``; the result for an empty bag is zeros.
        per_sample_weights: the factor of each row, for ``mode="sum"``.
        include_last_offset: whether the last offset is the end of the last bag.
        padding_idx: the index of a row that is ignored.

    Raises:
        OptionError: shapes do not fit, or there is no such mode; it is a ValueError.
        UnsupportedModeError: ``per_sample_weights`` without ``mode="sum"``.

    >>> import opdsl, opdsl.nn.functional as F
    >>> table = opdsl.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    >>> F.embedding_bag(opdsl.tensor([0, 1, 2]), table, opdsl.tensor([0, 2]), mode="sum")
    tensor([[2., 4.],
            [4., 5.]])
    """
    if mode not in BAGS:
        raise OptionError(f"mode has to be one of sum, mean or max (got {mode!r})")
    if per_sample_weights is not None and mode != "sum":
        raise UnsupportedModeError(
            f"embedding_bag: per_sample_weights is only supported for mode='sum' (got mode='{mode}')"
        )
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise OptionError(
            f"embedding_bag: per_sample_weights ({per_sample_weights.shape}) must have the shape of input "
            f"({input.shape})"
        )
    if (input.ndim, offsets is None) not in ((2, True), (1, False)):
        raise OptionError("embedding_bag: input is 2D, or 1D with offsets")
    if weight.ndim != 2:
        raise OptionError(f"embedding_bag: weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if offsets is not None and offsets.ndim != 1:
        raise OptionError(f"embedding_bag: offsets has to be a 1D Tensor, but got Tensor of dimension {offsets.ndim}")
    if max_norm is not None:
        _renorm(weight, input, max_norm, norm_type)
    if offsets is None:
        offsets = aten.arange(input.shape[0], device=input.device) * input.shape[1]
    if per_sample_weights is not None:
        per_sample_weights = per_sample_weights.reshape(-1)
    options = scale_grad_by_freq, BAGS[mode], sparse, per_sample_weights, include_last_offset, padding_idx
    return aten.embedding_bag(weight, input.reshape(-1), offsets, *options)[0]
