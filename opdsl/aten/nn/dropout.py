"""Dropout and alpha dropout, of elements or of whole features."""

from __future__ import annotations

import math
from typing import Any

from opdsl.aten._shared.entries import documented
from opdsl.aten.create.factories import empty, zeros
from opdsl.aten.create.like_factories import empty_like, ones_like
from opdsl.aten.pointwise.arithmetic import add, mul
from opdsl.declare import op, traceable
from opdsl.kernels import check, drop_randomly
from opdsl.runtime import Generator, Tensor, bool_, cpu, meta, uint8
from opdsl.schema import Alias

# ------------------------------------------------------------------------------------------------------------ dropout


def noise_of(input: Tensor, p: float, by_feature: bool) -> Tensor:
    """Return a random mask with 1 for kept and 0 for dropped, for each element or for each feature of each sample."""
    if not by_feature:
        return empty_like(input).bernoulli_(1 - p)
    check(input.ndim >= 2, "Feature dropout requires at least 2 dimensions in the input")
    shape = (*input.shape[:2], *(1 for _ in input.shape[2:]))
    return empty(shape, dtype=input.dtype, device=input.device).bernoulli_(1 - p)


# Dropped elements are set to the limit of SELU, the negative of this (``_dropout_impl`` in ATen/native/Dropout.cpp).
_ALPHA = 1.7580993408473766


def factors_of(input: Tensor, p: float, by_feature: bool, keeps_variance: bool) -> tuple[Tensor, Tensor | None]:
    """Return random factors and summands (or None) for dropout that preserves the mean, or mean and variance."""
    if p == 1:
        return zeros([], dtype=input.dtype, device=input.device), None
    noise = noise_of(input, p, by_feature)
    if not keeps_variance:
        return noise.div_(1 - p), None
    scale = 1 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    shift = add(noise, -1).mul_(_ALPHA * scale).add_(_ALPHA * scale * p)
    return noise.mul_(scale), shift


def dropped(input: Tensor, p: float, train: bool, *, in_place: bool, by_feature: bool, keeps_variance: bool) -> Tensor:
    """Return a tensor with random elements or features dropped, or the input itself if none are to be dropped.

    Raises:
        ShapeError: ``p`` is not between 0 and 1.
    """
    check(0 <= p <= 1, f"dropout probability has to be between 0 and 1, but got {p}")
    if p == 0 or not train or input.numel() == 0:
        return input
    if input.device not in (cpu, meta) and 0 < p < 1 and not (in_place or by_feature or keeps_variance):
        return native_dropout(input, p, True)[0]  # one kernel, as in PyTorch
    factors, shift = factors_of(input, p, by_feature, keeps_variance)
    scaled = input.mul_(factors) if in_place else mul(input, factors)
    return scaled if shift is None else scaled.add_(shift)


def declare_dropout(name: str, text: str, *, by_feature: bool, keeps_variance: bool) -> Any:
    """Declare a dropout operator and its in-place variant.

    Args:
        name: the operator's name.
        text: the operator's docstring.
        by_feature: whether whole features are dropped.
        keeps_variance: whether the variance is preserved as well as the mean.
    """
    how = {"by_feature": by_feature, "keeps_variance": keeps_variance}

    @op(f"aten::{name}", tags=("nondeterministic_seeded", "maybe_aliasing_or_mutating"))
    @documented(text)
    def with_zeros(input: Tensor, p: float, train: bool) -> Tensor:
        return dropped(input, p, train, in_place=False, **how)

    @op(f"aten::{name}_", tags="nondeterministic_seeded")
    @documented(f"Apply ``{name}`` in place.")
    def write_zeros(self: Tensor[Alias("a", write=True)], p: float, train: bool) -> Tensor[Alias("a", write=True)]:
        return dropped(self, p, train, in_place=True, **how)

    return with_zeros


DROPPED = (
    "Set elements to 0 with the probability ``p`` and divide others by ``1 - p``; return ``input`` if not training."
)
ALPHA = "Apply dropout that preserves the mean and the variance of standardized input, for networks with SELU."
FEATURES = "to whole features (channels), along the second dimension."

dropout = declare_dropout("dropout", DROPPED, by_feature=False, keeps_variance=False)
declare_dropout("feature_dropout", f"Apply ``dropout`` {FEATURES}", by_feature=True, keeps_variance=False)
alpha_dropout = declare_dropout("alpha_dropout", ALPHA, by_feature=False, keeps_variance=True)
declare_dropout("feature_alpha_dropout", f"Apply ``alpha_dropout`` {FEATURES}", by_feature=True, keeps_variance=True)
for _dropout in (dropout, alpha_dropout):
    _dropout.sharding(elementwise=True)


@op("aten::native_dropout", kernel=True, tags=("nondeterministic_seeded", "core"))
@traceable
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """Compute ``dropout``; return the result, and a mask of the elements that were kept."""
    if input.numel() == 0:
        return input, empty_like(input, dtype=bool_)
    if train is False:
        return input.clone(), ones_like(input, dtype=bool_)
    scale = 0.0 if p == 1 else 1 / (1 - p)
    if input.is_contiguous() and input.dtype.is_floating_point:
        together = drop_randomly(input, 1 - p, scale)
        if together is not None:
            return together
    mask = empty_like(input, dtype=bool_).bernoulli_(1 - p)
    return mul(input, mask).mul_(scale), mask


native_dropout.sharding(elementwise=True)


@native_dropout.derivative("input")
def native_dropout_derivative(grad, result1, p, train):
    scale = 1.0 if train is False else 0.0 if p == 1 else 1 / (1 - p)
    return native_dropout_backward(grad, result1, scale)


@op("aten::native_dropout_backward", kernel=True, tags="pointwise")
@traceable
def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    """Return the gradient of the input of ``native_dropout``."""
    return mul(mul(grad_output, mask), scale)


native_dropout_backward.derivative(
    grad_output=lambda grad, mask, scale: native_dropout_backward(grad, mask.conj(), scale),
    mask=lambda grad, grad_output, scale: grad * grad_output.conj() * scale,
)


@op("aten::_fused_dropout", tags="nondeterministic_seeded")
def _fused_dropout(self: Tensor, p: float, generator: Generator | None = None) -> tuple[Tensor, Tensor]:
    """Keep each element with probability ``p``, divided by ``p``; return the result, and a uint8 mask of the kept
    elements.
    """
    check(0 < p <= 1, f"_fused_dropout: expected a probability to stay above 0 and up to 1, but got {p}")
    stays = empty_like(self, dtype=bool_).bernoulli_(p, generator=generator)
    return self * stays / p, stays.to(uint8)
