"""Row programs: a team of threads computes each row of a row function, stage by stage.

Elements of rows that are short enough are held in registers, so that memory is read once and what costs much is
computed once. Longer rows are read again for every stage, tile by tile.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, NamedTuple

from opdsl.backends.cuda.kernel import Team, team_kernel
from opdsl.backends.cuda.loop_program import THREADS, Taken, team_program
from opdsl.kernels.loops import rows
from opdsl.kernels.loops.forms import by_form
from opdsl.scalar.rows import row_program

if TYPE_CHECKING:
    from opdsl.backends.cuda.program import Program
    from opdsl.kernels.calls import RowCall
    from opdsl.scalar.graph import TypedGraph
    from opdsl.scalar.rows import RowProgram, Stage

__all__ = ["row"]

_LOOPS = by_form(rows.row)

WARP = 32

# Elements of a row that a lane holds, and the registers that all of its elements may take.
_ITEMS = (4, 16, 32)
_REGISTERS = 96

_LARGEST_VECTOR = 16
_MOST_ELEMENTS = 8


class Cut(NamedTuple):
    """How a row call is cut.

    team: see there.
    log: lanes of a team, as a power of two.
    """

    team: Team
    log: int


def row(graph: TypedGraph, call: RowCall) -> Program:
    """The program of a row function.

    Args:
        graph: the function; its first parameters are those of the arrays, the others those of the numbers.
        call: where the operands lie.
    """
    form = cut(graph, call)
    loops = _LOOPS(graph, call, keep=not form.team.tiled)
    kernel = team_kernel("rows", loops.program, len(call.kept), form.team)
    return team_program([Taken(loops, kernel, form.log)], math.prod(call.kept))


def cut(graph: TypedGraph, call: RowCall) -> Cut:
    """How a call is cut."""
    arrays = [spec for spec in (*call.inputs, *call.outputs) if spec.strides]
    along = runs_along(call)
    largest = max(spec.dtype.itemsize for spec in arrays)
    vector = max(1, min(_LARGEST_VECTOR // largest, _MOST_ELEMENTS)) if along else 1
    widest = THREADS if along else THREADS // WARP
    for items in _ITEMS:
        held = max(items, vector)
        lanes = 1 << (-(-call.length // held) - 1).bit_length() if call.length else 1
        # A few elements for each lane of a warp, or many for each lane of a block.
        enough = lanes <= (WARP if items == _ITEMS[0] else widest)
        if enough and lanes <= widest and held * _words(graph, call) <= _REGISTERS:
            return Cut(Team(along, vector, held), lanes.bit_length() - 1)
    return Cut(Team(along, vector, max(_ITEMS[0], vector), True), widest.bit_length() - 1)


def runs_along(call: RowCall) -> bool:
    """Whether neighbours in a row lie closer than rows do, in the operand that steps the least."""

    def closest(place: int) -> int:
        steps = [abs(each.strides[place]) for each in (*call.inputs, *call.outputs) if each.strides]
        return min((step for step in steps if step), default=0)

    return not call.kept or call.length == 1 or closest(-1) <= closest(-2)


def _words(graph: TypedGraph, call: RowCall) -> int:
    """How many registers an element takes in all operands, and in what is kept of it."""
    specs = [spec for spec in (*call.inputs, *call.outputs[:1]) if spec.strides]
    program = _program(graph, sum(spec.strides is not None for spec in call.inputs))
    kept = sum(_kept_size(stage) for stage in program.stages)
    return sum(-(-spec.dtype.itemsize // 4) for spec in specs) + kept


def _kept_size(stage: Stage) -> int:
    return sum(-(-kind.bits // 32) for kind in stage.graph.result_types[len(stage.folds) :])


@functools.lru_cache(maxsize=1024)
def _program(graph: TypedGraph, arrays: int) -> RowProgram:
    return row_program(graph, arrays, keep=True)
