"""Sizes and strides of loops, packed as the structures ``Narrow`` and ``Wide`` of ``prelude.cuh``."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from operator import mul

from opdsl.backends.cuda.program import Constant

__all__ = ["divider", "is_narrow", "layout"]

_INT32 = 1 << 31


def is_narrow(sizes: Sequence[int], operands: Sequence[Sequence[int]]) -> bool:
    """Return whether 32 bits are enough for the byte offsets and point indices of a loop, with space for one more grid
    of threads beyond the last point.

    Args:
        sizes: sizes of the loop, innermost last.
        operands: the strides of each operand, in bytes.
    """
    if math.prod(sizes) >= _INT32:
        return False
    last = [size - 1 for size in sizes]
    return all(sum(map(mul, last, map(abs, operand))) < _INT32 for operand in operands)


def layout(sizes: Sequence[int], operands: Sequence[Sequence[int]]) -> Constant:
    """Pack the sizes and strides of a loop as a kernel parameter.

    Args:
        sizes: sizes of the loop, innermost last; empty for a single element.
        operands: the strides of each operand, in bytes.

    Returns:
        The structure; its C++ type gives the numbers of operands and dimensions, and the bits of an offset (32 or 64).
    """
    narrow = is_narrow(sizes, operands)
    inner_first = tuple(reversed(sizes)) or (1,)
    strides = [operand[-1 - d] if operand else 0 for d in range(len(inner_first)) for operand in operands]
    if narrow:
        words = [word for size in inner_first for word in divider(max(1, size))]
        content = struct.pack(f"{len(words)}I{len(strides)}i", *words, *strides)
    else:
        content = struct.pack(f"{len(inner_first)}Q{len(strides)}q", *inner_first, *strides)
    return Constant(content, f"{'Narrow' if narrow else 'Wide'}<{len(operands)}, {len(inner_first)}>")


def divider(divisor: int) -> tuple[int, int, int]:
    """Compute the multiplier and shift by which ``Divider`` in the prelude divides 32-bit numbers by a constant
    divisor.

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
