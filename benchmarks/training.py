"""What training costs: steps of networks against PyTorch eager, with equal weights, in one process.

``--threads 2`` has both sides use two. First steps and memory are measured in fresh processes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import torch
from harness import Case, Report, compare, main
from harness.models import MODELS

import opdsl
from opdsl.testing.timing import shown

ROUNDS = 5
STEPS = 20
# Of each kind one: a fresh process of each side, with and without kernels on disk.
FIRST = (2, 3, 7)


def operations(lib: Any) -> dict[str, Callable[[], Any]]:
    """Single operations forward and backward, on few elements: what is measured is what is done around kernels."""
    draw = numpy.random.default_rng(0)

    def made(*shape: int) -> Any:
        return lib.from_numpy(draw.normal(size=shape).astype(numpy.float32)).requires_grad_()

    x, w, square, cube = made(8, 16), made(16, 16), made(16, 16), made(4, 8, 16)
    leaves = (x, w, square, cube)
    functions: dict[str, Callable[[], Any]] = {
        "x @ w.t()": lambda: x @ w.t(),
        "(x * w[0]) and two views": lambda: (x * w[0]).view(2, 4, 16).view(8, 16),
        "two transposes": lambda: cube.transpose(0, 1).transpose(1, 2),
        "a slice": lambda: cube[:, 2:6],
        "chunk and cat": lambda: lib.cat(square.chunk(4, 1), 0),
    }
    seeds = {name: lib.ones_like(each().detach()) for name, each in functions.items()}

    def there_and_back(name: str) -> Callable[[], None]:
        function, seed = functions[name], seeds[name]

        def run() -> None:
            function().backward(seed)
            for each in leaves:
                each.grad = None

        return run

    return {name: there_and_back(name) for name in functions}


def first_step(library: str, index: int, cache: str) -> tuple[float, float]:
    """The seconds of a first step in a fresh process, and how much memory steps take, in MiB.

    Args:
        library: its name.
        index: of the model.
        cache: the folder of compiled kernels.
    """
    command = [sys.executable, "-m", "harness.first_step", library, str(index)]
    environment = os.environ | {"OPDSL_CACHE_DIR": cache or os.environ.get("OPDSL_CACHE_DIR", "")}
    here = Path(__file__).parent
    done = subprocess.run(command, check=True, env=environment, cwd=here, capture_output=True, text=True)
    seconds, memory = map(float, done.stdout.split())
    return seconds, memory


def run(threads: int) -> Report:
    """Measure everything."""
    torch.set_num_threads(threads)
    opdsl.set_num_threads(threads)
    report = Report("Training", threads=threads)
    clock = time.process_time if threads == 1 else time.perf_counter
    mine, its = operations(opdsl), operations(torch)
    cases = [Case(name, f"mine[{name!r}]()", f"its[{name!r}]()", 0.6) for name in mine]
    rows = compare(cases, {"mine": mine, "its": its}, clock=clock)
    report.comparison("One operation, forward and backward", rows, theirs="torch")
    models = [(each.make(opdsl), each.make(torch)) for each in MODELS]
    losses = [[[float(each.step().item()) for _ in range(STEPS)][-1] for each in pair] for pair in models]
    steps = [(f"models[{index}][0].step()", f"models[{index}][1].step()") for index in range(len(MODELS))]
    cases = [Case(each.name, *pair, each.goal) for each, pair in zip(MODELS, steps, strict=True)]
    rows = compare(cases, {"models": models}, rounds=ROUNDS, clock=clock)
    report.comparison("A step", rows, theirs="torch")
    report.write("", f"## Losses after {STEPS} steps", "", "| | opdsl | torch |", "|---|---:|---:|")
    for each, (ours, theirs) in zip(MODELS, losses, strict=True):
        report.write(f"| {each.name} | {ours:.6f} | {theirs:.6f} |")
    first_steps(report)
    return report


def first_steps(report: Report) -> None:
    """Add the table of first steps and memory."""
    report.write("", "## The first step of a process, and the memory of five steps", "")
    report.write("| | cold | warm | torch | memory | torch |", "|---|---:|---:|---:|---:|---:|")
    for index in FIRST:
        with tempfile.TemporaryDirectory() as cache:
            cold, _ = first_step("opdsl", index, cache)
            warm, memory = first_step("opdsl", index, cache)
        theirs, its_memory = first_step("torch", index, "")
        times = " | ".join(map(shown, (cold, warm, theirs)))
        report.write(f"| {MODELS[index].name} | {times} | {memory:.0f} MiB | {its_memory:.0f} MiB |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--threads", type=int, default=1)
    chosen, sys.argv[1:] = parser.parse_known_args()
    name = "training" if chosen.threads == 1 else f"training-{chosen.threads}-threads"
    main(name, lambda: run(chosen.threads))
