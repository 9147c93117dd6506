"""Pools of maxima, and what undoes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opdsl._attributes import aten
from opdsl.errors import OptionError
from opdsl.nn.functional._common import Size, adaptive_size, check_images, sizes, stride_of
from opdsl.runtime import Tensor

Pair = tuple[Tensor, Tensor]
# Without and with the positions: Python's types do not tell them apart by a bool that is not known.
Pooled = Any


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pair:
    """The largest elements of windows along one dimension, and where they stand.

    Args:
        input: of shape (N, C, L) or (C, L).
        kernel_size, stride, padding, dilation, ceil_mode: as of ``max_pool1d``.
        return_indices: has no effect: they always come.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.max_pool1d_with_indices(opdsl.tensor([[1.0, 3.0, 9.0, 5.0]]), 2)
    (tensor([[3., 9.]]), tensor([[1, 2]]))
    """
    made = aten.max_pool1d_with_indices(input, kernel_size, stride_of(stride), padding, dilation, ceil_mode)
    return made[0], made[1]


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pair:
    """The largest elements of windows in a plane, and where they stand.

    Args:
        input: of shape (N, C, H, W) or (C, H, W).
        kernel_size, stride, padding, dilation, ceil_mode: as of ``max_pool1d``; numbers for both dimensions, or one
            for each.
        return_indices: has no effect: they always come.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.max_pool2d_with_indices(opdsl.arange(8.0).reshape(1, 2, 4), 2)
    (tensor([[[5., 7.]]]), tensor([[[5, 7]]]))
    """
    made = aten.max_pool2d_with_indices(input, kernel_size, stride_of(stride), padding, dilation, ceil_mode)
    return made[0], made[1]


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pair:
    """The largest elements of windows in space, and where they stand.

    Args:
        input: of shape (N, C, D, H, W) or (C, D, H, W).
        kernel_size, stride, padding, dilation, ceil_mode: as of ``max_pool1d``; numbers for all dimensions, or one
            for each.
        return_indices: has no effect: they always come.

    >>> import opdsl, opdsl.nn.functional as F
    >>> [each.flatten() for each in F.max_pool3d_with_indices(opdsl.arange(8.0).reshape(1, 2, 2, 2), 2)]
    [tensor([7.]), tensor([7])]
    """
    made = aten.max_pool3d_with_indices(input, kernel_size, stride_of(stride), padding, dilation, ceil_mode)
    return made[0], made[1]


def max_pool1d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pooled:
    """The largest elements of windows along one dimension, and where they stand if ``return_indices``.

    Args:
        input: of shape (N, C, L) or (C, L).
        kernel_size: of a window.
        stride: how far one window lies from the next; ``kernel_size`` for None.
        padding: how many elements stand before and behind that are never the largest.
        dilation: how far the elements of one window lie apart.
        ceil_mode: whether a last window that is cut off counts.
        return_indices: whether a second result says where the elements stand.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.max_pool1d(opdsl.tensor([[1.0, 3.0, 9.0, 5.0]]), 2)
    tensor([[3., 9.]])
    """
    if return_indices:
        return max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return aten.max_pool1d(input, kernel_size, stride_of(stride), padding, dilation, ceil_mode)


def max_pool2d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pooled:
    """The largest elements of windows in a plane, and where they stand if ``return_indices``.

    Args:
        input: of shape (N, C, H, W) or (C, H, W).
        kernel_size, stride, padding, dilation, ceil_mode, return_indices: as of ``max_pool1d``; numbers for both
            dimensions, or one for each.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.max_pool2d(opdsl.arange(8.0).reshape(1, 2, 4), 2)
    tensor([[[5., 7.]]])
    """
    if return_indices:
        return max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return aten.max_pool2d(input, kernel_size, stride_of(stride), padding, dilation, ceil_mode)


def max_pool3d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pooled:
    """The largest elements of windows in space, and where they stand if ``return_indices``.

    Args:
        input: of shape (N, C, D, H, W) or (C, D, H, W).
        kernel_size, stride, padding, dilation, ceil_mode, return_indices: as of ``max_pool1d``; numbers for all
            dimensions, or one for each.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.max_pool3d(opdsl.arange(8.0).reshape(1, 2, 2, 2), 2).flatten()
    tensor([7.])
    """
    if return_indices:
        return max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return aten.max_pool3d(input, kernel_size, stride_of(stride), padding, dilation, ceil_mode)


def adaptive_max_pool1d_with_indices(input: Tensor, output_size: Size, return_indices: bool = False) -> Pair:
    """The largest elements of as many windows as are asked for, and where they stand.

    Args:
        input: of shape (N, C, L) or (C, L).
        output_size: how many windows.
        return_indices: has no effect: they always come.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.adaptive_max_pool1d_with_indices(opdsl.tensor([[1.0, 3.0, 2.0]]), 2)
    (tensor([[3., 3.]]), tensor([[1, 1]]))
    """
    made = aten.adaptive_max_pool1d(input, output_size)
    return made[0], made[1]


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> Pair:
    """The largest elements of as many windows in a plane as are asked for, and where they stand.

    Args:
        input: of shape (N, C, H, W) or (C, H, W).
        output_size: as of ``adaptive_avg_pool2d``.
        return_indices: has no effect: they always come.

    Raises:
        OptionError: the input has too few dimensions; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.adaptive_max_pool2d_with_indices(opdsl.arange(8.0).reshape(1, 2, 4), 1)
    (tensor([[[7.]]]), tensor([[[7]]]))
    """
    made = aten.adaptive_max_pool2d(input, adaptive_size(input, output_size, 2))
    return made[0], made[1]


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> Pair:
    """The largest elements of as many windows in space as are asked for, and where they stand.

    Args:
        input: of shape (N, C, D, H, W) or (C, D, H, W).
        output_size: as of ``adaptive_avg_pool2d``.
        return_indices: has no effect: they always come.

    Raises:
        OptionError: the input has too few dimensions; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> [each.flatten() for each in F.adaptive_max_pool3d_with_indices(opdsl.arange(8.0).reshape(1, 2, 2, 2), 1)]
    [tensor([7.]), tensor([7])]
    """
    made = aten.adaptive_max_pool3d(input, adaptive_size(input, output_size, 3))
    return made[0], made[1]


def adaptive_max_pool1d(input: Tensor, output_size: Size, return_indices: bool = False) -> Pooled:
    """The largest elements of as many windows as are asked for, and where they stand if ``return_indices``.

    Args:
        input: of shape (N, C, L) or (C, L).
        output_size: how many windows.
        return_indices: whether a second result says where the elements stand.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.adaptive_max_pool1d(opdsl.tensor([[1.0, 3.0, 2.0]]), 2)
    tensor([[3., 3.]])
    """
    made = adaptive_max_pool1d_with_indices(input, output_size)
    return made if return_indices else made[0]


def adaptive_max_pool2d(
    input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> Pooled:
    """The largest elements of as many windows in a plane as are asked for, and where if ``return_indices``.

    Args:
        input: of shape (N, C, H, W) or (C, H, W).
        output_size: as of ``adaptive_avg_pool2d``.
        return_indices: whether a second result says where the elements stand.

    Raises:
        OptionError: the input has too few dimensions; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.adaptive_max_pool2d(opdsl.arange(8.0).reshape(1, 2, 4), (1, 2))
    tensor([[[5., 7.]]])
    """
    made = adaptive_max_pool2d_with_indices(input, output_size)
    return made if return_indices else made[0]


def adaptive_max_pool3d(
    input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> Pooled:
    """The largest elements of as many windows in space as are asked for, and where if ``return_indices``.

    Args:
        input: of shape (N, C, D, H, W) or (C, D, H, W).
        output_size: as of ``adaptive_avg_pool2d``.
        return_indices: whether a second result says where the elements stand.

    Raises:
        OptionError: the input has too few dimensions; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.adaptive_max_pool3d(opdsl.arange(8.0).reshape(1, 2, 2, 2), 1).flatten()
    tensor([7.])
    """
    made = adaptive_max_pool3d_with_indices(input, output_size)
    return made if return_indices else made[0]


def _fractional(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None,
    output_ratio: float | Sequence[float] | None,
    return_indices: bool,
    samples: Tensor | None,
    count: int,
) -> Pooled:
    check_images(f"fractional_max_pool{count}d", input, count)
    if (output_size is None) == (output_ratio is None):
        raise OptionError(f"fractional_max_pool{count}d requires specifying either an output_size or an output_ratio")
    if output_size is None:
        ratios = output_ratio if isinstance(output_ratio, Sequence) else [output_ratio] * count
        if any(ratio is None or not 0 < ratio < 1 for ratio in ratios):
            raise OptionError(f"output_ratio must be between 0 and 1 (got {ratios})")
        have = input.shape[-count:]
        wanted = tuple(int(size * (ratio or 0)) for size, ratio in zip(have, ratios, strict=True))
    else:
        wanted = sizes(output_size, count)
    if samples is None:
        batch = 1 if input.ndim == count + 1 else input.shape[0]
        samples = aten.rand((batch, input.shape[-count - 1], count), dtype=input.dtype, device=input.device)
    made = aten[f"fractional_max_pool{count}d"](input, sizes(kernel_size, count), wanted, samples)
    return made if return_indices else made[0]


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Pooled:
    """The largest elements of windows of images at random places, and where if ``return_indices``.

    Args:
        input: of shape (N, C, H, W) or (C, H, W).
        kernel_size: of the windows.
        output_size: how many windows there are along each dimension; or
        output_ratio: which part of the elements.
        return_indices: whether a second result says where the elements stand.

    Raises:
        OptionError: not one of size and ratio is given, or a ratio outside of (0, 1); it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.fractional_max_pool2d(opdsl.ones(1, 8, 8), 2, output_ratio=0.5).shape
    (1, 4, 4)
    """
    return _fractional(input, kernel_size, output_size, output_ratio, return_indices, _random_samples, 2)


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Pooled:
    """The largest elements of windows in space at random places, and where if ``return_indices``.

    Args:
        input: of shape (N, C, D, H, W) or (C, D, H, W).
        kernel_size, output_size, output_ratio, return_indices: as of ``fractional_max_pool2d``.

    Raises:
        OptionError: not one of size and ratio is given, or a ratio outside of (0, 1); it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.fractional_max_pool3d(opdsl.ones(1, 4, 4, 4), 2, output_size=3).shape
    (1, 3, 3, 3)
    """
    return _fractional(input, kernel_size, output_size, output_ratio, return_indices, _random_samples, 3)


def _unpool(
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Size | None,
    padding: Size,
    output_size: Sequence[int] | None,
    count: int,
) -> Tensor:
    check_images(f"max_unpool{count}d", input, count)
    if isinstance(output_size, int):
        raise OptionError(f"output_size should have {count} or {count + 2} elements, but it is {output_size}")
    kernel = sizes(kernel_size, count)
    steps = kernel if stride is None else sizes(stride, count)
    rims = sizes(padding, count)
    have = input.shape[-count:]
    default = [
        (size - 1) * step + width - 2 * rim for size, step, width, rim in zip(have, steps, kernel, rims, strict=True)
    ]
    wanted = default if output_size is None else list(output_size)
    if len(wanted) == count + 2:
        wanted = wanted[2:]
    if len(wanted) != count:
        raise OptionError(f"output_size should have {count} or {count + 2} elements, but it has {len(wanted)}")
    for dim, (size, usual, step) in enumerate(zip(wanted, default, steps, strict=True)):
        if output_size is not None and not usual - step < size < usual + step:
            raise OptionError(
                f'invalid output_size "{output_size}" (dim {dim} must be between {usual - step} and {usual + step})'
            )
    if count == 1:
        made = aten.max_unpool2d(input.unsqueeze(-2), indices.unsqueeze(-2), (1, *wanted))
        return made.squeeze(-2)
    windows = (steps, rims) if count == 3 else ()
    return aten[f"max_unpool{count}d"](input, indices, wanted, *windows)


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """The elements where ``max_pool1d`` found them, zeros elsewhere.

    Args:
        input: the largest elements.
        indices: where they stood.
        kernel_size, stride, padding: of the pooling.
        output_size: of the result, where several are possible.

    Raises:
        OptionError: no pooling of that size gives the input; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> largest, places = F.max_pool1d(opdsl.tensor([[1.0, 3.0, 9.0, 5.0]]), 2, return_indices=True)
    >>> F.max_unpool1d(largest, places, 2)
    tensor([[0., 3., 9., 0.]])
    """
    return _unpool(input, indices, kernel_size, stride, padding, output_size, 1)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """The elements where ``max_pool2d`` found them, zeros elsewhere.

    Args:
        input, indices, kernel_size, stride, padding, output_size: as of ``max_unpool1d``.

    Raises:
        OptionError: no pooling of that size gives the input; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.max_unpool2d(*F.max_pool2d(opdsl.arange(8.0).reshape(1, 2, 4), 2, return_indices=True), 2)
    tensor([[[0., 0., 0., 0.],
             [0., 5., 0., 7.]]])
    """
    return _unpool(input, indices, kernel_size, stride, padding, output_size, 2)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """The elements where ``max_pool3d`` found them, zeros elsewhere.

    Args:
        input, indices, kernel_size, stride, padding, output_size: as of ``max_unpool1d``.

    Raises:
        OptionError: no pooling of that size gives the input; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.max_unpool3d(*F.max_pool3d(opdsl.arange(8.0).reshape(1, 2, 2, 2), 2, return_indices=True), 2).flatten()
    tensor([0., 0., 0., 0., 0., 0., 0., 7.])
    """
    return _unpool(input, indices, kernel_size, stride, padding, output_size, 3)
