"""Pools of means, and of norms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opdsl._attributes import aten
from opdsl.nn.functional._common import Size, adaptive_size, sizes, stride_of
from opdsl.runtime import Tensor

Pair = tuple[Tensor, Tensor]
# Without and with the positions: Python's types do not tell them apart by a bool that is not known.
Pooled = Any


def avg_pool1d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The means of windows along one dimension.

    Args:
        input: of shape (N, C, L) or (C, L).
        kernel_size: of a window.
        stride: how far one window lies from the next; ``kernel_size`` for None.
        padding: how many zeros stand before and behind.
        ceil_mode: whether a last window that is cut off counts.
        count_include_pad: whether those zeros count in means.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.avg_pool1d(opdsl.tensor([[1.0, 3.0, 5.0, 9.0]]), 2)
    tensor([[2., 7.]])
    """
    return aten.avg_pool1d(input, kernel_size, stride_of(stride), padding, ceil_mode, count_include_pad)


def avg_pool2d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The means of windows in a plane.

    Args:
        input: of shape (N, C, H, W) or (C, H, W).
        kernel_size, stride, padding, ceil_mode, count_include_pad: as of ``avg_pool1d``; numbers for both
            dimensions, or one for each.
        divisor_override: what sums are divided by instead of their number of elements.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.avg_pool2d(opdsl.arange(8.0).reshape(1, 2, 4), 2)
    tensor([[[2.5000, 4.5000]]])
    """
    return aten.avg_pool2d(
        input, kernel_size, stride_of(stride), padding, ceil_mode, count_include_pad, divisor_override
    )


def avg_pool3d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The means of windows in space.

    Args:
        input: of shape (N, C, D, H, W) or (C, D, H, W).
        kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: as of ``avg_pool2d``.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.avg_pool3d(opdsl.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[3.5000]]]])
    """
    return aten.avg_pool3d(
        input, kernel_size, stride_of(stride), padding, ceil_mode, count_include_pad, divisor_override
    )


def adaptive_avg_pool1d(input: Tensor, output_size: Size) -> Tensor:
    """The means of as many windows as are asked for.

    Args:
        input: of shape (N, C, L) or (C, L).
        output_size: how many windows.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.adaptive_avg_pool1d(opdsl.tensor([[1.0, 3.0, 5.0]]), 2)
    tensor([[2., 4.]])
    """
    return aten.adaptive_avg_pool1d(input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The means of as many windows in a plane as are asked for.

    Args:
        input: of shape (N, C, H, W) or (C, H, W).
        output_size: how many windows, for both dimensions or for each; None stands for the size that is there.

    Raises:
        OptionError: the input has too few dimensions; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.adaptive_avg_pool2d(opdsl.arange(8.0).reshape(1, 2, 4), (1, 2))
    tensor([[[2.5000, 4.5000]]])
    """
    return aten.adaptive_avg_pool2d(input, adaptive_size(input, output_size, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The means of as many windows in space as are asked for.

    Args:
        input: of shape (N, C, D, H, W) or (C, D, H, W).
        output_size: as of ``adaptive_avg_pool2d``.

    Raises:
        OptionError: the input has too few dimensions; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.adaptive_avg_pool3d(opdsl.arange(8.0).reshape(1, 2, 2, 2), (1, 1, None)).flatten()
    tensor([3., 4.])
    """
    return aten.adaptive_avg_pool3d(input, adaptive_size(input, output_size, 3))


def _lp_pool(
    input: Tensor, norm_type: float, kernel_size: Size, stride: Size | None, ceil_mode: bool, count: int
) -> Tensor:
    if abs(norm_type) == math.inf:
        largest = aten[f"max_pool{count}d"]
        sign = 1 if norm_type > 0 else -1
        return sign * largest(sign * input.abs(), kernel_size, stride_of(stride), 0, 1, ceil_mode)
    means = aten[f"avg_pool{count}d"](input.pow(norm_type), kernel_size, stride_of(stride), 0, ceil_mode)
    sums = means.sign() * means.abs().relu() * math.prod(sizes(kernel_size, count))
    return sums.pow(1.0 / norm_type)


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: int, stride: Size | None = None, ceil_mode: bool = False
) -> Tensor:
    """The norms of windows along one dimension.

    Args:
        input: of shape (N, C, L) or (C, L).
        norm_type: of the norm.
        kernel_size, stride, ceil_mode: as of ``avg_pool1d``.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.lp_pool1d(opdsl.tensor([[3.0, 4.0, 6.0, 8.0]]), 2, 2)
    tensor([[ 5., 10.]])
    """
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
) -> Tensor:
    """The norms of windows in a plane.

    Args:
        input: of shape (N, C, H, W) or (C, H, W).
        norm_type: of the norm.
        kernel_size, stride, ceil_mode: as of ``avg_pool2d``.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.lp_pool2d(opdsl.ones(1, 2, 4), 2, 2)
    tensor([[[2., 2.]]])
    """
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 2)


def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
) -> Tensor:
    """The norms of windows in space.

    Args:
        input: of shape (N, C, D, H, W) or (C, D, H, W).
        norm_type: of the norm.
        kernel_size, stride, ceil_mode: as of ``avg_pool3d``.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.lp_pool3d(opdsl.ones(1, 2, 2, 4), 3, 2).flatten()
    tensor([2., 2.])
    """
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 3)
