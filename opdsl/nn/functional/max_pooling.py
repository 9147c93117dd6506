"""Max pooling, and its inverse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opdsl._attributes import aten
from opdsl.errors import OptionError
from opdsl.nn.functional._common import Size, adaptive_size, check_images, sizes, stride_of
from opdsl.nn.functional._families import by_dims
from opdsl.runtime import Tensor

Pair = tuple[Tensor, Tensor]
# A tensor, or a pair with the indices; type checkers cannot decide between them by a bool.
Pooled = Any


def _max_pool_with_indices(
    dims: int,
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pair:
    """Return the largest elements of windows {space}, and their indices.

    Args:
        input: of shape {images}.
        kernel_size, stride, padding, dilation, ceil_mode: see ``max_pool1d``{numbers}.
        return_indices: has no effect; indices are always returned.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.max_pool1d_with_indices(opdsl.tensor([[1.0, 3.0, 9.0, 5.0]]), 2)
    (tensor([[3., 9.]]), tensor([[1, 2]]))
    >>> F.max_pool2d_with_indices(opdsl.arange(8.0).reshape(1, 2, 4), 2)
    (tensor([[[5., 7.]]]), tensor([[[5, 7]]]))
    >>> [tensor.flatten() for tensor in F.max_pool3d_with_indices(opdsl.arange(8.0).reshape(1, 2, 2, 2), 2)]
    [tensor([7.]), tensor([7])]
    """
    output = aten[f"max_pool{dims}d_with_indices"](input, kernel_size, stride_of(stride), padding, dilation, ceil_mode)
    return output[0], output[1]


max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = by_dims(
    "max_pool{dims}d_with_indices", _max_pool_with_indices, 1, 2, 3
)


def _max_pool(
    dims: int,
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pooled:
    """Return the largest elements of windows {space}, and their indices if ``return_indices``.

    Args:
        input: of shape {images}.
        kernel_size: of a window{numbers}.
        stride: the distance between windows; ``kernel_size`` for None.
        padding: the number of elements added at both ends, which are never the largest.
        dilation: the distance between the elements of a window.
        ceil_mode: whether to include a last window that is cut off.
        return_indices: whether the indices of the elements are returned, too.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.max_pool1d(opdsl.tensor([[1.0, 3.0, 9.0, 5.0]]), 2)
    tensor([[3., 9.]])
    >>> F.max_pool2d(opdsl.arange(8.0).reshape(1, 2, 4), 2)
    tensor([[[5., 7.]]])
    >>> F.max_pool3d(opdsl.arange(8.0).reshape(1, 2, 2, 2), 2).flatten()
    tensor([7.])
    """
    if return_indices:
        return _max_pool_with_indices(dims, input, kernel_size, stride, padding, dilation, ceil_mode)
    return aten[f"max_pool{dims}d"](input, kernel_size, stride_of(stride), padding, dilation, ceil_mode)


max_pool1d, max_pool2d, max_pool3d = by_dims("max_pool{dims}d", _max_pool, 1, 2, 3)


# ----------------------------------------------------------------------------------------------------- adaptive pooling


def adaptive_max_pool1d_with_indices(input: Tensor, output_size: Size, return_indices: bool = False) -> Pair:
    """Return the largest elements of ``output_size`` windows, and their indices.

    Args:
        input: of shape (N, C, L) or (C, L).
        output_size: the number of windows.
        return_indices: has no effect; indices are always returned.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.adaptive_max_pool1d_with_indices(opdsl.tensor([[1.0, 3.0, 2.0]]), 2)
    (tensor([[3., 3.]]), tensor([[1, 1]]))
    """
    output = aten.adaptive_max_pool1d(input, output_size)
    return output[0], output[1]


def adaptive_max_pool1d(input: Tensor, output_size: Size, return_indices: bool = False) -> Pooled:
    """Return the largest elements of ``output_size`` windows, and their indices if ``return_indices``.

    Args:
        input: of shape (N, C, L) or (C, L).
        output_size: the number of windows.
        return_indices: whether the indices of the elements are returned, too.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.adaptive_max_pool1d(opdsl.tensor([[1.0, 3.0, 2.0]]), 2)
    tensor([[3., 3.]])
    """
    tensors = adaptive_max_pool1d_with_indices(input, output_size)
    return tensors if return_indices else tensors[0]


def _adaptive_max_pool_with_indices(
    dims: int, input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> Pair:
    """Return the largest elements of ``output_size`` windows {space}, and their indices.

    Args:
        input: of shape {images}.
        output_size: see ``adaptive_avg_pool2d``.
        return_indices: has no effect; indices are always returned.

    Raises:
        OptionError: the input has too few dimensions; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.adaptive_max_pool2d_with_indices(opdsl.arange(8.0).reshape(1, 2, 4), 1)
    (tensor([[[7.]]]), tensor([[[7]]]))
    >>> [tensor.flatten() for tensor in F.adaptive_max_pool3d_with_indices(opdsl.arange(8.0).reshape(1, 2, 2, 2), 1)]
    [tensor([7.]), tensor([7])]
    """
    output = aten[f"adaptive_max_pool{dims}d"](input, adaptive_size(input, output_size, dims))
    return output[0], output[1]


adaptive_max_pool2d_with_indices, adaptive_max_pool3d_with_indices = by_dims(
    "adaptive_max_pool{dims}d_with_indices", _adaptive_max_pool_with_indices, 2, 3
)


def _adaptive_max_pool(
    dims: int, input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> Pooled:
    """Return the largest elements of ``output_size`` windows {space}, and their indices if ``return_indices``.

    Args:
        input: of shape {images}.
        output_size: see ``adaptive_avg_pool2d``.
        return_indices: whether the indices of the elements are returned, too.

    Raises:
        OptionError: the input has too few dimensions; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.adaptive_max_pool2d(opdsl.arange(8.0).reshape(1, 2, 4), (1, 2))
    tensor([[[5., 7.]]])
    >>> F.adaptive_max_pool3d(opdsl.arange(8.0).reshape(1, 2, 2, 2), 1).flatten()
    tensor([7.])
    """
    pooled = _adaptive_max_pool_with_indices(dims, input, output_size)
    return pooled if return_indices else pooled[0]


adaptive_max_pool2d, adaptive_max_pool3d = by_dims("adaptive_max_pool{dims}d", _adaptive_max_pool, 2, 3)


# ------------------------------------------------------------------------------------------------------- random windows


def _fractional_max_pool(
    dims: int,
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Pooled:
    """Return the largest elements of windows {space} at random positions, and their indices if ``return_indices``.

    Args:
        input: of shape {images}.
        kernel_size: of the windows.
        output_size: the number of windows along each dimension; or
        output_ratio: the number of windows as a fraction of the size.
        return_indices: whether the indices of the elements are returned, too.

    Raises:
        OptionError: not exactly one of size and ratio is given, or a ratio is not in (0, 1); it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.fractional_max_pool2d(opdsl.ones(1, 8, 8), 2, output_ratio=0.5).shape
    (1, 4, 4)
    >>> F.fractional_max_pool3d(opdsl.ones(1, 4, 4, 4), 2, output_size=3).shape
    (1, 3, 3, 3)
    """
    operator = f"fractional_max_pool{dims}d"
    check_images(operator, input, dims)
    if (output_size is None) == (output_ratio is None):
        raise OptionError(f"{operator} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        ratios = output_ratio if isinstance(output_ratio, Sequence) else [output_ratio] * dims
        if any(ratio is None or not 0 < ratio < 1 for ratio in ratios):
            raise OptionError(f"output_ratio must be between 0 and 1 (got {ratios})")
        have = input.shape[-dims:]
        wanted = tuple(int(size * (ratio or 0)) for size, ratio in zip(have, ratios, strict=True))
    else:
        wanted = sizes(output_size, dims)
    samples = _random_samples
    if samples is None:
        batch = 1 if input.ndim == dims + 1 else input.shape[0]
        samples = aten.rand((batch, input.shape[-dims - 1], dims), dtype=input.dtype, device=input.device)
    output = aten[operator](input, sizes(kernel_size, dims), wanted, samples)
    return output if return_indices else output[0]


fractional_max_pool2d, fractional_max_pool3d = by_dims("fractional_max_pool{dims}d", _fractional_max_pool, 2, 3)


# ----------------------------------------------------------------------------------------------------------- unpooling


def _max_unpool(
    dims: int,
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Return a tensor with the elements at the indices where ``max_pool{dims}d`` found them, and zeros elsewhere.

    Args:
        input: the largest elements.
        indices: their indices.
        kernel_size, stride, padding: of the pooling.
        output_size: of the result, if several sizes are possible.

    Raises:
        OptionError: no pooling of that size gives the input; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.max_unpool1d(*F.max_pool1d(opdsl.tensor([[1.0, 3.0, 9.0, 5.0]]), 2, return_indices=True), 2)
    tensor([[0., 3., 9., 0.]])
    >>> F.max_unpool2d(*F.max_pool2d(opdsl.arange(8.0).reshape(1, 2, 4), 2, return_indices=True), 2).flatten()
    tensor([0., 0., 0., 0., 0., 5., 0., 7.])
    >>> F.max_unpool3d(*F.max_pool3d(opdsl.arange(8.0).reshape(1, 2, 2, 2), 2, return_indices=True), 2).flatten()
    tensor([0., 0., 0., 0., 0., 0., 0., 7.])
    """
    check_images(f"max_unpool{dims}d", input, dims)
    if isinstance(output_size, int):
        raise OptionError(f"output_size should have {dims} or {dims + 2} elements, but it is {output_size}")
    kernel = sizes(kernel_size, dims)
    steps = kernel if stride is None else sizes(stride, dims)
    rims = sizes(padding, dims)
    have = input.shape[-dims:]
    default = [
        (size - 1) * step + width - 2 * rim for size, step, width, rim in zip(have, steps, kernel, rims, strict=True)
    ]
    wanted = default if output_size is None else list(output_size)
    if len(wanted) == dims + 2:
        wanted = wanted[2:]
    if len(wanted) != dims:
        raise OptionError(f"output_size should have {dims} or {dims + 2} elements, but it has {len(wanted)}")
    for dim, (size, usual, step) in enumerate(zip(wanted, default, steps, strict=True)):
        if output_size is not None and not usual - step < size < usual + step:
            raise OptionError(
                f'invalid output_size "{output_size}" (dim {dim} must be between {usual - step} and {usual + step})'
            )
    if dims == 1:
        output = aten.max_unpool2d(input.unsqueeze(-2), indices.unsqueeze(-2), (1, *wanted))
        return output.squeeze(-2)
    windows = (steps, rims) if dims == 3 else ()
    return aten[f"max_unpool{dims}d"](input, indices, wanted, *windows)


max_unpool1d, max_unpool2d, max_unpool3d = by_dims("max_unpool{dims}d", _max_unpool, 1, 2, 3)
