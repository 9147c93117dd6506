"""Strides: of operands in a loop, the order of the loop's dimensions, and the strides of new outputs.

The rules are those of ``TensorIteratorBase`` in ATen/TensorIterator.cpp (``compute_strides``, ``reorder_dimensions``,
``compatible_stride``, ``compute_fast_setup_type``), so that results have the same memory layout as PyTorch's.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

from opdsl.runtime.device import MemoryFormat
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.strides import contiguous_strides, strides_for

Shape = tuple[int, ...]
Strides = tuple[int, ...]


def steps(geometry: TensorMeta, shape: Shape) -> Strides:
    """Return an operand's stride in bytes along each dimension of ``shape``, 0 where it is broadcast."""
    itemsize = geometry.dtype.itemsize
    if geometry.ndim == len(shape) and all(map(operator.is_, geometry.shape, shape)):
        return tuple([stride * itemsize for stride in geometry.strides])
    missing = len(shape) - geometry.ndim
    dimensions = zip(geometry.shape, geometry.strides, shape[missing:], strict=True)
    strides = [0 if size == 1 and wanted != 1 else stride * itemsize for size, stride, wanted in dimensions]
    return (*(0,) * missing, *strides)


def loop_order(shape: Shape, operands: Sequence[Strides]) -> tuple[int, ...]:
    """Return the dimensions in the order in which a loop should run over them, innermost first.

    Args:
        shape: sizes of the loop.
        operands: the strides of each operand, the most important operand first.

    >>> loop_order((2, 3), [(12, 4)]), loop_order((2, 3), [(4, 8)])
    ((1, 0), (0, 1))
    """
    order = list(range(len(shape) - 1, -1, -1))
    # Insertion sort, as in PyTorch: the comparison is no total order, since broadcast dimensions compare as undecided,
    # and the resulting order of such dimensions decides the strides that users see.
    for index in range(1, len(order)):
        moving = index
        for before in range(index - 1, -1, -1):
            verdict = _compare(shape, operands, order[before], order[moving])
            if verdict > 0:
                order[before], order[moving] = order[moving], order[before]
                moving = before
            elif verdict < 0:
                break
    return tuple(order)


def _compare(shape: Shape, operands: Sequence[Strides], first: int, second: int) -> int:
    """Compare two dimensions: positive if ``first`` should run outside of ``second``, negative if inside, 0 if
    undecided.
    """
    for strides in operands:
        one, other = strides[first], strides[second]
        if one == 0 or other == 0:
            continue
        if one != other:
            return -1 if one < other else 1
        if shape[first] > shape[second]:
            return 1
    return 0


def strides_in_order(shape: Sequence[int], order: Sequence[int]) -> Strides:
    """Return the strides, in elements, of a new dense array whose dimensions are in ``order``, innermost first.

    >>> strides_in_order((2, 3), (0, 1))
    (1, 2)
    """
    if tuple(order) == tuple(range(len(shape) - 1, -1, -1)):
        return contiguous_strides(shape)
    strides = [0] * len(shape)
    step = 1
    for dim in order:
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def dense_strides(geometry: TensorMeta) -> Strides:
    """Return the strides, in elements, of a copy that preserves the memory layout (``at::infer_dense_strides``).

    They are the tensor's own where it is dense.
    """
    if geometry.is_non_overlapping_and_dense():
        return geometry.strides
    shape = geometry.shape
    return strides_in_order([size or 1 for size in shape], loop_order(shape, [geometry.strides]))


def output_strides(shape: Shape, operands: Sequence[TensorMeta]) -> Strides:
    """Return the strides, in elements, of a new output of a pointwise loop.

    Args:
        shape: the broadcast shape.
        operands: given outputs, which keep their strides, then the inputs; wrapped numbers as zero-dim tensors.
    """
    common = _common_strides(shape, operands)
    if common is not None:
        return common
    return strides_in_order(shape, loop_order(shape, [steps(operand, shape) for operand in operands]))


def _common_strides(shape: Shape, operands: Sequence[TensorMeta]) -> Strides | None:
    """Return the strides that all operands share, so that no order has to be computed; None if they differ."""
    for operand in operands:
        if operand.ndim != len(shape) or operand.shape != shape:
            return None
    if all(map(TensorMeta.is_contiguous, operands)):
        return contiguous_strides(shape)
    if all(operand.is_contiguous(MemoryFormat.channels_last) for operand in operands):
        return strides_for(shape, MemoryFormat.channels_last)
    last = operands[-1].strides
    if all(operand.is_non_overlapping_and_dense() and operand.strides == last for operand in operands):
        return last
    return None
