"""Linear maps, distances, convolutions, and their blocks as columns."""

from __future__ import annotations

import itertools

from opdsl._attributes import aten
from opdsl.errors import OptionError
from opdsl.kernels import check
from opdsl.nn.functional._common import Size, sizes
from opdsl.nn.functional._families import by_dims
from opdsl.runtime import DType, Tensor


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``

    Args:
        input: of shape (..., in).
        weight: of shape (out, in), or (in) for a result without that dimension.
        bias: of shape (out).

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.linear(opdsl.tensor([1.0, 2.0]), opdsl.tensor([[3.0, 4.0], [5.0, 6.0]]), opdsl.tensor([0.5, 0.0]))
    tensor([11.5000, 17.0000])
    """
    return aten.linear(input, weight, bias)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for each ``k``.

    Args:
        input1, input2: of shapes (..., in1) and (..., in2).
        weight: of shape (out, in1, in2).
        bias: of shape (out).

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.bilinear(opdsl.tensor([[1.0, 2.0]]), opdsl.tensor([[3.0]]), opdsl.tensor([[[1.0], [10.0]]]))
    tensor([[63.]])
    """
    return aten.bilinear(input1, input2, weight, bias)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Return the cosine similarity of vectors along a dimension.

    Args:
        x1, x2: the vectors, of shapes that broadcast.
        dim: the dimension of the vectors.
        eps: lower limit of norms.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.cosine_similarity(opdsl.tensor([[1.0, 0.0]]), opdsl.tensor([[3.0, 4.0]]))
    tensor([0.6000])
    """
    return aten.cosine_similarity(x1, x2, dim, eps)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """Return the distances of vectors along the last dimension.

    Args:
        x1, x2: the vectors, of shapes that broadcast.
        p: the exponent of the norm.
        eps: added to each difference, so that gradients are finite.
        keepdim: whether the dimension is kept, with size 1.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.pairwise_distance(opdsl.tensor([0.0, 0.0]), opdsl.tensor([3.0, 4.0]), eps=0.0)
    tensor(5.)
    """
    return aten.pairwise_distance(x1, x2, p, eps, keepdim)


def pdist(input: Tensor, p: float = 2) -> Tensor:
    """Return the distance of each pair of rows.

    Args:
        input: of shape (N, M).
        p: the exponent of the norm.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.pdist(opdsl.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 4.0]]))
    tensor([5., 4., 3.])
    """
    return aten.pdist(input, p)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Return vectors along a dimension, divided by their norms, or by ``eps`` if these are smaller.

    Args:
        input: the vectors.
        p: the exponent of the norm.
        dim: the dimension of the vectors.
        eps: lower limit of norms.
        out: a tensor to write the result into.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.normalize(opdsl.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
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
    """Return the products of groups of matrices.

    Args:
        mat_a, mat_b: with three dimensions, a matrix for each group; with two, each group is a part: rows of
            ``mat_a``, columns of ``mat_b``, or, if both have two, a range of the summed dimension.
        offs: the end of each part.
        bias: None, as in PyTorch.
        out_dtype: of the result.

    Raises:
        OptionError: a bias is given, or ``offs`` is missing; it is a ValueError.
        ShapeError: matrices have other than 2 or 3 dimensions, or do not fit.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.grouped_mm(opdsl.eye(2), opdsl.ones(2, 2, 1), offs=opdsl.tensor([1, 2]))
    tensor([[1.],
            [1.]])
    """
    if bias is not None:
        raise OptionError("grouped_mm: bias is not supported")
    shapes = mat_a.shape, mat_b.shape
    check(all(len(shape) in (2, 3) for shape in shapes), "grouped_mm: matrices have 2 or 3 dimensions", got=shapes)
    check(offs is None or not offs.is_floating_point(), "grouped_mm: offs are whole numbers")
    if mat_a.ndim == mat_b.ndim == 3:
        output = mat_a @ mat_b
    elif offs is None:
        raise OptionError("grouped_mm: offs is needed where a matrix has a part for each group")
    else:
        parts = [slice(*ends) for ends in itertools.pairwise([0, *offs.flatten().tolist()])]
        if mat_a.ndim == mat_b.ndim == 2:
            output = aten.stack([mat_a[:, part] @ mat_b[part] for part in parts])
        elif mat_a.ndim == 2:
            output = aten.cat([mat_a[part] @ mat_b[group] for group, part in enumerate(parts)])
        else:
            output = aten.cat([mat_a[group] @ mat_b[:, part] for group, part in enumerate(parts)], 1)
    return output if out_dtype is None else output.to(out_dtype)


# -------------------------------------------------------------------------------------------------------- convolutions


def _conv(
    dims: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Return the convolution {space}.

    Args:
        input: of shape {images}.
        weight: of shape (out, C / groups, {kernel}).
        bias: of shape (out).
        stride: the distance between the blocks that are read{numbers}.
        padding: the number of zeros added at both ends; or ``"valid"`` for none, or ``"same"`` for the number that
            keeps the size.
        dilation: the distance between the elements of a block.
        groups: the number of parts of the channels that are convolved separately.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.conv1d(opdsl.tensor([[1.0, 2.0, 4.0, 7.0]]), opdsl.tensor([[[-1.0, 1.0]]]))
    tensor([[1., 2., 3.]])
    >>> F.conv2d(opdsl.ones(1, 3, 3), opdsl.ones(1, 1, 2, 2))
    tensor([[[4., 4.],
             [4., 4.]]])
    >>> F.conv3d(opdsl.ones(1, 2, 2, 2), opdsl.ones(1, 1, 2, 2, 2))
    tensor([[[[8.]]]])
    """
    return aten[f"conv{dims}d"](input, weight, bias, stride, padding, dilation, groups)


