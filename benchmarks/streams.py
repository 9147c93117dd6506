"""Benchmark of calls whose numbers, lists, masks and shapes are ever new, or repeat in a cycle, compared with PyTorch.

Each kind of call is made 700 times, alternately on both sides, once with numbers that never repeat and once with a
cycle of 300 numbers (``--small``: 160 and 60). The report shows means, not medians, since a cliff at one call in ten
counts. Growth is the mean of calls 600 to 700 divided by that of calls 20 to 100. All kinds run in one process, one
after another, so that each finds the cached plans of the earlier ones.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
from collections.abc import Sequence
from time import perf_counter, process_time
from typing import NamedTuple

import numpy
import torch
from harness import Measured, Report, main
from harness.streams import STREAMS, Stream, timed_pairs

import opdsl

LIMITS = (1.2, 4.0, 1.5)  # greatest allowed values: geometric mean, worst ratio, growth
FIRST = 8  # the smallest number of a stream


class Windows(NamedTuple):
    """Ranges of the calls of a stream that are timed.

    cycle: the number of different numbers in streams that repeat.
    early, late: the first call and the call after the last.
    """

    cycle: int
    early: tuple[int, int]
    late: tuple[int, int]


FULL = Windows(300, (20, 100), (600, 700))
SMALL = Windows(60, (20, 60), (120, 160))


class Timed(NamedTuple):
    """Mean times of both sides, in seconds."""

    early: tuple[float, float]
    late: tuple[float, float]

    @property
    def ratio(self) -> float:
        """Return the ratio of opdsl to PyTorch, of late calls."""
        return self.late[0] / self.late[1]

    @property
    def growth(self) -> float:
        """Return the ratio of late to early calls, of opdsl."""
        return self.late[0] / self.early[0]


def numbers_of(windows: Windows, *, cycles: bool) -> list[int]:
    """Return the numbers of a stream, in random order."""
    count = windows.late[1]
    drawn = numpy.random.default_rng(1).permutation(windows.cycle if cycles else count) + FIRST
    return [int(drawn[at % len(drawn)]) for at in range(count)]


def _overhead() -> float:
    """Return the time that reading the clock takes."""
    taken = []
    for _ in range(1000):
        start = process_time()
        taken.append(process_time() - start)
    return statistics.median(taken)


def measure(stream: Stream, numbers: Sequence[int], windows: Windows) -> Timed:
    """Time single calls of both sides, by processor time since other programs may run."""
    nothing = _overhead()
    pairs = timed_pairs(stream, numbers, process_time)
    seconds = [(max(ours - nothing, 1e-8), max(theirs - nothing, 1e-8)) for ours, theirs in pairs]
    early, late = (tuple(map(statistics.fmean, zip(*seconds[first:last], strict=True))) for first, last in windows[1:])
    return Timed((early[0], early[1]), (late[0], late[1]))


def run() -> Report:
    """Measure all streams, with new numbers and with cycles."""
    torch.set_num_threads(1)
    opdsl.set_num_threads(1)
    gc.disable()
    windows = SMALL if CHOSEN.small else FULL
    report = Report("Streams of calls with other numbers, lists, masks and shapes", threads=1)
    streams = [stream for stream in STREAMS if not CHOSEN.kinds or any(word in stream.name for word in CHOSEN.kinds)]
    for heading, cycles in (("Ever new", False), (f"Cycles of {windows.cycle}", True)):
        numbers = numbers_of(windows, cycles=cycles)
        start = perf_counter()
        timed = {stream.name: measure(stream, numbers, windows) for stream in streams}
        rows = [Measured(name, *value.late, value.ratio, LIMITS[0]) for name, value in timed.items()]
        report.comparison(heading, rows, theirs="torch")
        report.mean_and_worst(rows, LIMITS[0])
        growing = sorted(timed, key=lambda name: -timed[name].growth)
        grown = [f"{name} {timed[name].growth:.2f}" for name in growing if timed[name].growth > LIMITS[2]]
        over = [name for name in timed if timed[name].ratio > LIMITS[1]]
        report.write(f"Over {LIMITS[1]}: {len(over)} of {len(timed)} ({', '.join(over) or 'none'}).")
        report.write(f"Grown by more than {LIMITS[2]}: {len(grown)} ({', '.join(grown) or 'none'}).")
        print(f"({perf_counter() - start:.0f} s)", file=sys.stderr)
    return report


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("kinds", nargs="*")
    CHOSEN, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    main(f"streams{'-small' * CHOSEN.small}", run)
