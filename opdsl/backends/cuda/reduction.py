"""Reduction programs: teams of threads fold rows; long rows are cut into parts, which a second kernel folds.

How a call is cut depends on its geometry alone, so that it gives the same bits on every card.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from opdsl.backends.cuda.kernel import Team, team_kernel
from opdsl.backends.cuda.loop_program import THREADS, Taken, team_program
from opdsl.kernels.loops import folding as folds
from opdsl.kernels.loops.forms import by_form
from opdsl.kernels.loops.schedules import in_parts

if TYPE_CHECKING:
    from opdsl.backends.cuda.program import Program
    from opdsl.kernels.calls import Folding, OperandSpec, ReductionCall

__all__ = ["reduction"]

_LOOPS = by_form(folds.reduction)

WARP = 32

# Threads that keep a large card busy, and the blocks that do.
ENOUGH_THREADS = 1 << 17
ENOUGH_BLOCKS = 1024

_LARGEST_VECTOR = 16
_MOST_ELEMENTS = 8

# Loads of a lane that are worth a lane, and a part, of their own.
_LOADS_OF_A_LANE = 4
_LOADS_OF_A_PART = 16


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


def reduction(folding: Folding, call: ReductionCall) -> Program:
    """The program of a reduction.

    Args:
        folding: the monoid.
        call: where the operands lie.
    """
    loops = _LOOPS(folding, call)
    form = cut(call, in_order=folding.in_order)
    team, kept = Team(form.along, form.vector), len(call.kept)
    if form.parts == 1:
        steps = [Taken(loops, team_kernel("whole", loops.program, kept, team), form.log)]
    else:
        first, second = in_parts(loops, form.parts, form.part)
        log = (min(THREADS, form.parts) - 1).bit_length()
        steps = [
            Taken(first, team_kernel("parts", first.program, kept, team), form.log, form.parts),
            Taken(second, team_kernel("rest", second.program, kept, Team(True, 1)), log),
        ]
    return team_program(steps, form.rows)


def cut(call: ReductionCall, *, in_order: bool) -> Cut:
    """How a call is cut."""
    rows, count = math.prod(call.kept), math.prod(call.reduced)
    first = max(call.inputs, key=lambda each: sum(map(bool, each.strides or ())))
    strides = first.strides or ()
    inner = abs(strides[-1]) if call.reduced else 0
    beside = abs(strides[len(call.kept) - 1]) if call.kept else inner
    along = inner <= beside
    vector = vector_of(first) if along and len(call.inputs) == len(call.reduced) == 1 else 1
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


def vector_of(spec: OperandSpec) -> int:
    """How many elements along the last dimension are loaded at once."""
    size = spec.dtype.itemsize
    return max(1, min(_LARGEST_VECTOR // size, _MOST_ELEMENTS)) if spec.strides and spec.strides[-1] == size else 1


def floor_log(value: int) -> int:
    """The largest power of two that a whole number has room for.

    >>> floor_log(1), floor_log(7), floor_log(8)
    (0, 2, 3)
    """
    return value.bit_length() - 1
