"""Index tensors: what operators accept as one, and where its elements lead."""

from __future__ import annotations

from typing import Any

import numpy

from opdsl.errors import PositionError
from opdsl.kernels import Positions, cast, known_inside, looked_at_later, range_of
from opdsl.kernels.outputs import in_this_mode, tensor_over
from opdsl.runtime import Tensor, bfloat16, bool_, contiguous_strides, cpu, int32, int64, wrap
from opdsl.runtime.geometry import geometry
from opdsl.runtime.lowering import Lowering, SymbolicArray, lowering
from opdsl.runtime.values import readable

# So few elements are searched before they would have been compared with zero.
_FEW = 128

BOTH = (int64, int32)
LONG = (int64,)


def as_int64(index: Tensor) -> Tensor:
    """An index tensor as int64."""
    return index if index.dtype is int64 else cast(index, int64)


def outside(index: Tensor, size: int, *, least: int = 0) -> int | None:
    """An element of an int64 tensor that is no position of a dimension; None if all are.

    Args:
        index: on meta nothing is known of its elements, so nothing is wrong.
        size: of the dimension.
        least: the smallest position, ``-size`` where negative ones count from the end.

    Where devices look by themselves, None: who waits for them next gets the error.
    """
    if index.is_meta or known_inside(index, least, size) or looked_at_later(index, least, size):
        return None
    numbers = range_of(index)
    if numbers is None or (numbers[0] >= least and numbers[1] < size):
        return None
    return numbers[1] if numbers[1] >= size else numbers[0]


def require_inside(index: Tensor, size: int, dim: int, *, least: int = 0) -> None:
    """Check that every element of an int64 tensor is a position of a dimension. Raises PositionError: one is not."""
    wrong = outside(index, size, least=least)
    if wrong is not None:
        raise PositionError(f"index {wrong} is out of bounds for dimension {dim} with size {size}")


def sizes_of(tensor: Tensor) -> tuple[int, ...]:
    """The sizes, where a number counts as a tensor of one dimension (``ensure_nonempty_size``)."""
    return tensor.shape or (1,)


def along(tensor: Tensor, dim: int, index: Tensor) -> tuple[tuple[int, ...], Positions]:
    """Return how elements of ``index`` lead along a dimension of a tensor, in the others step by step.

    Args:
        tensor: with as many dimensions as ``index``, a number counting as one.
        dim: not negative.
        index: int32 or int64.

    Returns:
        The strides of a loop over the shape of ``index``, and what moves its steps.

    Raises:
        PositionError: an element leads out of the dimension.
    """
    wide = as_int64(index)
    size = sizes_of(tensor)[dim]
    require_inside(wide, size, dim)
    strides = list(tensor.strides or (0,))
    stride, strides[dim] = strides[dim], 0
    return tuple(strides[: index.ndim]), Positions(wide, size, stride)


def modulo(index: Tensor, size: int) -> Tensor:
    """The remainders, none negative."""
    return index - index.div(size, rounding_mode="floor") * size


def among_all(tensor: Tensor, index: Tensor) -> list[Positions]:
    """Return how positions among all elements, which are counted in row-major order, lead through a tensor.

    Raises:
        PositionError: there is no such element.
    """
    numel = tensor.numel()
    wrong = outside(index, numel, least=-numel)
    if wrong is not None:
        raise PositionError(f"out of range: tried to access index {wrong} on a tensor of {numel} elements.")
    if tensor.is_contiguous() or index.numel() == 0:
        return [Positions(index, numel, 1)]
    # Each dimension by itself: the quotient by the number of elements behind it, without the dimensions around it.
    behind = contiguous_strides(tensor.shape)
    wrapped = modulo(index, numel)
    return [
        Positions(modulo(wrapped.div(step, rounding_mode="floor"), size), size, stride)
        for size, stride, step in zip(tensor.shape, tensor.strides, behind, strict=True)
    ]


