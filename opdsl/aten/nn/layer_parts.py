"""Operators for parts of layers: weight normalization, affine grids, projections, padded sequences."""

from __future__ import annotations

import math
from collections.abc import Sequence

from opdsl.aten.create.ranges import linspace
from opdsl.aten.linalg.matrix_norms import norm_except_dim
from opdsl.aten.nn.shuffles import channel_shuffle
from opdsl.aten.shape.joining import cat
from opdsl.aten.shape.stacking import stack
from opdsl.aten.shape.view_scatters import constant_pad_nd
from opdsl.declare import Out, forward, op
from opdsl.kernels import check
from opdsl.runtime import Tensor, wrap_dimension
from opdsl.schema import Alias
from opdsl.schema.vocabulary import Scalar, SymInt


@op("aten::_add_relu.Tensor", inplace=True, out=Out("_add_relu.out"))
def _add_relu(self: Tensor, other: Tensor, *, alpha: Scalar = 1) -> Tensor:
    """``relu(self + alpha * other)``."""
    return self.add(other, alpha=alpha).relu()


@_add_relu.overload("Scalar", inplace=True)
def _add_relu_Scalar(self: Tensor, other: Scalar, alpha: Scalar = 1) -> Tensor:
    """``relu(self + alpha * other)``, where ``other`` is a number."""
    return self.add(other, alpha=alpha).relu()


native_channel_shuffle = channel_shuffle.alias("aten::native_channel_shuffle")


@op("aten::_weight_norm")
def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """Return weights with the directions of ``v`` and the magnitudes ``g``, one magnitude per index along ``dim``."""
    return v * (g / norm_except_dim(v, 2, dim))


@op("aten::_weight_norm_interface")
def _weight_norm_interface(v: Tensor, g: Tensor, dim: int = 0) -> tuple[Tensor, Tensor]:
    """Compute ``_weight_norm``; return the weights, and the norms of ``v``."""
    norms = norm_except_dim(v, 2, dim)
    return v * (g / norms), norms


@op("aten::_weight_norm_differentiable_backward")
def _weight_norm_differentiable_backward(
    grad_w: Tensor, saved_v: Tensor, saved_g: Tensor, saved_norms: Tensor, dim: int
) -> tuple[Tensor, Tensor]:
    """Return the gradients of ``_weight_norm_interface`` with respect to ``v`` and ``g``."""
    rest = [index for index in range(saved_v.ndim) if index != dim]
    along = (grad_w * saved_v).sum(rest, True)
    return saved_g / saved_norms * (grad_w - saved_v * (along / saved_norms.square())), along / saved_norms


@op("aten::_weight_norm_interface_backward")
@forward(_weight_norm_differentiable_backward)
def _weight_norm_interface_backward(
    grad_w: Tensor, saved_v: Tensor, saved_g: Tensor, saved_norms: Tensor, dim: int
) -> tuple[Tensor, Tensor]:
    """Return the gradients of ``_weight_norm_interface`` with respect to ``v`` and ``g``."""


def centers(like: Tensor, count: int, align_corners: bool) -> Tensor:
    """Return the coordinates of a line's pixel centers: -1 to 1 if corners are aligned, else half a pixel less at each
    end.
    """
    if count <= 1:
        return like.new_zeros((count,))
    places = linspace(-1, 1, count, dtype=like.dtype, device=like.device)
    return places if align_corners else places * ((count - 1) / count)


