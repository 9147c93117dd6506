"""Order in which the steps of a program must run, by the memory that they read and write."""

from __future__ import annotations

from collections.abc import Iterator

from opdsl.programs.memory import Memory
from opdsl.programs.program import Program

__all__ = ["order_marks", "written_later"]


def order_marks(program: Program) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """Yield, for each step, the ordering marks of earlier steps that it must follow, and the marks that it sets.

    Marks keep reads of memory before or after writes to it, and random numbers in order.
    """
    memory = Memory(program)
    latest: dict[str, str] = {}
    since: dict[str, list[str]] = {}
    for place, step in enumerate(program.steps):
        kinds = [*sorted(memory.of(step.reads) & memory.written), *(["random"] if step.is_random else [])]
        mark = f"@{place}"
        after = [latest[kind] for kind in kinds if kind in latest]
        changed = memory.of(step.written) | {"random"}
        for kind in kinds:
            if kind in changed:
                after += since.pop(kind, [])
                latest[kind] = mark
            else:
                since.setdefault(kind, []).append(mark)
        yield frozenset(after), frozenset((mark,)) if kinds else frozenset()


def written_later(program: Program) -> frozenset[int]:
    """Return the indices of steps that read or compute a tensor which a later step writes.

    Arguments count as separate memory: this serves a choice among programs that are all correct.
    """
    memory = Memory(program, shares_arguments=False)
    written: frozenset[str] = frozenset()
    places: set[int] = set()
    for place, step in reversed(tuple(enumerate(program.steps))):
        if memory.of(step.reads | step.result_names) & written:
            places.add(place)
        written |= memory.of(step.written)
    return frozenset(places)
