"""Sampling of images and volumes at given points (ATen/native/GridSampler.h)."""

from __future__ import annotations

import math
from typing import Any

from opdsl import primitives
from opdsl.declare import op
from opdsl.errors import DTypeError, UnsupportedModeError
from opdsl.kernels import check
from opdsl.runtime import Tensor

MODES = ("bilinear", "nearest", "bicubic")
"""Interpolation modes; ``interpolation_mode`` is an index into this tuple."""

PADDINGS = ("zeros", "border", "reflection")
"""Padding modes; ``padding_mode`` is an index into this tuple."""

# The free parameter of the cubic convolution.
_CUBIC = -0.75


# -------------------------------------------------------------------------------------------- indices along a dimension


def place_of(at: Any, size: Any, aligned: Any) -> Any:
    """Convert a coordinate from -1 to 1 to a fractional index into ``size`` elements."""
    return (at + 1) / 2 * (size - 1) if aligned else ((at + 1) * size - 1) / 2


def inside(place: Any, size: Any, outside: Any, aligned: Any) -> Any:
    """Move a fractional index into the image by clamping or reflection (NaN to 0), or leave it for zero padding."""
    if outside == "zeros":
        return place
    if outside == "reflection":
        low = 0.0 if aligned else -0.5
        span = max(size - 1, 0) if aligned else size
        distance = abs(place - low)
        turns = math.floor(distance / span) if span > 0 else 0.0
        rest = distance - turns * span
        is_even = turns == 2 * math.floor(turns / 2)
        place = (rest if is_even else span - rest) + low if span > 0 else 0.0
    return min(place if place > 0 else 0.0, size - 1)


def near(x: Any) -> Any:
    """Return the cubic convolution kernel at a distance ``x`` from 0 to 1."""
    return ((_CUBIC + 2) * x - (_CUBIC + 3)) * x * x + 1


def far(x: Any) -> Any:
    """Return the cubic convolution kernel at a distance ``x`` from 1 to 2."""
    return ((_CUBIC * x - 5 * _CUBIC) * x + 8 * _CUBIC) * x - 4 * _CUBIC


def weights(mode: Any, part: Any) -> Any:
    """Return the interpolation weights of the elements around a point, the fraction ``part`` after one of them."""
    if mode == "nearest":
        return (1,)
    if mode == "bilinear":
        return 1 - part, part
    return far(part + 1), near(part), near(1 - part), far(2 - part)


def first_of(mode: Any, place: Any) -> Any:
    """Return the index of the first element that interpolation at a fractional index reads."""
    if mode == "nearest":
        return round(place) if place == place else -1.0  # NaN is out of bounds
    return math.floor(place) - (1 if mode == "bicubic" else 0)


# ------------------------------------------------------------------------------------------------------------ operators


def check_grid(name: str, input: Tensor, grid: Tensor, mode: int, padding: int, dims: int) -> None:
    """Check that points and modes fit the images.

    Raises:
        ShapeError, DTypeError, UnsupportedModeError: they do not fit.
    """
    check(
        input.ndim == dims + 2 and grid.ndim == dims + 2 and grid.shape[-1] == dims,
        f"{name}(): expected {dims + 2}D input and grid with same number of dimensions, the last of which has {dims} "
        f"coordinates, but got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}",
    )
    check(
        input.shape[0] == grid.shape[0],
        f"{name}(): expected grid and input to have same batch size, but got input with sizes {list(input.shape)} and "
        f"grid with sizes {list(grid.shape)}",
    )
    check(
        0 not in input.shape[2:],
        f"{name}(): expected input to have non-empty spatial dimensions, but input has sizes {list(input.shape)}",
    )
    if input.dtype is not grid.dtype or not input.dtype.is_floating_point:
        raise DTypeError(
            f"{name}(): expected input and grid to have the same floating-point dtype, but input has {input.dtype} and "
            f"grid has {grid.dtype}"
        )
    if not (0 <= mode < len(MODES) and 0 <= padding < len(PADDINGS)) or (mode == 2 and dims == 3):
        raise UnsupportedModeError(
            f"{name}(): there is no interpolation_mode {mode} with padding_mode {padding} for {dims} dimensions. There "
            f"are {', '.join(MODES)} (of images) and {', '.join(PADDINGS)}, counted from 0."
        )


