"""What a first step takes in this process, which loads no more than the library that it is of.

python -m harness.first_step opdsl 3
"""

from __future__ import annotations

import importlib
import math
import re
import sys
import time
from pathlib import Path

from harness.models import MODELS

STEPS = 5


def report(library: str, index: int) -> None:
    """Print the seconds of a model's first step, and how much memory some steps take, in MiB."""
    lib = importlib.import_module(library)
    lib.set_num_threads(1)
    model = MODELS[index].make(lib)
    before = peak_memory()
    started = time.process_time()
    float(model.step().item())
    seconds = time.process_time() - started
    for _ in range(STEPS - 1):
        model.step()
    print(seconds, peak_memory() - before)


def peak_memory() -> float:
    """The most memory that this process has had, in MiB; without what its parent had, as ``getrusage`` gives it."""
    found = re.search(r"^VmHWM:\s*(\d+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    return float(found[1]) / 1024 if found else math.nan


if __name__ == "__main__":
    report(sys.argv[1], int(sys.argv[2]))
