"""Distances between all pairs of vectors: ``cdist``, ``pdist``.

The rules are those of ATen/native/Distance.cpp and cpu/DistanceOpsKernel.cpp.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from opdsl.aten._shared.blocks import blocks
from opdsl.aten.create.triangles import triu_indices
from opdsl.aten.linalg.matrix_products import matmul
from opdsl.aten.reduce.norms import linalg_vector_norm
from opdsl.aten.shape.joining import cat
from opdsl.declare import Library, op
from opdsl.errors import DTypeError, UnsupportedDTypeError
from opdsl.kernels import check
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.runtime import Array, Tensor, cpu, float32, float64

lib = Library("opdsl")

# Up to this many elements of differences are in memory at once.
_ELEMENTS = 1 << 21

# Above this many rows distances are computed by a matrix product, unless `compute_mode` says otherwise.
_ROWS = 25

# ----------------------------------------------------------------------------------------------------- in parts of rows


def parts(rows: int, elements: int) -> Iterator[tuple[int, int]]:
    """Return the start and the length of each chunk of rows, of which one has a limited number of difference
    elements.
    """
    step = max(1, _ELEMENTS // max(elements, 1))
    return ((block.start, block.stop - block.start) for block in blocks(rows, step))


def flattened(matrices: Tensor, batch: tuple[int, ...]) -> Tensor:
    """Broadcast matrices to a batch shape, and flatten the batch dimensions into one."""
    inner = matrices.shape[-2:]
    return matrices.expand((*batch, *inner)).reshape((math.prod(batch), *inner))


def in_parts(x1: Tensor, x2: Tensor, compute: Callable[[Tensor, slice], Tensor]) -> Tensor:
    """Compute a function of the differences of all pairs of vectors, in chunks of the rows of ``x1`` to limit memory.

    Args:
        x1, x2: the vectors as rows.
        compute: takes differences of shape (..., chunk, R, M), and the rows of ``x1`` that the chunk has.
    """
    tensors = []
    per_row = math.prod(x1.shape[:-2]) * x2.shape[-2] * x1.shape[-1]
    for start, size in parts(x1.shape[-2], per_row):
        difference = x1.narrow(-2, start, size).unsqueeze(-2) - x2.unsqueeze(-3)
        tensors.append(compute(difference, slice(start, start + size)))
    return tensors[0] if len(tensors) == 1 else cat(tensors, -2)


def slope_of(difference: Tensor, grad: Tensor, distance: Tensor, p: float) -> Tensor:
    """Return the gradient of each difference vector from ``grad``, the gradient of its ``p``-norm ``distance``."""
    grad, distance = grad.unsqueeze(-1), distance.unsqueeze(-1)
    if p == 1:
        return grad * difference.sign()
    if p == math.inf:
        return grad * difference.sign() * (difference.abs() == distance)
    nowhere = distance == 0
    safe = distance.masked_fill(nowhere, 1)
    if p == 2:
        return (grad * difference / safe).masked_fill(nowhere, 0)
    size = difference.abs()
    still = nowhere.logical_or(difference == 0) if p < 2 else nowhere
    power = size.masked_fill(still, 1).pow(p - 1) if p < 2 else size.pow(p - 1)
    return (grad * difference.sign() * power / safe.pow(p - 1)).masked_fill(still, 0)


# ---------------------------------------------------------------------------------------------------------------- cdist


def require_pairs(name: str, x1: Tensor, x2: Tensor) -> None:
    """Check that two tensors are matrices of floating-point numbers with rows of equal length.

    Raises:
        ShapeError, DTypeError: they are not.
    """
    for which, points in (("X1", x1), ("X2", x2)):
        check(points.ndim >= 2, f"{name} only supports at least 2D tensors, {which} got: {points.ndim}D")
    check(
        x1.shape[-1] == x2.shape[-1],
        f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}",
    )
    for which, points in (("X1", x1), ("X2", x2)):
        if not points.dtype.is_floating_point:
            raise DTypeError(f"{name} only supports floating-point dtypes, {which} got: {points.dtype.scalar_type}")


@op("aten::_euclidean_dist", kernel="CompositeExplicitAutograd")
def _euclidean_dist(x1: Tensor, x2: Tensor) -> Tensor:
    """Return the Euclidean distances of all pairs of vectors, computed by a matrix product."""
    squares = [(points * points).sum([-1], True) for points in (x1, x2)]
    ones = [square.new_ones(square.shape) for square in squares]
    first = cat((x1 * -2, squares[0], ones[0]), -1)
    second = cat((x2, ones[1], squares[1]), -1)
    return matmul(first, second.transpose(-2, -1)).clamp_min(0).sqrt()


@_euclidean_dist.derivative("x1")
def euclidean_dist_derivative(grad, x1, x2, result):
    ratio = (grad / result).masked_fill(result == 0, 0)
    return x1 * ratio.sum([-1], True) - matmul(ratio, x2)


@_euclidean_dist.derivative("x2")
def euclidean_dist_x2_derivative(grad, x1, x2, result):
    ratio = (grad / result).masked_fill(result == 0, 0)
    return x2 * ratio.sum([-2]).unsqueeze(-1) - matmul(ratio.transpose(-2, -1), x1)


def takes_products(p: float, compute_mode: int | None, rows: int, columns: int) -> bool:
    """Return whether ``cdist`` computes distances by a matrix product."""
    mode = compute_mode or 0
    return p == 2 and (mode == 1 or (mode == 0 and max(rows, columns) > _ROWS))


@op("aten::_cdist_forward", kernel=True, tags="core")
def _cdist_forward(x1: Tensor, x2: Tensor, p: float, compute_mode: int | None) -> Tensor:
    """Return the distances of all pairs of rows, as ``cdist`` does; its derivative computes differences."""
    require_pairs("cdist", x1, x2)
    check(p >= 0, "cdist only supports non-negative p values")
    mode = compute_mode or 0
    check(0 <= mode <= 2, f"possible modes: 0, 1, 2, but was: {mode}")
    batch = broadcast_all((x1.shape[:-2], x2.shape[:-2]))
    rows, columns, length = x1.shape[-2], x2.shape[-2], x1.shape[-1]
    shape = (*batch, rows, columns)
    if 0 in shape:
        return x1.new_empty(shape)
    if length == 0:
        return x1.new_zeros(shape)
    first, second = (flattened(points, batch) for points in (x1, x2))
    if takes_products(p, compute_mode, rows, columns):
        return _euclidean_dist(first, second).view(shape)
    return in_parts(first, second, lambda difference, _: linalg_vector_norm(difference, p, [-1])).view(shape)


@_cdist_forward.derivative("x2")
def cdist_forward_x2_derivative(grad, x1, x2, result, p):
    return _cdist_backward(grad.transpose(-2, -1).contiguous(), x2, x1, p, result.transpose(-2, -1).contiguous())


@op("aten::_cdist_backward", kernel=True)
def _cdist_backward(grad: Tensor, x1: Tensor, x2: Tensor, p: float, cdist: Tensor) -> Tensor:
    """Return the gradient of ``cdist`` for ``x1``."""
    require_pairs("_cdist_backward", x1, x2)
    batch = broadcast_all((x1.shape[:-2], x2.shape[:-2]))
    shape = (*batch, *x1.shape[-2:])
    if p == 0 or 0 in (*shape, *x2.shape):
        return x1.new_zeros(x1.shape)
    first, second, grads, distances = (flattened(tensor, batch) for tensor in (x1, x2, grad, cdist))

    def gradients(difference: Tensor, rows: slice) -> Tensor:
        size = rows.stop - rows.start
        slopes = slope_of(difference, grads.narrow(1, rows.start, size), distances.narrow(1, rows.start, size), p)
        return slopes.sum([-2])

    gradient = in_parts(first, second, gradients).view(shape)
    return gradient if gradient.shape == x1.shape else gradient.sum_to_size(x1.shape)


_cdist_forward.derivative(x1=lambda grad, x1, x2, result, p: _cdist_backward(grad.contiguous(), x1, x2, p, result))


@op("aten::cdist")
def cdist(x1: Tensor, x2: Tensor, p: float = 2, compute_mode: int | None = None) -> Tensor:
    """Return the ``p``-norm distances of all pairs of rows of two matrices.

    Args:
        x1: floating-point numbers (..., P, M).
        x2: (..., R, M); the dimensions before the last two broadcast.
        p: the norm of differences: at least 0, or inf.
        compute_mode: of Euclidean distances: 1 by a matrix product, which is fast; 2 from differences, which is exact;
            0 or None decides by the number of rows.

    Returns:
        (..., P, R).
    """
    require_pairs("cdist", x1, x2)
    if not takes_products(p, compute_mode, x1.shape[-2], x2.shape[-2]):
        return _cdist_forward(x1, x2, p, compute_mode)
    # The gradient is computed by matrix products, too.
    batch = broadcast_all((x1.shape[:-2], x2.shape[:-2]))
    distances = _euclidean_dist(flattened(x1, batch), flattened(x2, batch))
    return distances.view((*batch, x1.shape[-2], x2.shape[-2]))


# ---------------------------------------------------------------------------------------------------------------- pdist


def require_floats(name: str, self: Tensor) -> None:
    """Check that a tensor has floating-point numbers. Raises DTypeError: it does not."""
    if not self.dtype.is_floating_point:
        raise DTypeError(f"{name} only supports floating-point dtypes, got: {self.dtype.scalar_type}")


@op("aten::pdist")
def pdist(self: Tensor, p: float = 2) -> Tensor:
    """Return the ``p``-norm distances of each row of a matrix to all later rows."""
    check(self.ndim == 2, f"pdist only supports 2D tensors, got: {self.ndim}D")
    require_floats("pdist", self)
    check(p >= 0, "pdist only supports non-negative p values")
    return _pdist_forward(self.contiguous(), p)


def pairs_of(self: Tensor) -> tuple[Tensor, Tensor]:
    """Return two matrices with the first and the second row of every pair of different rows."""
    places = triu_indices(self.shape[0], self.shape[0], 1, device=self.device)
    return self.index_select(0, places[0]), self.index_select(0, places[1])


@op("aten::_pdist_forward", kernel=True, tags="core")
def _pdist_forward(self: Tensor, p: float = 2) -> Tensor:
    """Return ``pdist`` of contiguous rows."""
    require_floats("pdist", self)
    rows, length = self.size(0), self.size(1)
    if rows <= 1:
        return self.new_empty((0,))
    if length == 0:
        return self.new_zeros((rows * (rows - 1) // 2,))
    if self.device is cpu and self.dtype in (float32, float64):
        return pair_distances(self.t().contiguous(), float(p))
    one, other = pairs_of(self)
    return linalg_vector_norm(one - other, p, [-1])


@lib.op(variants="function", out=True)
def pair_distances(columns: Tensor, p: float) -> Tensor:
    """Return ``pdist`` of the rows of a transposed matrix, in which one element of all rows is contiguous for
    vectorization.

    Args:
        columns: float32 or float64 (length, rows), of two rows or more.
        p: the norm.
    """
    ...


@pair_distances.meta
def pair_distances_meta(ctx, columns):
    check(columns.ndim == 2, "expected the columns of a matrix", got=columns.shape)
    if columns.dtype not in (float32, float64):
        raise UnsupportedDTypeError(f"not implemented for '{columns.dtype.scalar_type}'")
    rows = columns.shape[1]
    ctx.set_output(0, (rows * (rows - 1) // 2,), like=columns)


pair_distances.non_differentiable("columns")  # _pdist_forward, which calls it, has the derivative


@pair_distances.out_kernel("CPU")
def pair_distances_cpu(columns, p, out):
    rows, start = columns.shape[1], 0
    for row in range(rows - 1):
        distances = out[start : start + rows - 1 - row]
        start += len(distances)
        distances[:] = 0
        for column in range(columns.shape[0]):
            add_distances(columns[column, row], columns[column, row + 1 :], p, distances)
        if p == 2:
            for pair in range(len(distances)):
                distances[pair] = math.sqrt(distances[pair])
        elif p != 0 and p != 1 and p != math.inf:
            for pair in range(len(distances)):
                distances[pair] = distances[pair] ** (1 / p)


def add_distances(one: float, others: Array, p: float, tensor: Array) -> None:
    """Add the contribution of one element position to the distances of a row to later rows."""
    if p == 2:
        for pair in range(len(tensor)):
            distance = one - others[pair]
            tensor[pair] += distance * distance
    elif p == 1:
        for pair in range(len(tensor)):
            tensor[pair] += abs(one - others[pair])
    elif p == 0:
        for pair in range(len(tensor)):
            tensor[pair] += one != others[pair]
    elif p == math.inf:
        for pair in range(len(tensor)):
            distance = abs(one - others[pair])
            if distance > tensor[pair] or math.isnan(distance):
                tensor[pair] = distance
    else:
        for pair in range(len(tensor)):
            tensor[pair] += abs(one - others[pair]) ** p


@op("aten::_pdist_backward", kernel=True)
def _pdist_backward(grad: Tensor, self: Tensor, p: float, pdist: Tensor) -> Tensor:
    """Return the gradient of ``pdist`` for its rows."""
    require_floats("_pdist_backward", self)
    gradient = self.new_zeros(self.shape)
    if p == 0 or grad.numel() == 0 or self.size(0) == 0 or self.size(1) == 0:
        return gradient
    check(self.ndim == 2, f"_pdist_backward only supports 2D tensors, got: {self.ndim}D")
    one, other = pairs_of(self)
    slopes = slope_of(one - other, grad, pdist, p)
    places = triu_indices(self.shape[0], self.shape[0], 1, device=self.device)
    return gradient.index_add(0, places[0], slopes).index_add(0, places[1], -slopes)


_pdist_forward.derivative(self=lambda grad, self, p, result: _pdist_backward(grad, self, p, result))
