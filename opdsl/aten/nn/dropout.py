"""Dropout."""

from __future__ import annotations

import math
from typing import Any

from opdsl.aten.create.factories import empty, zeros
from opdsl.aten.create.like_factories import empty_like, ones_like
from opdsl.aten.pointwise.arithmetic import add, mul
from opdsl.declare import op, traceable
from opdsl.kernels import check
from opdsl.runtime import Generator, Tensor, bool_, uint8
from opdsl.schema import Alias

DROPPING: dict[str, Any] = {"tags": ("nondeterministic_seeded", "maybe_aliasing_or_mutating")}
DROPPING_IN_PLACE: dict[str, Any] = {"tags": "nondeterministic_seeded"}

# ------------------------------------------------------------------------------------------------------------ dropout


def _noise(input: Tensor, p: float, *, by_feature: bool) -> Tensor:
    """1 for what stays, 0 for what is dropped: of each element, or of each feature of each sample."""
    if not by_feature:
        return empty_like(input).bernoulli_(1 - p)
    check(input.ndim >= 2, "Feature dropout requires at least 2 dimensions in the input")
    shape = (*input.shape[:2], *(1 for _ in input.shape[2:]))
    return empty(shape, dtype=input.dtype, device=input.device).bernoulli_(1 - p)


def _leaves(input: Tensor, p: float, train: bool) -> bool:
    """Whether nothing is dropped.

    Raises:
        ShapeError: ``p`` is no probability.
    """
    check(0 <= p <= 1, f"dropout probability has to be between 0 and 1, but got {p}")
    return p == 0 or not train or input.numel() == 0


def _factors(input: Tensor, p: float, *, by_feature: bool) -> Tensor:
    """What elements are multiplied by, so that their mean stays."""
    if p == 1:
        return zeros([], dtype=input.dtype, device=input.device)
    return _noise(input, p, by_feature=by_feature).div_(1 - p)


# Dropped elements are set to the limit of SELU, the negative of this (``_dropout_impl`` in ATen/native/Dropout.cpp).
_ALPHA = 1.7580993408473766


def _alpha_factors(input: Tensor, p: float, *, by_feature: bool) -> tuple[Tensor, Tensor | None]:
    """What elements are multiplied by, and what is added then, so that mean and variance stay."""
    if p == 1:
        return zeros([], dtype=input.dtype, device=input.device), None
    noise = _noise(input, p, by_feature=by_feature)
    scale = 1 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    shift = add(noise, -1).mul_(_ALPHA * scale).add_(_ALPHA * scale * p)
    return noise.mul_(scale), shift


@op("aten::dropout", **DROPPING)
@traceable
def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Zeros for elements with the probability ``p``, the others divided by ``1 - p``; ``input`` if not training."""
    return input if _leaves(input, p, train) else mul(input, _factors(input, p, by_feature=False))


dropout.sharding(elementwise=True)


@op("aten::dropout_", **DROPPING_IN_PLACE)
def dropout_(self: Tensor[Alias("a", write=True)], p: float, train: bool) -> Tensor[Alias("a", write=True)]:
    """``dropout`` in place."""
    return self if _leaves(self, p, train) else self.mul_(_factors(self, p, by_feature=False))


@op("aten::feature_dropout", **DROPPING)
@traceable
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """``dropout`` of whole features, the second dimension."""
    return input if _leaves(input, p, train) else mul(input, _factors(input, p, by_feature=True))


@op("aten::feature_dropout_", **DROPPING_IN_PLACE)
def feature_dropout_(self: Tensor[Alias("a", write=True)], p: float, train: bool) -> Tensor[Alias("a", write=True)]:
    """``feature_dropout`` in place."""
    return self if _leaves(self, p, train) else self.mul_(_factors(self, p, by_feature=True))


def _alpha(input: Tensor, p: float, *, by_feature: bool) -> Tensor:
    factors, shift = _alpha_factors(input, p, by_feature=by_feature)
    scaled = mul(input, factors)
    return scaled if shift is None else scaled.add_(shift)


def _alpha_(self: Tensor, p: float, *, by_feature: bool) -> Tensor:
    factors, shift = _alpha_factors(self, p, by_feature=by_feature)
    scaled = self.mul_(factors)
    return scaled if shift is None else scaled.add_(shift)


@op("aten::alpha_dropout", **DROPPING)
@traceable
def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout that keeps mean and variance of standardised input, as networks with SELU need it."""
    return input if _leaves(input, p, train) else _alpha(input, p, by_feature=False)


alpha_dropout.sharding(elementwise=True)


@op("aten::alpha_dropout_", **DROPPING_IN_PLACE)
def alpha_dropout_(self: Tensor[Alias("a", write=True)], p: float, train: bool) -> Tensor[Alias("a", write=True)]:
    """``alpha_dropout`` in place."""
    return self if _leaves(self, p, train) else _alpha_(self, p, by_feature=False)


@op("aten::feature_alpha_dropout", **DROPPING)
@traceable
def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """``alpha_dropout`` of whole features, the second dimension."""
    return input if _leaves(input, p, train) else _alpha(input, p, by_feature=True)


@op("aten::feature_alpha_dropout_", **DROPPING_IN_PLACE)
def feature_alpha_dropout_(
    self: Tensor[Alias("a", write=True)], p: float, train: bool
) -> Tensor[Alias("a", write=True)]:
    """``feature_alpha_dropout`` in place."""
    return self if _leaves(self, p, train) else _alpha_(self, p, by_feature=True)


@op("aten::native_dropout", kernel=True, tags=("nondeterministic_seeded", "core"), autogen="native_dropout.out")
@traceable
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """``dropout`` and the mask of what stays."""
    if input.numel() == 0:
        return input, empty_like(input, dtype=bool_)
    if train is False:
        return input.clone(), ones_like(input, dtype=bool_)
    mask = empty_like(input, dtype=bool_).bernoulli_(1 - p)
    return mul(input, mask).mul_(0.0 if p == 1 else 1 / (1 - p)), mask


native_dropout.sharding(elementwise=True)


@native_dropout.derivative("input")
def native_dropout_derivative(grad, result1, p, train):
    scale = 1.0 if train is False else 0.0 if p == 1 else 1 / (1 - p)
    return native_dropout_backward(grad, result1, scale)


@op("aten::native_dropout_backward", kernel=True, tags="pointwise", autogen="native_dropout_backward.out")
@traceable
def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    """The gradient of ``native_dropout``."""
    return mul(mul(grad_output, mask), scale)


native_dropout_backward.derivative(
    grad_output=lambda grad, mask, scale: native_dropout_backward(grad, mask.conj(), scale),
    mask=lambda grad, grad_output, scale: grad * grad_output.conj() * scale,
)


@op("aten::_fused_dropout", tags="nondeterministic_seeded", dispatch="CUDA", autogen="_fused_dropout.out")
def _fused_dropout(self: Tensor, p: float, generator: Generator | None = None) -> tuple[Tensor, Tensor]:
    """``self`` with elements that stay with a probability ``p``, divided by it; and 1 where one stays, as uint8."""
    check(0 < p <= 1, f"_fused_dropout: expected a probability to stay above 0 and up to 1, but got {p}")
    stays = empty_like(self, dtype=bool_).bernoulli_(p, generator=generator)
    return self * stays / p, stays.to(uint8)
