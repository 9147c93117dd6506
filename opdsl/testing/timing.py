"""Benchmark timer that runs statements alternately, so that disturbances of the machine affect all sides of a
comparison.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from timeit import Timer
from typing import NamedTuple

SECONDS_OF_A_TURN = 0.004  # long compared to the clock's resolution, short compared to disturbances
ROUNDS = 25
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


class Case(NamedTuple):
    """Row of a benchmark table.

    name: of the row.
    ours, theirs: statements, run with the benchmark's global names.
    goal: the ratio to reach, None where none is stated.
    """

    name: str
    ours: str
    theirs: str
    goal: float | None = None


class Measured(NamedTuple):
    """Measurement of a case: seconds per call for both sides, and their ratio, ours to theirs."""

    name: str
    ours: float
    theirs: float
    ratio: float
    goal: float | None


# Number of warm-up calls.
_FIRST_CALLS = 4


def compare(
    cases: Sequence[Case],
    names: Mapping[str, object],
    *,
    rounds: int = ROUNDS,
    clock: Callable[[], float] = time.perf_counter,
    seconds: float = SECONDS_OF_A_TURN,
) -> list[Measured]:
    """Time both sides of every case alternately.

    Args:
        cases: the statements to time.
        names: the global names of the statements.
        rounds: how often each case is timed; all cases run in a round before the next one begins.
        clock: returns seconds; ``time.process_time`` suits single-threaded code on a shared machine.
        seconds: how long one timing takes; longer for calls that a program would repeat.
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
            # The sides alternate in being first, since one timing may influence the next one.
            if turn % 2:
                pair = ours.timeit(first) / first, theirs.timeit(second) / second
            else:
                late = theirs.timeit(second) / second
                pair = ours.timeit(first) / first, late
            turns[index].append(pair)
    return [measured(case.name, pairs, case.goal) for case, pairs in zip(cases, turns, strict=True)]


def measured(name: str, pairs: Sequence[tuple[float, float]], goal: float | None) -> Measured:
    """Return the medians of the timings of one case."""
    ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    return Measured(name, ours, theirs, statistics.median(one / other for one, other in pairs), goal)


class Times(NamedTuple):
    """Seconds per call of a statement, for every timing."""

    turns: tuple[float, ...]

    @property
    def median(self) -> float:
        """Return the median of the timings."""
        return statistics.median(self.turns)

    @property
    def spread(self) -> float:
        """Return the interquartile range of the timings, relative to the median.

        >>> Times((1.0, 2.0, 2.0, 3.0, 4.0)).spread
        1.0
        """
        first, _, third = statistics.quantiles(self.turns, n=4)
        return (third - first) / self.median


def times_in_turns(statements: Sequence[str], names: Mapping[str, object], *, rounds: int = ROUNDS) -> list[Times]:
    """Time statements alternately, each of which is first in a round equally often.

    Args:
        statements: run with ``names`` as their global names.
        names: the global names.
        rounds: how often each is timed; 2 or more.

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
    """Format a time with three digits and its unit.

    >>> shown(0.0000123)
    '12.3 µs'
    """
    scale, unit = next((unit for unit in _UNITS if seconds >= unit[0]), _UNITS[-1])
    value = seconds / scale
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{digits}f} {unit}"


def _loops(timer: Timer, seconds: float = SECONDS_OF_A_TURN) -> int:
    """Return the number of calls that fill the duration of one timing."""
    timer.timeit(_FIRST_CALLS)  # compile and make plans
    loops = 1
    while (taken := timer.timeit(loops)) < seconds / 2:
        loops = max(loops + 1, min(loops * 10, int(loops * seconds / max(taken, 1e-9))))
    return loops
