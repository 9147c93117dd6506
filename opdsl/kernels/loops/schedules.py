"""Schedules: functions from loops to loops that do the same, in another way."""

from __future__ import annotations

import attrs

from opdsl.kernels.loops.model import Fold, For, Program, Scan, Statement, Update, blocks_of

__all__ = ["serial", "shared", "threaded", "updates", "vectorised"]


def shared(program: Program, lanes: int) -> Program:
    """Several threads for each point of the outermost loops: they share its folds, scans and inner loops.

    Where there is nothing to share the program stays as it is.
    """
    _, body = program.points
    is_shared = any(isinstance(each, Fold) or (isinstance(each, Scan) and each.is_associative) for each in body)
    is_ordered = any(isinstance(each, Scan) and not each.is_associative for each in body)
    return attrs.evolve(program, lanes=lanes) if is_shared and not is_ordered else program


def threaded(program: Program, count: int) -> Program:
    """A thread for each point of so many of the outermost loops; it goes through those within one after another."""
    return attrs.evolve(program, threaded=count)


def serial(program: Program) -> Program:
    """One thread for everything, so that what is updated needs no atomics."""
    return attrs.evolve(program, is_serial=True, lanes=1)


def vectorised(program: Program, count: int) -> Program:
    """A thread for so many neighbours along the last of the outermost loops: it loads and stores them together."""
    depth = len(program.points[0])

    def within(body: tuple[Statement, ...], left: int) -> tuple[Statement, ...]:
        (loop,) = body
        assert isinstance(loop, For), "what is shared out are loops"
        if left > 1:
            return (attrs.evolve(loop, body=within(loop.body, left - 1)),)
        return (attrs.evolve(loop, vector=count),)

    return attrs.evolve(program, body=within(program.body, depth)) if depth and count > 1 else program


def updates(statements: tuple[Statement, ...]) -> tuple[Update, ...]:
    """The updates of statements, also those within others."""
    found: tuple[Update, ...] = ()
    for each in statements:
        found += (each,) if isinstance(each, Update) else ()
        for block in blocks_of(each):
            found += updates(block)
    return found
