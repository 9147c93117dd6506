"""Index tensors: bounds checks, offsets of the elements that they select, and indices of nonzero elements."""

from __future__ import annotations

from typing import Any

import numpy

from opdsl.errors import DeviceError, PositionError
from opdsl.kernels import Positions, cast, known_inside, looked_at_later, range_of
from opdsl.kernels.outputs import in_this_mode, tensor_over
from opdsl.kernels.primitives.host import is_beyond, through_host
from opdsl.kernels.primitives.nonzero import nonzero_on_device
from opdsl.runtime import Tensor, bool_, contiguous_strides, cpu, int32, int64, wrap
from opdsl.runtime.geometry import geometry
from opdsl.runtime.lowering import Lowering, SymbolicArray, lowering
from opdsl.runtime.values import readable
from opdsl.runtime.viewing import make_view

# A tensor with fewer elements is searched unchanged: a comparison with 0 would take longer than it saves.
_FEW = 128

BOTH = (int64, int32)
LONG = (int64,)


def as_int64(index: Tensor) -> Tensor:
    """Return an index tensor converted to int64."""
    return index if index.dtype is int64 else cast(index, int64)


def outside(index: Tensor, size: int, *, least: int = 0) -> int | None:
    """Return an index in an int64 tensor that is out of bounds for a dimension; None if all are in bounds.

    Args:
        index: the indices. On meta they are unknown, and the result is None.
        size: the dimension's size.
        least: the smallest valid index, ``-size`` where negative indices count from the end.

    The result is also None where a plan or the device checks the bounds itself. A device reports the error at the next
    synchronization.
    """
    if index.is_meta or known_inside(index, least, size) or looked_at_later(index, least, size):
        return None
    numbers = range_of(index)
    if numbers is None or (numbers[0] >= least and numbers[1] < size):
        return None
    return numbers[1] if numbers[1] >= size else numbers[0]


def require_inside(index: Tensor, size: int, dim: int, *, least: int = 0) -> None:
    """Check that every element of an int64 tensor is a valid index into a dimension.

    Args:
        index: the indices.
        size: the dimension's size.
        dim: the dimension's number, for the error message.
        least: the smallest valid index, see ``outside``.

    Raises:
        PositionError: an index is out of bounds.
    """
    wrong = outside(index, size, least=least)
    if wrong is not None:
        raise PositionError(f"index {wrong} is out of bounds for dimension {dim} with size {size}")


def sizes_of(tensor: Tensor) -> tuple[int, ...]:
    """Return a tensor's sizes, ``(1,)`` for a tensor without dimensions (``ensure_nonempty_size``)."""
    return tensor.shape or (1,)


def along(tensor: Tensor, dim: int, index: Tensor) -> tuple[tuple[int, ...], Positions]:
    """Return the strides and indices with which a loop over the shape of ``index`` reads a tensor: by ``index`` along
    dimension ``dim``, by strides along all others.

    Args:
        tensor: a tensor with as many dimensions as ``index``; a number counts as one dimension.
        dim: the indexed dimension, not negative.
        index: the indices, int32 or int64.

    Returns:
        The tensor's strides in the loop, 0 for ``dim``, and the indices that determine the offset along ``dim``.

    Raises:
        PositionError: an index is out of bounds.
    """
    wide = as_int64(index)
    size = sizes_of(tensor)[dim]
    require_inside(wide, size, dim)
    strides = list(tensor.strides or (0,))
    stride, strides[dim] = strides[dim], 0
    return tuple(strides[: index.ndim]), Positions(wide, size, stride)


def modulo(index: Tensor, size: int) -> Tensor:
    """Return the remainders of ``index`` divided by ``size``, all of them nonnegative."""
    return index - index.div(size, rounding_mode="floor") * size


def among_all(tensor: Tensor, index: Tensor) -> list[Positions]:
    """Return the indices into each dimension of a tensor that flat row-major indices correspond to.

    A contiguous tensor needs only one entry, the flat index with stride 1.

    Raises:
        PositionError: an index is out of bounds.
    """
    numel = tensor.numel()
    wrong = outside(index, numel, least=-numel)
    if wrong is not None:
        raise PositionError(f"out of range: tried to access index {wrong} on a tensor of {numel} elements.")
    if tensor.is_contiguous() or index.numel() == 0:
        return [Positions(index, numel, 1)]
    # The index into a dimension: the flat index divided by the number of elements that one step skips, modulo the size.
    behind = contiguous_strides(tensor.shape)
    wrapped = modulo(index, numel)
    return [
        Positions(modulo(wrapped.div(step, rounding_mode="floor"), size), size, stride)
        for size, stride, step in zip(tensor.shape, tensor.strides, behind, strict=True)
    ]