def base_grid(like: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """Return the homogeneous coordinates of pixels, (x, y, 1) or (x, y, z, 1), as (batch, pixels, dimensions + 1)."""
    check(len(size) in (4, 5), "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    sizes = tuple(size[2:])
    lines = []
    for dim in reversed(range(len(sizes))):
        line = centers(like, sizes[dim], align_corners)
        lines.append(line.view([-1 if index == dim else 1 for index in range(len(sizes))]).expand(sizes))
    grid = stack([*lines, like.new_ones(sizes)], -1).view((1, -1, len(sizes) + 1))
    return grid.expand((size[0], *grid.shape[1:]))


@op("aten::affine_grid_generator")
def affine_grid_generator(theta: Tensor, size: list[SymInt], align_corners: bool) -> Tensor:
    """Return the points that affine maps ``theta`` assign to the pixels of images of ``size``, (batch, ...,
    dimensions).
    """
    grid = base_grid(theta, size, align_corners).bmm(theta.transpose(1, 2))
    return grid.view((size[0], *size[2:], len(size) - 2))


@op("aten::affine_grid_generator_backward")
def affine_grid_generator_backward(grad: Tensor, size: list[SymInt], align_corners: bool) -> Tensor:
    """Return the gradient of ``affine_grid_generator`` with respect to the affine maps."""
    grid = base_grid(grad, size, align_corners)
    gradient = grad.reshape((size[0], math.prod(size[2:]), len(size) - 2))
    return grid.transpose(1, 2).bmm(gradient).transpose(1, 2)


@op("aten::pad_sequence", python_module="nn")
def pad_sequence(
    sequences: list[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Return sequences of different lengths as one tensor, padded to the longest."""
    check(
        padding_side in ("left", "right"), f"Expected padding_side to be one of left or right, but got {padding_side}."
    )
    check(bool(sequences), "received an empty list of sequences")
    check(all(sequence.ndim for sequence in sequences), "expected sequences of at least one dimension")
    longest = max(sequence.shape[0] for sequence in sequences)
    padded = []
    for sequence in sequences:
        missing = longest - sequence.shape[0]
        margins = (missing, 0) if padding_side == "left" else (0, missing)
        padded.append(constant_pad_nd(sequence, (*(0, 0) * (sequence.ndim - 1), *margins), padding_value))
    return stack(padded, 0 if batch_first else 1)


@op("aten::flatten_dense_tensors", python_module="nn")
def flatten_dense_tensors(tensors: list[Tensor]) -> Tensor:
    """Return the elements of several tensors in one vector."""
    return cat([tensor.reshape((-1,)) for tensor in tensors])


@op("aten::_trilinear")
def _trilinear(
    i1: Tensor,
    i2: Tensor,
    i3: Tensor,
    expand1: list[int],
    expand2: list[int],
    expand3: list[int],
    sumdim: list[int],
    unroll_dim: int = 1,
) -> Tensor:
    """Return the product of three tensors, each with inserted dimensions of size 1, summed over ``sumdim``."""
    tensors = []
    for factor, dims in ((i1, expand1), (i2, expand2), (i3, expand3)):
        for dim in sorted(dims):
            factor = factor.unsqueeze(dim)
        tensors.append(factor)
    product = tensors[0] * tensors[1] * tensors[2]
    return product.sum(sumdim) if sumdim else product


@op("aten::_transform_bias_rescale_qkv")
def _transform_bias_rescale_qkv(qkv: Tensor, qkv_bias: Tensor, num_heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, keys and values per head from one projection, with the bias added and queries scaled."""
    check(qkv.ndim == 3, "expected a (batch, length, features) tensor", got=qkv.shape)
    batch, length, features = qkv.shape
    check(num_heads > 0, "expected at least one head", num_heads=num_heads)
    check(features % (3 * num_heads) == 0, f"expected a multiple of 3 * {num_heads} features, but got {features}")
    size = features // 3 // num_heads
    parts = (qkv + qkv_bias).view((batch, length, 3, num_heads, size)).permute((2, 0, 3, 1, 4)).contiguous().unbind(0)
    return parts[0] / math.sqrt(size), parts[1].clone(), parts[2].clone()


@op("aten::_chunk_cat", out=True)
def _chunk_cat(tensors: list[Tensor], dim: int, num_chunks: int, *, out: Tensor | None = None) -> Tensor:
    """Split tensors into ``num_chunks`` chunks along ``dim``, padded with zeros to equal sizes, and concatenate the
    chunks.
    """
    check(num_chunks >= 1, "_chunk_cat expects positive num_chunks")
    check(bool(tensors), "_chunk_cat expects a non-empty input tensor list")
    check(all(tensor.numel() for tensor in tensors), "_chunk_cat expects non-empty tensor")
    check(len({tensor.dtype for tensor in tensors}) == 1, "_chunk_cat expects all input tensors with the same dtype")
    if len({tensor.ndim for tensor in tensors}) == 1:
        dim = wrap_dimension(dim, tensors[0].ndim)
    check(dim >= 0, "_chunk_cat expects non-negative dim when input tensors have different ndims")
    check(all(dim < tensor.ndim for tensor in tensors), "_chunk_cat expects dim < ndim for all input tensors")
    check(
        len({tensor.shape[:dim] for tensor in tensors}) == 1,
        "_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors",
    )
    pieces = []
    for tensor in tensors:
        size = -(-tensor.shape[dim] // num_chunks) * num_chunks
        padded = constant_pad_nd(tensor, (*(0, 0) * (tensor.ndim - dim - 1), 0, size - tensor.shape[dim]))
        pieces.append(padded.reshape((*tensor.shape[:dim], num_chunks, -1)))
    return cat(pieces, dim + 1, out=out)


_stack = stack.alias("aten::_stack", out=True)


@op("aten::fill_diagonal_", variants="method")
def fill_diagonal_(
    self: Tensor[Alias("a", write=True)], fill_value: Scalar, wrap: bool = False
) -> Tensor[Alias("a", write=True)]:
    """Fill the diagonal of a matrix or a hypercube; with ``wrap``, also the diagonals further down in a tall matrix."""
    check(self.ndim >= 2, "dimensions must larger than 1")
    check(self.ndim == 2 or len(set(self.shape)) == 1, "all dimensions of input must be of equal length")
    height, width, step, start = *self.shape[:2], sum(self.stride()), self.storage_offset()
    count = min(height, width)
    self.as_strided((count,), (step,), start).fill_(fill_value)
    if wrap and self.ndim == 2 and height > width + 1:
        rest = -(-self.numel() // (width + 1)) - count
        self.as_strided((rest,), (step,), start + self.stride(0) * (width + 1)).fill_(fill_value)
    return self


@op("aten::unflatten_dense_tensors", python_module="nn")
def unflatten_dense_tensors(flat: Tensor, tensors: list[Tensor]) -> list[Tensor]:
    """Return copies of consecutive parts of a vector in the shapes of ``tensors``."""
    check(flat.ndim == 1, "unflatten_dense_tensors: expected a vector", got=flat.shape)
    wanted = sum(tensor.numel() for tensor in tensors)
    check(wanted <= flat.shape[0], f"unflatten_dense_tensors: expected {wanted} elements", got=flat.shape)
    dense_tensors, begin = [], 0
    for tensor in tensors:
        dense_tensors.append(flat.narrow(0, begin, tensor.numel()).clone().view(tensor.shape))
        begin += tensor.numel()
    return dense_tensors
