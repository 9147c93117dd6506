"""Benchmark of whole programs as loops of eager calls, compared with PyTorch on one thread of the CPU.

Twenty kinds: numerical algorithms, and networks with their training steps. Single calls of both sides alternate.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from harness import Case, Report, compare, main
from harness.algorithms import ALGORITHMS
from harness.models import MODELS

import opdsl

LIMITS = (0.8, 1.3)  # greatest allowed ratios: geometric mean, worst
WARM_UP = 30
ROUNDS, SECONDS_OF_A_TURN = 9, 0.03
TRAINED = ("MLP", "GPT small", "LSTM B4", "CNN")


def programs() -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Return the programs by name, each for both libraries."""
    pairs: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        name: (make(opdsl), make(torch)) for name, make in ALGORITHMS.items()
    }
    for model in MODELS:
        if not model.name.startswith(TRAINED):
            continue
        ours, theirs = model.make(opdsl), model.make(torch)
        if model.name.startswith("GPT"):
            pairs[f"{model.name}, forward"] = (opdsl.no_grad()(ours.loss), torch.no_grad()(theirs.loss))
        pairs[f"{model.name}, a training step"] = (ours.step, theirs.step)
    return pairs


def run() -> Report:
    """Measure all programs."""
    torch.set_num_threads(1)
    opdsl.set_num_threads(1)
    report = Report("Whole programs, eager", threads=1)
    pairs = programs()
    for ours, _ in pairs.values():
        for _ in range(WARM_UP):
            ours()
    cases = [Case(name, f"pairs[{name!r}][0]()", f"pairs[{name!r}][1]()", LIMITS[1]) for name in pairs]
    rows = compare(cases, {"pairs": pairs}, rounds=ROUNDS, clock=time.process_time, seconds=SECONDS_OF_A_TURN)
    report.comparison(f"{len(rows)} programs", rows, theirs="torch")
    report.mean_and_worst(rows, LIMITS[0])
    return report


if __name__ == "__main__":
    main("eager", run)
