"""Dimensions of a reduction: PyTorch's rules for ``dim`` and ``keepdim``."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from opdsl.errors import DimensionError, ShapeError
from opdsl.runtime.strides import wrap_dimension


def reduced_dimensions(
    dim: int | Sequence[int] | None, shape: tuple[int, ...], *, none_is_all: bool = True
) -> tuple[int, ...]:
    """Return the dimensions that a reduction reduces, in ascending order (``at::dim_list_to_bitset``).

    Args:
        dim: as the operator got it.
        shape: of the input.
        none_is_all: whether an empty list means all dimensions, as None does.

    Raises:
        DimensionError: one is out of range.
        ShapeError: one is named twice.

    >>> reduced_dimensions((-1, 0), (2, 3, 4)), reduced_dimensions(None, (2, 3))
    ((0, 2), (0, 1))
    """
    ndim = len(shape)
    numbers = () if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if dim is None or (not numbers and none_is_all):
        return tuple(range(ndim))
    wrapped = sorted(wrap_dimension(number, ndim) for number in numbers)
    for one, other in itertools.pairwise(wrapped):
        if one == other:
            raise ShapeError(f"dim {one} appears multiple times in the list of dims")
    return tuple(wrapped) if ndim else ()


def require_elements(operator: str, dim: int | Sequence[int] | None, shape: tuple[int, ...]) -> None:
    """Raise if a reduction would reduce no elements, for operators that have no result then
    (``zero_numel_check_dims``).

    Raises:
        ShapeError: all dimensions are reduced, and the tensor is empty.
        DimensionError: a reduced dimension has size 0.
    """
    if 0 not in shape:
        return
    numbers = () if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if not numbers:
        raise ShapeError(
            f"{operator}(): Expected reduction dim to be specified for input.numel() == 0. "
            "Specify the reduction dim with the 'dim' argument."
        )
    for number in numbers:
        if shape[wrap_dimension(number, len(shape))] == 0:
            raise DimensionError(f"{operator}(): Expected reduction dim {number} to have non-zero size.")


def reduced_shape(shape: tuple[int, ...], dims: Sequence[int], *, keepdim: bool) -> tuple[int, ...]:
    """Return the shape of a reduction's result.

    >>> reduced_shape((2, 3, 4), (1,), keepdim=False), reduced_shape((2, 3, 4), (1,), keepdim=True)
    ((2, 4), (2, 1, 4))
    """
    if keepdim:
        return tuple(1 if dim in dims else size for dim, size in enumerate(shape))
    return tuple(size for dim, size in enumerate(shape) if dim not in dims)
