"""Checks whether written elements share memory with each other or with elements that are read."""

from __future__ import annotations

import enum
import functools
from collections.abc import Sequence
from typing import Any

import numpy

from opdsl.errors import OverlapError, ReadOnlyError
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.lowering import Lowering, lowering
from opdsl.runtime.storage import storage_root
from opdsl.runtime.symbol import example_value
from opdsl.runtime.tensor import Tensor
from opdsl.runtime.views import required_storage

# Limits of the exact tests, beyond which the answer is UNKNOWN.
_MOST_ELEMENTS = 1 << 16
MOST_WORK = 100_000


class Overlap(enum.Enum):
    """Relation between the memory of two tensors.

    NONE: no common element.
    FULL: the same elements in the same order.
    PARTIAL: some common elements.
    UNKNOWN: the test would take too long.
    """

    NONE = 0
    FULL = 1
    PARTIAL = 2
    UNKNOWN = 3


def has_internal_overlap(geometry: TensorMeta) -> bool:
    """Return whether two elements of a tensor share memory; False also if the test would take too long.

    PyTorch only detects expanded dimensions (at::has_internal_overlap); this also detects overlapping windows.
    """
    if geometry.is_non_overlapping_and_dense() or geometry.numel <= 1:
        return False
    wide = [(stride, size) for size, stride in zip(geometry.shape, geometry.strides, strict=True) if size > 1]
    if any(stride == 0 for stride, _ in wide):
        return True
    if _each_step_leaves_the_inner_ones(wide):
        return False
    if geometry.numel > required_storage(geometry.shape, geometry.strides):
        return True
    return geometry.numel <= _MOST_ELEMENTS and _has_equal_places(wide)


def _each_step_leaves_the_inner_ones(wide: Sequence[tuple[int, int]]) -> bool:
    extent = 0
    for stride, size in sorted(wide):
        if stride <= extent:
            return False
        extent += stride * (size - 1)
    return True


def _has_equal_places(wide: Sequence[tuple[int, int]]) -> bool:
    places = numpy.zeros(1, numpy.int64)
    for stride, size in wide:
        places = (places[:, None] + numpy.arange(size, dtype=numpy.int64) * stride).reshape(-1)
    return bool(numpy.unique(places).size < places.size)


def share_storage(first: Tensor, second: Tensor) -> bool:
    """Return whether two tensors share storage: they are, or are views of, the same tensor."""
    return storage_root(first) is storage_root(second)


def overlap(first: Tensor, second: Tensor) -> Overlap:
    """Return whether the memory of two tensors overlaps: fully, partially, not at all, or unknown.

    On the CPU, addresses are compared, so that two tensors over one NumPy array are detected too. For meta tensors,
    storage and offsets are compared.
    """
    if first is second:
        return Overlap.FULL
    form, other = first.geometry, second.geometry
    if form.numel == 0 or other.numel == 0 or form.device is not other.device:
        return Overlap.NONE
    recorder = lowering.get()
    if recorder is None and form.device.type == "cpu":
        return _overlap_of_arrays(first, second)
    if not share_storage(first, second):
        return Overlap.NONE if recorder is None else _asked(recorder, first, second)
    begin, other_begin = (side.storage_offset() * side.geometry.dtype.itemsize for side in (first, second))
    if begin == other_begin and _same_steps(form, other):
        return Overlap.FULL
    if begin + _extent(form) <= other_begin or other_begin + _extent(other) <= begin:
        return Overlap.NONE
    dense = form.is_non_overlapping_and_dense() and other.is_non_overlapping_and_dense()
    return Overlap.PARTIAL if dense else Overlap.UNKNOWN


