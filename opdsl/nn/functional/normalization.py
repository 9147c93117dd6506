"""Normalization functions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from opdsl._attributes import aten
from opdsl.errors import OptionError
from opdsl.kernels import check
from opdsl.runtime import Tensor


def _check_values(input: Tensor, count: int) -> None:
    if count == 1:
        raise OptionError(f"Expected more than 1 value per channel when training, got input size {input.shape}")


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Return each channel normalized to mean 0 and variance 1, by the statistics of the batch, or by the running ones.

    Args:
        input: of shape (N, C, ...).
        running_mean, running_var: of shape (C); updated in place if ``training``, else used in place of the batch's
            statistics.
        weight, bias: of shape (C): factor and summand of each channel, applied after normalization.
        training: whether to use the batch's mean and variance.
        momentum: the weight of the batch in the update of running statistics.
        eps: added to variances.

    Raises:
        OptionError: a channel has one value only, or ``eps`` is not positive, when training; it is a ValueError.
        ShapeError: the input has no dimensions.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.batch_norm(opdsl.tensor([[1.0], [3.0]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    if training:
        check(input.ndim >= 1, "batch_norm: expected an input with a dimension, but got a number")
        _check_values(input, input.shape[0] * math.prod(input.shape[2:]))
    if eps < 0.0 or (training and eps == 0.0):
        raise OptionError(f"batch_norm eps must be positive (got {eps})")
    return aten.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Return each channel of each example normalized to mean 0 and variance 1.

    Args:
        input: of shape (N, C, ...).
        running_mean, running_var, weight, bias, momentum, eps: see ``batch_norm``.
        use_input_stats: whether to use each channel's own mean and variance.

    Raises:
        OptionError: a channel has one value only; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.instance_norm(opdsl.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
    if use_input_stats:
        _check_values(input, math.prod(input.shape[2:]))
    return aten.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Return the input normalized to mean 0 and variance 1 over its last dimensions.

    Args:
        input: of shape (..., *normalized_shape).
        normalized_shape: the sizes of the last dimensions.
        weight, bias: of that shape: factor and summand, applied after normalization.
        eps: added to variances.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.layer_norm(opdsl.tensor([[1.0, 3.0], [0.0, 10.0]]), (2,))
    tensor([[-1.0000,  1.0000],
            [-1.0000,  1.0000]])
    """
    return aten.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Return groups of channels normalized to mean 0 and variance 1.

    Args:
        input: of shape (N, C, ...).
        num_groups: the number of groups of channels.
        weight, bias: of shape (C): factor and summand of each channel, applied after normalization.
        eps: added to variances.

    Raises:
        ShapeError: the input has no channels, or their number is not divisible by ``num_groups``.
        OptionError: a group has one value only; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.group_norm(opdsl.tensor([[1.0, 3.0, 0.0, 10.0]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    check(input.ndim >= 2, f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    if num_groups > 0:
        _check_values(input, input.shape[0] * input.shape[1] // num_groups * math.prod(input.shape[2:]))
    return aten.group_norm(input, num_groups, weight, bias, eps)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Return the input divided by the root mean square over its last dimensions.

    Args:
        input: of shape (..., *normalized_shape).
        normalized_shape: the sizes of the last dimensions.
        weight: of that shape: factor, applied after normalization.
        eps: added to mean squares; the dtype's ``eps`` for None.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.rms_norm(opdsl.tensor([3.0, 4.0]), (2,))
    tensor([0.8485, 1.1314])
    """
    return aten.rms_norm(input, normalized_shape, weight, eps)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Return the input divided by a power of the mean square of neighboring channels.

    Args:
        input: of shape (N, C, ...).
        size: the number of neighboring channels.
        alpha, beta, k: the divisor is ``(k + alpha * mean square) ** beta``.

    Raises:
        OptionError: there are fewer than three dimensions; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.local_response_norm(opdsl.ones(1, 2, 1), 2, alpha=1.0, beta=1.0).flatten()
    tensor([0.6667, 0.5000])
    """
    if input.ndim < 3:
        raise OptionError(f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)")
    if input.numel() == 0:
        return input
    squares = input.square().flatten(2).transpose(1, 2).flatten(0, 1).unsqueeze(1)
    means = aten.avg_pool1d(aten.pad(squares, (size // 2, (size - 1) // 2)), size, 1)
    means = means.view(input.shape[0], -1, input.shape[1]).transpose(1, 2).reshape(input.shape)
    return input / (means * alpha + k).pow(beta)
