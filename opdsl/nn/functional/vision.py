"""Functions on images: padding, resizing, sampling, shuffling."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TypeVar

from opdsl._attributes import aten
from opdsl.errors import OptionError, UnsupportedModeError
from opdsl.runtime import Tensor

_Number = TypeVar("_Number", int, float)


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Return the input padded at both ends of its last dimensions; ``pad`` begins with the last dimension.

    Args:
        input: any numbers.
        pad: the numbers of elements before and after, a pair for each dimension; negative numbers crop.
        mode: ``"constant"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        value: of the padding for ``"constant"``; 0 for None.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.pad(opdsl.tensor([[1, 2], [3, 4]]), (1, 0))
    tensor([[0, 1, 2],
            [0, 3, 4]])
    """
    return aten.pad(input, pad, mode, value)


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Return the input with channels rearranged into blocks of pixels, which increases the resolution.

    Args:
        input: of shape (..., C * upscale_factor ** 2, H, W).
        upscale_factor: the factor of height and width.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.pixel_shuffle(opdsl.arange(4).reshape(1, 4, 1, 1), 2).tolist()
    [[[[0, 1], [2, 3]]]]
    """
    return aten.pixel_shuffle(input, upscale_factor)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Return the input with blocks of pixels rearranged into channels, which decreases the resolution.

    Args:
        input: of shape (..., C, H * downscale_factor, W * downscale_factor).
        downscale_factor: the divisor of height and width.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.pixel_unshuffle(opdsl.arange(4).reshape(1, 1, 2, 2), 2).flatten()
    tensor([0, 1, 2, 3])
    """
    return aten.pixel_unshuffle(input, downscale_factor)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Return the input with its channels interleaved from groups.

    Args:
        input: of shape (N, C, ...).
        groups: the number of groups; the result has one channel of each group after another.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.channel_shuffle(opdsl.arange(4).reshape(1, 4, 1), 2).flatten()
    tensor([0, 2, 1, 3])
    """
    return aten.channel_shuffle(input, groups)


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Return the result of ``channel_shuffle``.

    Args:
        input, groups: see ``channel_shuffle``.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.native_channel_shuffle(opdsl.arange(4).reshape(1, 4, 1), 2).flatten()
    tensor([0, 2, 1, 3])
    """
    return aten.channel_shuffle(input, groups)


# ------------------------------------------------------------------------------------------------------------ resizing

# The operators by mode and number of spatial dimensions, and whether they take align_corners.
_RESIZING: dict[str, tuple[dict[int, str], bool]] = {
    "nearest": ({1: "upsample_nearest1d", 2: "upsample_nearest2d", 3: "upsample_nearest3d"}, False),
    "nearest-exact": (
        {1: "_upsample_nearest_exact1d", 2: "_upsample_nearest_exact2d", 3: "_upsample_nearest_exact3d"},
        False,
    ),
    "area": ({1: "adaptive_avg_pool1d", 2: "adaptive_avg_pool2d", 3: "adaptive_avg_pool3d"}, False),
    "linear": ({1: "upsample_linear1d"}, True),
    "bilinear": ({2: "upsample_bilinear2d"}, True),
    "bicubic": ({2: "upsample_bicubic2d"}, True),
    "trilinear": ({3: "upsample_trilinear3d"}, True),
}

# Modes that support antialiasing.
_ANTIALIASED = ("bilinear", "bicubic")


