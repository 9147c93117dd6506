"""mypy in a process of its own: what it keeps in memory goes with it, and nobody looks through that for garbage."""

from __future__ import annotations

import subprocess
import sys


def mypy_says(*arguments: str) -> tuple[str, str]:
    """The report of a run of mypy, and what it printed besides."""
    run = subprocess.run([sys.executable, "-m", "mypy", *arguments], capture_output=True, text=True, timeout=300)
    return run.stdout, run.stderr
