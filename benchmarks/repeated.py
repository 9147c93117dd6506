"""Benchmark of the first repetitions of a program in fresh processes, with a warm kernel cache.

A small GPT decodes for the first time in a process; training steps are repeated until they cost what they will cost.
Times are of the processor, without imports of the libraries themselves.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from harness import Measured, Report, main
from harness.models import MODELS

from opdsl.testing.timing import shown

TOKENS = (16, 64, 256)
ROUNDS = 5
DECODING_LIMIT, STEPS_LIMIT = 3.0, 2
# A step costs what it will cost if it takes at most this multiple of the median of the later half.
SETTLED = 1.5


def repeated(*arguments: str) -> list[float]:
    """Return the seconds of each repetition in a fresh process."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", "harness.repeated", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, env=variables, cwd=Path(__file__).parent)
    seconds: list[float] = json.loads(done.stdout)
    return seconds


def decodings(report: Report) -> None:
    """Add the tables of the first decoding of a process and of its third."""
    firsts, thirds = [], []
    for count in TOKENS:
        repeated("decoding", "opdsl", str(count))  # fills the kernel cache
        pairs = [
            (repeated("decoding", "opdsl", str(count)), repeated("decoding", "torch", str(count)))
            for _ in range(ROUNDS)
        ]
        for rows, at, goal in ((firsts, 0, DECODING_LIMIT), (thirds, -1, 1.0)):
            ours, theirs = (statistics.median(pair[side][at] for pair in pairs) for side in (0, 1))
            rows.append(Measured(f"{count} tokens", ours, theirs, ours / theirs, goal))
    report.comparison("The first decoding of a process", firsts, theirs="torch")
    report.comparison("The third", thirds, theirs="torch")


def settled_after(seconds: list[float]) -> int:
    """Return how many steps come before the first one that costs about what those of the later half cost.

    >>> settled_after([9.0, 5.0, 1.1, 1.0, 1.2, 1.0])
    2
    """
    usual = statistics.median(seconds[len(seconds) // 2 :])
    return next(at for at, taken in enumerate(seconds) if taken <= SETTLED * usual)


def steps(report: Report) -> None:
    """Add the table of the first steps of training."""
    columns = ("", "steps before", "goal", "first five", "usual", "dearest later one")
    report.write("", "## Training steps until they cost what they will cost", "")
    report.write(f"| {' | '.join(columns)} |", "|---|---:|---:|---|---:|---:|")
    names = [(model.name, ("step", "opdsl", str(index))) for index, model in enumerate(MODELS)]
    for name, arguments in [*names, ('Llama, torch.compile(backend="opdsl")', ("llama", "opdsl"))]:
        repeated(*arguments)  # fills the kernel cache
        seconds = repeated(*arguments)
        count, first = settled_after(seconds), ", ".join(map(shown, seconds[:5]))
        later = shown(statistics.median(seconds[len(seconds) // 2 :])), shown(max(seconds[count:]))
        report.write(f"| {name} | {count} | {STEPS_LIMIT} | {first} | {' | '.join(later)} |")


def run() -> Report:
    """Measure decodings and steps."""
    report = Report("First repetitions", threads=1)
    decodings(report)
    steps(report)
    return report


if __name__ == "__main__":
    main("repeated", run)
