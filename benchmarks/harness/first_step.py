"""Program that measures training steps of a model in a process that loads one library only.

python -m harness.first_step opdsl 3
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import math
import re
import sys
import time
from pathlib import Path

from harness.models import MODELS, Model

STEPS = 5


def report(library: str, index: int, how: str = "") -> None:
    """Print the seconds of a model's first step and three sizes in MiB; ``compiled`` compiles its forward pass.

    The sizes are the memory by which the first steps raise the peak, the memory that a later step needs while it runs,
    and the peak of the process.
    """
    lib = importlib.import_module(library)
    lib.set_num_threads(1)
    model = MODELS[index].make(lib)
    if how == "compiled":
        vars(model)["loss"] = lib.compile(model.loss)
    before = status("VmHWM")
    started = time.process_time()
    float(model.step().item())
    seconds = time.process_time() - started
    for _ in range(STEPS - 1):
        model.step()
    most = status("VmHWM")
    print(seconds, most - before, of_a_step(library, model), most)


def of_a_step(library: str, model: Model) -> float:
    """Return the MiB that a step needs while it runs, measured after all caches of free memory are emptied."""
    if library == "opdsl":
        importlib.import_module("opdsl.backends.cpu.memory").empty_cache()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM to the present size
    before = status("VmHWM")
    model.step()
    return status("VmHWM") - before


def status(name: str) -> float:
    """Return a size from ``/proc/self/status`` in MiB; ``VmHWM`` is the peak of resident memory.

    Unlike ``getrusage``, it does not count memory of the parent process.
    """
    match = re.search(rf"^{name}:\s*(\d+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    return float(match[1]) / 1024 if match else math.nan


if __name__ == "__main__":
    report(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