conv1d, conv2d, conv3d = by_dims("conv{dims}d", _conv, 1, 2, 3)


def _conv_transpose(
    dims: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
) -> Tensor:
    """Return the transposed convolution {space}.

    Args:
        input: of shape {images}.
        weight: of shape (C, out / groups, {kernel}).
        bias, stride, groups, dilation: see ``conv{dims}d``; this computes the gradient of its input.
        padding: the number of elements cut off at both ends.
        output_padding: the number of additional elements at the end of the result.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.conv_transpose1d(opdsl.tensor([[1.0, 2.0]]), opdsl.tensor([[[1.0, 10.0]]]))
    tensor([[ 1., 12., 20.]])
    >>> F.conv_transpose2d(opdsl.ones(1, 1, 1), opdsl.ones(1, 1, 2, 2))
    tensor([[[1., 1.],
             [1., 1.]]])
    >>> F.conv_transpose3d(opdsl.ones(1, 1, 1, 1), opdsl.ones(1, 1, 1, 1, 3)).flatten()
    tensor([1., 1., 1.])
    """
    return aten[f"conv_transpose{dims}d"](input, weight, bias, stride, padding, output_padding, groups, dilation)


conv_transpose1d, conv_transpose2d, conv_transpose3d = by_dims("conv_transpose{dims}d", _conv_transpose, 1, 2, 3)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Return the convolution over time of a (time, batch, channels) input.

    Args:
        input: of shape (time, batch, channels).
        weight: of shape (width, input channels, output channels).
        bias: of shape (output channels).
        pad: the number of zeros added at both ends.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.conv_tbc(opdsl.ones(3, 1, 1), opdsl.ones(2, 1, 1), opdsl.zeros(1)).flatten()
    tensor([2., 2.])
    """
    return aten.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad).permute(2, 0, 1)


def unfold(input: Tensor, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1) -> Tensor:
    """Return the blocks that a convolution reads, as columns.

    Args:
        input: of shape (N, C, H, W) or (C, H, W).
        kernel_size: of a block.
        dilation, padding, stride: see ``conv2d``.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.unfold(opdsl.arange(6.0).reshape(1, 1, 2, 3), 2)
    tensor([[[0., 1.],
             [1., 2.],
             [3., 4.],
             [4., 5.]]])
    """
    return aten.im2col(input, *(sizes(number, 2) for number in (kernel_size, dilation, padding, stride)))


def fold(
    input: Tensor, output_size: Size, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1
) -> Tensor:
    """Return the sum of blocks, given as columns, at the positions from which ``unfold`` takes them.

    Args:
        input: of shape (N, C * K * L, blocks) or without the batch N.
        output_size: of the images, (H, W).
        kernel_size, dilation, padding, stride: see ``unfold``.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.fold(opdsl.ones(1, 4, 2), (2, 3), 2)
    tensor([[[[1., 2., 1.],
              [1., 2., 1.]]]])
    """
    return aten.col2im(input, *(sizes(number, 2) for number in (output_size, kernel_size, dilation, padding, stride)))
