"""Structure of kernels, from which backends choose schedules."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING

from opdsl.kernels.kernel import Fold, Index, Kernel, Read, Scan, loops_behind, ranges_of, sources_behind

if TYPE_CHECKING:
    from opdsl.kernels.kernel import Operand, Write

__all__ = ["Structure", "scatters", "structure_of"]


class Structure(Enum):
    """Structure of a kernel that schedules are made for."""

    ELEMENTS = "each point has an element of each operand"
    GATHER = "as elements, but one operand is indexed along dimensions whose sizes and strides are operands"
    FOLD = "each point is one fold, followed by what is computed of its results"
    ROWS = "each point is a row: folds along it, and elements that depend on them"
    SCAN = "each point is a scan along a row"
    INDICES = "each point reads, folds at most once, and writes, at computed indices"
    ANY = "none of these"


@lru_cache(maxsize=4096)
def structure_of(kernel: Kernel) -> Structure:
    """Return the structure of a kernel."""
    for operand in kernel.operands:
        if operand.dims:
            if operand.extents:
                return Structure.GATHER
            return Structure.INDICES if _is_simple(kernel) else Structure.ANY
    names, packs = tuple(axis.name for axis in kernel.ranges), tuple(axis.is_pack for axis in kernel.ranges)
    is_whole = all(operand.ranges == names for operand in _arrays(kernel, outputs=False))
    if not kernel.loops and packs == (True,) and is_whole and _writes_all(kernel, names):
        return Structure.ELEMENTS
    if len(names) != 2 or kernel.points[:1] != names[:1] or not is_whole:
        return Structure.ANY
    if packs == (True, True) and _is_one_fold(kernel, names):
        return Structure.FOLD
    if packs == (True, False) and _are_rows(kernel, names[1]):
        return Structure.ROWS
    if packs == (True, False) and _is_one_scan(kernel, names):
        return Structure.SCAN
    return Structure.ANY


def scatters(kernel: Kernel) -> bool:
    """Return whether a kernel writes at computed indices."""
    return any(write.at for write in kernel.writes)


def _arrays(kernel: Kernel, *, outputs: bool) -> list[Operand]:
    written = kernel.outputs
    return [
        operand
        for operand in kernel.operands
        if operand.name not in kernel.numbers and (operand.name in written) is outputs
    ]


def _writes_all(kernel: Kernel, names: Sequence[str]) -> bool:
    """Return whether all writes are at the indices of ranges, and outputs have these alone."""
    return all(kernel.operand(write.operand).ranges == tuple(names) for write in kernel.writes)


def _uses_index(kernel: Kernel, name: str) -> bool:
    return any(isinstance(source, Index) and name in source.ranges for source in kernel.sources)


def _is_one_fold(kernel: Kernel, names: Sequence[str]) -> bool:
    """Return whether each point is one fold over all that it reads, followed by writes at the point."""
    folds = [loop for loop in kernel.loops if isinstance(loop, Fold) and loop.over == tuple(names[1:])]
    if len(kernel.loops) != 1 or len(folds) != 1 or not _writes_all(kernel, names[:1]) or _uses_index(kernel, names[0]):
        return False
    finish = sources_behind(kernel, [write.value for write in kernel.writes])
    return not any(isinstance(kernel.sources[at], Read) for at in finish)


def _are_rows(kernel: Kernel, row: str) -> bool:
    """Return whether all loops are folds along the row, none of them in another."""
    are_folds = all(isinstance(loop, Fold) and loop.over == (row,) and not loop.in_order for loop in kernel.loops)
    points = frozenset(kernel.points)
    return (
        are_folds
        and bool(kernel.loops)
        and all(ranges_of(kernel, loop) <= points for loop in kernel.loops)
        and not any(_uses_index(kernel, name) for name in points)
        and all(_is_at_row(kernel, write, row) for write in kernel.writes)
    )


def _is_at_row(kernel: Kernel, write: Write, row: str) -> bool:
    """Return whether a write is an element of a row, or a result for the row as a whole."""
    own = kernel.operand(write.operand).ranges
    return own in (kernel.points, (*kernel.points, row)) and ranges_of(kernel, write) == {*own}


def _is_one_scan(kernel: Kernel, names: Sequence[str]) -> bool:
    """Return whether each point is one scan along the row, and every element that is written depends on it."""
    return (
        len(kernel.loops) == 1
        and isinstance(kernel.loops[0], Scan)
        and _writes_all(kernel, names)
        and all([*loops_behind(kernel, write.needs)] for write in kernel.writes)
        and not _uses_index(kernel, names[0])
    )


def _is_simple(kernel: Kernel) -> bool:
    """Return whether a point makes all reads, folds at most once, and then writes at the point; or all its writes are
    at computed indices.
    """
    points = frozenset(kernel.points)
    if not points or len(kernel.loops) > 1 or any(ranges_of(kernel, write) != points for write in kernel.writes):
        return False
    if not kernel.loops:
        return not scatters(kernel) or len(kernel.outputs) == 1
    finish = sources_behind(kernel, [write.value for write in kernel.writes])
    reads_later = any(isinstance(kernel.sources[at], Read) for at in finish)
    return isinstance(kernel.loops[0], Fold) and not reads_later and not scatters(kernel)
