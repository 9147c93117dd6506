"""Where the elements of a loop lie, as the structures ``Narrow`` and ``Wide`` of ``prelude.cuh``."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence

from opdsl.backends.cuda.program import Constant

__all__ = ["divider", "is_narrow", "layout"]

_INT32 = 1 << 31


def is_narrow(sizes: Sequence[int], operands: Sequence[Sequence[int]]) -> bool:
    """Whether 32 bits hold every offset in bytes, and one more round of threads.

    Args:
        sizes: of the loop, innermost last.
        operands: the strides of each operand, in bytes.
    """
    if math.prod(sizes) >= _INT32:
        return False
    return all(low >= -_INT32 and high < _INT32 for low, high in (_reach(sizes, each) for each in operands))


def _reach(sizes: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """The smallest and the largest offset in bytes."""
    steps = [(size - 1) * stride for size, stride in zip(sizes, strides, strict=True) if size]
    return sum(min(step, 0) for step in steps), sum(max(step, 0) for step in steps)


def layout(sizes: Sequence[int], operands: Sequence[Sequence[int]]) -> Constant:
    """Sizes and strides as a kernel takes them.

    Args:
        sizes: of the loop, innermost last; none stands for a single element.
        operands: the strides of each operand, in bytes.

    Returns:
        The structure; its C++ type tells the number of operands and dimensions, and of how many bits offsets are.
    """
    narrow = is_narrow(sizes, operands)
    inner_first = tuple(reversed(sizes)) or (1,)
    strides = [each[-1 - d] if each else 0 for d in range(len(inner_first)) for each in operands]
    if narrow:
        words = [word for size in inner_first for word in divider(max(1, size))]
        content = bytes((ctypes.c_uint32 * len(words))(*words)) + bytes((ctypes.c_int32 * len(strides))(*strides))
    else:
        content = bytes((ctypes.c_uint64 * len(inner_first))(*inner_first))
        content += bytes((ctypes.c_int64 * len(strides))(*strides))
    return Constant(content, f"{'Narrow' if narrow else 'Wide'}<{len(operands)}, {len(inner_first)}>")


def divider(divisor: int) -> tuple[int, int, int]:
    """What ``Divider`` in the prelude needs to divide 32-bit numbers by one.

    Granlund and Montgomery, "Division by invariant integers using multiplication", PLDI 1994, figure 4.1.

    Args:
        divisor: from 1 to 2**31.

    Returns:
        The divisor, the multiplier and the shift.

    >>> divider(10)
    (10, 2576980378, 4)
    """
    shift = (divisor - 1).bit_length()
    return divisor, ((1 << 32) * ((1 << shift) - divisor) // divisor + 1) & 0xFFFFFFFF, shift
