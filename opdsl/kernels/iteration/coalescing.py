"""Coalescing of neighboring dimensions, so that a loop has fewer and longer ones."""

from __future__ import annotations

from collections.abc import Sequence


def coalesce(
    sizes: Sequence[int], operands: Sequence[Sequence[int]]
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Merge neighboring dimensions that all operands step through as if they were one.

    Args:
        sizes: of the loop, innermost first.
        operands: the strides of each operand, innermost first.

    Returns:
        Sizes and strides innermost last, as compilers want them. Sizes of 1 are dropped; an empty loop is ``(0,)``.

    >>> coalesce((3, 2), [(4, 12), (4, 12)])
    ((6,), ((4,), (4,)))
    >>> coalesce((3, 2), [(8, 4)])
    ((2, 3), ((4, 8),))
    """
    if 0 in sizes:
        return (0,), tuple((0,) for _ in operands)
    merged: list[int] = []
    strides: list[list[int]] = [[] for _ in operands]
    for dim, size in enumerate(sizes):
        if size == 1:
            continue
        if merged:
            before = merged[-1]
            for mine, operand in zip(strides, operands, strict=True):
                if mine[-1] * before != operand[dim]:
                    break
            else:
                merged[-1] *= size
                continue
        merged.append(size)
        for mine, operand in zip(strides, operands, strict=True):
            mine.append(operand[dim])
    return tuple(merged[::-1]), tuple([tuple(mine[::-1]) for mine in strides])
