"""Products of weights with sliding windows, and their transposes: the kernels of convolutions and their gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import attrs

from opdsl.aten._shared.blocks import blocks
from opdsl.aten.nn.sliding import Sliding, collect, counts_of, lengths_of, seen
from opdsl.kernels import copy_, fill_, multiply, new_tensor, slide
from opdsl.kernels.calls import WindowSpec
from opdsl.kernels.primitives.columns import columns_by_kernel
from opdsl.kernels.primitives.host import is_beyond
from opdsl.runtime import DType, MemoryFormat, Tensor, cpu, meta
from opdsl.runtime.geometry import geometry
from opdsl.runtime.strides import strides_for

Shape = tuple[int, ...]
Slides = tuple[Sliding, ...]

_ELEMENTS = 1 << 21
"""Number of column elements (im2col) that are in memory at once; it determines how many samples are computed
together.
"""

_FAR = 1 << 12
"""Extent of a window from which it is checked for elements that are in the padding at every position."""


def parts(batch: int, elements: int) -> Iterator[tuple[int, int]]:
    """Return an iterator over the parts of a batch, as first sample and number of samples, whose columns fit the cache.

    elements: the number of column elements of a sample.
    """
    step = max(1, _ELEMENTS // max(elements, 1))
    return ((block.start, block.stop - block.start) for block in blocks(batch, step))


def empty_in(
    like: Tensor, shape: Shape, layout: MemoryFormat = MemoryFormat.contiguous_format, dtype: DType | None = None
) -> Tensor:
    """Return an uninitialized tensor on the device of ``like``, with its dtype unless another is given."""
    return new_tensor(geometry(dtype or like.dtype, like.device, shape, strides_for(shape, layout)))


def columns_of(images: Tensor, windows: Slides, groups: int) -> Tensor:
    """Return the elements of each window as a column: (batch, groups, channels per group * elements, windows)."""
    batch, channels = images.shape[:2]
    shape = (batch, groups, channels // groups * math.prod(lengths_of(windows)), math.prod(counts_of(windows)))
    if images.device not in (cpu, meta) and not is_beyond(images):
        return columns_by_kernel(images, slides_of(windows)).view(shape)
    shown, dims = seen(images, windows), len(windows)
    return shown.permute((0, 1, *range(2 + dims, 2 + 2 * dims), *range(2, 2 + dims))).reshape(shape)


def multiply_samples(first: Tensor, second: Tensor, out: Tensor) -> None:
    """Write the products of matrices that all samples share with the matrices of each sample.

    first: (groups, rows, inner). second: (batch, groups, inner, columns). out: (batch, groups, rows, columns).
    """
    batch, groups = second.shape[:2]
    if groups == 1:
        multiply(first.expand((batch, *first.shape[1:])), second.squeeze(1), out.squeeze(1))
        return
    for sample in range(batch):
        multiply(first, second.select(0, sample), out.select(0, sample))


class Operands(NamedTuple):
    """Tensors of a convolution without its bias: images, weight and results, each of which is computed from the other
    two.

    images: (batch, channels, sizes).
    weight: (outputs, channels of a group, lengths).
    results: (batch, outputs, counts).
    windows: the windows over the images.
    groups: the number of groups of channels and outputs.
    slides: the windows in the format of backends; None for dtypes and sizes that backends do not compute.
    """

    images: Tensor
    weight: Tensor
    results: Tensor
    windows: Slides
    groups: int
    slides: tuple[WindowSpec, ...] | None

    def write(self, kind: str, bias: Tensor | None = None) -> None:
        """Compute the tensor that ``kind`` selects from the other two, see ``slide``; add a bias to its channels."""
        if any(window.dilation * (window.length - 1) > _FAR for window in self.windows):
            met = [_met(window) for window in self.windows]
            if any(count < window.length for (_, count), window in zip(met, self.windows, strict=True)):
                self._write_near(kind, bias, met)
                return
        if self.slides is not None:
            dense = bias if bias is None or bias.is_contiguous() else bias.contiguous()
            if slide(kind, self.images, self.weight, self.results, self.slides, self.groups, dense):
                return
        output = _BY_COLUMNS[kind](self)
        if bias is not None:
            output.add_(bias.view((-1, *(1,) * len(self.windows))))

    def _write_near(self, kind: str, bias: Tensor | None, met: Sequence[tuple[int, int]]) -> None:
        """Compute ``write`` using only the window elements that are in bounds for some window; all others see only
        padding.

        met: for each dimension, the first of these elements, and their number.
        """
        part, windows = self.weight, []
        for dim, (window, (first, count)) in enumerate(zip(self.windows, met, strict=True), 2):
            part = part.narrow(dim, first, count)
            windows.append(attrs.evolve(window, length=count, first=window.first + first * window.dilation))
        near = self._replace(weight=part.contiguous(), windows=tuple(windows))
        if self.slides is not None and part.numel():
            near = near._replace(slides=slides_of(windows))
        written = {"correlate": self.results, "spread": self.images, "weigh": self.weight}[kind]
        if kind == "weigh" or not part.numel():
            fill_(written, 0)
        if part.numel():
            near.write(kind, bias)
            if kind == "weigh":
                copy_(part, near.weight)
        elif bias is not None:
            written.add_(bias.view((-1, *(1,) * len(windows))))

    @property
    def kernels(self) -> Tensor:
        """Return the weight as matrices: (groups, outputs of a group, elements of a window)."""
        outputs = self.weight.shape[0]
        return self.weight.reshape((self.groups, outputs // self.groups, math.prod(self.weight.shape[1:])))

    @property
    def flat(self) -> Tensor:
        """Return the results as matrices: (batch, groups, outputs of a group, windows)."""
        batch, outputs = self.results.shape[:2]
        count = math.prod(counts_of(self.windows))
        return self.results.reshape((batch, self.groups, outputs // self.groups, count))


def slides_of(windows: Sequence[Sliding]) -> tuple[WindowSpec, ...]:
    """Convert windows to the format of backends."""
    return tuple(
        WindowSpec(window.size, window.count, window.length, window.first, window.stride, window.dilation)
        for window in windows
    )


def _met(window: Sliding) -> tuple[int, int]:
    """Return the first window element that is in bounds for some window, and the number of such elements."""
    last = window.first + (window.count - 1) * window.stride
    begin = max(0, -(last // window.dilation))
    end = min(window.length, (window.size - 1 - window.first) // window.dilation + 1)
    return (begin, end - begin) if begin < end else (0, 0)


def correlate(operands: Operands) -> Tensor:
    """Write the products of the weight with all windows to the results."""
    images, _, results, windows, groups, _ = operands
    kernels, count = operands.kernels, math.prod(counts_of(windows))
    batch = images.shape[0]
    shape = (batch, groups, kernels.shape[1], count)
    is_dense = results.is_contiguous()
    target = results.view(shape) if is_dense else empty_in(images, shape)
    for start, size in parts(batch, groups * kernels.shape[2] * count):
        columns = columns_of(images.narrow(0, start, size), windows, groups)
        multiply_samples(kernels, columns, target.narrow(0, start, size))
    return results if is_dense else copy_(results, target.view(results.shape))


def spread_out(operands: Operands) -> Tensor:
    """Compute the transpose of ``correlate``: write the images from the results."""
    images, weight, results, windows, groups, _ = operands
    batch, count = results.shape[0], math.prod(counts_of(windows))
    inner, dims = weight.shape[1], len(windows)
    kernels, flat = operands.kernels.transpose(1, 2), operands.flat
    back = (0, 1, *range(2 + dims, 2 + 2 * dims), *range(2, 2 + dims))
    for start, size in parts(batch, groups * kernels.shape[1] * count):
        columns = empty_in(results, (size, groups, kernels.shape[1], count))
        multiply_samples(kernels, flat.narrow(0, start, size), columns)
        shape = (size, groups * inner, *lengths_of(windows), *counts_of(windows))
        collect(images.narrow(0, start, size), columns.view(shape).permute(back), windows)
    return images


def weight_gradient(operands: Operands) -> Tensor:
    """Write the gradient of the weight of ``correlate``; ``results`` holds the gradients of the results."""
    images, weight, _, windows, groups, _ = operands
    batch, outputs, count = *operands.results.shape[:2], math.prod(counts_of(windows))
    gradient = empty_in(images, (groups, outputs // groups, math.prod(weight.shape[1:])))
    fill_(gradient, 0)
    flat = operands.flat
    for sample in range(batch if count else 0):
        columns = columns_of(images.narrow(0, sample, 1), windows, groups).squeeze(0)
        multiply(flat.select(0, sample), columns.transpose(1, 2), gradient, 1, 1)
    return copy_(weight, gradient.view(weight.shape))


_BY_COLUMNS = {"correlate": correlate, "spread": spread_out, "weigh": weight_gradient}
