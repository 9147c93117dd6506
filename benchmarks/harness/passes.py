"""Timing of functions of both libraries: forward passes, and forward and backward passes."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

import opdsl
from harness.report import Report
from opdsl.testing.timing import Case, compare

__all__ = ["Pair", "arguments", "measured", "pass_back"]


class Pair(NamedTuple):
    """Function to measure on both sides, opdsl's first.

    functions: the functions.
    inputs: their arguments; leaves: their arguments when gradients are computed.
    """

    functions: tuple[Callable[..., Any], Callable[..., Any]]
    inputs: tuple[Sequence[Any], Sequence[Any]]
    leaves: tuple[Sequence[Any], Sequence[Any]]


def pass_back(function: Callable[..., Any], inputs: Sequence[Any]) -> None:
    """Run a forward and a backward pass."""
    function(*inputs).sum().backward()
    for input in inputs:
        input.grad = None


def arguments() -> argparse.ArgumentParser:
    """Return a parser of the options that both benchmarks of passes have."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--eager", action="store_true")
    return parser


def measured(title: str, pairs: dict[str, Pair], chosen: argparse.Namespace, goals: tuple[float, float]) -> Report:
    """Measure pairs and return a report with a table of forward passes and one of both passes.

    Args:
        title: the title of the report.
        pairs: the functions to measure, by label.
        chosen: the parsed options ``threads`` and ``eager`` (whether PyTorch's side is not compiled).
        goals: the ratios to reach, of forward passes and of both passes.
    """
    torch.set_num_threads(chosen.threads)
    opdsl.set_num_threads(chosen.threads)
    report = Report(title, threads=chosen.threads)
    clock = time.process_time if chosen.threads == 1 else time.perf_counter
    names: dict[str, Any] = {"pass_back": pass_back}
    forward, both = [], []
    for at, (name, pair) in enumerate(pairs.items()):
        for side, parts in zip(("own", "its"), zip(*pair, strict=True), strict=True):
            names |= dict(zip((f"{side}{at}", f"{side}_given{at}", f"{side}_leaves{at}"), parts, strict=True))
        forward.append(Case(name, f"own{at}(*own_given{at})", f"its{at}(*its_given{at})", goals[0]))
        passes = [f"pass_back({side}{at}, {side}_leaves{at})" for side in ("own", "its")]
        both.append(Case(name, *passes, goals[1]))
    theirs = "torch" if chosen.eager else "torch.compile"
    report.comparison("Forward", compare(forward, names, clock=clock), theirs=theirs)
    report.comparison("Forward and backward", compare(both, names, clock=clock), theirs=theirs)
    return report
