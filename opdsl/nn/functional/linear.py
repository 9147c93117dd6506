"""Linear maps, distances, convolutions and what they are made of."""

from __future__ import annotations

from opdsl._attributes import aten
from opdsl.errors import OptionError
from opdsl.nn.functional._common import Size, sizes
from opdsl.runtime import DType, Tensor


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``"""
    return aten.linear(input, weight, bias)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for each ``k``."""
    return aten.bilinear(input1, input2, weight, bias)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosines of vectors along a dimension."""
    return aten.cosine_similarity(x1, x2, dim, eps)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The distances of vectors along the last dimension."""
    return aten.pairwise_distance(x1, x2, p, eps, keepdim)


def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The distances of each two rows."""
    return aten.pdist(input, p)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Vectors along a dimension, divided by their norms, or by ``eps`` where these are less."""
    norms = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / norms if out is None else aten.div(input, norms, out=out)


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: DType | None = None,
) -> Tensor:
    """Products of groups of matrices.

    Args:
        mat_a, mat_b: three dimensions are a matrix for each group; of two dimensions each group has a part: rows of
            ``mat_a``, columns of ``mat_b``, or, where both have two, what is summed over.
        offs: where each part ends.
        bias: None, as in PyTorch.
        out_dtype: of the result.

    Raises:
        OptionError: a bias is given, or parts without their ends; it is a ValueError.
    """
    if bias is not None:
        raise OptionError("grouped_mm: bias is not supported")
    if mat_a.ndim == mat_b.ndim == 3:
        made = mat_a @ mat_b
    elif offs is None:
        raise OptionError("grouped_mm: offs is needed where a matrix has a part for each group")
    else:
        ends = [int(each) for each in offs]
        parts = [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
        if mat_a.ndim == mat_b.ndim == 2:
            made = aten.stack([mat_a[:, part] @ mat_b[part] for part in parts])
        elif mat_a.ndim == 2:
            made = aten.cat([mat_a[part] @ mat_b[group] for group, part in enumerate(parts)])
        else:
            made = aten.cat([mat_a[group] @ mat_b[:, part] for group, part in enumerate(parts)], 1)
    return made if out_dtype is None else made.to(out_dtype)


# -------------------------------------------------------------------------------------------------------- convolutions


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution over one spatial dimension."""
    return aten.conv1d(input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution over two spatial dimensions."""
    return aten.conv2d(input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution over three spatial dimensions."""
    return aten.conv3d(input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
) -> Tensor:
    """The transposed convolution over one spatial dimension."""
    return aten.conv_transpose1d(input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
) -> Tensor:
    """The transposed convolution over two spatial dimensions."""
    return aten.conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
) -> Tensor:
    """The transposed convolution over three spatial dimensions."""
    return aten.conv_transpose3d(input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Convolution over time of (time, batch, channels), by a weight of (width, input channels, output channels)."""
    return aten.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad).permute(2, 0, 1)


def unfold(input: Tensor, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1) -> Tensor:
    """The blocks that a convolution reads, as columns."""
    return aten.im2col(input, *(sizes(each, 2) for each in (kernel_size, dilation, padding, stride)))


def fold(
    input: Tensor, output_size: Size, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1
) -> Tensor:
    """The sum of blocks, given as columns, where ``unfold`` takes them from."""
    return aten.col2im(input, *(sizes(each, 2) for each in (output_size, kernel_size, dilation, padding, stride)))