def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Return the images resampled to another size.

    Args:
        input: of shape (N, C, ...), with one to three spatial dimensions.
        size: of the result; or
        scale_factor: the factor of the sizes, for all dimensions or for each.
        mode: ``nearest``, ``nearest-exact``, ``area``; ``linear``, ``bilinear``, ``bicubic``, ``trilinear``.
        align_corners: whether the centers of corner pixels are aligned, rather than their outer corners.
        recompute_scale_factor: whether pixel distances are computed from the resulting sizes, not from the factors.
        antialias: whether to average over the area of a pixel when shrinking; for ``bilinear`` and ``bicubic``.

    Raises:
        OptionError: arguments exclude each other; it is a ValueError.
        UnsupportedModeError: the mode does not support the number of dimensions, or ``antialias``.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.interpolate(opdsl.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    spatial = input.ndim - 2
    if mode not in _RESIZING or spatial not in _RESIZING[mode][0]:
        raise UnsupportedModeError(
            f"interpolate: no mode {mode!r} for {input.ndim}D input. Modes: {', '.join(_RESIZING)}."
        )
    operators, aligns = _RESIZING[mode]
    if antialias and mode not in _ANTIALIASED:
        raise UnsupportedModeError(
            f"interpolate: antialias=True takes the modes {', '.join(_ANTIALIASED)}, not {mode!r}"
        )
    if not aligns and align_corners is not None:
        raise OptionError("align_corners option can only be set with linear | bilinear | bicubic | trilinear")
    if (size is None) == (scale_factor is None):
        raise OptionError("interpolate: exactly one of size and scale_factor is given")
    if recompute_scale_factor and size is not None:
        raise OptionError("recompute_scale_factor is not meaningful with an explicit size.")
    wanted = _for_each("size", size, spatial)
    factors = _for_each("scale_factor", scale_factor, spatial)
    if factors is not None and (recompute_scale_factor or mode == "area"):
        wanted = [math.floor(have * factor) for have, factor in zip(input.shape[2:], factors, strict=True)]
        factors = None
    operator = aten[f"_{operators[spatial]}_aa" if antialias else operators[spatial]]
    if mode == "area":
        return operator(input, wanted)
    corners = (bool(align_corners),) if aligns else ()
    return operator(input, wanted, *corners, None if factors is None else [float(factor) for factor in factors])


def _for_each(name: str, number: _Number | Sequence[_Number] | None, count: int) -> list[_Number] | None:
    if number is None:
        return None
    numbers = list(number) if isinstance(number, Sequence) else [number] * count
    if len(numbers) != count:
        raise OptionError(f"interpolate: {name} has {len(numbers)} numbers for {count} spatial dimensions")
    return numbers


def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """Return the result of ``interpolate``; a deprecated name.

    Args:
        input, size, scale_factor, mode, align_corners: see ``interpolate``.

    Raises:
        OptionError, UnsupportedModeError: see ``interpolate``.

    >>> import opdsl, opdsl.nn.functional as F
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     F.upsample(opdsl.tensor([[[1.0, 2.0]]]), 3).flatten()
    tensor([1., 1., 2.])
    """
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """Return the result of ``interpolate(mode="nearest")``; a deprecated name.

    Args:
        input, size, scale_factor: see ``interpolate``.

    Raises:
        OptionError, UnsupportedModeError: see ``interpolate``.

    >>> import opdsl, opdsl.nn.functional as F
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     F.upsample_nearest(opdsl.tensor([[[1.0, 2.0]]]), 4).flatten()
    tensor([1., 1., 2., 2.])
    """
    warnings.warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate`.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(
    input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """Return the result of ``interpolate(mode="bilinear", align_corners=True)``; a deprecated name.

    Args:
        input, size, scale_factor: see ``interpolate``.

    Raises:
        OptionError, UnsupportedModeError: see ``interpolate``.

    >>> import opdsl, opdsl.nn.functional as F
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     F.upsample_bilinear(opdsl.tensor([[[[1.0, 2.0]]]]), (1, 3)).flatten()
    tensor([1.0000, 1.5000, 2.0000])
    """
    warnings.warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate`.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# ------------------------------------------------------------------------------------------------------------ sampling


def _corners(align_corners: bool | None) -> bool:
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
            "specify align_corners=True if the old behavior is desired. See grid_sample.",
            stacklevel=3,
        )
    return bool(align_corners)


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Return the points to which affine maps move the pixels of images, for ``grid_sample``.

    Args:
        theta: the matrices, of shape (N, 2, 3) or (N, 3, 4).
        size: of the images: (N, C, H, W) or (N, C, D, H, W).
        align_corners: whether -1 and 1 are the centers of the corner pixels, rather than their outer corners.

    Raises:
        OptionError: the shapes do not fit; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.affine_grid(opdsl.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 1, 2), align_corners=True)
    tensor([[[[-1.,  0.],
              [ 1.,  0.]]]])
    """
    aligned = _corners(align_corners)
    spatial = len(size) - 2
    if spatial not in (2, 3) or tuple(theta.shape[1:]) != (spatial, spatial + 1) or not theta.is_floating_point():
        raise OptionError(f"affine_grid: theta of {theta.shape} ({theta.dtype}) does not fit images of {tuple(size)}")
    if min(size) <= 0:
        raise OptionError(f"Expected non-zero, positive output size. Got {size}")
    axes = []
    for number in size[2:]:
        ends = aten.linspace(-1, 1, number, dtype=theta.dtype, device=theta.device)
        axes.append(theta.new_zeros(1) if number == 1 else ends if aligned else ends * ((number - 1) / number))
    points = [*reversed(aten.meshgrid(axes, indexing="ij")), theta.new_ones(tuple(size[2:]))]
    base = aten.stack(points, -1).reshape(1, -1, spatial + 1)
    return (base @ theta.transpose(-2, -1)).reshape(size[0], *size[2:], spatial)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Return the values of images, interpolated at given points.

    Args:
        input: of shape (N, C, H, W) or (N, C, D, H, W).
        grid: points (x, y) or (x, y, z) from -1 to 1, in the last dimension.
        mode: ``bilinear``, ``nearest``, or ``bicubic`` for images without depth.
        padding_mode: the values outside: ``zeros``, the pixels at the ``border``, or their ``reflection``.
        align_corners: whether -1 and 1 are the centers of the corner pixels, rather than their outer corners.

    Raises:
        OptionError: there is no such mode, or shapes do not fit; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> image = opdsl.tensor([[[[1.0, 3.0]]]])
    >>> F.grid_sample(image, opdsl.tensor([[[[-1.0, 0.0], [0.0, 0.0]]]]), align_corners=True).flatten()
    tensor([1., 2.])
    """
    spatial = input.ndim - 2
    if mode not in ("bilinear", "nearest", "bicubic") or (mode == "bicubic" and spatial != 2):
        raise OptionError(
            f"grid_sample: expected mode to be 'bilinear', 'nearest' or 'bicubic' (2D), but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise OptionError(
            f"grid_sample: expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'"
        )
    if spatial not in (2, 3) or grid.ndim != input.ndim or grid.shape[-1] != spatial or grid.shape[0] != input.shape[0]:
        raise OptionError(f"grid_sample: a grid of {grid.shape} does not fit an input of {input.shape}")
    aligned = _corners(align_corners)
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    return aten.grid_sampler(input, grid, modes.index(mode), paddings.index(padding_mode), aligned)
