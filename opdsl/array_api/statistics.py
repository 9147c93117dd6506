"""Functions of the array API that compute reductions, cumulative sums and differences."""

from __future__ import annotations

from opdsl._attributes import aten
from opdsl.array_api.data_types import sum_dtype
from opdsl.array_api.manipulation import Axes, concat
from opdsl.errors import DimensionError
from opdsl.runtime import DType, Tensor, bool_


def reduced(operator: str, x: Tensor, axis: Axes | None, keepdims: bool, **options: object) -> Tensor:
    """Compute a reduction over axes: over all for None, over none for ``()``, which reduces each element alone."""
    if axis == ():
        x, axis, keepdims = x.unsqueeze(-1), -1, False
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return aten[operator](x, axes, keepdim=keepdims, **options)


def all(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Return whether all elements are true.

    Args:
        x: the tensor; nonzero elements are true.
        axis: over the axes; all for None.
        keepdims: whether the axes are kept, with size 1.

    >>> from opdsl import array_api as xp
    >>> xp.all(xp.asarray([[True, False], [True, True]]), axis=1)
    tensor([False,  True])
    """
    return reduced("all", x, axis, keepdims).to(bool_)


def any(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Return whether any element is true.

    Args:
        x, axis, keepdims: see ``all``.

    >>> from opdsl import array_api as xp
    >>> xp.any(xp.asarray([[True, False], [False, False]]), axis=1)
    tensor([ True, False])
    """
    return reduced("any", x, axis, keepdims).to(bool_)


def max(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Return the largest element; NaN if any element is NaN.

    Args:
        x: real numbers.
        axis, keepdims: see ``all``.

    >>> from opdsl import array_api as xp
    >>> xp.max(xp.asarray([[1, 5], [7, 2]]), axis=0)
    tensor([7, 5])
    """
    return reduced("amax", x, axis, keepdims)


def min(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Return the smallest element; NaN if any element is NaN.

    Args:
        x: real numbers.
        axis, keepdims: see ``all``.

    >>> from opdsl import array_api as xp
    >>> xp.min(xp.asarray([[1, 5], [7, 2]]), axis=0)
    tensor([1, 2])
    """
    return reduced("amin", x, axis, keepdims)


def mean(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Return the arithmetic mean.

    Args:
        x: floating-point or complex numbers.
        axis, keepdims: see ``all``.

    >>> from opdsl import array_api as xp
    >>> xp.mean(xp.asarray([[1.0, 5.0], [7.0, 2.0]]), axis=0)
    tensor([4.0000, 3.5000])
    """
    return reduced("mean", x, axis, keepdims)


def sum(x: Tensor, /, *, axis: Axes | None = None, dtype: DType | None = None, keepdims: bool = False) -> Tensor:
    """Return the sum; integers and bools are summed in 64 bits by default.

    Args:
        x: numbers.
        axis, keepdims: see ``all``.
        dtype: dtype of the sum.

    >>> from opdsl import array_api as xp
    >>> xp.sum(xp.asarray([[1, 5], [7, 2]]), axis=0)
    tensor([8, 7])
    """
    return reduced("sum", x, axis, keepdims, dtype=dtype or sum_dtype(x.dtype))


def prod(x: Tensor, /, *, axis: Axes | None = None, dtype: DType | None = None, keepdims: bool = False) -> Tensor:
    """Return the product; integers and bools are multiplied in 64 bits by default.

    Args:
        x: numbers.
        axis, keepdims: see ``all``.
        dtype: dtype of the product.

    >>> from opdsl import array_api as xp
    >>> xp.prod(xp.asarray([[1, 5], [7, 2]]), axis=0)
    tensor([ 7, 10])
    """
    dtype = dtype or sum_dtype(x.dtype)
    if axis is None and not keepdims:
        return aten.prod(x, dtype=dtype)
    if axis == ():
        return x.to(dtype, copy=True)
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    # One axis at a time, the last first, so that the indices of the others remain valid.
    for number in sorted((number % x.ndim for number in axes), reverse=True):
        x = aten.prod(x, number, keepdim=keepdims, dtype=dtype)
    return x if axes else x.to(dtype, copy=True)


def std(x: Tensor, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Return the standard deviation, with the sum of squares divided by the count minus ``correction``.

    Args:
        x: floating-point numbers.
        axis, keepdims: see ``all``.
        correction: 1 for the sample estimate.

    >>> from opdsl import array_api as xp
    >>> xp.std(xp.asarray([1.0, 3.0]), correction=1)
    tensor(1.4142)
    """
    return reduced("std", x, axis, keepdims, correction=correction)


def var(x: Tensor, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Return the variance, with the sum of squares divided by the count minus ``correction``.

    Args:
        x: floating-point numbers.
        axis, keepdims: see ``all``.
        correction: 1 for the sample estimate.

    >>> from opdsl import array_api as xp
    >>> xp.var(xp.asarray([1.0, 3.0]))
    tensor(1.)
    """
    return reduced("var", x, axis, keepdims, correction=correction)


def _cumulative(operator: str, x: Tensor, axis: int | None, dtype: DType | None, initial: int | None) -> Tensor:
    if axis is None:
        if x.ndim != 1:
            raise DimensionError(f"{operator}: axis=None is for vectors (got {x.ndim} dimensions)")
        axis = 0
    cumulative = aten[operator](x, axis, dtype=dtype or sum_dtype(x.dtype))
    if initial is None:
        return cumulative
    first = cumulative.new_full(
        [1 if number == axis % x.ndim else size for number, size in enumerate(x.shape)], initial
    )
    return concat((first, cumulative), axis=axis)


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Tensor:
    """Return the cumulative sums along an axis, starting with 0 if ``include_initial`` is true.

    Args:
        x: numbers.
        axis: the axis; may be omitted for a vector.
        dtype: dtype of the sums; 64 bits for integers by default.
        include_initial: whether the result begins with a 0.

    Raises:
        DimensionError: no axis is given, and ``x`` is not a vector.

    >>> from opdsl import array_api as xp
    >>> xp.cumulative_sum(xp.asarray([1, 2, 3]), include_initial=True)
    tensor([0, 1, 3, 6])
    """
    return _cumulative("cumsum", x, axis, dtype, 0 if include_initial else None)


def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Tensor:
    """Return the cumulative products along an axis, starting with 1 if ``include_initial`` is true.

    Args:
        x: numbers.
        axis: the axis; may be omitted for a vector.
        dtype: dtype of the products; 64 bits for integers by default.
        include_initial: whether the result begins with a 1.

    Raises:
        DimensionError: no axis is given, and ``x`` is not a vector.

    >>> from opdsl import array_api as xp
    >>> xp.cumulative_prod(xp.asarray([2, 3, 4]))
    tensor([ 2,  6, 24])
    """
    return _cumulative("cumprod", x, axis, dtype, 1 if include_initial else None)


def diff(
    x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Return the ``n``-th differences of consecutive elements along an axis.

    Args:
        x: numbers.
        axis: the axis.
        n: the order of the differences.
        prepend, append: elements to add before and after ``x``.

    >>> from opdsl import array_api as xp
    >>> xp.diff(xp.asarray([1, 4, 9, 16]), n=2)
    tensor([2, 2])
    """
    return aten.diff(x, n, axis, prepend, append)
