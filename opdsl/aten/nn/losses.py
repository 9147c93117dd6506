"""Losses that are computed elementwise and then reduced to a sum or a mean.

The rules are those of ATen/native/Loss.cpp.
"""

from __future__ import annotations

import math

from opdsl.aten.create.like_factories import zeros_like
from opdsl.aten.nn.activations import log_sigmoid
from opdsl.aten.pointwise.clamping import minimum
from opdsl.aten.reduce.closeness import pairwise_distance
from opdsl.declare import op
from opdsl.errors import DTypeError
from opdsl.kernels import check
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.runtime import Tensor
from opdsl.schema.vocabulary import Reduction

# Added to squared lengths, so that the cosine's denominator is not 0.
_EPSILON = 1e-12


def reduced(loss: Tensor, reduction: int) -> Tensor:
    """Return elementwise losses, their mean or their sum, as ``reduction`` selects."""
    if reduction == Reduction.Mean:
        return loss.mean()
    return loss.sum() if reduction == Reduction.Sum else loss


def weighted(loss: Tensor, weight: Tensor | None) -> Tensor:
    """Multiply elementwise losses or gradients by weights; return them unchanged for None."""
    return loss if weight is None else loss * weight


def share(grad: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """Return the gradients of elementwise losses from the gradient of the loss that they are reduced to."""
    shape = broadcast_all((self.shape, target.shape))
    return (grad / max(math.prod(shape), 1) if reduction == Reduction.Mean else grad).expand(shape)


@op("aten::l1_loss", python_module="nn")
def l1_loss(self: Tensor, target: Tensor, reduction: int = Reduction.Mean) -> Tensor:
    """``abs(self - target)``"""
    return reduced((self - target).abs(), reduction)


@op("aten::kl_div")
def kl_div(self: Tensor, target: Tensor, reduction: int = Reduction.Mean, *, log_target: bool = False) -> Tensor:
    """``target * (log(target) - self)``, the divergence of ``exp(self)`` from ``target``; 0 where ``target`` is 0."""
    dtypes = (self.dtype, target.dtype)
    if any(dtype.is_complex for dtype in dtypes):
        raise DTypeError("kl_div: Complex inputs not supported.")
    if not all(dtype.is_floating_point for dtype in dtypes):
        raise DTypeError("kl_div: Integral inputs not supported.")
    if log_target:
        return reduced(target.exp() * (target - self), reduction)
    return reduced(target.xlogy(target) - target * self, reduction)


@op("aten::hinge_embedding_loss")
def hinge_embedding_loss(self: Tensor, target: Tensor, margin: float = 1.0, reduction: int = Reduction.Mean) -> Tensor:
    """``self`` where ``target`` is 1, ``max(0, margin - self)`` where it is -1."""
    zeros = zeros_like(self)
    apart = ((-self) + margin).clamp_min(0).where(target != 1, zeros)
    return reduced(apart + self.where(target != -1, zeros), reduction)


@op("aten::margin_ranking_loss")
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = Reduction.Mean
) -> Tensor:
    """``max(0, margin - target * (input1 - input2))``"""
    return reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


@op("aten::cosine_embedding_loss")
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = Reduction.Mean
) -> Tensor:
    """``1 - cos`` of the angle between the inputs where ``target`` is 1, ``max(0, cos - margin)`` where it is -1."""
    dim = target.ndim
    check(dim < 2, "0D or 1D target tensor expected, multi-target not supported")
    check(
        input1.ndim == dim + 1 and input2.ndim == dim + 1,
        f"{dim}D target tensor expects {dim + 1}D input tensors, but found inputs with sizes {list(input1.shape)} and "
        f"{list(input2.shape)}.",
    )
    lengths = [(input * input).sum([dim]) + _EPSILON for input in (input1, input2)]
    cosine = (input1 * input2).sum([dim]) / (lengths[0] * lengths[1]).sqrt()
    zeros = zeros_like(cosine)
    near = (1 - cosine).where(target == 1, zeros)
    return reduced(near + (cosine - margin).clamp_min(0).where(target == -1, zeros), reduction)


@op("aten::binary_cross_entropy_with_logits", kernel="CompositeExplicitAutograd")
def binary_cross_entropy_with_logits(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = Reduction.Mean,
) -> Tensor:
    """``-(target * log(sigmoid(self)) + (1 - target) * log(1 - sigmoid(self)))``, accurate for large ``abs(self)``."""
    logarithm = log_sigmoid(self)
    if pos_weight is not None:
        logarithm = logarithm * ((pos_weight - 1) * target + 1)
    loss = (1 - target) * self - logarithm
    return reduced(weighted(loss, weight), reduction)


@binary_cross_entropy_with_logits.derivative("self")
def binary_cross_entropy_with_logits_derivative(grad, self, target, weight, pos_weight, reduction):
    scaled = target if pos_weight is None else pos_weight * target
    slope = (scaled + 1 - target) * self.sigmoid() - scaled
    return weighted(slope, weight) * share(grad, self, target, reduction)


@binary_cross_entropy_with_logits.derivative("target")
def binary_cross_entropy_with_logits_target_derivative(grad, self, target, weight, pos_weight, reduction):
    slope = -self
    if pos_weight is not None:
        slope = log_sigmoid(-self) - pos_weight * log_sigmoid(self)
    return weighted(slope, weight) * share(grad, self, target, reduction)


@op("aten::poisson_nll_loss")
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """Return the negative log-likelihood of ``target`` events if ``input`` events are expected (Poisson distribution).

    Args:
        input: the expected numbers of events, or their logarithms.
        target: the numbers of events.
        log_input: whether ``input`` holds logarithms.
        full: whether to add the logarithm of the factorial, by Stirling's formula, where ``target`` is above 1.
        eps: the number that is added to ``input`` to keep logarithms finite.
        reduction: see ``Reduction``.
    """
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        factorial = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + factorial.masked_fill(target <= 1, 0)
    return reduced(loss, reduction)


@op("aten::triplet_margin_loss")
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-06,
    swap: bool = False,
    reduction: int = Reduction.Mean,
) -> Tensor:
    """``max(0, margin + distance(anchor, positive) - distance(anchor, negative))``, with ``p``-norms of vectors.

    swap: whether to use the distance between ``positive`` and ``negative`` where that is smaller than the last one.
    """
    dims = anchor.ndim, positive.ndim, negative.ndim
    check(
        dims[0] == dims[1] == dims[2],
        "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
        f"anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D inputs",
    )
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced((margin + near - far).clamp_min(0), reduction)
