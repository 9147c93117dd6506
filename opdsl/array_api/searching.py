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

    Args:
        x: the tensor.
        indices: a vector of positions, which may count from the end.
        axis: of the slices.

    Raises:
        DimensionError: no axis is named, and ``x`` is no vector.

    >>> from opdsl import array_api as xp
    >>> xp.take(xp.asarray([[1, 2], [3, 4]]), xp.asarray([1, 0]), axis=0)
    tensor([[3, 4],
            [1, 2]])
    """
    if axis is None:
        if x.ndim != 1:
            raise DimensionError(f"take: axis=None is for vectors (got {x.ndim} dimensions)")
        axis = 0
    return x[(slice(None),) * wrap_dimension(axis, x.ndim) + (indices,)]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """For each place of ``indices`` the element at that position along an axis; positions may count from the end.

    Args:
        x: the tensor.
        indices: of as many axes; other sizes broadcast.
        axis: along which positions count.

    >>> from opdsl import array_api as xp
    >>> xp.take_along_axis(xp.asarray([[5, 3], [7, 9]]), xp.asarray([[1], [-2]]))
    tensor([[3],
            [7]])
    """
    size = x.shape[wrap_dimension(axis, x.ndim)]
    return aten.take_along_dim(x, aten.where(indices < 0, indices + size, indices).to(int64), axis)


# ----------------------------------------------------------------------------------------------------------- searching


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the largest element stands, the first of them.

    Args:
        x: real numbers.
        axis: along which; all elements in a row for None.
        keepdims: whether the axis stays, with size 1.

    >>> from opdsl import array_api as xp
    >>> xp.argmax(xp.asarray([[1, 5], [7, 2]]), axis=1)
    tensor([1, 0])
    """
    return aten.argmax(x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the least element stands, the first of them.

    Args:
        x, axis, keepdims: as of ``argmax``.

    >>> from opdsl import array_api as xp
    >>> xp.argmin(xp.asarray([[1, 5], [7, 2]]))
    tensor(0)
    """
    return aten.argmin(x, axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """How many elements are not 0.

    Args:
        x: the tensor.
        axis: over which ones; all for None.
        keepdims: whether the axes stay, with size 1.

    >>> from opdsl import array_api as xp
    >>> xp.count_nonzero(xp.asarray([[1, 0], [7, 2]]), axis=0)
    tensor([2, 1])
    """
    return reduced("sum", x != 0, axis, keepdims)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The positions of all elements that are not 0, a vector for each axis.

    Args:
        x: the tensor.

    Raises:
        DimensionError: the tensor has no dimensions.

    >>> from opdsl import array_api as xp
    >>> xp.nonzero(xp.asarray([[1, 0], [7, 2]]))
    (tensor([0, 1, 1]), tensor([0, 0, 1]))
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

    >>> from opdsl import array_api as xp
    >>> xp.searchsorted(xp.asarray([1, 3, 5]), xp.asarray([0, 3, 9]))
    tensor([0, 1, 3])
    """
    boundaries, elements = promoted(x1, x2)
    return aten.searchsorted(boundaries, elements, side=side, sorter=None if sorter is None else sorter.to(int64))


def where(condition: Tensor, x1: Numbers, x2: Numbers, /) -> Tensor:
    """The elements of ``x1`` where a condition holds, those of ``x2`` elsewhere.

    Args:
        condition: bools.
        x1, x2: tensors that broadcast, or one and a Python number.

    >>> from opdsl import array_api as xp
    >>> xp.where(xp.asarray([True, False]), xp.asarray([1, 2]), 0)
    tensor([1, 0])
    """
    return aten.where(condition, *promoted(x1, x2))


# ------------------------------------------------------------------------------------------------------------- sorting


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order along an axis.

    Args:
        x: real numbers.
        axis: along which.
        descending: whether the largest stands first.
        stable: whether equal elements keep their order.

    >>> from opdsl import array_api as xp
    >>> xp.sort(xp.asarray([3, 1, 2]), descending=True)
    tensor([3, 2, 1])
    """
    return aten.sort(x, dim=axis, descending=descending, stable=stable)[0]


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The positions that put the elements in order along an axis.

    Args:
        x, axis, descending, stable: as of ``sort``.

    >>> from opdsl import array_api as xp
    >>> xp.argsort(xp.asarray([3, 1, 2]))
    tensor([1, 2, 0])
    """
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
        uniques = aten._unique2(x.flatten(), True, True, True)
        return uniques[0], uniques[1].reshape(x.shape), uniques[2]
    uniques = aten.unique_dim(aten.view_as_real(x.flatten().resolve_conj()), 0, True, True, True)
    return aten.view_as_complex(uniques[0]), uniques[1].reshape(x.shape), uniques[2]


def unique_all(x: Tensor, /) -> UniqueAll:
    """The distinct elements in order, where each first stands, where each element is among them, and how often.

    Args:
        x: the tensor; NaNs are all distinct.

    >>> from opdsl import array_api as xp
    >>> xp.unique_all(xp.asarray([7, 3, 7])).indices
    tensor([1, 0])
    """
    values, inverse, counts = _unique(x)
    # Stable, so that the first of equal elements stands first.
    indices = aten.argsort(inverse.flatten(), stable=True)[aten.cumsum(counts, 0) - counts]
    return UniqueAll(values, indices, inverse, counts)


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The distinct elements in order, and how often they are there.

    Args:
        x: the tensor; NaNs are all distinct.

    >>> from opdsl import array_api as xp
    >>> xp.unique_counts(xp.asarray([7, 3, 7])).counts
    tensor([1, 2])
    """
    values, _, counts = _unique(x)
    return UniqueCounts(values, counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The distinct elements in order, and where each element is among them.

    Args:
        x: the tensor; NaNs are all distinct.

    >>> from opdsl import array_api as xp
    >>> xp.unique_inverse(xp.asarray([7, 3, 7])).inverse_indices
    tensor([1, 0, 1])
    """
    values, inverse, _ = _unique(x)
    return UniqueInverse(values, inverse)


def unique_values(x: Tensor, /) -> Tensor:
    """The distinct elements in order.

    Args:
        x: the tensor; NaNs are all distinct.

    >>> from opdsl import array_api as xp
    >>> xp.unique_values(xp.asarray([7, 3, 7]))
    tensor([3, 7])
    """
    return _unique(x)[0]
