"""Functions of the array API that create tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from opdsl._attributes import aten
from opdsl.aten.create import construction
from opdsl.runtime import Device, DType, Tensor

Place = Device | str | None
Shape = int | Sequence[int]


def asarray(obj: Any, /, *, dtype: DType | None = None, device: Place = None, copy: bool | None = None) -> Tensor:
    """Return a tensor of the given data.

    Args:
        obj: a tensor, a number, nested sequences of numbers, or an object with DLPack, the buffer protocol or
            ``__array__``.
        dtype: of the result; that of the data by default, the default dtype for Python's floats.
        device: of the result; that of the data by default.
        copy: True always copies, False never does, None only if necessary.

    Raises:
        InterchangeError: ``copy=False``, and the data cannot be shared; it is a ValueError.
        ConversionError: lists have unequal lengths, or elements are not numbers.

    >>> from opdsl import array_api as xp
    >>> xp.asarray([[1, 2], [3, 4]], dtype=xp.float32)
    tensor([[1., 2.],
            [3., 4.]])
    """
    return construction.asarray(obj, dtype=dtype, device=device, copy=copy)


def from_dlpack(x: object, /, *, device: Place = None, copy: bool | None = None) -> Tensor:
    """Return a tensor over the memory of an object with ``__dlpack__``, or a copy of it: ``opdsl.from_dlpack``.

    Args:
        x: such an object.
        device: of the result; that of ``x`` by default.
        copy: True always copies, False never does, None only if necessary.

    Raises:
        InterchangeError: the memory cannot be shared and ``copy`` is False, or opdsl lacks its dtype.

    >>> from opdsl import array_api as xp
    >>> import numpy
    >>> xp.from_dlpack(numpy.arange(3))
    tensor([0, 1, 2])
    """
    return construction.from_dlpack(x, device=device, copy=copy)


def empty(shape: Shape, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return a tensor with uninitialized elements.

    Args:
        shape: the sizes; an int for one dimension.
        dtype: of its elements; the default dtype by default.
        device: of the tensor; the CPU by default.

    >>> from opdsl import array_api as xp
    >>> xp.empty((2, 0)).shape
    (2, 0)
    """
    return aten.empty(shape, dtype=dtype, device=device)