def nonzero_columns(tensor: Tensor) -> list[Tensor]:
    """Return where elements are not zero: for each dimension its positions, int64, in row-major order."""
    recorder = lowering.get()
    if recorder is None and tensor.device is cpu:
        return [wrap(column, int64) for column in _columns_where(readable(tensor, "nonzero"))]
    mask = tensor if tensor.dtype is bool_ else tensor != 0
    if recorder is not None and mask.ndim and mask.device is cpu:
        (columns,) = recorder.run(_columns_where, (mask.array,), ["columns"])
        count = _count_of(recorder, SymbolicArray(f"{columns}[0]", int64.numpy), mask)
        form = geometry(int64, cpu, (count,), (1,))
        arrays = [SymbolicArray(f"{columns}[{dim}]", int64.numpy) for dim in range(mask.ndim)]
        return [tensor_over(array, form) for array in arrays]
    return _columns(_places_on_device(mask), mask.shape)


def nonzero_rows(tensor: Tensor) -> Tensor:
    """The same for a tensor of the CPU that has dimensions, in one tensor: a row for each element.

    The positions of one dimension lie next to each other, as PyTorch's kernel writes them.
    """
    recorder = lowering.get()
    if recorder is None:
        rows = _rows_where(readable(tensor, "nonzero"))
        count: Any = len(rows)
    else:
        mask = tensor if is_quickly_searched(tensor) else tensor != 0
        (name,) = recorder.run(_rows_where, (mask.array,), ["rows"])
        rows = SymbolicArray(name, int64.numpy)
        count = _count_of(recorder, rows, tensor)
    return tensor_over(rows, in_this_mode(geometry(int64, cpu, (count, tensor.ndim), (1, count))))


def is_quickly_searched(tensor: Tensor) -> bool:
    """Return whether NumPy finds what is not zero as quickly as what is true; in bfloat16 it does not find it."""
    return tensor.dtype is bool_ or (tensor.dtype is not bfloat16 and tensor.geometry.numel < _FEW)


def _rows_where(array: Any) -> Any:
    columns = array.nonzero() if array.ndim == 1 else _columns_where(array)
    together = columns[0] if len(columns) == 1 else numpy.concatenate(columns)
    return together.reshape((len(columns), len(columns[0]))).T


def _count_of(recorder: Lowering, array: SymbolicArray, among: Tensor) -> Any:
    """Return how many there are, which a plan finds out."""
    (name,) = recorder.run(len, (array,), ["count"])
    # About as many as may be expected: what is asked of their number should be answered as in most calls.
    return recorder.size(name, max(int(str(among.numel())) // 2, 2), 0)


def _columns_where(mask: Any) -> list[Any]:
    """The positions where elements of an array are not zero: an array for each dimension."""
    if mask.ndim == 1:
        return list(mask.nonzero())
    if not mask.flags.c_contiguous:
        return [numpy.ascontiguousarray(column) for column in numpy.nonzero(mask)]
    places = mask.reshape(-1).nonzero()[0]
    return _columns(places, mask.shape) if len(places) else [places.copy() for _ in mask.shape]


def _columns(places: Any, shape: tuple[int, ...]) -> list[Any]:
    """Places among all elements as positions in every dimension."""
    # Dividing what is found is several times as fast as counting in every dimension.
    columns: list[Any] = []
    for size in reversed(shape[1:]):
        quotient = places // max(size, 1)
        columns.insert(0, places - quotient * size)
        places = quotient
    return [places, *columns] if shape else []


def _places_on_device(mask: Tensor) -> Tensor:
    """Return where a mask holds, in row-major order: how often it has held so far says where a place is written to."""
    held = mask.reshape((-1,))
    ends = held.cumsum(0)
    count = ends[-1].item() if mask.numel() else 0
    assert isinstance(count, int), "a sum of bools is whole"
    # The other places meet behind those that count.
    targets = held * (ends - 1 - count) + count
    places = ends.new_empty((count + 1,)).scatter(0, targets, held.new_ones(held.shape, dtype=int64).cumsum(0) - 1)
    return places.narrow(0, 0, count)