def is_copied_onto_itself(written: Tensor, read: Tensor) -> bool:
    """Return whether a broadcasting copy writes each element that it reads with itself, as ``x[:] = x[0]`` does.

    Args:
        written: a tensor whose elements do not overlap.
        read: a tensor whose shape broadcasts to that of ``written``.
    """
    form, other = written.geometry, read.geometry
    if form.dtype is not other.dtype:
        return False
    if share_storage(written, read):
        ahead = read.storage_offset() - written.storage_offset()
    elif lowering.get() is None and form.device.type == "cpu":
        ahead, rest = divmod(read.data_ptr() - written.data_ptr(), form.dtype.itemsize)
        if rest:
            return False
    else:
        return False
    # In repeated dimensions, find the index that is read; in all others both tensors have the same stride.
    missing = (0,) * (form.ndim - other.ndim)
    steps = (*missing, *[0 if size == 1 else step for size, step in zip(other.shape, other.strides, strict=True)])
    for stride, size, step in sorted(zip(form.strides, form.shape, steps, strict=True), reverse=True):
        if size == 1 or step == stride:
            continue
        if step != 0:
            return False
        ahead -= stride * max(0, min(ahead // stride, size - 1))
    return ahead == 0


def _asked(recorder: Lowering, first: Tensor, second: Tensor) -> Overlap:
    """Return how two arguments of a plan, or views of them, overlap in the call that is lowered, and add a guard on it.

    Tensors that are no views own their storage. Those that share storage mostly have no common element, such as two
    rows of a matrix, so the guard compares elements. Autograd relates tensors that share storage to each other, so that
    a plan which records nodes requires separate storage.
    """
    roots = [storage_root(side) for side in (first, second)]
    texts = [recorder.arguments.get(root) for root in roots]
    if None in texts:
        return Overlap.NONE
    shared = recorder.shared.format(*texts)
    examples = [recorder.roots.get(root) for root in roots]
    begin, *layout = _span(first)
    other_begin, *other_layout = _span(second)
    places = (other_begin - begin, *layout, *other_layout)
    text = recorder.source(places)
    is_recorded = first.geometry.requires_grad or second.geometry.requires_grad
    if None in examples or is_recorded or recorder.is_late(text):
        recorder.ask(shared, False)
        return Overlap.NONE
    relation = recorder.constant(relation_of)
    if examples[0] == examples[1] and relation_of(*map(_examples, places)) is Overlap.FULL:
        recorder.ask(f"{shared} and {relation}(*{text}) is {recorder.constant(Overlap.FULL)}", True)
        return Overlap.FULL
    arrays = [recorder.arrays.get(id(side)) for side in (first, second)]
    if None in arrays:
        apart = f"{relation}(*{text}) is {recorder.constant(Overlap.NONE)}"
    else:
        apart = f"not {recorder.constant(numpy.may_share_memory)}({', '.join(map(str, arrays))}, {MOST_WORK})"
    recorder.ask(f"{shared} and not ({apart})", False)
    return Overlap.NONE


def _span(tensor: Tensor) -> tuple[Any, ...]:
    """Return where a tensor begins in its storage, in bytes, its shape and strides, and the size of an element."""
    form = tensor.geometry
    return tensor.storage_offset() * form.dtype.itemsize, form.shape, form.strides, form.dtype.itemsize


def _examples(value: Any) -> Any:
    """Return the value of a number, or of the numbers in a tuple, in the call that is lowered."""
    return tuple(map(example_value, value)) if type(value) is tuple else example_value(value)


@functools.lru_cache(maxsize=4096)
def relation_of(
    ahead: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    itemsize: int,
    other_shape: tuple[int, ...],
    other_strides: tuple[int, ...],
    other_itemsize: int,
) -> Overlap:
    """Return how two tensors of the same storage overlap.

    Args:
        ahead: how far the second one begins behind the first one, in bytes.
        shape, other_shape, strides, other_strides: their sizes and strides, in elements.
        itemsize, other_itemsize: the sizes of their elements, in bytes.

    >>> relation_of(4, (8,), (2,), 4, (8,), (2,), 4)
    <Overlap.NONE: 0>
    """
    if (ahead, shape, strides, itemsize) == (0, other_shape, other_strides, other_itemsize):
        return Overlap.FULL
    first = numpy.asarray(_Layout(0, shape, strides, itemsize))
    return _shared(first, numpy.asarray(_Layout(ahead, other_shape, other_strides, other_itemsize)))


class _Layout:
    """Layout of an array whose elements are never accessed, so that its address can be an offset.

    Args:
        ahead: its offset in bytes, from an address that is large enough for negative ones.
        shape, strides, itemsize: its sizes, its strides in elements, and the bytes of an element.
    """

    def __init__(self, ahead: int, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> None:
        self.__array_interface__ = {
            "version": 3,
            "data": ((1 << 62) + ahead, True),
            "shape": shape,
            "strides": tuple(stride * itemsize for stride in strides),
            "typestr": f"|V{itemsize}",
        }


def _overlap_of_arrays(first: Tensor, second: Tensor) -> Overlap:
    array, other = first.array, second.array
    if not numpy.may_share_memory(array, other):
        return Overlap.NONE
    if first.data_ptr() == second.data_ptr() and _same_steps(first.geometry, second.geometry):
        return Overlap.FULL
    return _shared(array, other)


def _shared(array: numpy.ndarray[Any, Any], other: numpy.ndarray[Any, Any]) -> Overlap:
    """Return how two arrays overlap that are not known to have the same elements."""
    try:
        shared = numpy.shares_memory(array, other, max_work=MOST_WORK)  # type: ignore[arg-type]
    except numpy.exceptions.TooHardError:
        return Overlap.UNKNOWN
    return Overlap.PARTIAL if shared else Overlap.NONE


def _same_steps(form: TensorMeta, other: TensorMeta) -> bool:
    return form.dtype.itemsize == other.dtype.itemsize and (form.shape, form.strides) == (other.shape, other.strides)


def _extent(form: TensorMeta) -> int:
    return required_storage(form.shape, form.strides) * form.dtype.itemsize


# ----------------------------------------------------------------------------------------------- demands before a write


def require_writable(tensor: Tensor, operator: str) -> None:
    """Check that a tensor may be written.

    Raises:
        ReadOnlyError: its memory must not be written.
        OverlapError: several of its elements share memory.
    """
    if tensor.geometry.read_only:
        raise ReadOnlyError(
            f"{operator}: the tensor shares the memory of a read-only array and cannot be written. Write to a copy, "
            "tensor.clone()."
        )
    if has_internal_overlap(tensor.geometry):
        raise OverlapError(
            f"{operator}: unsupported operation: more than one element of the written-to tensor refers to a single "
            "memory location. Please clone() the tensor before performing the operation."
        )


def require_no_partial_overlap(written: Tensor, read: Tensor, operator: str) -> None:
    """Check that an input does not overlap with an output, unless both have the same elements.

    Raises:
        OverlapError: they overlap partially.
    """
    if overlap(written, read) is Overlap.PARTIAL:
        _refuse(operator)


def require_no_overlap(written: Tensor, read: Tensor, operator: str) -> None:
    """Check that an input does not overlap with an output.

    Raises:
        OverlapError: they overlap.
    """
    if overlap(written, read) in (Overlap.PARTIAL, Overlap.FULL):
        _refuse(operator)


def _refuse(operator: str) -> None:
    raise OverlapError(
        f"{operator}: unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
        "single memory location. Please clone() the tensor before performing the operation."
    )