def zeros(shape: Shape, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return a tensor of zeros, of the default dtype unless another one is given.

    Args:
        shape, dtype, device: see ``empty``.

    >>> from opdsl import array_api as xp
    >>> xp.zeros(2)
    tensor([0., 0.])
    """
    return aten.zeros(shape, dtype=dtype, device=device)


def ones(shape: Shape, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return a tensor of ones, of the default dtype unless another one is given.

    Args:
        shape, dtype, device: see ``empty``.

    >>> from opdsl import array_api as xp
    >>> xp.ones(2, dtype=xp.int64)
    tensor([1, 1])
    """
    return aten.ones(shape, dtype=dtype, device=device)


def full(shape: Shape, fill_value: complex, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return a tensor filled with one number, by default of the dtype that corresponds to the Python number.

    Args:
        shape, device: see ``empty``.
        fill_value: the number.
        dtype: of its elements; by default that of the number: int64, the default dtype, or complex.

    >>> from opdsl import array_api as xp
    >>> xp.full((2,), 7)
    tensor([7, 7])
    """
    return aten.full([shape] if isinstance(shape, int) else shape, fill_value, dtype=dtype, device=device)


def empty_like(x: Tensor, /, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return a tensor with the shape of another one and with uninitialized elements.

    Args:
        x: the tensor whose shape is used.
        dtype, device: those of ``x`` by default.

    >>> from opdsl import array_api as xp
    >>> xp.empty_like(xp.ones((2, 0))).shape
    (2, 0)
    """
    return aten.empty_like(x, dtype=dtype, device=device)


def zeros_like(x: Tensor, /, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return zeros in the shape of another tensor.

    Args:
        x, dtype, device: see ``empty_like``.

    >>> from opdsl import array_api as xp
    >>> xp.zeros_like(xp.asarray([1, 2]))
    tensor([0, 0])
    """
    return aten.zeros_like(x, dtype=dtype, device=device)


def ones_like(x: Tensor, /, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return ones in the shape of another tensor.

    Args:
        x, dtype, device: see ``empty_like``.

    >>> from opdsl import array_api as xp
    >>> xp.ones_like(xp.asarray([1, 2]))
    tensor([1, 1])
    """
    return aten.ones_like(x, dtype=dtype, device=device)


def full_like(x: Tensor, /, fill_value: complex, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return a tensor with the shape of another one, filled with one number.

    Args:
        x, dtype, device: see ``empty_like``.
        fill_value: the number.

    >>> from opdsl import array_api as xp
    >>> xp.full_like(xp.asarray([1, 2]), 7)
    tensor([7, 7])
    """
    return aten.full_like(x, fill_value, dtype=dtype, device=device)


def arange(
    start: float, /, stop: float | None = None, step: float = 1, *, dtype: DType | None = None, device: Place = None
) -> Tensor:
    """Return the numbers from ``start`` up to ``stop`` (excluded) by ``step``; from 0 up to ``start`` if ``stop`` is
    None.

    Args:
        start: the first number; or the end, if ``stop`` is None.
        stop: the end, which is excluded.
        step: the difference of consecutive numbers.
        dtype: of the result; int64 if all three are integers, the default dtype otherwise.
        device: of the result; the CPU by default.

    Raises:
        NumberError: ``step`` is 0.

    >>> from opdsl import array_api as xp
    >>> xp.arange(5, 0, -2)
    tensor([5, 3, 1])
    """
    if stop is None:
        start, stop = 0, start
    if (stop - start) * step < 0:  # the result is empty, where PyTorch raises an error
        stop = start + 0 * stop  # keeps the dtype
    return aten.arange(start, stop, step, dtype=dtype, device=device)


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: Place = None,
    endpoint: bool = True,
) -> Tensor:
    """Return ``num`` evenly spaced numbers, the last of them ``stop`` unless ``endpoint`` is False.

    Args:
        start, stop: the ends.
        num: the number of elements.
        dtype: of the numbers; the default dtype, or complex, by default.
        device: of the result; the CPU by default.
        endpoint: whether ``stop`` is the last element.

    >>> from opdsl import array_api as xp
    >>> xp.linspace(0, 1, 4, endpoint=False)
    tensor([0.0000, 0.2500, 0.5000, 0.7500])
    """
    if endpoint:
        return aten.linspace(start, stop, num, dtype=dtype, device=device)
    return aten.linspace(start, stop, num + 1, dtype=dtype, device=device)[:num]


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: DType | None = None, device: Place = None
) -> Tensor:
    """Return a matrix of zeros with ones on the ``k``-th diagonal.

    Args:
        n_rows: number of rows.
        n_cols: number of columns; by default equal to ``n_rows``.
        k: the diagonal: above the main one if positive, below it if negative.
        dtype, device: see ``empty``.

    >>> from opdsl import array_api as xp
    >>> xp.eye(2, 3, k=1)
    tensor([[0., 1., 0.],
            [0., 0., 1.]])
    """
    output = aten.zeros((n_rows, n_rows if n_cols is None else n_cols), dtype=dtype, device=device)
    if -n_rows < k < output.shape[1]:
        output.diagonal(k).fill_(1)
    return output


def meshgrid(*arrays: Tensor, indexing: Literal["xy", "ij"] = "xy") -> list[Tensor]:
    """Return the coordinates of a grid, one tensor for each vector of coordinates along an axis.

    Args:
        arrays: vectors of coordinates, of one dtype.
        indexing: ``"ij"``: the first vector varies along the first axis; ``"xy"``: along the second one.

    >>> from opdsl import array_api as xp
    >>> xp.meshgrid(xp.asarray([1, 2]), xp.asarray([3, 4]))[0]
    tensor([[1, 2],
            [1, 2]])
    """
    return list(aten.meshgrid(arrays, indexing=indexing)) if arrays else []


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return the triangles of matrices on and below the ``k``-th diagonal, with zeros above.

    Args:
        x: the matrices.
        k: the diagonal; see ``eye``.

    >>> from opdsl import array_api as xp
    >>> xp.tril(xp.ones((2, 2)))
    tensor([[1., 0.],
            [1., 1.]])
    """
    return aten.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return the triangles of matrices on and above the ``k``-th diagonal, with zeros below.

    Args:
        x: the matrices.
        k: the diagonal; see ``eye``.

    >>> from opdsl import array_api as xp
    >>> xp.triu(xp.ones((2, 2)))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return aten.triu(x, k)
