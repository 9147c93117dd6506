"""Losses. ``size_average`` and ``reduce`` are what PyTorch had before ``reduction``."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

from opdsl._attributes import aten
from opdsl.dispatch import no_grad
from opdsl.errors import NumberError, OptionError, ShapeError
from opdsl.kernels import check
from opdsl.kernels.iteration.broadcasting import broadcast
from opdsl.nn.functional._common import code_of, reduced, reduction_of
from opdsl.nn.functional.linear import linear
from opdsl.runtime import Tensor

# ---------------------------------------------------------------------------------------------------------- regression


def _beside(input: Tensor, target: Tensor, weight: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Both in the shape that they have together."""
    if target.shape != input.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )
    if weight is not None and weight.shape != input.shape:
        raise ShapeError(f"Weights and input must have the same size (got {weight.shape} and {input.shape}).")
    shape = broadcast(input.shape, target.shape)
    return input.expand(shape), target.expand(shape)


def _weighted(loss: Tensor, weight: Tensor, reduction: str) -> Tensor:
    """The mean is that of the weights, not of the elements."""
    total = loss * weight
    return total.sum() / weight.sum() if reduction == "mean" else reduced(total, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The absolute differences.

    Args:
        input, target: the numbers, of one shape.
        size_average, reduce: what PyTorch had before ``reduction``.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
        weight: of the differences, by whose sum a mean is divided.

    Raises:
        OptionError: there is no such reduction; it is a ValueError.
        ShapeError: the weights have another shape than the input.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.l1_loss(opdsl.tensor([1.0, 2.0]), opdsl.tensor([0.0, 4.0]))
    tensor(1.5000)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    input, target = _beside(input, target, weight)
    if weight is None:
        return aten.l1_loss(input, target, code_of(reduction))
    return _weighted((input - target).abs(), weight, reduction)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The squares of the differences.

    Args:
        input, target: the numbers, of one shape.
        size_average, reduce, reduction, weight: as of ``l1_loss``.

    Raises:
        OptionError: there is no such reduction; it is a ValueError.
        ShapeError: the weights have another shape than the input.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.mse_loss(opdsl.tensor([1.0, 2.0]), opdsl.tensor([0.0, 4.0]), reduction="none")
    tensor([1., 4.])
    """
    reduction = reduction_of(reduction, size_average, reduce)
    input, target = _beside(input, target, weight)
    if weight is None:
        return aten.mse_loss(input, target, code_of(reduction))
    return _weighted((input - target).square(), weight, reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Half the squares of differences below ``beta``, divided by it; above, these less ``beta / 2``.

    Args:
        input, target: the numbers, of one shape.
        size_average, reduce, reduction: as of ``l1_loss``.
        beta: up to which difference it is a parabola; ``l1_loss`` for 0.

    Raises:
        OptionError: there is no such reduction; it is a ValueError.
        ShapeError: the shapes do not broadcast.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.smooth_l1_loss(opdsl.tensor([0.5, 3.0]), opdsl.zeros(2), reduction="none")
    tensor([0.1250, 2.5000])
    """
    code = code_of(reduction, size_average, reduce)
    input, target = _beside(input, target)
    return aten.l1_loss(input, target, code) if beta == 0.0 else aten.smooth_l1_loss(input, target, code, beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """``delta`` times ``smooth_l1_loss`` with ``beta=delta``.

    Args:
        input, target: the numbers, of one shape.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
        delta: up to which difference it is a parabola.
        weight: of the differences.

    Raises:
        OptionError: there is no such reduction; it is a ValueError.
        ShapeError: the weights have another shape than the input.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.huber_loss(opdsl.tensor([0.5, 3.0]), opdsl.zeros(2), "none", 2.0)
    tensor([0.1250, 4.0000])
    """
    input, target = _beside(input, target, weight)
    if weight is None:
        return aten.huber_loss(input, target, code_of(reduction), delta)
    return reduced(aten.huber_loss(input, target, 0, delta) * weight, reduction_of(reduction))


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of counts, given the rates (or their logarithms) of a Poisson distribution.

    Args:
        input: the rates, or their logarithms.
        target: the counts.
        log_input: whether the input is logarithms.
        full: whether Stirling's approximation of ``log(target!)`` is added.
        size_average, reduce, reduction: as of ``l1_loss``.
        eps: what is added to rates, so that their logarithms are finite.

    Raises:
        OptionError: there is no such reduction; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.poisson_nll_loss(opdsl.tensor([0.0, 1.0]), opdsl.tensor([1.0, 2.0]), reduction="none")
    tensor([1.0000, 0.7183])
    """
    return aten.poisson_nll_loss(input, target, log_input, full, eps, code_of(reduction, size_average, reduce))


def _differing(first: tuple[int, ...], second: tuple[int, ...]) -> list[int]:
    """The sizes of the second shape that are not those of the first."""
    return [other for one, other in zip(first, second, strict=True) if one != other]


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """The negative log likelihood of normal distributions.

    Args:
        input: the means.
        target: the samples.
        var: the variances: one number, one for each element, or one for each row.
        full: whether the constant is added.
        eps: the least variance, which has no gradient.
        reduction: ``none``, ``mean`` or ``sum``.

    Raises:
        NumberError: a variance is negative; it is a ValueError.
        OptionError: the variances have another shape; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.gaussian_nll_loss(opdsl.tensor([0.0, 0.0]), opdsl.tensor([1.0, 2.0]), 1.0, reduction="none")
    tensor([0.5000, 2.0000])
    """
    variance = aten.full_like(input, var) if isinstance(var, (int, float)) else var
    if bool((variance < 0).any()):
        raise NumberError("gaussian_nll_loss: var has negative entry/entries")
    if variance.shape != input.shape:
        if variance.shape == input.shape[:-1]:
            variance = variance.unsqueeze(-1)
        elif variance.ndim != input.ndim or [b for a, b in zip(input.shape, variance.shape, strict=True) if a != b] != [
            1
        ]:
            raise OptionError(f"gaussian_nll_loss: var is of incorrect size ({variance.shape} for {input.shape})")
    variance = variance.clone()
    with no_grad():
        variance.clamp_(min=eps)
    loss = 0.5 * (variance.log() + (input - target).square() / variance)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction_of(reduction))


# ------------------------------------------------------------------------------------------------------ classification


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log probabilities of the target classes.

    Args:
        input: log probabilities, of shape (N, C, ...) or (C).
        target: the classes, of shape (N, ...) or ().
        weight: of the classes, by whose sum a mean is divided.
        size_average, reduce, reduction: as of ``l1_loss``.
        ignore_index: a target that does not count.

    Raises:
        OptionError: there is no such reduction; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.nll_loss(opdsl.tensor([[-0.5, -1.0], [-2.0, -0.25]]), opdsl.tensor([0, 1]))
    tensor(0.3750)
    """
    return aten.nll_loss_nd(input, target, weight, code_of(reduction, size_average, reduce), ignore_index)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The cross entropy of classes, or of their probabilities, and unnormalised log probabilities.

    Args:
        input: unnormalised log probabilities, of shape (N, C, ...) or (C).
        target: the classes, of shape (N, ...) or (); or their probabilities, of the shape of the input.
        weight, size_average, ignore_index, reduce, reduction: as of ``nll_loss``.
        label_smoothing: the part of the targets that is spread over all classes.

    Raises:
        OptionError: there is no such reduction; it is a ValueError.

    >>> import opdsl
    >>> opdsl.nn.functional.cross_entropy(opdsl.zeros(2, 4), opdsl.tensor([0, 3]))
    tensor(1.3863)
    """
    code = code_of(reduction, size_average, reduce)
    return aten.cross_entropy_loss(input, target, weight, code, ignore_index, label_smoothing)


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: None = None,
) -> Tensor:
    """``cross_entropy`` of a linear map of the input, whose ``options`` for large vocabularies are not here.

    Args:
        input: of shape (N, in) or (in).
        linear_weight, linear_bias: the map, of shapes (C, ..., in) and (C, ...).
        target, weight, reduction, label_smoothing: as of ``cross_entropy``.
        ignore_index: a target that does not count; -100 for None.
        options: None.

    Raises:
        OptionError: ``options`` are given.
        ShapeError: the sizes do not fit.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.linear_cross_entropy(opdsl.zeros(2, 3), opdsl.ones(4, 3), opdsl.tensor([0, 3]))
    tensor(1.3863)
    """
    if options is not None:
        raise OptionError("linear_cross_entropy: options (computing in chunks) are not supported. Leave them out.")
    _check_linear_map(input, linear_weight, linear_bias)
    is_index = not target.dtype.is_floating_point
    check(ignore_index is None or is_index, "ignore_index cannot be specified when target contains probabilities")
    classes, *inner, features = linear_weight.shape
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = linear(input, linear_weight.reshape(-1, features), bias).reshape(*input.shape[:-1], classes, *inner)
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        logits, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )


def _check_linear_map(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    """That a linear map of classes fits the input."""
    form, name = weight.shape, "linear_cross_entropy"
    check(input.ndim in (1, 2), f"{name}: expected input with dimensionality 1 or 2, got {input.ndim}")
    check(len(form) >= 2, f"{name}: expected linear_weight with dimensionality at least 2, got {len(form)}")
    check(
        input.shape[-1] == form[-1],
        f"{name}: expected equal last dimensions of input and linear_weight, got {input.shape[-1]} and {form[-1]}",
    )
    check(input.ndim == 2 or len(form) == 2, f"{name}: a weight of shape {form} needs a batch, got {input.shape}")
    if bias is not None:
        check(bias.shape == form[:-1], f"{name}: expected linear_bias shape {form[:-1]}, got {bias.shape}")


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The cross entropy of probabilities and targets from 0 to 1.

    Args:
        input: probabilities.
        target: numbers from 0 to 1, of the same shape.
        weight: of the elements; it broadcasts.
        size_average, reduce, reduction: as of ``l1_loss``.

    Raises:
        OptionError: both have different shapes; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.binary_cross_entropy(opdsl.tensor([0.5, 0.25]), opdsl.tensor([1.0, 0.0]), reduction="none")
    tensor([0.6931, 0.2877])
    """
    code = code_of(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise OptionError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    if weight is not None:
        weight = weight.expand(broadcast(target.shape, weight.shape))
    return aten.binary_cross_entropy(input, target, weight, code)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """``binary_cross_entropy`` of the sigmoid of the input, without overflow.

    Args:
        input: what the sigmoid is taken of.
        target: numbers from 0 to 1, of the same shape.
        weight, size_average, reduce, reduction: as of ``binary_cross_entropy``.
        pos_weight: what the part of targets 1 is multiplied by.

    Raises:
        OptionError: both have different shapes; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.binary_cross_entropy_with_logits(opdsl.tensor([0.0, -100.0]), opdsl.tensor([1.0, 1.0]), reduction="none")
    tensor([  0.6931, 100.0000])
    """
    if target.shape != input.shape:
        raise OptionError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    code = code_of(reduction, size_average, reduce)
    return aten.binary_cross_entropy_with_logits(input, target, weight, pos_weight, code)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence of log probabilities and probabilities (or their logarithms).

    ``reduction="batchmean"`` divides the sum by the first size, which is the divergence's definition.

    Args:
        input: log probabilities.
        target: probabilities, or their logarithms.
        size_average, reduce: as of ``l1_loss``.
        reduction: ``"none"``, ``"batchmean"``, ``"mean"`` or ``"sum"``.
        log_target: whether the target is logarithms.

    Raises:
        OptionError: there is no such reduction; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.kl_div(opdsl.tensor([[0.5, 0.5]]).log(), opdsl.tensor([[1.0, 0.0]]), reduction="batchmean")
    tensor(0.6931)
    """
    per_batch = size_average is None and reduce is None and reduction == "batchmean"
    code = code_of("sum" if per_batch else reduction, size_average, reduce)
    made = aten.kl_div(input, target, code, log_target=log_target)
    return made / input.shape[0] if per_batch and input.ndim else made


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
    """How far other classes come within a margin of the target class.

    Args:
        input: scores, of shape (N, C) or (C).
        target: the classes, of shape (N) or ().
        p: 1, or 2 for squares.
        margin: by how much the target's score is to be above the others.
        weight: of the classes.
        size_average, reduce, reduction: as of ``l1_loss``.

    Raises:
        OptionError: there is no such reduction or power, or ``weight`` is no vector; it is a ValueError.

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
    """How far other classes come within 1 of the target classes, of which -1 ends the list.

    Args:
        input: scores, of shape (N, C) or (C).
        target: classes in the same shape, the list of each row ended by -1.
        size_average, reduce, reduction: as of ``l1_loss``.

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
    """The mean over classes of ``binary_cross_entropy_with_logits``.

    Args:
        input: scores, of shape (..., C).
        target: 0 or 1 for each class.
        weight: of the classes.
        size_average, reduce, reduction: as of ``l1_loss``.

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
        size_average, reduce, reduction: as of ``l1_loss``.

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
    """The input where the target is 1, ``max(0, margin - input)`` where it is -1.

    Args:
        input: distances.
        target: 1 or -1 for each, of the same shape.
        margin: how far pairs of target -1 are to be apart.
        size_average, reduce, reduction: as of ``l1_loss``.

    Raises:
        OptionError: there is no such reduction; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.hinge_embedding_loss(opdsl.tensor([0.5, 0.25]), opdsl.tensor([1.0, -1.0]), reduction="none")
    tensor([0.5000, 0.7500])
    """
    return aten.hinge_embedding_loss(input, target, margin, code_of(reduction, size_average, reduce))


# ------------------------------------------------------------------------------------------------------------- metrics


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
        target: 1 where the first is to be larger, -1 where the second is.
        margin: by how much.
        size_average, reduce, reduction: as of ``l1_loss``.

    Raises:
        ShapeError: they have different numbers of dimensions.
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
    """How far the cosines of vectors are from 1 where the target is 1, and above a margin where it is -1.

    Args:
        input1, input2: vectors, of shape (N, D) or (D).
        target: 1 or -1 for each pair, of shape (N) or ().
        margin: the cosine above which pairs of target -1 cost.
        size_average, reduce, reduction: as of ``l1_loss``.

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
        margin: by how much the negative is to be further away than the positive.
        p, eps: of the norm, as of ``pairwise_distance``.
        swap: whether the distance of positive and negative counts for the negative's where it is less.
        size_average, reduce, reduction: as of ``l1_loss``.

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
    """``triplet_margin_loss`` for any distance.

    Args:
        anchor, positive, negative: what the distance takes.
        distance_function: of two tensors; ``pairwise_distance`` for None.
        margin, swap: as of ``triplet_margin_loss``.
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


# ------------------------------------------------------------------------------------------------------------ sequences


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The connectionist temporal classification loss.

    Args:
        log_probs: log probabilities, of shape (T, N, C) or (T, C).
        targets: classes, of shape (N, S), or all of them in one vector.
        input_lengths, target_lengths: how much of each counts.
        blank: the class that stands between others.
        reduction: ``none``, ``sum``, or ``mean``, which divides each loss by the length of its target before.
        zero_infinity: whether losses of targets that do not fit are 0.

    Raises:
        OptionError: there is no such reduction; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.ctc_loss(opdsl.full((2, 3), 1 / 3).log(), opdsl.tensor([1]), opdsl.tensor([2]), opdsl.tensor([1]))
    tensor(1.0986)
    """
    number = {"none": 0, "mean": 1, "sum": 2}[reduction_of(reduction)]
    lengths = aten.asarray(input_lengths), aten.asarray(target_lengths)
    return aten.ctc_loss(log_probs, targets, *lengths, blank, number, zero_infinity)