@op("aten::grid_sampler_2d", tags="core")
def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Return images (batch, channels, height, width) sampled at points (x, y) from -1 to 1."""
    ...


@grid_sampler_2d.meta
def grid_sampler_2d_meta(ctx, input, grid, interpolation_mode, padding_mode):
    check_grid("grid_sampler_2d", input, grid, interpolation_mode, padding_mode, 2)
    ctx.set_output(0, (*input.shape[:2], *grid.shape[1:3]), like=input)
    return {"mode": MODES[interpolation_mode], "outside": PADDINGS[padding_mode]}


def grid_sampler_2d_at(
    input: Any, grid: Any, align_corners: Any, mode: Any, outside: Any, n: int, c: int, i: int, j: int
) -> Any:
    height, width = input.shape[2], input.shape[3]
    y = place_of(grid[n, i, j, 1], height, align_corners)
    x = place_of(grid[n, i, j, 0], width, align_corners)
    if mode != "bicubic":
        y, x = inside(y, height, outside, align_corners), inside(x, width, outside, align_corners)
    top, left = first_of(mode, y), first_of(mode, x)
    total = 0
    for b, down in enumerate(weights(mode, y - math.floor(y))):
        for a, right in enumerate(weights(mode, x - math.floor(x))):
            row, column = top + b, left + a
            if mode == "bicubic":
                row, column = inside(row, height, outside, align_corners), inside(column, width, outside, align_corners)
            value = input[n, c, int(row), int(column)] * (down * right)
            total = total + value if a or b else value
    return total


sampled_2d = primitives.positions(grid_sampler_2d_at, at=("n", "c", "i", "j"), margin={"input": 0})


@grid_sampler_2d.formula
def sample_2d(input: Tensor, grid: Tensor, align_corners: bool) -> Tensor:
    return sampled_2d(input, grid, align_corners)


@op("aten::grid_sampler_3d")
def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Return volumes (batch, channels, depth, height, width) sampled at points (x, y, z) from -1 to 1."""
    ...


@grid_sampler_3d.meta
def grid_sampler_3d_meta(ctx, input, grid, interpolation_mode, padding_mode):
    check_grid("grid_sampler_3d", input, grid, interpolation_mode, padding_mode, 3)
    ctx.set_output(0, (*input.shape[:2], *grid.shape[1:4]), like=input)
    return {"mode": MODES[interpolation_mode], "outside": PADDINGS[padding_mode]}


def grid_sampler_3d_at(
    input: Any, grid: Any, align_corners: Any, mode: Any, outside: Any, n: int, c: int, i: int, j: int, k: int
) -> Any:
    depth, height, width = input.shape[2], input.shape[3], input.shape[4]
    z = inside(place_of(grid[n, i, j, k, 2], depth, align_corners), depth, outside, align_corners)
    y = inside(place_of(grid[n, i, j, k, 1], height, align_corners), height, outside, align_corners)
    x = inside(place_of(grid[n, i, j, k, 0], width, align_corners), width, outside, align_corners)
    front, top, left = first_of(mode, z), first_of(mode, y), first_of(mode, x)
    total = 0
    for d, deep in enumerate(weights(mode, z - math.floor(z))):
        for b, down in enumerate(weights(mode, y - math.floor(y))):
            for a, right in enumerate(weights(mode, x - math.floor(x))):
                value = input[n, c, int(front + d), int(top + b), int(left + a)] * (deep * down * right)
                total = total + value if a or b or d else value
    return total


sampled_3d = primitives.positions(grid_sampler_3d_at, at=("n", "c", "i", "j", "k"), margin={"input": 0})


@grid_sampler_3d.formula
def sample_3d(input: Tensor, grid: Tensor, align_corners: bool) -> Tensor:
    return sampled_3d(input, grid, align_corners)


@op("aten::grid_sampler")
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Return images or volumes sampled at points from -1 to 1.

    Args:
        input: (batch, channels, height, width), or with a depth before the height.
        grid: the points, (batch, ..., 2 or 3), of the same dtype, in the order (x, y) or (x, y, z): the last coordinate
            is the one for the first dimension.
        interpolation_mode: 0 for linear interpolation, 1 for the nearest element, 2 for cubic convolution (images
            only).
        padding_mode: the values outside: 0 for zeros, 1 for the elements at the border, 2 for their reflection.
        align_corners: whether -1 and 1 are the centers of the corner elements instead of their outer edges.
    """
    check(
        input.ndim in (4, 5),
        f"grid_sampler(): expected 4D or 5D input and grid, but got input with sizes {list(input.shape)}",
    )
    sampler = grid_sampler_2d if input.ndim == 4 else grid_sampler_3d
    return sampler(input, grid, interpolation_mode, padding_mode, align_corners)
