"""Functions that find, order and take elements."""

from __future__ import annotations

from typing import Literal, NamedTuple

from opdsl._attributes import aten
from opdsl.array_api.data_types import Numbers, promoted
from opdsl.array_api.manipulation import Axes
from opdsl.array_api.statistics import reduced
from opdsl.errors import DimensionError
from opdsl.runtime import Tensor, int64, wrap_dimension

# ------------------------------------------------------------------------------------------------------------ indexing


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The slices at positions along an axis, which vectors need not name.

    Raises:
        DimensionError: no axis is named, and ``x`` is no vector.
    """
    if axis is None:
        if x.ndim != 1:
            raise DimensionError(f"take: axis=None is for vectors (got {x.ndim} dimensions)")
        axis = 0
    return x[(slice(None),) * wrap_dimension(axis, x.ndim) + (indices,)]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """For each place of ``indices`` the element at that position along an axis; positions may count from the end."""
    size = x.shape[wrap_dimension(axis, x.ndim)]
    return aten.take_along_dim(x, aten.where(indices < 0, indices + size, indices).to(int64), axis)


# ----------------------------------------------------------------------------------------------------------- searching


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the largest element stands, the first of them."""
    return aten.argmax(x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the least element stands, the first of them."""
    return aten.argmin(x, axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """How many elements are not 0."""
    return reduced("sum", x != 0, axis, keepdims)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The positions of all elements that are not 0, a vector for each axis.

    Raises:
        DimensionError: the tensor has no dimensions.
    """
    if x.ndim == 0:
        raise DimensionError("nonzero: a tensor without dimensions has no positions")
    return tuple(aten.nonzero(x, as_tuple=True))


def searchsorted(
    x1: Tensor, x2: Tensor, /, *, side: Literal["left", "right"] = "left", sorter: Tensor | None = None
) -> Tensor:
    """Where elements would stand in a sorted vector.

    Args:
        x1: the vector.
        x2: the elements.
        side: before or behind elements that are equal.
        sorter: positions that put ``x1`` in order, where it is not.
    """
    boundaries, elements = promoted(x1, x2)
    return aten.searchsorted(boundaries, elements, side=side, sorter=None if sorter is None else sorter.to(int64))


def where(condition: Tensor, x1: Numbers, x2: Numbers, /) -> Tensor:
    """The elements of ``x1`` where a condition holds, those of ``x2`` elsewhere."""
    return aten.where(condition, *promoted(x1, x2))


# ------------------------------------------------------------------------------------------------------------- sorting


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order along an axis."""
    return aten.sort(x, dim=axis, descending=descending, stable=stable)[0]


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The positions that put the elements in order along an axis."""
    return aten.argsort(x, dim=axis, descending=descending, stable=stable)


# ---------------------------------------------------------------------------------------------------------------- sets


class UniqueAll(NamedTuple):
    """What ``unique_all`` finds."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What ``unique_counts`` finds."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What ``unique_inverse`` finds."""

    values: Tensor
    inverse_indices: Tensor


def _unique(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The distinct elements in order, that of the real parts first; where each element is among them; and how often."""
    if not x.dtype.is_complex:
        made = aten._unique2(x.flatten(), True, True, True)
        return made[0], made[1].reshape(x.shape), made[2]
    made = aten.unique_dim(aten.view_as_real(x.flatten()), 0, True, True, True)
    return aten.view_as_complex(made[0]), made[1].reshape(x.shape), made[2]


def unique_all(x: Tensor, /) -> UniqueAll:
    """The distinct elements in order, where each first stands, where each element is among them, and how often.

    >>> from opdsl import array_api as xp
    >>> xp.unique_all(xp.asarray([7, 3, 7])).indices
    tensor([1, 0])
    """
    values, inverse, counts = _unique(x)
    # Stable, so that the first of equal elements stands first.
    indices = aten.argsort(inverse.flatten(), stable=True)[aten.cumsum(counts, 0) - counts]
    return UniqueAll(values, indices, inverse, counts)


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The distinct elements in order, and how often they are there."""
    values, _, counts = _unique(x)
    return UniqueCounts(values, counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The distinct elements in order, and where each element is among them."""
    values, inverse, _ = _unique(x)
    return UniqueInverse(values, inverse)


def unique_values(x: Tensor, /) -> Tensor:
    """The distinct elements in order."""
    return _unique(x)[0]
