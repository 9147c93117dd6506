"""Benchmark of stubs for PyTorch's operators from native_functions.yaml: writing them, and checking them with mypy."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import torchgen.gen as torchgen
from harness import Report, main

CORPUS = Path(torchgen.__file__).parent / "packaged/ATen/native/native_functions.yaml"
PACKAGE = Path(__file__).resolve().parents[1]
ROUNDS = 3

OURS = [sys.executable, "-m", "opdsl"]
MYPY = [sys.executable, "-m", "mypy", "--strict", "--follow-imports", "silent", "--config-file=", "--cache-dir"]


def seconds(*command: str, folder: Path) -> float:
    """Run a process that must succeed and return its processor time, which other programs hardly change."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {"PYTHONPATH": str(PACKAGE), "MYPYPATH": f"{folder / 'typings'}:{PACKAGE}"}
    subprocess.run(command, check=True, capture_output=True, cwd=folder, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run() -> Report:
    """Measure writing and checking stubs, each in fresh processes."""
    report = Report("Stubs", threads=1)
    with TemporaryDirectory() as name:
        folder = Path(name)
        seconds(*OURS, "import", str(CORPUS), "-o", "corpus.py", folder=folder)
        writing = [seconds(*OURS, "stubs", "corpus.py", "-o", f"{index}", folder=folder) for index in range(ROUNDS)]
        seconds(*OURS, "stubs", "corpus.py", folder=folder)
        count = (folder / "typings" / "corpus.pyi").read_text().count("@_operator")
        files = "typings/corpus.pyi", "typings/opdsl"
        checking = [seconds(*MYPY, f"cache-{index}", *files, folder=folder) for index in range(ROUNDS)]
    report.write("", f"## {count:,} operators, whole processes", "", "| processor time | s | goal |", "|---|---:|---:|")
    report.write(f"| opdsl stubs | {statistics.median(writing):.1f} | 10 |")
    report.write(f"| mypy --strict over them, without a cache | {statistics.median(checking):.1f} | |")
    return report


if __name__ == "__main__":
    main("stubs", run)
