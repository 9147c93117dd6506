"""Rearrangements of image elements between channels and pixels, and sums of tensors to another shape."""

from __future__ import annotations

from opdsl.declare import op
from opdsl.kernels import check
from opdsl.runtime import MemoryFormat, Tensor
from opdsl.schema.vocabulary import SymInt


def laid_out(elements: Tensor, shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Copy elements into another shape, in the memory format of the images ``like``."""
    output = elements.clone(memory_format=MemoryFormat.contiguous_format).view(shape)
    return output.contiguous(memory_format=like.geometry.suggested_memory_format()) if like.ndim == 4 else output


@op("aten::pixel_shuffle", kernel=("CPU", "CompositeExplicitAutogradNonFunctional"))
def pixel_shuffle(self: Tensor, upscale_factor: int) -> Tensor:
    """Rearrange images (..., C * r * r, H, W) to larger images with fewer channels (..., C, H * r, W * r)."""
    check(
        self.ndim >= 3,
        f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {self.ndim} dimension(s)",
    )
    check(upscale_factor > 0, f"pixel_shuffle expects a positive upscale_factor, but got {upscale_factor}")
    *batch, channels, height, width = self.shape
    square = upscale_factor * upscale_factor
    check(
        channels % square == 0,
        "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
        f"input.size(-3)={channels} is not divisible by {square}",
    )
    apart = self.reshape((*batch, channels // square, upscale_factor, upscale_factor, height, width))
    first = len(batch)
    order = (*range(first), first, first + 3, first + 1, first + 4, first + 2)
    shape = (*batch, channels // square, height * upscale_factor, width * upscale_factor)
    return laid_out(apart.permute(order), shape, self)


@op("aten::pixel_unshuffle", kernel=("CPU", "CompositeExplicitAutogradNonFunctional"))
def pixel_unshuffle(self: Tensor, downscale_factor: int) -> Tensor:
    """Rearrange images (..., C, H * r, W * r) to smaller images with more channels (..., C * r * r, H, W)."""
    check(
        self.ndim >= 3,
        f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {self.ndim} dimension(s)",
    )
    check(downscale_factor > 0, f"pixel_unshuffle expects a positive downscale_factor, but got {downscale_factor}")
    *batch, channels, height, width = self.shape
    for name, index, size in (("height", -2, height), ("width", -1, width)):
        check(
            size % downscale_factor == 0,
            f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({index})={size} is "
            f"not divisible by {downscale_factor}",
        )
    rows, columns = height // downscale_factor, width // downscale_factor
    apart = self.reshape((*batch, channels, rows, downscale_factor, columns, downscale_factor))
    first = len(batch)
    order = (*range(first), first, first + 2, first + 4, first + 1, first + 3)
    shape = (*batch, channels * downscale_factor * downscale_factor, rows, columns)
    return laid_out(apart.permute(order), shape, self)


pixel_unshuffle.adjoint(pixel_shuffle, "self", downscale_factor="upscale_factor")


# -------------------------------------------------------------------------------------------------------------- groups


@op("aten::channel_shuffle", kernel=True)
def channel_shuffle(self: Tensor, groups: SymInt) -> Tensor:
    """Interleave the channels of groups: the first channel of each group, then the second ones, and so on."""
    check(self.ndim > 2, f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(self.shape)}")
    channels = self.shape[1]
    check(groups > 0, f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    check(
        channels % groups == 0,
        f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups.",
    )
    apart = self.reshape((self.shape[0], groups, channels // groups, *self.shape[2:]))
    return laid_out(apart.transpose(1, 2), self.shape, self)


channel_shuffle.derivative(self=lambda grad, groups: channel_shuffle(grad, grad.shape[1] // groups))


# --------------------------------------------------------------------------------------------------------- sum_to_size


@op("aten::sum_to_size", variants="method", may_alias=True)
def sum_to_size(self: Tensor, size: list[SymInt]) -> Tensor:
    """Sum over the dimensions along which a tensor of shape ``size`` would be broadcast; return ``self`` if there are
    none.
    """
    fresh = self.ndim - len(size)
    pairs = zip(reversed(size), reversed(self.shape), strict=False)
    fits = fresh >= 0 and all(wanted in (1, ours) for wanted, ours in pairs)
    check(fits, f"size {{{list(size)}}} is not expandable to size {{{list(self.shape)}}}.")
    if not size:
        return self.sum()
    dims = [dim for dim in range(self.ndim) if dim < fresh or (size[dim - fresh] == 1 and self.shape[dim] != 1)]
    summed = self.sum(dims, True) if dims else self
    return summed.view(size) if fresh else summed
