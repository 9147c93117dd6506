"""Checks whether written elements share memory with each other or with elements that are read."""

from __future__ import annotations

import enum
from collections.abc import Sequence

import numpy

from opdsl.errors import OverlapError, ReadOnlyError
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.lowering import Lowering, lowering
from opdsl.runtime.storage import storage_root
from opdsl.runtime.tensor import Tensor
from opdsl.runtime.views import required_storage

# Limits of the exact tests, beyond which the answer is UNKNOWN.
_MOST_ELEMENTS = 1 << 16
_MOST_WORK = 100_000


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
        if recorder is not None:
            _ask_whether_apart(recorder, first, second)
        return Overlap.NONE
    begin, other_begin = (tensor.storage_offset() * tensor.geometry.dtype.itemsize for tensor in (first, second))
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


def _ask_whether_apart(recorder: Lowering, first: Tensor, second: Tensor) -> None:
    """Add a guard that two arguments of a plan share no storage; tensors that are no views own theirs."""
    roots = [recorder.arguments.get(storage_root(tensor)) for tensor in (first, second)]
    if None not in roots:
        recorder.ask(recorder.shared.format(*roots), False)


def _overlap_of_arrays(first: Tensor, second: Tensor) -> Overlap:
    array, other = first.array, second.array
    if not numpy.may_share_memory(array, other):
        return Overlap.NONE
    if first.data_ptr() == second.data_ptr() and _same_steps(first.geometry, second.geometry):
        return Overlap.FULL
    try:
        shared = numpy.shares_memory(array, other, max_work=_MOST_WORK)  # type: ignore[arg-type]
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
