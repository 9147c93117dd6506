"""Entries of a profile: one for each call, plan and compile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Entry", "self_seconds"]


class Entry(NamedTuple):
    """Timed event of a profile.

    kind: ``call``, ``plan`` or ``compile``.
    name: of the operator, or of the plan or kernel.
    start: by ``time.perf_counter``.
    seconds: duration.
    thread: the identifier of its thread.
    shapes: of the tensors among the arguments.
    memory: bytes in use after it, by device; empty if memory is not recorded.
    """

    kind: str
    name: str
    start: float
    seconds: float
    thread: int
    shapes: tuple[str, ...] = ()
    memory: tuple[tuple[str, int], ...] = ()


def self_seconds(entries: Iterable[Entry]) -> list[float]:
    """Return for each entry its duration without the entries nested in it in the same thread.

    Args:
        entries: in the order of their ends.

    >>> inner, outer = Entry("call", "mm", 1.0, 2.0, 0), Entry("call", "matmul", 0.5, 3.0, 0)
    >>> self_seconds([inner, outer])
    [2.0, 1.0]
    """
    outermost: dict[int, list[Entry]] = {}
    results = []
    for entry in entries:
        earlier = outermost.setdefault(entry.thread, [])
        seconds = entry.seconds
        # An earlier entry that ended after this one began is nested in it.
        while earlier and earlier[-1].start + earlier[-1].seconds > entry.start:
            seconds -= earlier.pop().seconds
        earlier.append(entry)
        results.append(max(0.0, seconds))
    return results
