"""Timing of whole processes, started alternately for both sides."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from opdsl.testing.timing import Case, Measured, measured

# Dropped so that Python writes .pyc files: users import with them.
_DROPPED = ("PYTHONDONTWRITEBYTECODE",)


def compare_processes(
    cases: Sequence[Case], *, rounds: int = 15, environment: Mapping[str, str] | None = None
) -> list[Measured]:
    """Time fresh interpreters from start to end, one for each side of every case.

    Args:
        cases: the cases, whose statements are programs.
        rounds: how often each case runs, after a first run that fills caches and does not count.
        environment: variables added to the present ones.
    """
    variables = {name: value for name, value in os.environ.items() if name not in _DROPPED} | dict(environment or {})
    turns: list[list[tuple[float, float]]] = [[] for _ in cases]
    for turn in range(rounds + 1):
        for index, case in enumerate(cases):
            pair = _seconds(case.ours, variables), _seconds(case.theirs, variables)
            if turn:
                turns[index].append(pair)
    return [measured(case.name, pairs, case.goal) for case, pairs in zip(cases, turns, strict=True)]


def _seconds(program: str, variables: Mapping[str, str]) -> float:
    started = time.perf_counter()
    # In a folder outside of the checkout, so that packages are found where they are installed.
    subprocess.run([sys.executable, "-c", program], check=True, env=dict(variables), cwd=Path(sys.executable).parent)
    return time.perf_counter() - started
