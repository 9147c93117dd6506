"""Margin losses. ``size_average`` and ``reduce`` are PyTorch's deprecated arguments."""

from __future__ import annotations

from collections.abc import Callable

from opdsl._attributes import aten
from opdsl.errors import OptionError, ShapeError
from opdsl.nn.functional._common import code_of, reduced, reduction_of
from opdsl.runtime import Tensor


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the amounts by which the scores of other classes exceed the target's score minus a margin, averaged over
    classes.

    Args:
        input: scores, of shape (N, C) or (C).
        target: the classes, of shape (N) or ().
        p: 1, or 2 for squares.
        margin: the required distance of the target's score from the others.
        weight: of the classes.
        size_average, reduce, reduction: see ``l1_loss``.

    Raises:
        OptionError: there is no such reduction or power, or ``weight`` is not a vector; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.multi_margin_loss(opdsl.tensor([[1.0, 3.0, 0.0]]), opdsl.tensor([1]))
    tensor(0.)
    """
    if p not in (1, 2):
        raise OptionError(f"multi_margin_loss: only p == 1 and p == 2 supported (got {p})")
    if weight is not None and weight.ndim != 1:
        raise OptionError(f"multi_margin_loss: weight must be one-dimensional (got {weight.ndim} dimensions)")
    return aten.multi_margin_loss(input, target, p, margin, weight, code_of(reduction, size_average, reduce))


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the amounts by which the scores of other classes exceed those of the target classes minus 1, averaged over
    classes.

    Args:
        input: scores, of shape (N, C) or (C).
        target: classes in the same shape, the list of each row ended by -1.
        size_average, reduce, reduction: see ``l1_loss``.

    Raises:
        OptionError: there is no such reduction; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.multilabel_margin_loss(opdsl.tensor([[0.5, 2.0, 1.0]]), opdsl.tensor([[1, -1, 0]]))
    tensor(0.)
    """
    return aten.multilabel_margin_loss(input, target, code_of(reduction, size_average, reduce))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean over classes of ``binary_cross_entropy_with_logits``.

    Args:
        input: scores, of shape (..., C).
        target: 0 or 1 for each class.
        weight: of the classes.
        size_average, reduce, reduction: see ``l1_loss``.

    Raises:
        OptionError: there is no such reduction; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.multilabel_soft_margin_loss(opdsl.zeros(1, 2), opdsl.tensor([[0.0, 1.0]]))
    tensor(0.6931)
    """
    loss = -(target * aten.log_sigmoid(input) + (1 - target) * aten.log_sigmoid(-input))
    loss = loss if weight is None else loss * weight
    return reduced(loss.sum(-1) / input.size(-1), reduction_of(reduction, size_average, reduce))


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-target * input))`` for targets 1 and -1.

    Args:
        input: scores.
        target: 1 or -1 for each, of the same shape.
        size_average, reduce, reduction: see ``l1_loss``.

    Raises:
        OptionError: there is no such reduction; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.soft_margin_loss(opdsl.tensor([0.0, 2.0]), opdsl.tensor([1.0, -1.0]), reduction="none")
    tensor([0.6931, 2.1269])
    """
    return aten.soft_margin_loss(input, target, code_of(reduction, size_average, reduce))


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the input where the target is 1, and ``max(0, margin - input)`` where it is -1.

    Args:
        input: distances.
        target: 1 or -1 for each, of the same shape.
        margin: the required distance of pairs with target -1.
        size_average, reduce, reduction: see ``l1_loss``.

    Raises:
        OptionError: there is no such reduction; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.hinge_embedding_loss(opdsl.tensor([0.5, 0.25]), opdsl.tensor([1.0, -1.0]), reduction="none")
    tensor([0.5000, 0.7500])
    """
    return aten.hinge_embedding_loss(input, target, margin, code_of(reduction, size_average, reduce))


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``

    Args:
        input1, input2: scores.
        target: 1 where the first has to be larger, -1 where the second has to be.
        margin: the required difference.
        size_average, reduce, reduction: see ``l1_loss``.

    Raises:
        ShapeError: the tensors have different numbers of dimensions.
        OptionError: there is no such reduction; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.margin_ranking_loss(opdsl.tensor([1.0]), opdsl.tensor([3.0]), opdsl.tensor([1.0]))
    tensor(2.)
    """
    if not input1.ndim == input2.ndim == target.ndim:
        raise ShapeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape}"
        )
    return aten.margin_ranking_loss(input1, input2, target, margin, code_of(reduction, size_average, reduce))


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cosine`` of pairs of vectors where the target is 1, and ``max(0, cosine - margin)`` where it is -1.

    Args:
        input1, input2: vectors, of shape (N, D) or (D).
        target: 1 or -1 for each pair, of shape (N) or ().
        margin: the largest cosine without loss for pairs with target -1.
        size_average, reduce, reduction: see ``l1_loss``.

    Raises:
        OptionError: there is no such reduction; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.cosine_embedding_loss(opdsl.tensor([[1.0, 0.0]]), opdsl.tensor([[0.0, 2.0]]), opdsl.tensor([1.0]))
    tensor(1.)
    """
    return aten.cosine_embedding_loss(input1, input2, target, margin, code_of(reduction, size_average, reduce))


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, |anchor - positive| - |anchor - negative| + margin)`` in the ``p``-norm.

    Args:
        anchor, positive, negative: vectors along the last dimension.
        margin: the required difference of the distances to the negative and to the positive.
        p, eps: of the norm, see ``pairwise_distance``.
        swap: whether the distance from positive to negative is used if it is smaller than from anchor to negative.
        size_average, reduce, reduction: see ``l1_loss``.

    Raises:
        OptionError: the margin is not positive; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.triplet_margin_loss(opdsl.zeros(1, 2), opdsl.zeros(1, 2), opdsl.tensor([[0.0, 0.25]]), eps=0.0)
    tensor(0.7500)
    """
    code = code_of(reduction, size_average, reduce)
    if margin <= 0:
        raise OptionError(f"margin must be greater than 0, got {margin}")
    return aten.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, code)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Return ``triplet_margin_loss`` for any distance function.

    Args:
        anchor, positive, negative: tensors that the distance function accepts.
        distance_function: of two tensors; ``pairwise_distance`` for None.
        margin, swap: see ``triplet_margin_loss``.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Raises:
        OptionError: the margin is not positive; it is a ValueError.
        ShapeError: the tensors have different numbers of dimensions.

    >>> import opdsl, opdsl.nn.functional as F
    >>> one, two, three = opdsl.tensor([[0.0], [2.0], [5.0]]).unbind()
    >>> F.triplet_margin_with_distance_loss(one, three, two, distance_function=lambda x, y: (x - y).abs())
    tensor(4.)
    """
    reduction = reduction_of(reduction)
    if margin <= 0:
        raise OptionError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise ShapeError(
            "triplet_margin_with_distance_loss: anchor, positive and negative have the same number of dimensions "
            f"(got {anchor.ndim}, {positive.ndim} and {negative.ndim})"
        )
    distance = distance_function or aten.pairwise_distance
    far = distance(anchor, negative)
    if swap:
        far = aten.minimum(far, distance(positive, negative))
    return reduced((margin + distance(anchor, positive) - far).clamp_min(0), reduction)
