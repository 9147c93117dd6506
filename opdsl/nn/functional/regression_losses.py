"""Regression losses. ``size_average`` and ``reduce`` are PyTorch's deprecated arguments."""

from __future__ import annotations

import math
import warnings

from opdsl._attributes import aten
from opdsl.dispatch import no_grad
from opdsl.errors import NumberError, OptionError, ShapeError
from opdsl.kernels.iteration.broadcasting import broadcast
from opdsl.nn.functional._common import code_of, reduced, reduction_of
from opdsl.runtime import Tensor


def _beside(input: Tensor, target: Tensor, weight: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return input and target broadcast to their common shape, with PyTorch's warning if their shapes differ."""
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
    """Return weighted losses after reduction; their mean is divided by the sum of the weights."""
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
    """Return the absolute differences.

    Args:
        input, target: numbers, of equal shape.
        size_average, reduce: deprecated, use ``reduction``.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
        weight: of the differences; a mean is divided by their sum.

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
    """Return the squared differences.

    Args:
        input, target: numbers, of equal shape.
        size_average, reduce, reduction, weight: see ``l1_loss``.

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
    """Return ``0.5 * d ** 2 / beta`` for absolute differences ``d`` below ``beta``, and ``d - beta / 2`` above.

    Args:
        input, target: numbers, of equal shape.
        size_average, reduce, reduction: see ``l1_loss``.
        beta: the largest difference of the quadratic part; 0 for ``l1_loss``.

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
    """Return ``delta`` times ``smooth_l1_loss`` with ``beta=delta``.

    Args:
        input, target: numbers, of equal shape.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
        delta: the largest difference of the quadratic part.
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
    """Return the negative log likelihood of counts, given the rates (or their logarithms) of a Poisson distribution.

    Args:
        input: the rates, or their logarithms.
        target: the counts.
        log_input: whether the input consists of logarithms.
        full: whether Stirling's approximation of ``log(target!)`` is added.
        size_average, reduce, reduction: see ``l1_loss``.
        eps: added to rates, so that their logarithms are finite.

    Raises:
        OptionError: there is no such reduction; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.poisson_nll_loss(opdsl.tensor([0.0, 1.0]), opdsl.tensor([1.0, 2.0]), reduction="none")
    tensor([1.0000, 0.7183])
    """
    return aten.poisson_nll_loss(input, target, log_input, full, eps, code_of(reduction, size_average, reduce))


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Return the negative log likelihood of samples of normal distributions.

    Args:
        input: the means.
        target: the samples.
        var: the variances: one number, one for each element, or one for each row.
        full: whether the constant term is added.
        eps: lower limit of variances, ignored by gradients.
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