def nonzero_columns(tensor: Tensor) -> list[Tensor]:
    """Return the indices of a tensor's nonzero elements in row-major order, one int64 tensor per dimension."""
    if tensor.ndim == 0:
        return []
    if tensor.device is not cpu:
        rows = nonzero_rows(tensor)
        count = rows.shape[0]
        return [make_view(rows, (count,), (1,), dim * count) for dim in range(tensor.ndim)]
    recorder = lowering.get()
    if recorder is None:
        return [wrap(column, int64) for column in _columns_where(readable(tensor, "nonzero"))]
    mask = tensor if tensor.dtype is bool_ else tensor != 0
    (columns,) = recorder.run(_columns_where, (mask.array,), ["columns"])
    count = _count_of(recorder, SymbolicArray(f"{columns}[0]", int64.numpy), mask)
    form = geometry(int64, cpu, (count,), (1,))
    arrays = [SymbolicArray(f"{columns}[{dim}]", int64.numpy) for dim in range(mask.ndim)]
    return [tensor_over(array, form) for array in arrays]


def nonzero_rows(tensor: Tensor) -> Tensor:
    """Return the indices of a tensor's nonzero elements as one int64 tensor with a row per element.

    The tensor must have at least one dimension. The indices into one dimension are adjacent in memory, as PyTorch's
    kernel writes them.
    """
    if tensor.is_meta:
        raise DeviceError("nonzero: a meta tensor has no elements, whose number would be the size of the result")
    if is_beyond(tensor):
        moved: Tensor = through_host(nonzero_rows, [tensor])
        return moved
    if tensor.device is not cpu:
        return nonzero_on_device(tensor)
    recorder = lowering.get()
    if recorder is None:
        rows = _rows_where(readable(tensor, "nonzero"))
        count: Any = len(rows)
    else:
        mask = tensor if is_quickly_searched(tensor) else tensor != 0
        (variable,) = recorder.run(_rows_where, (mask.array,), ["rows"])
        rows = SymbolicArray(variable, int64.numpy)
        count = _count_of(recorder, rows, tensor)
    return tensor_over(rows, in_this_mode(geometry(int64, cpu, (count, tensor.ndim), (1, count))))


def is_quickly_searched(tensor: Tensor) -> bool:
    """Return whether NumPy's ``nonzero`` is applied to a tensor itself, not to the comparison of the tensor with 0.

    NumPy searches bools faster than numbers, which pays off for large tensors, and cannot search dtypes that it lacks.
    """
    return tensor.dtype is bool_ or (not tensor.dtype.is_encoded and tensor.geometry.numel < _FEW)


def _rows_where(array: Any) -> Any:
    columns = array.nonzero() if array.ndim == 1 else _columns_where(array)
    together = columns[0] if len(columns) == 1 else numpy.concatenate(columns)
    return together.reshape((len(columns), len(columns[0]))).T


def _count_of(recorder: Lowering, array: SymbolicArray, among: Tensor) -> Any:
    """Return the length of a recorded array as a symbolic size, which the plan computes at run time."""
    (variable,) = recorder.run(len, (array,), ["count"])
    # The example is half of all elements, so that branches on the count are traced as most calls take them.
    return recorder.size(variable, max(int(str(among.numel())) // 2, 2), 0)


def _columns_where(mask: Any) -> list[Any]:
    """Return the indices of an array's nonzero elements, one array per dimension."""
    if mask.ndim == 1:
        return list(mask.nonzero())
    if not mask.flags.c_contiguous:
        return [numpy.ascontiguousarray(column) for column in numpy.nonzero(mask)]
    places = mask.reshape(-1).nonzero()[0]
    return _columns(places, mask.shape) if len(places) else [places.copy() for _ in mask.shape]


def _columns(places: Any, shape: tuple[int, ...]) -> list[Any]:
    """Convert flat row-major indices to indices into each dimension, one array per dimension."""
    # Dividing the flat indices is several times as fast as NumPy's search in several dimensions.
    columns: list[Any] = []
    for size in reversed(shape[1:]):
        quotient = places // max(size, 1)
        columns.insert(0, places - quotient * size)
        places = quotient
    return [places, *columns] if shape else []
