"""Rules for sizes and strides: which are valid, contiguous strides, and the order of dimensions in memory."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import SupportsIndex, cast

from opdsl.errors import DimensionError, ShapeError
from opdsl.runtime.device import MemoryFormat
from opdsl.runtime.lowering import sizes_are_symbols
from opdsl.runtime.symbols import is_symbolic

# Dimensions of a channels-last tensor, from the innermost in memory to the outermost.
CHANNELS_LAST_ORDERS = {
    MemoryFormat.channels_last: (1, 3, 2, 0),
    MemoryFormat.channels_last_3d: (1, 4, 3, 2, 0),
}

# The most bytes that fit 64 bits, and the most dimensions of a NumPy array.
_MOST_BYTES = 2**63 - 1
MOST_DIMENSIONS = 64


def check_sizes(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> None:
    """Check sizes and strides of a new tensor; every geometry is checked, before memory is allocated.

    Raises:
        ShapeError: a negative size, more dimensions than arrays support, or more bytes than fit 64 bits.

    >>> check_sizes((2**40, 2**40), (2**40, 1), 4)
    Traceback (most recent call last):
        ...
    opdsl.errors.ShapeError: Storage size calculation overflowed with sizes=[1099511627776, 1099511627776]
    """
    if not shape:
        return
    if min(shape) < 0:
        raise ShapeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    if len(shape) > MOST_DIMENSIONS:
        raise ShapeError(f"a tensor has at most {MOST_DIMENSIONS} dimensions, as arrays of NumPy (got {len(shape)})")
    elements, last = 1, 0
    for size, stride in zip(shape, strides, strict=True):
        if size:
            elements *= size
            last += (size - 1) * stride
    if max(elements, last + 1) * itemsize > _MOST_BYTES or max(strides) > _MOST_BYTES:
        reached = "" if strides == contiguous_strides(shape) else f" and strides={list(strides)}"
        raise ShapeError(f"Storage size calculation overflowed with sizes={list(shape)}{reached}")


def to_size(value: object) -> int:
    """Convert an index to a plain int, for use as size or step; keep symbolic integers (``torch.SymInt``).

    Raises:
        TypeError: the value is no index.
    """
    # operator.index of a symbolic integer would specialize the trace to the example's value.
    if type(value) is not int and is_symbolic(value):
        return cast("int", value)
    return operator.index(cast("SupportsIndex", value))


def wrap_dimension(dim: int, ndim: int) -> int:
    """Return a dimension counted from the front, for one that may be negative; without dimensions 0 and -1 mean 0.

    Raises:
        DimensionError: there is no such dimension.

    >>> wrap_dimension(-1, 3)
    2
    """
    least, most = (-ndim, ndim - 1) if ndim else (-1, 0)
    if not least <= dim <= most:
        raise DimensionError(f"Dimension out of range (expected to be in range of [{least}, {most}], but got {dim})")
    return dim + ndim if dim < 0 and ndim else max(dim, 0)


def number_of_elements(shape: Sequence[int]) -> int:
    """Return the number of elements of a shape, the product of its sizes.

    >>> number_of_elements((2, 3)), number_of_elements(())
    (6, 1)
    """
    return math.prod(shape)


def byte_strides(strides: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return strides in bytes, limited to 64 bits: strides of dimensions of size 1 do not matter and may be larger.

    >>> byte_strides((6, 2**62), 4) == (24, 2**63 - 1)
    True
    """
    if sizes_are_symbols():
        return tuple(stride * itemsize for stride in strides)
    return tuple(min(stride * itemsize, _MOST_BYTES) for stride in strides)


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a new contiguous tensor; sizes of 0 count as 1, as in PyTorch.

    >>> contiguous_strides((2, 0, 3))
    (3, 3, 1)
    """
    if len(shape) == 2:  # the most common case; the loop would take a tenth of a call's time
        return (shape[1] or 1, 1)
    strides = [1] * len(shape)
    for dim in range(len(shape) - 1, 0, -1):
        strides[dim - 1] = strides[dim] * (shape[dim] or 1)
    return tuple(strides)


def strides_for(shape: Sequence[int], memory_format: MemoryFormat) -> tuple[int, ...]:
    """Return the strides of a new tensor in a memory format.

    Raises:
        ShapeError: the format needs another number of dimensions, or is ``preserve_format``.

    >>> strides_for((2, 3, 4, 5), MemoryFormat.channels_last)
    (60, 1, 15, 3)
    """
    if memory_format is MemoryFormat.contiguous_format:
        return contiguous_strides(shape)
    order = CHANNELS_LAST_ORDERS.get(memory_format)
    if order is None:
        raise ShapeError("preserve_format needs a tensor whose strides are preserved; give another memory_format")
    if len(order) != len(shape):
        raise ShapeError(
            f"required rank {len(order)} tensor to use {memory_format.name} format (got {len(shape)} sizes)"
        )
    strides = [0] * len(shape)
    step = 1
    for dim in order:
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def is_contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether elements are in row-major order without gaps; strides of dimensions of size 1 do not matter.

    >>> is_contiguous((2, 1, 3), (3, 99, 1))
    True
    """
    if 0 in shape:
        return True
    step = 1
    for dim in range(len(shape) - 1, -1, -1):
        if shape[dim] != 1:
            follows = strides[dim] == step  # for symbols, `==` and `!=` may both be unknown, which counts as False
            if not follows:
                return False
            step *= shape[dim]
    return True


def is_non_overlapping_and_dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether elements fill their memory without gaps or overlap, for some order of the dimensions."""
    if 0 in shape:
        return True
    order = sorted((dim for dim in range(len(shape)) if shape[dim] != 1), key=strides.__getitem__)
    return is_dense_in_order(shape, strides, order)


def is_dense_in_order(shape: Sequence[int], strides: Sequence[int], order: Sequence[int]) -> bool:
    step = 1
    for dim in order:
        if shape[dim] != 1:
            follows = strides[dim] == step  # for symbols, `==` and `!=` may both be unknown, which counts as False
            if not follows:
                return False
            step *= shape[dim]
    return True


def suggest_memory_format(shape: Sequence[int], strides: Sequence[int]) -> MemoryFormat:
    for memory_format, order in CHANNELS_LAST_ORDERS.items():
        if len(order) == len(shape) and _strides_like_channels_last(shape, strides, order):
            return memory_format
    return MemoryFormat.contiguous_format


def _strides_like_channels_last(shape: Sequence[int], strides: Sequence[int], order: Sequence[int]) -> bool:
    """Return whether strides are channels-last (``is_channels_last_strides_2d_s4`` in c10/core/MemoryFormat.h)."""
    least = 0
    if strides[1] == 0:
        return False
    for dim in order:
        if shape[dim] == 0 or strides[dim] < least:
            return False
        # (N, 1, H, W) with the strides of a contiguous tensor is not channels-last.
        if dim == 0 and least == strides[1]:
            return False
        least = strides[dim]
        if shape[dim] > 1:
            least *= shape[dim]
    return True
