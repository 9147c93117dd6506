"""Average pooling, and power-average (Lp) pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence

from opdsl._attributes import aten
from opdsl.nn.functional._common import Size, adaptive_size, sizes, stride_of
from opdsl.nn.functional._families import by_dims
from opdsl.runtime import Tensor


def avg_pool1d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Return the means of windows along one dimension.

    Args:
        input: of shape (N, C, L) or (C, L).
        kernel_size: of a window.
        stride: the distance between windows; ``kernel_size`` for None.
        padding: the number of zeros added at both ends.
        ceil_mode: whether to include a last window that is cut off.
        count_include_pad: whether the means include these zeros.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.avg_pool1d(opdsl.tensor([[1.0, 3.0, 5.0, 9.0]]), 2)
    tensor([[2., 7.]])
    """
    return aten.avg_pool1d(input, kernel_size, stride_of(stride), padding, ceil_mode, count_include_pad)


def _avg_pool(
    dims: int,
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Return the means of windows {space}.

    Args:
        input: of shape {images}.
        kernel_size, stride, padding, ceil_mode, count_include_pad: see ``avg_pool1d``{numbers}.
        divisor_override: the divisor of sums, in place of the number of elements.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.avg_pool2d(opdsl.arange(8.0).reshape(1, 2, 4), 2)
    tensor([[[2.5000, 4.5000]]])
    >>> F.avg_pool3d(opdsl.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[3.5000]]]])
    """
    pool = aten[f"avg_pool{dims}d"]
    return pool(input, kernel_size, stride_of(stride), padding, ceil_mode, count_include_pad, divisor_override)


avg_pool2d, avg_pool3d = by_dims("avg_pool{dims}d", _avg_pool, 2, 3)


def adaptive_avg_pool1d(input: Tensor, output_size: Size) -> Tensor:
    """Return the means of ``output_size`` windows.

    Args:
        input: of shape (N, C, L) or (C, L).
        output_size: the number of windows.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.adaptive_avg_pool1d(opdsl.tensor([[1.0, 3.0, 5.0]]), 2)
    tensor([[2., 4.]])
    """
    return aten.adaptive_avg_pool1d(input, output_size)


def _adaptive_avg_pool(dims: int, input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """Return the means of ``output_size`` windows {space}.

    Args:
        input: of shape {images}.
        output_size: the number of windows, for all dimensions or for each; None means the size of the input.

    Raises:
        OptionError: the input has too few dimensions; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.adaptive_avg_pool2d(opdsl.arange(8.0).reshape(1, 2, 4), (1, 2))
    tensor([[[2.5000, 4.5000]]])
    >>> F.adaptive_avg_pool3d(opdsl.arange(8.0).reshape(1, 2, 2, 2), (1, 1, None)).flatten()
    tensor([3., 4.])
    """
    return aten[f"adaptive_avg_pool{dims}d"](input, adaptive_size(input, output_size, dims))


adaptive_avg_pool2d, adaptive_avg_pool3d = by_dims("adaptive_avg_pool{dims}d", _adaptive_avg_pool, 2, 3)


def _lp_pool(
    dims: int,
    input: Tensor,
    norm_type: float,
    kernel_size: Size,
    stride: Size | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Return the p-norms of windows {space}, with p given by ``norm_type``.

    Args:
        input: of shape {images}.
        norm_type: the exponent p of the norm.
        kernel_size, stride, ceil_mode: see ``avg_pool{dims}d``.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.lp_pool1d(opdsl.tensor([[3.0, 4.0, 6.0, 8.0]]), 2, 2)
    tensor([[ 5., 10.]])
    >>> F.lp_pool2d(opdsl.ones(1, 2, 4), 2, 2)
    tensor([[[2., 2.]]])
    >>> F.lp_pool3d(opdsl.ones(1, 2, 2, 4), 3, 2).flatten()
    tensor([2., 2.])
    """
    if abs(norm_type) == math.inf:
        largest = aten[f"max_pool{dims}d"]
        sign = 1 if norm_type > 0 else -1
        return sign * largest(sign * input.abs(), kernel_size, stride_of(stride), 0, 1, ceil_mode)
    means = aten[f"avg_pool{dims}d"](input.pow(norm_type), kernel_size, stride_of(stride), 0, ceil_mode)
    sums = means.sign() * means.abs().relu() * math.prod(sizes(kernel_size, dims))
    return sums.pow(1.0 / norm_type)


lp_pool1d, lp_pool2d, lp_pool3d = by_dims("lp_pool{dims}d", _lp_pool, 1, 2, 3)
