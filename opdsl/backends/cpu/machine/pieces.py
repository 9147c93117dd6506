"""Entry by which a plan's loop runs on the worker pool."""

from __future__ import annotations

from opdsl.backends.cpu.machine.call import Plan, run_after
from opdsl.backends.cpu.machine.language import Words, address_of, exported
from opdsl.backends.cpu.machine.objects import python
from opdsl.backends.cpu.machine.pool import pool_get_threads, pool_run

PIECES_FOR_EACH_THREAD = 4


@exported
def run_in_pieces(plan: Plan, frame: Words) -> None:
    """Run the plan's loop on the pool, without the GIL."""
    state = python.PyEval_SaveThread()
    threads = pool_get_threads()
    pieces = min(threads * PIECES_FOR_EACH_THREAD, max(1, (plan.elements + plan.grain - 1) // plan.grain))
    if pieces > threads:  # the same number for each thread
        pieces -= pieces % threads
    piece = (plan.elements + pieces - 1) // pieces
    piece = (piece + plan.unit - 1) // plan.unit * plan.unit
    pool_run(plan.loop, frame, plan.elements, piece, plan.keeps_pieces, address_of(plan.alone))
    run_after(plan, frame)
    python.PyEval_RestoreThread(state)
