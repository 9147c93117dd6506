"""Reduction programs: teams of threads fold rows; long rows are cut into parts, which a second kernel folds.

How a call is cut depends on its geometry alone, so that it gives the same bits on every card.
"""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, NamedTuple

from opdsl.backends.cuda.kernel import Team, team_kernel
from opdsl.backends.cuda.loop_program import THREADS, arguments_of, source_of
from opdsl.backends.cuda.program import Launch, Program, Scratch, Variant, long_long, packed
from opdsl.kernels.loops import folding as folds
from opdsl.kernels.loops.making import number_of
from opdsl.kernels.loops.schedules import in_parts

if TYPE_CHECKING:
    from opdsl.kernels.calls import Folding, ReductionCall
    from opdsl.kernels.loops import model

__all__ = ["reduction"]

WARP = 32

# Threads that keep a large card busy, and the blocks that do.
ENOUGH_THREADS = 1 << 17
ENOUGH_BLOCKS = 1024

_LARGEST_VECTOR = 16
_MOST_ELEMENTS = 8

# Loads of a lane that are worth a lane, and a part, of their own.
_LOADS_OF_A_LANE = 4
_LOADS_OF_A_PART = 16

# Of arrays in scratch memory, in bytes.
_ALIGNMENT = 16


class Cut(NamedTuple):
    """How a reduction is cut.

    along: whether the lanes of a team take elements that follow each other; otherwise teams do.
    vector: elements that are loaded at once.
    rows, elements: kept elements, and elements that are folded into each.
    log: lanes of a team, as a power of two.
    parts: of a row.
    part: elements of one.
    """

    along: bool
    vector: int
    rows: int
    elements: int
    log: int
    parts: int
    part: int

    @property
    def blocks(self) -> int:
        """That take all rows once."""
        return -(-self.rows // (THREADS >> self.log))


def reduction(folding: Folding, call: ReductionCall) -> Program:
    """The program of a reduction.

    Args:
        folding: the monoid.
        call: where the operands lie.
    """
    loops = folds.reduction(folding, call)
    form = cut(call, in_order=folding.in_order)
    team, kept = Team(form.along, form.vector), len(call.kept)
    number = number_of(loops)
    if form.parts == 1:
        kernels = [(loops, team_kernel("whole", loops.program, kept, team), form.blocks, form.parts, form.log)]
    else:
        first, second = in_parts(loops, form.parts, form.part)
        number = number_of(first)
        log = (min(THREADS, form.parts) - 1).bit_length()
        finish = -(-form.rows // (THREADS >> log))
        kernels = [
            (first, team_kernel("parts", first.program, kept, team), form.blocks, form.parts, form.log),
            (second, team_kernel("rest", second.program, kept, Team(True, 1)), finish, 1, log),
        ]
    scratch, size = _scratch(kernels[0][0].program, form.rows * form.parts)
    launches, layouts = [], []
    for own, kernel, blocks, parts, log in kernels:
        arguments, forms = arguments_of(own, kernel, number, scratch)
        layouts.append(forms)
        counts = (long_long(form.rows), packed("int", ctypes.c_int(log)))
        launches.append(Launch(kernel.entry, (blocks, parts, 1), (THREADS, 1, 1), (*arguments, *counts)))
    source = source_of(loops, tuple(kernel for _, kernel, *_ in kernels), layouts, THREADS)
    return Program(source, len(loops.arguments), (Variant(1, tuple(launches) if form.rows else ()),), size)


def _scratch(program: model.Program, count: int) -> tuple[list[Scratch], int]:
    """Where arrays of so many elements lie in scratch memory, and how much of it they take."""
    found, end = [], 0
    for each in program.scratch:
        found.append(Scratch(end))
        end += -(-count * each.dtype.itemsize // _ALIGNMENT) * _ALIGNMENT
    return found, end


def cut(call: ReductionCall, *, in_order: bool) -> Cut:
    """How a call is cut."""
    rows, count = math.prod(call.kept), math.prod(call.reduced)
    strides, size = call.input.strides or (), call.input.dtype.itemsize
    inner = abs(strides[-1]) if call.reduced else 0
    beside = abs(strides[len(call.kept) - 1]) if call.kept else inner
    along = inner <= beside
    contiguous = along and len(call.reduced) == 1 and strides[-1] == size
    vector = max(1, min(_LARGEST_VECTOR // size, _MOST_ELEMENTS)) if contiguous else 1
    loads = -(-count // vector)
    log = floor_log(max(1, loads // _LOADS_OF_A_LANE))
    widest = floor_log(THREADS) if along else floor_log(max(THREADS // WARP, THREADS // max(1, rows)))
    log = min(log, widest)
    if not along:
        log = 0
    while log < widest and 2 << log <= loads and rows << log < ENOUGH_THREADS:
        log += 1
    blocks = -(-rows // (THREADS >> log))
    parts = max(1, min(-(-ENOUGH_BLOCKS // max(1, blocks)), loads // (_LOADS_OF_A_PART << log)))
    part = -(-loads // parts) * vector
    return Cut(along, vector, rows, count, log, max(1, -(-count // max(1, part))), part)


def floor_log(value: int) -> int:
    """The largest power of two that a whole number has room for.

    >>> floor_log(1), floor_log(7), floor_log(8)
    (0, 2, 3)
    """
    return value.bit_length() - 1
