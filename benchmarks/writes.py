"""Benchmark of functions that write in place and through views, eager and compiled, compared with PyTorch.

Each call begins with a copy into the written tensor, so that its elements stay finite.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from harness import Case, Measured, Report, compare, main
from harness.writes import WRITES, grids

import opdsl

LIMITS = {"torch": 1.0, "torch.compile": 1.2}
WARM_UP, WARM_UP_OF_TORCH = 60, 3
ROUNDS, SECONDS_OF_A_TURN = 11, 0.01

Compile = Callable[[Any, Any], Any]


def measure(compile_with: Compile, limit: float) -> list[Measured]:
    """Time all functions.

    Args:
        compile_with: returns the function to call, given a library and a function of two tensors.
        limit: the ratio to reach.
    """
    cases, names = [], {}
    for index, (name, function) in enumerate(WRITES.items()):
        sides = []
        for lib, count in ((opdsl, WARM_UP), (torch, WARM_UP_OF_TORCH)):
            written, read = grids(lib)
            call = compile_with(lib, partial(function, lib))
            for _ in range(count):
                written.copy_(read)
                call(written, read)
            key = f"{lib.__name__}{index}"
            names |= {f"call_{key}": call, f"written_{key}": written, f"read_{key}": read}
            sides.append(f"written_{key}.copy_(read_{key}); call_{key}(written_{key}, read_{key})")
        cases.append(Case(name, sides[0], sides[1], limit))
    return compare(cases, names, rounds=ROUNDS, clock=time.process_time, seconds=SECONDS_OF_A_TURN)


def compiled(lib: Any, function: Callable[[Any, Any], Any]) -> Any:
    """Compile a function with a library's own compiler."""
    return lib.compile(function)


def run() -> Report:
    """Measure eager and compiled calls."""
    torch.set_num_threads(1)
    opdsl.set_num_threads(1)
    report = Report("Writes in place and through views", threads=1)
    for heading, peer, compile_with in (
        ("Eager", "torch", lambda lib, function: function),
        ("opdsl.compile", "torch.compile", compiled),
    ):
        rows = measure(compile_with, LIMITS[peer])
        report.comparison(heading, rows, theirs=peer)
        report.mean_and_worst(rows, LIMITS[peer])
    return report


if __name__ == "__main__":
    main("writes", run)
