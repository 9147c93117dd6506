"""Runner of mypy in its own process, whose memory is freed at its end and slows down no garbage collection here."""

from __future__ import annotations

import subprocess
import sys


def mypy_says(*arguments: str) -> tuple[str, str]:
    """Run mypy and return its report and the contents of stderr."""
    run = subprocess.run([sys.executable, "-m", "mypy", *arguments], capture_output=True, text=True, timeout=300)
    return run.stdout, run.stderr
