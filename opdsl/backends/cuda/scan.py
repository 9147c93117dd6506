"""Scan programs: teams of threads scan rows tile by tile; long rows in parts, whose accumulators come first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from opdsl.backends.cuda.kernel import Team, team_kernel
from opdsl.backends.cuda.loop_program import THREADS, Taken, team_program
from opdsl.backends.cuda.reduction import ENOUGH_BLOCKS, ENOUGH_THREADS, Cut, floor_log, vector_of
from opdsl.backends.cuda.row import WARP, runs_along
from opdsl.kernels.loops import folding
from opdsl.kernels.loops.forms import by_form
from opdsl.kernels.loops.schedules import in_parts

if TYPE_CHECKING:
    from opdsl.backends.cuda.program import Program
    from opdsl.kernels.calls import RowCall, Scanning

__all__ = ["scan"]

_LOOPS = by_form(folding.scan)

# Neighbours that a lane holds, and tiles that are worth a part of their own.
_ITEMS_ALONG, _ITEMS_ACROSS = 8, 4
_TILES_OF_A_PART = 4


def scan(scanning: Scanning, call: RowCall) -> Program:
    """The program of a scan.

    Args:
        scanning: the monoid.
        call: where the operands lie.
    """
    form, loops, kept = cut(call), _LOOPS(scanning, call), len(call.kept)
    team = Team(form.along, 1, _ITEMS_ALONG if form.along else _ITEMS_ACROSS)
    if form.parts == 1:
        steps = [Taken(loops, team_kernel("scans", loops.program, kept, team), form.log)]
    else:
        first, second = in_parts(loops, form.parts, form.part)
        folds = Team(form.along, form.vector)
        steps = [
            Taken(first, team_kernel("parts", first.program, kept, folds), form.log, form.parts),
            Taken(second, team_kernel("scans", second.program, kept, team), form.log, form.parts),
        ]
    return team_program(steps, form.rows if form.elements else 0)


def cut(call: RowCall) -> Cut:
    """How a call is cut; a part is a number of whole tiles."""
    rows, count = math.prod(call.kept), call.length
    along = runs_along(call)
    items = _ITEMS_ALONG if along else _ITEMS_ACROSS
    shares = max(1, -(-count // items))
    widest = floor_log(THREADS if along else max(THREADS // WARP, THREADS // max(1, rows)))
    log = 0
    while log < widest and 1 << log < shares and (along or rows << log < ENOUGH_THREADS):
        log += 1
    tile = items << log
    tiles, blocks = -(-count // tile), -(-rows // (THREADS >> log))
    parts = max(1, min(-(-ENOUGH_BLOCKS // max(1, blocks)), tiles // _TILES_OF_A_PART))
    part = -(-tiles // parts) * tile
    vector = vector_of(call.inputs[0]) if along else 1
    return Cut(along, vector, rows, count, log, max(1, -(-count // max(1, part))), part)
