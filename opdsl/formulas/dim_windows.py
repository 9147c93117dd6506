"""Sliding windows: reads at ``i * stride + u * dilation + offset``, whose contractions are convolutions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, cast

from opdsl.dispatch.state import current
from opdsl.formulas.dim_affine import Affine, Line, Windows
from opdsl.formulas.dim_axes import axes_of, over
from opdsl.formulas.dim_binding import Call
from opdsl.formulas.dim_sources import Source
from opdsl.formulas.dim_tensor import Dim, DimTensor, functions
from opdsl.runtime import Tensor
from opdsl.runtime.symbol import is_symbol

# Spatial dimensions that the library's convolution has at most.
_MOST_DIMENSIONS = 3
# Strides, dilations and offsets above it are those of no window.
_LARGEST = 1 << 31


def affine_of(value: object) -> Affine | None:
    """Return the affine function that a value over dims is; None if it is none, or not known to be one."""
    if isinstance(value, Dim):
        return Affine({value: value.step}, value.start)
    if isinstance(value, DimTensor):
        return value.affine
    return Affine({}, cast(int, value)) if type(value) is int or is_symbol(value) else None


def affine_call(call: Call) -> Affine | None:
    """Return the affine function that a call of an arithmetic operator computes; None if it is none."""
    affine = _affine_call(call)
    is_small = affine is not None and all(0 < abs(value) < _LARGEST for value in affine.coefficients.values())
    return affine if is_small else None


def _affine_call(call: Call) -> Affine | None:
    """Return the affine function of a call, whose coefficients may be 0 or large."""
    base = call.operator.schema.name.base
    if base not in ("add", "sub", "mul", "neg"):
        return None
    operands = [affine_of(value) for value in call.arguments[: 1 if base == "neg" else 2]]
    left, right = operands[0], operands[-1]
    if left is None or right is None:
        return None
    if base == "neg":
        return Affine({}, 0).plus(left, -1)
    if base == "mul":
        number, other = (left, right) if not left.coefficients else (right, left)
        return None if number.coefficients or is_symbol(number.offset) else Affine({}, 0).plus(other, number.offset)
    alpha = call.get("alpha")
    if alpha is not None and type(alpha) is not int:
        return None
    return left.plus(right, (-1 if base == "sub" else 1) * (1 if alpha is None else alpha))


class _Sliding(NamedTuple):
    """Dimension along which windows slide.

    size: of the tensor's dimension.
    out, tap: dims of the windows and of the elements within one.
    stride, dilation: coefficients of these.
    first: index of the first element of the first window.
    is_padded: see ``Line``.
    """

    size: int
    out: Dim
    tap: Dim
    stride: int
    dilation: int
    first: int
    is_padded: bool

    @property
    def low(self) -> int:
        """Return the number of elements missing before the first one."""
        return -self.first

    @property
    def high(self) -> int:
        """Return the number of elements missing after the last one."""
        last = self.first + (self.out.settle("sum()") - 1) * self.stride + (self.tap.size - 1) * abs(self.dilation)
        return last - (self.size - 1)


def _sliding(size: int, line: Line, folded: set[Dim]) -> _Sliding | None:
    """Return the dimension along which a line's windows slide, which has one folded and one kept dim; None if the line
    is no sliding window.
    """
    taps = [dim for dim in line.at.coefficients if dim in folded]
    outs = [dim for dim in line.at.coefficients if dim not in folded]
    if len(taps) != 1 or len(outs) != 1 or line.at.coefficients[outs[0]] < 0:
        return None
    (tap,), (out,) = taps, outs
    stride, dilation = line.at.coefficients[out], line.at.coefficients[tap]
    # With a negative dilation the last tap comes first; the weight is flipped.
    first = line.at.offset + (tap.settle("sum()") - 1) * min(dilation, 0)
    return _Sliding(size, out, tap, stride, dilation, first, line.is_padded)


def convolved(factors: Sequence[DimTensor], folded: set[Dim]) -> Tensor | None:
    """Return the sum over dims of windows times a weight as a convolution; None if it is none.

    Args:
        factors: of the product.
        folded: dims that are summed: those within windows, and channels that both factors have.

    Returns:
        ``out[..., o, i] = sum(x[..., c, i * stride + u * dilation + offset] * weight[o, c, u] for c, u)``, for up to
        three pairs of ``i`` and ``u``.
    """
    if len(factors) != 2 or [factor.windows is None for factor in factors].count(True) != 1:
        return None
    read, weight = sorted(factors, key=lambda factor: factor.windows is None)
    if weight.ndim or not weight.dtype.is_floating_point or weight.dtype is not read.dtype:
        return None
    assert read.windows is not None, "one of the factors is a read of windows"
    if not _is_current(read, read.windows):
        return None
    source, labels = read.windows.source.tensor, read.windows.labels
    sliding = [
        _sliding(size, label, folded)
        for size, label in zip(source.shape, labels, strict=True)
        if isinstance(label, Line)
    ]
    slides = [one for one in sliding if one is not None]
    channels = [label for label in labels if isinstance(label, Dim) and label in folded]
    outputs = [dim for dim in weight.dims if dim not in folded]
    if len(slides) < len(sliding) or not 1 <= len(slides) <= _MOST_DIMENSIONS or not outputs:
        return None
    taps, outs = [one.tap for one in slides], [one.out for one in slides]
    if {*channels, *taps} != folded or set(weight.dims) != {*outputs, *channels, *taps}:
        return None
    at_dims = {label for label in labels if isinstance(label, Dim)}
    if len({*taps, *outs}) < 2 * len(slides) or at_dims.union(outs).intersection(outputs):
        return None
    if at_dims.intersection((*taps, *outs)):
        return None
    if not _is_full(source, labels) or not _is_full(weight.tensor, weight.dims):
        return None
    sizes = (*source.shape, *weight.tensor.shape, *[out.settle("sum()") for out in outs])
    if True in [size == 0 for size in sizes] or not all(map(_reaches_little, slides)):
        return None
    return _convolution(read.windows, slides, weight, channels, outputs)


def _is_current(read: DimTensor, windows: Windows) -> bool:
    """Return whether the tensor of a read, and the copy of its elements, have since neither been written nor started to
    require gradients, so that the tensor may be read now.
    """
    source, copied = windows.source.tensor, read.tensor
    is_followed = current.get().grad_mode and source.requires_grad
    return windows.source.is_unchanged and windows.copied.is_unchanged and copied.requires_grad == is_followed


def _reaches_little(slide: _Sliding) -> bool:
    """Return whether windows reach out of bounds by at most their extent, so that padding is small; without padding not
    at all, since the read itself raises the error then.
    """
    most = slide.tap.settle("sum()") * abs(slide.dilation) if slide.is_padded else 0
    return slide.low <= most and slide.high <= most


def _is_full(tensor: Tensor, labels: Sequence[object]) -> bool:
    """Return whether every dimension of a tensor that is read at a dim has the dim's size, so that none is broadcast
    from size 1.
    """
    return all(
        size == label.settle("sum()")
        for size, label in zip(tensor.shape, labels, strict=True)
        if isinstance(label, Dim)
    )


def _convolution(
    windows: Windows, slides: Sequence[_Sliding], weight: DimTensor, channels: Sequence[Dim], outputs: Sequence[Dim]
) -> Tensor:
    """Return the convolution of a read of windows with a weight, over the dims that are kept."""
    source, labels = windows.source.tensor, windows.labels
    axes = {label: axis for axis, label in enumerate(labels) if isinstance(label, Dim)}
    spatial = [axis for axis, label in enumerate(labels) if isinstance(label, Line)]
    batch = [dim for dim in axes if dim not in set(channels)]
    positional = [axis for axis, label in enumerate(labels) if label is None]
    leading = [*[axes[dim] for dim in batch], *positional]
    images = source.permute([*leading, *[axes[dim] for dim in channels], *spatial])
    sizes = images.shape[: len(leading)]
    images = images.reshape(math.prod(sizes), math.prod([dim.size for dim in channels]), *images.shape[-len(slides) :])
    images, padding = _padded(images, slides)
    own = axes_of(weight.dims)
    kernel = weight.tensor.permute([own[dim] for dim in (*outputs, *channels, *[one.tap for one in slides])])
    flipped = [len(outputs) + len(channels) + at for at, one in enumerate(slides) if one.dilation < 0]
    kernel = kernel.flip(flipped) if flipped else kernel
    kernel = kernel.reshape(
        math.prod([dim.size for dim in outputs]), images.shape[1], *[one.tap.size for one in slides]
    )
    strides, dilations = [one.stride for one in slides], [abs(one.dilation) for one in slides]
    computed: Tensor = functions().convolution(
        images, kernel, None, strides, padding, dilations, False, [0] * len(slides), 1
    )
    outs = [one.out for one in slides]
    computed = computed.reshape(*sizes, *[dim.size for dim in outputs], *[dim.size for dim in outs])
    behind = range(len(leading), computed.ndim)
    moved = computed.permute([*range(len(batch)), *behind, *range(len(batch), len(leading))])
    return over(moved, [*batch, *outputs, *outs])


def _padded(images: Tensor, slides: Sequence[_Sliding]) -> tuple[Tensor, list[int]]:
    """Return images, and how far the convolution pads each of their dimensions: on both sides alike.

    Where windows reach farther on one side than on the other, or not as far as the images do, images are padded and cut
    before.
    """
    if all(one.is_padded and one.low >= 0 and 0 <= one.low - one.high < one.stride for one in slides):
        return images, [one.low for one in slides]
    margins = [side if one.is_padded and side > 0 else 0 for one in reversed(slides) for side in (one.low, one.high)]
    if any(margins):
        images = functions().constant_pad_nd(images, margins, 0)
    for axis, one in enumerate(slides, start=2):
        begin, length = one.first if one.first > 0 else 0, one.low + one.size + one.high
        if begin != 0 or length != images.shape[axis]:
            images = images.narrow(axis, begin, length)
    return images, [0] * len(slides)


def windows_of(source: Tensor, copied: Tensor, labels: Sequence[Dim | tuple[object, object] | None]) -> Windows | None:
    """Return the read of a tensor at affine indices; None if an index is another one, or elements outside are not 0.

    Args:
        source: the tensor that is read.
        copied: the elements that were read.
        labels: for each of its dimensions the dim at which it is read, a computed index and its padding rule, or None.
    """
    read: list[Dim | Line | None] = []
    for label in labels:
        if label is None or isinstance(label, Dim):
            read.append(label)
            continue
        index, mode = label
        at = affine_of(index)
        is_zero = type(mode) in (int, float) and mode == 0
        if at is None or not (mode is None or is_zero):
            return None
        read.append(Line(at, is_zero))
    return Windows(Source.of(source), Source.of(copied), tuple(read))
