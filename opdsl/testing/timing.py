"""Statements timed in turns: whatever else the machine does hits all sides of a comparison."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from timeit import Timer
from typing import NamedTuple

SECONDS_OF_A_TURN = 0.004  # long against the clock, short against what disturbs a machine
ROUNDS = 25
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


class Case(NamedTuple):
    """One line of a table.

    name: what is called.
    ours, theirs: statements, run in the benchmark's names.
    goal: the ratio to reach, None where none is stated.
    """

    name: str
    ours: str
    theirs: str
    goal: float | None = None


class Measured(NamedTuple):
    """What a case took, in seconds for each call; the ratio is ours to theirs."""

    name: str
    ours: float
    theirs: float
    ratio: float
    goal: float | None


# After these a call costs what it costs.
_FIRST_CALLS = 4


def compare(
    cases: Sequence[Case],
    names: Mapping[str, object],
    *,
    rounds: int = ROUNDS,
    clock: Callable[[], float] = time.perf_counter,
    seconds: float = SECONDS_OF_A_TURN,
) -> list[Measured]:
    """Time both sides of every case.

    Args:
        cases: what to time.
        names: the global names of the statements.
        rounds: how often each case has its turn; all cases go through a round before the next one begins.
        clock: seconds; ``time.process_time`` is for what runs on one thread of a machine that others use, too.
        seconds: how long a turn takes: more where a program would make the same call again and again.
    """
    timers = [
        (Timer(case.ours, timer=clock, globals=dict(names)), Timer(case.theirs, timer=clock, globals=dict(names)))
        for case in cases
    ]
    loops = [(_loops(ours, seconds), _loops(theirs, seconds)) for ours, theirs in timers]
    turns: list[list[tuple[float, float]]] = [[] for _ in cases]
    for turn in range(rounds):
        for index, (ours, theirs) in enumerate(timers):
            first, second = loops[index]
            # Each side is first as often as the other: a turn may warm, or cool, the next one.
            if turn % 2:
                pair = ours.timeit(first) / first, theirs.timeit(second) / second
            else:
                late = theirs.timeit(second) / second
                pair = ours.timeit(first) / first, late
            turns[index].append(pair)
    return [measured(case.name, pairs, case.goal) for case, pairs in zip(cases, turns, strict=True)]


def measured(name: str, pairs: Sequence[tuple[float, float]], goal: float | None) -> Measured:
    """Medians of the turns of one case."""
    ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    return Measured(name, ours, theirs, statistics.median(one / other for one, other in pairs), goal)


class Times(NamedTuple):
    """The seconds for each call in every turn of a statement."""

    turns: tuple[float, ...]

    @property
    def median(self) -> float:
        """Return the median of the turns."""
        return statistics.median(self.turns)

    @property
    def spread(self) -> float:
        """Return how far the middle half of the turns lies apart, as a share of the median.

        >>> Times((1.0, 2.0, 2.0, 3.0, 4.0)).spread
        1.0
        """
        first, _, third = statistics.quantiles(self.turns, n=4)
        return (third - first) / self.median


def times_in_turns(statements: Sequence[str], names: Mapping[str, object], *, rounds: int = ROUNDS) -> list[Times]:
    """Time statements in turns, each first as often as the others.

    Args:
        statements: run in ``names`` as their global names.
        names: the global names.
        rounds: how often each has its turn; 2 or more.

    >>> [times] = times_in_turns(["sum(numbers)"], {"numbers": range(10)}, rounds=3)
    >>> times.median > 0
    True
    """
    timers = [Timer(statement, globals=dict(names)) for statement in statements]
    loops = [_loops(timer) for timer in timers]
    turns: list[list[float]] = [[] for _ in timers]
    for turn in range(rounds):
        for shifted in range(len(timers)):
            index = (turn + shifted) % len(timers)
            turns[index].append(timers[index].timeit(loops[index]) / loops[index])
    return [Times(tuple(own)) for own in turns]


def shown(seconds: float) -> str:
    """A time with three digits.

    >>> shown(0.0000123)
    '12.3 µs'
    """
    scale, unit = next((unit for unit in _UNITS if seconds >= unit[0]), _UNITS[-1])
    value = seconds / scale
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{digits}f} {unit}"


def _loops(timer: Timer, seconds: float = SECONDS_OF_A_TURN) -> int:
    """How many calls fill a turn."""
    timer.timeit(_FIRST_CALLS)  # which compile, and make plans
    loops = 1
    while (taken := timer.timeit(loops)) < seconds / 2:
        loops = max(loops + 1, min(loops * 10, int(loops * seconds / max(taken, 1e-9))))
    return loops
