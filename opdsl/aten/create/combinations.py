"""Operators that make grids, combinations, Vandermonde matrices and one-hot vectors from vectors."""

from __future__ import annotations

from itertools import pairwise

from opdsl.aten.create.ranges import arange
from opdsl.aten.shape.joining import cat
from opdsl.aten.shape.stacking import stack
from opdsl.declare import op
from opdsl.errors import DTypeError
from opdsl.kernels import check, range_of
from opdsl.runtime import Tensor, bool_, int64, promote_types
from opdsl.runtime.strides import MOST_DIMENSIONS
from opdsl.schema.vocabulary import SymInt


@op("aten::meshgrid", may_alias=True)
def meshgrid(tensors: list[Tensor]) -> list[Tensor]:
    """Return the coordinates of all points of a grid: the k-th result is the k-th vector along dimension k,
    broadcast.
    """
    check(len(tensors) > 0, "meshgrid expects a non-empty TensorList")
    for coordinates in tensors:
        check(
            coordinates.ndim <= 1,
            f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {list(coordinates.shape)}",
        )
        if coordinates.dtype is not tensors[0].dtype:
            raise DTypeError("torch.meshgrid expects all tensors to have the same dtype")
        check(coordinates.device is tensors[0].device, "torch.meshgrid expects all tensors to have the same device")
    shape = [tensor.numel() for tensor in tensors]
    return [
        tensor.view([tensor.numel() if dim == index else 1 for dim in range(len(tensors))]).expand(shape)
        for index, tensor in enumerate(tensors)
    ]


@meshgrid.overload("indexing", may_alias=True)
def meshgrid_indexing(tensors: list[Tensor], *, indexing: str) -> list[Tensor]:
    """Return ``meshgrid`` with matrix indexing (``"ij"``), or with the first two dimensions swapped (``"xy"``)."""
    check(indexing in ("ij", "xy"), f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    if indexing == "ij" or len(tensors) < 2:
        return meshgrid(tensors)
    grids = meshgrid([tensors[1], tensors[0], *tensors[2:]])
    return [grids[1], grids[0], *grids[2:]]


@op("aten::cartesian_prod", tags="maybe_aliasing_or_mutating", may_alias=True)
def cartesian_prod(tensors: list[Tensor]) -> Tensor:
    """Return the Cartesian product of vectors: a matrix with a row for each combination. A single vector is returned
    itself.
    """
    for coordinates in tensors:
        check(coordinates.ndim == 1, f"Expect a 1D vector, but got shape {list(coordinates.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([grid.flatten() for grid in meshgrid_indexing(tensors, indexing="ij")], 1)


@op("aten::combinations")
def combinations(self: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Return all combinations of ``r`` elements of a vector, one in each row, in the order of their indices."""
    check(self.ndim == 1, f"Expect a 1D vector, but got shape {list(self.shape)}")
    check(r >= 0, f"Expect a non-negative number, but got {r}")
    check(r <= MOST_DIMENSIONS, f"expected at most {MOST_DIMENSIONS} elements of a combination, but got {r}")
    if r == 0:
        return self.new_empty((0,))
    places = meshgrid_indexing([arange(0, self.numel(), device=self.device)] * r, indexing="ij")
    mask = places[0].new_ones(places[0].shape, dtype=bool_)
    for one, other in pairwise(places):
        mask = mask.logical_and(one <= other if with_replacement else one < other)
    return stack([grid.masked_select(mask) for grid in meshgrid_indexing([self] * r, indexing="ij")], 1)


# --------------------------------------------------------------------------------------------------------------- powers


@op("aten::vander")
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Return the Vandermonde matrix of a vector: row i holds the powers of ``x[i]``, by default the highest one
    first.
    """
    check(x.ndim == 1, "x must be a one-dimensional tensor.")
    count = x.shape[0] if N is None else N
    check(count >= 0, "N must be non-negative.")
    dtype = promote_types(x.dtype, int64)
    columns = [x.new_ones((x.shape[0], 1), dtype=dtype)] if count else [x.new_empty((x.shape[0], 0), dtype=dtype)]
    if count > 1:
        columns.append(x.to(dtype).unsqueeze(1).expand((x.shape[0], count - 1)).cumprod(1))
    output = cat(columns, 1)
    return output if increasing else output.flip([1])


@op("aten::linalg_vander", python_module="linalg")
def linalg_vander(x: Tensor, *, N: SymInt | None = None) -> Tensor:
    """Return the Vandermonde matrices of the vectors along the last dimension: the powers from 0 to ``N - 1``."""
    if x.dtype is bool_:
        raise DTypeError(f"linalg.vander supports floating point, complex, and integer tensors, but got {x.dtype}")
    vectors = x.unsqueeze(-1) if x.ndim == 0 else x
    count = vectors.shape[-1] if N is None else N
    check(count > 1, "N must be greater than 1.")
    powers = vectors.unsqueeze(-1).expand((*vectors.shape, count - 1)).cumprod(-1)
    return cat((powers.new_ones((*vectors.shape, 1)), powers), -1)


# -------------------------------------------------------------------------------------------------------------- one_hot


@op("aten::one_hot", python_module="nn", tags="dynamic_output_shape")
def one_hot(self: Tensor, num_classes: int = -1) -> Tensor:
    """Return a one-hot vector for each class index: 1 at that index, 0 elsewhere. By default its length is the largest
    index plus 1.
    """
    if self.dtype is not int64:
        raise DTypeError("one_hot is only applicable to index tensor of type LongTensor.")
    if self.numel() == 0:
        check(num_classes > 0, "Can not infer total number of classes from empty tensor.")
        return self.new_empty((*self.shape, num_classes))
    numbers = None if self.is_meta else range_of(self, likely=9)
    if numbers is not None:
        check(numbers[0] >= 0, "Class values must be non-negative.")
        if num_classes == -1:
            num_classes = numbers[1] + 1
        check(num_classes <= 0 or numbers[1] < num_classes, "Class values must be smaller than num_classes.")
    check(num_classes > 0, "num_classes should be positive")
    places = arange(0, num_classes, device=self.device)
    return (self.unsqueeze(-1) == places).to(int64)


one_hot.non_differentiable("self")
