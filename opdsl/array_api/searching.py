"""Functions of the array API that search, sort and gather elements."""

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
    """Return the slices at the given indices along an axis; for a vector the axis may be omitted.

    Args:
        x: the tensor.
        indices: a vector of indices; negative ones count from the end.
        axis: of the slices.

    Raises:
        DimensionError: no axis is given, and ``x`` is not a vector.

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
    """Return for each index the element at that index along an axis; negative indices count from the end.

    Args:
        x: the tensor.
        indices: with as many axes as ``x``; the sizes of the other axes broadcast.
        axis: the axis that is indexed.

    >>> from opdsl import array_api as xp
    >>> xp.take_along_axis(xp.asarray([[5, 3], [7, 9]]), xp.asarray([[1], [-2]]))
    tensor([[3],
            [7]])
    """
    size = x.shape[wrap_dimension(axis, x.ndim)]
    return aten.take_along_dim(x, aten.where(indices < 0, indices + size, indices).to(int64), axis)


# ----------------------------------------------------------------------------------------------------------- searching


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the index of the largest element, of the first one if there are several.

    Args:
        x: real numbers.
        axis: the axis; None for the flattened tensor.
        keepdims: whether the axis is kept, with size 1.

    >>> from opdsl import array_api as xp
    >>> xp.argmax(xp.asarray([[1, 5], [7, 2]]), axis=1)
    tensor([1, 0])
    """
    return aten.argmax(x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the index of the smallest element, of the first one if there are several.

    Args:
        x, axis, keepdims: see ``argmax``.

    >>> from opdsl import array_api as xp
    >>> xp.argmin(xp.asarray([[1, 5], [7, 2]]))
    tensor(0)
    """
    return aten.argmin(x, axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Return the number of elements that are not 0.

    Args:
        x: the tensor.
        axis: over the axes; all for None.
        keepdims: whether the axes are kept, with size 1.

    >>> from opdsl import array_api as xp
    >>> xp.count_nonzero(xp.asarray([[1, 0], [7, 2]]), axis=0)
    tensor([2, 1])
    """
    return reduced("sum", x != 0, axis, keepdims)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """Return the indices of all elements that are not 0, a vector for each axis.

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
    """Return the indices at which elements would have to be inserted into a sorted vector.

    Args:
        x1: the vector.
        x2: the elements.
        side: before (``left``) or after (``right``) equal elements.
        sorter: indices that sort ``x1``, if it is not sorted.

    >>> from opdsl import array_api as xp
    >>> xp.searchsorted(xp.asarray([1, 3, 5]), xp.asarray([0, 3, 9]))
    tensor([0, 1, 3])
    """
    boundaries, elements = promoted(x1, x2)
    return aten.searchsorted(boundaries, elements, side=side, sorter=None if sorter is None else sorter.to(int64))


def where(condition: Tensor, x1: Numbers, x2: Numbers, /) -> Tensor:
    """Return the elements of ``x1`` where a condition holds, and those of ``x2`` elsewhere.

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
    """Return the elements sorted along an axis.

    Args:
        x: real numbers.
        axis: the axis.
        descending: whether the largest comes first.
        stable: whether equal elements keep their order.

    >>> from opdsl import array_api as xp
    >>> xp.sort(xp.asarray([3, 1, 2]), descending=True)
    tensor([3, 2, 1])
    """
    return aten.sort(x, dim=axis, descending=descending, stable=stable)[0]


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Return the indices that sort the elements along an axis.

    Args:
        x, axis, descending, stable: see ``sort``.

    >>> from opdsl import array_api as xp
    >>> xp.argsort(xp.asarray([3, 1, 2]))
    tensor([1, 2, 0])
    """
    return aten.argsort(x, dim=axis, descending=descending, stable=stable)


# ---------------------------------------------------------------------------------------------------------------- sets


class UniqueAll(NamedTuple):
    """Result of ``unique_all``."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """Result of ``unique_counts``."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """Result of ``unique_inverse``."""

    values: Tensor
    inverse_indices: Tensor


def _unique(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the distinct elements in order (complex ones by real part first), the inverse indices, and the counts."""
    if not x.dtype.is_complex:
        uniques = aten._unique2(x.flatten(), True, True, True)
        return uniques[0], uniques[1].reshape(x.shape), uniques[2]
    uniques = aten.unique_dim(aten.view_as_real(x.flatten().resolve_conj()), 0, True, True, True)
    return aten.view_as_complex(uniques[0]), uniques[1].reshape(x.shape), uniques[2]


def unique_all(x: Tensor, /) -> UniqueAll:
    """Return the distinct elements in order, the index of their first occurrence, the inverse indices, and the counts.

    Args:
        x: the tensor; NaNs are all distinct.

    >>> from opdsl import array_api as xp
    >>> xp.unique_all(xp.asarray([7, 3, 7])).indices
    tensor([1, 0])
    """
    values, inverse, counts = _unique(x)
    # The sort is stable, so that the first of equal elements comes first.
    indices = aten.argsort(inverse.flatten(), stable=True)[aten.cumsum(counts, 0) - counts]
    return UniqueAll(values, indices, inverse, counts)


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """Return the distinct elements in order, and the number of occurrences of each.

    Args:
        x: the tensor; NaNs are all distinct.

    >>> from opdsl import array_api as xp
    >>> xp.unique_counts(xp.asarray([7, 3, 7])).counts
    tensor([1, 2])
    """
    values, _, counts = _unique(x)
    return UniqueCounts(values, counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """Return the distinct elements in order, and for each element of ``x`` its index among them.

    Args:
        x: the tensor; NaNs are all distinct.

    >>> from opdsl import array_api as xp
    >>> xp.unique_inverse(xp.asarray([7, 3, 7])).inverse_indices
    tensor([1, 0, 1])
    """
    values, inverse, _ = _unique(x)
    return UniqueInverse(values, inverse)


def unique_values(x: Tensor, /) -> Tensor:
    """Return the distinct elements in order.

    Args:
        x: the tensor; NaNs are all distinct.

    >>> from opdsl import array_api as xp
    >>> xp.unique_values(xp.asarray([7, 3, 7]))
    tensor([3, 7])
    """
    return _unique(x)[0]
