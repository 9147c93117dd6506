"""Benchmark of whole networks in PyTorch: eager, inductor and ``torch.compile(backend="opdsl")``, on one and two
threads.

Each network has its own process, in which the three ways alternate. First results are measured in fresh processes, with
empty caches and again with filled ones. ``--small`` measures three networks and no first results, ``--times`` all
networks and no first results. The networks come from transformers (``pip install -e .[networks]``).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from harness import Measured, Report, main

from opdsl.testing.timing import shown

MODES, THREADS, WAYS = ("eval", "train"), (1, 2), ("eager", "inductor", "opdsl")
NAMES = ("ResNet-18", "ConvNeXt", "MobileNetV2", "ViT", "Swin", "BERT", "GPT-2", "Llama", "T5", "Mamba")
SMALL = ("ResNet-18", "BERT", "Llama")
GOALS = {("eval", 1): 0.75, ("eval", 2): 0.8, ("train", 1): 0.85, ("train", 2): 0.85}
TITLES = {"eval": "Inference", "train": "A training step"}

# Seconds of each round, for each way, mode and number of threads.
Times = Mapping[str, Sequence[float]]


class First(NamedTuple):
    """First result of a process: its seconds, and the MiB by which it raised the peak memory."""

    seconds: float
    memory: float


def process(arguments: Sequence[str], caches: str | None = None) -> Any:
    """Run ``harness.networks`` in its own process and return its output; if it fails, print why and return None."""
    variables = {"OPDSL_CACHE_DIR": caches, "TORCHINDUCTOR_CACHE_DIR": caches} if caches else {}
    command = [sys.executable, "-m", "harness.networks", *arguments]
    done = subprocess.run(
        command, env=os.environ | variables, cwd=Path(__file__).parent, capture_output=True, text=True
    )
    if done.returncode:
        print(" ".join(arguments), done.stderr[-2000:], file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def ratio(times: Times, ours: str, theirs: str) -> float:
    """Return the median of the ratios of neighboring measurements."""
    return statistics.median(one / other for one, other in zip(times[ours], times[theirs], strict=True))


def timed(report: Report, measured: Mapping[str, Times]) -> None:
    """Add a table for each mode and number of threads, and a table of two threads relative to one."""
    for mode in MODES:
        for threads in THREADS:
            report.write("", f"## {TITLES[mode]}, {threads} thread{'s' * (threads > 1)}", "")
            report.write("| | eager | inductor | opdsl | over eager | over inductor |", f"|---|{'---:|' * 5}")
            rows = []
            for name, times in measured.items():
                keys = [f"{mode} {threads} {way}" for way in WAYS]
                medians = [statistics.median(times[key]) for key in keys]
                ratios = [ratio(times, keys[2], key) for key in keys[:2]]
                rows.append(ratios)
                cells = [*map(shown, medians), *(f"{value:.2f}" for value in ratios)]
                report.write(f"| {name} | {' | '.join(cells)} |")
                goal = GOALS[mode, threads]
                title = f"{name}, {mode}, {threads}"
                report.measured.append(Measured(title, medians[2], medians[0], ratios[0], goal))
            report.write(f"| geometric mean; worst | | | | {summary(rows, 0)} | {summary(rows, 1)} |")
        report.write("", f"## {TITLES[mode]}, two threads over one", "", "| | eager | inductor | opdsl |")
        report.write(f"|---|{'---:|' * 3}")
        rows = []
        for name, times in measured.items():
            rows.append([ratio(times, f"{mode} 2 {way}", f"{mode} 1 {way}") for way in WAYS])
            report.write(f"| {name} | {' | '.join(f'{value:.2f}' for value in rows[-1])} |")
        report.write(f"| geometric mean; worst | {' | '.join(summary(rows, column) for column in range(3))} |")


def summary(rows: Sequence[Sequence[float]], column: int) -> str:
    """Return the geometric mean and the maximum of a column."""
    values = [row[column] for row in rows]
    return f"{math.exp(statistics.fmean(map(math.log, values))):.2f}; {max(values):.2f}"


def first_results(report: Report, names: Sequence[str]) -> None:
    """Add the table of first results."""
    report.write("", "## The first result of a process, one thread: cold, warm, and memory beyond the model's", "")
    report.write("| | inductor cold | opdsl cold | ratio | inductor warm | opdsl warm | eager | inductor | opdsl |")
    report.write(f"|---|{'---:|' * 8}")
    for name in names:
        for mode in MODES:
            pairs = {way: _firsts(name, mode, way) for way in WAYS}
            if None in pairs.values():
                report.write(f"| {name}, {mode} | failed |")
                continue
            cold, warm = ({way: pair[index] for way, pair in pairs.items() if pair} for index in (0, 1))
            cells = [
                *(shown(cold[way].seconds) for way in WAYS[1:]),
                f"{cold['opdsl'].seconds / cold['inductor'].seconds:.2f}",
                *(shown(warm[way].seconds) for way in WAYS[1:]),
                *(f"{warm[way].memory:.0f} MiB" for way in WAYS),
            ]
            report.write(f"| {name}, {mode} | {' | '.join(cells)} |")


def _firsts(name: str, mode: str, way: str) -> tuple[First, First] | None:
    """Return the first results of two processes, of which the second one uses the caches that the first one filled."""
    with tempfile.TemporaryDirectory() as caches:
        pair = [process(["first", name, mode, way], caches) for _ in range(2)]
    return None if None in pair else (First(**pair[0]), First(**pair[1]))


def run(chosen: argparse.Namespace) -> Report:
    """Measure the networks that the options select."""
    report = Report("Networks", threads=2)
    load = os.getloadavg()[0]
    report.write("", f"Load of the machine at the start, by `uptime`: {load:.1f}. Rounds: {chosen.rounds}.")
    if load > 1:
        report.write("", "**Other programs ran beside this one: the numbers are noise, ratios less so.**")
    names = [name for name in (SMALL if chosen.small else NAMES) if chosen.only in name]
    results = {name: process(["times", name, str(chosen.rounds)]) for name in names}
    timed(report, {name: times for name, times in results.items() if times is not None})
    failed = [name for name, times in results.items() if times is None]
    if failed:
        report.write("", f"Failed: {', '.join(failed)}.")
    if not (chosen.small or chosen.times):
        first_results(report, names)
    return report


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--small", action="store_true", help="three networks, and no first results")
    parser.add_argument("--times", action="store_true", help="all networks, and no first results")
    parser.add_argument("--rounds", type=int, default=7, help="how often each way has its turn")
    parser.add_argument("--only", default="", help="networks with this in their name")
    own, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    main("networks", lambda: run(own))
