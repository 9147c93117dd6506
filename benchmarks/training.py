"""Benchmark of training steps of networks, compared with PyTorch eager, with equal weights in one process.

First steps and memory are measured in fresh processes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import torch
from harness import Case, Report, compare, main
from harness.models import MODELS

import opdsl
from opdsl.testing.timing import shown

ROUNDS = 5
STEPS = 20
# Training runs steps of one network without interruption.
SECONDS_OF_A_TURN = 0.1


def operations(lib: Any) -> dict[str, Callable[[], Any]]:
    """Return functions that run a single operation forward and backward on few elements, where overhead dominates."""
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
    seeds = {name: lib.ones_like(function().detach()) for name, function in functions.items()}

    def there_and_back(name: str) -> Callable[[], None]:
        function, seed = functions[name], seeds[name]

        def run() -> None:
            function().backward(seed)
            for leaf in leaves:
                leaf.grad = None

        return run

    return {name: there_and_back(name) for name in functions}


class First(NamedTuple):
    """Measurements of steps in a fresh process, see ``harness.first_step``: seconds of the first step, and sizes in
    MiB.
    """

    seconds: float
    memory: float
    later: float
    process: float


def first_step(library: str, index: int, cache: str) -> First:
    """Run steps in a fresh process and return its measurements.

    Args:
        library: the name of the library.
        index: the index of the model.
        cache: the folder of compiled kernels.
    """
    command = [sys.executable, "-m", "harness.first_step", library, str(index)]
    environment = os.environ | {"OPDSL_CACHE_DIR": cache or os.environ.get("OPDSL_CACHE_DIR", "")}
    here = Path(__file__).parent
    done = subprocess.run(command, check=True, env=environment, cwd=here, capture_output=True, text=True)
    return First(*map(float, done.stdout.split()))


def run() -> Report:
    """Measure operations, steps, first steps and memory."""
    report = Report("Training", threads=1)
    use_threads(1)
    mine, its = operations(opdsl), operations(torch)
    cases = [Case(name, f"mine[{name!r}]()", f"its[{name!r}]()", 0.6) for name in mine]
    rows = compare(cases, {"mine": mine, "its": its}, clock=time.process_time)
    report.comparison("One operation, forward and backward", rows, theirs="torch")
    models = [(model.make(opdsl), model.make(torch)) for model in MODELS]
    losses = [[[float(model.step().item()) for _ in range(STEPS)][-1] for model in pair] for pair in models]
    steps = [(f"models[{index}][0].step()", f"models[{index}][1].step()") for index in range(len(MODELS))]
    for threads, clock in ((1, time.process_time), (2, time.perf_counter)):
        use_threads(threads)
        cases = [Case(model.name, *pair, model.goal) for model, pair in zip(MODELS, steps, strict=True)]
        rows = compare(cases, {"models": models}, rounds=ROUNDS, clock=clock, seconds=SECONDS_OF_A_TURN)
        report.comparison(f"A step on {threads} thread{'s' * (threads != 1)}", rows, theirs="torch")
    report.write("", f"## Losses after {STEPS} steps", "", "| | opdsl | torch |", "|---|---:|---:|")
    for model, (ours, theirs) in zip(MODELS, losses, strict=True):
        report.write(f"| {model.name} | {ours:.6f} | {theirs:.6f} |")
    first_steps(report)
    return report


def use_threads(count: int) -> None:
    """Set the number of threads of both sides."""
    torch.set_num_threads(count)
    opdsl.set_num_threads(count)


def first_steps(report: Report) -> None:
    """Add the tables of first steps and of memory."""
    result = []
    for index in range(len(MODELS)):
        with tempfile.TemporaryDirectory() as cache:
            result.append((first_step("opdsl", index, cache), first_step("opdsl", index, cache)))
    theirs = [first_step("torch", index, "") for index in range(len(MODELS))]
    report.write("", "## The first step of a process: without compiled kernels on disk, and with", "")
    report.write("| | cold | warm | torch |", "|---|---:|---:|---:|")
    for model, (cold, warm), its in zip(MODELS, result, theirs, strict=True):
        report.write(f"| {model.name} | {' | '.join(shown(one.seconds) for one in (cold, warm, its))} |")
    report.write("", "## Memory: of a later step, of five steps with all that the first loads, of the process", "")
    report.write("| | later | torch | five | torch | process | torch |", f"|---|{'---:|' * 6}")
    for model, (_, warm), its in zip(MODELS, result, theirs, strict=True):
        sizes = (warm.later, its.later, warm.memory, its.memory, warm.process, its.process)
        report.write(f"| {model.name} | {' | '.join(f'{one:.1f} MiB' for one in sizes)} |")


if __name__ == "__main__":
    main("training", run)
