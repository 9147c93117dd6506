"""Markdown tables of results, printed and saved in ``benchmarks/results``."""

from __future__ import annotations

import argparse
import importlib.metadata
import math
import os
import platform
import re
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.plot import plot
from opdsl.testing.timing import Measured, shown

RESULTS = Path(__file__).parent.parent / "results"
PACKAGES = ("opdsl", "numpy", "numba", "llvmlite", "torch")


class Report:
    """Text of a benchmark's results, printed as it grows.

    Args:
        title: the name of the benchmark.
        threads: how many threads both sides may use.
    """

    def __init__(self, title: str, *, threads: int) -> None:
        self.title = title
        self.lines: list[str] = []
        self.measured: list[Measured] = []
        self.write(f"# {title}", "")
        self.write(f"{processor()}, {os.cpu_count()} processors, {threads} thread{'s' * (threads != 1)}; {versions()}.")

    def write(self, *lines: str) -> None:
        """Add lines and print them."""
        self.lines += lines
        print(*lines, sep="\n", flush=True)

    def comparison(self, heading: str, rows: Sequence[Measured], *, theirs: str, note: str = "") -> None:
        """Add a table that compares opdsl with another library."""
        self.measured += rows
        self.write("", f"## {heading}", "")
        if note:
            self.write(note, "")
        self.write(f"| | opdsl | {theirs} | ratio | goal |", "|---|---:|---:|---:|---:|")
        for row in rows:
            goal = "" if row.goal is None else f"{row.goal:.2f}"
            self.write(f"| {row.name} | {shown(row.ours)} | {shown(row.theirs)} | {row.ratio:.2f} | {goal} |")

    def mean_and_worst(self, rows: Sequence[Measured], limit: float) -> None:
        """Add a line with the geometric mean of ratios and the goal for it, and the worst ratio."""
        mean = math.exp(statistics.fmean(math.log(row.ratio) for row in rows))
        worst = max(rows, key=lambda row: row.ratio)
        self.write("", f"Geometric mean {mean:.2f} (to reach {limit}), worst {worst.ratio:.2f}: {worst.name}.")

    def times(self, heading: str, rows: Sequence[tuple[str, float, float]]) -> None:
        """Add a table of times, each with the time to reach."""
        self.write("", f"## {heading}", "", "| | median | goal |", "|---|---:|---:|")
        for name, seconds, goal in rows:
            self.write(f"| {name} | {shown(seconds)} | {shown(goal)} |")


def main(name: str, run: Callable[[], Report]) -> None:
    """Run a benchmark as a program; ``--save`` saves its results.

    Args:
        name: the name of the benchmark and of its files.
        run: measures, and returns the report.
    """
    parser = argparse.ArgumentParser(description=f"The benchmark {name!r}; prints a Markdown table.")
    parser.add_argument("--save", action="store_true", help=f"keep it in {RESULTS.name}/ as Markdown and a plot")
    arguments = parser.parse_args()
    report = run()
    if arguments.save:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{name}-{machine()}.md"
        path.write_text("\n".join([*report.lines, ""]))
        print(f"\nwritten to {path}")
        if report.measured:
            path.with_suffix(".svg").write_text(plot(report.title, report.measured))


def processor() -> str:
    """Return the processor's name and its vector extension, since processors of one name differ in it."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    match = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    vectors = next((f" {name.upper()}" for name in ("avx512", "avx2", "avx") if f" {name}" in text), "")
    return f"{match[1].strip() if match else platform.machine()}{vectors}"


def machine() -> str:
    """Return the processor's name and the number of processors, in the form that file names use."""
    words = re.findall(r"[a-z0-9.]+", re.sub(r"\(.*?\)|@.*", " ", processor().lower()))
    return "-".join([*(word for word in words if word not in ("cpu", "processor")), str(os.cpu_count())])


def versions() -> str:
    """Return the versions of Python and of the packages, and environment variables for OpenBLAS, which PyTorch does not
    use.
    """
    told = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("OPENBLAS_"))
    packages = [f"{package} {_version(package)}" for package in PACKAGES]
    return ", ".join([f"Python {platform.python_version()}", *packages, *told])


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "missing"
